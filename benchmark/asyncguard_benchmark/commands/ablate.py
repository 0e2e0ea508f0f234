"""``bench ablate``: what each guard is worth, played under every arm, with intervals; findings go to a folder."""

import shlex
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rich.console import Console

from asyncguard_benchmark.commands.model_options import asking_of, check_model_options, model_of
from asyncguard_benchmark.commands.output import console, notice, print_json, table, with_progress
from asyncguard_benchmark.commands.run import check_contract, chosen, estimated
from asyncguard_benchmark.commands.worker_options import without_options, worker_pool_of
from asyncguard_benchmark.harness.ablation.design import Design, members, wild_compositions
from asyncguard_benchmark.harness.ablation.findings import (
    ArmFigures,
    Effect,
    Findings,
    FourCells,
    Interval,
    Shadow,
    Study,
    Wild,
    findings_to_json,
    write_findings,
)
from asyncguard_benchmark.harness.ablation.run import Ablation
from asyncguard_benchmark.harness.arms import ALL, NONE
from asyncguard_benchmark.harness.campaign import Cell, Contestant
from asyncguard_benchmark.harness.journal import Journal
from asyncguard_benchmark.harness.loading import shipped_sub_tasks
from asyncguard_benchmark.harness.models.spec import ModelSpec
from asyncguard_benchmark.harness.registry import rule_at
from asyncguard_benchmark.harness.report.chapters.comparison import comparison, groups
from asyncguard_benchmark.harness.report.figures import number
from asyncguard_benchmark.harness.scenario import (
    Composition,
    Contract,
    Regime,
    Split,
    Suite,
    Surface,
)

FILE = "findings.json"
_QUICK = 3
"""A quick look takes every third composition of the suite `lite`."""


def execute(options: Namespace) -> int:
    """Run the command."""
    check_model_options(options)
    check_contract(options.contract, [options.surface])
    for place in options.guard:
        rule_at(place)  # a mistake is told at once, and not for each episode
    design = _design(options)
    if options.dry_run:
        return estimated(options, list(_model_cells(design)))
    asking = None if options.model is None else asking_of(options, _spent(options.out))
    with worker_pool_of(options, options.out, simulated=_simulated(design)) as pool:
        ablation = Ablation(
            design=design, folder=options.out, jobs=options.jobs, asking=asking, pool=pool
        )
        for result in with_progress(
            ablation.play(), ablation.total(), "compositions under all arms"
        ):
            for failure in result.failures:
                notice(
                    f"{failure.key.composition} under {failure.key.arm} ended by an error: {failure.error}"
                )
    for text in ablation.notices:
        notice(text)
    command = shlex.join(["asyncguard", "bench", *without_options(options.argv)])
    found = ablation.findings(command, resamples=options.resamples)
    path = options.out / FILE
    write_findings(found, path)
    invalid = sum(not arm.valid for study in found.studies for arm in study.arms)
    broken = [
        study.setup.label
        for study in found.studies
        if study.sham is not None and not study.sham.works
    ]
    if options.json:
        print_json(findings_to_json(found))
    else:
        _show(console(), found)
        console().print(
            f"\nEverything that was found: {path}; episodes: {options.out / 'episodes'}"
        )
    if invalid:
        notice(
            f"{invalid} arms lost more than {found.settings.most_errors:.0%} of their episodes and count for nothing"
        )
    if broken:
        notice(f"the sham did not do its work, so there is no control: {', '.join(broken)}")
    return 1 if invalid or broken else 0


def _design(options: Namespace) -> Design:
    suite: str = options.suite
    if options.quick and suite == Suite.MAIN:
        suite = Suite.LITE.value
    compositions: Sequence[Composition] = chosen(
        options.compositions, suite, contract := Contract(options.contract)
    )
    wild = wild_compositions(shipped_sub_tasks(Split.WILD))
    if options.quick:
        compositions, wild = compositions[::_QUICK], wild[::_QUICK]
    return Design(
        compositions=compositions,
        suite=f"{suite}, part of it" if options.quick or options.compositions else suite,
        agents=_contestants(options),
        players=options.players,
        regimes=[Regime(each) for each in options.regimes],
        declared=[each == "declared" for each in options.tools],
        seeds=options.seeds,
        surface=Surface(options.surface),
        contract=contract,
        shadow=options.shadow and not options.quick,
        rules=tuple(dict.fromkeys(options.guard)),
        compliance=options.compliance,
        wild=wild if options.wild else (),
    )


def _contestants(options: Namespace) -> list[Contestant]:
    """Return a model, simulated agents, or both; the eager agent if none is named."""
    model = model_of(options)
    names = options.agents or (() if model is not None else ("eager",))
    simulated = [member for kind in names for member in members(kind, options.members)]
    return [*([] if model is None else [model]), *simulated]


def _simulated(design: Design) -> bool:
    """Return True if any agent but a model plays; the agent of the wild split counts."""
    return bool(design.wild) or any(not isinstance(agent, ModelSpec) for agent in design.agents)


def _model_cells(design: Design) -> Iterator[Cell]:
    """Yield the episodes that a model is asked for; runs of models are all played."""
    for agent in design.agents:
        if isinstance(agent, ModelSpec):
            yield from (unit.cell(arm) for unit in design.units(agent) for arm in unit.arms)


def _spent(folder: Path) -> float:
    """Return the dollars that the episodes of a folder have cost."""
    total = 0.0
    for path in sorted((folder / "episodes").glob("*.jsonl")):
        with Journal(path) as journal:
            total += journal.dollars
    return total


def _show(out: Console, found: Findings) -> None:
    said = found.settings
    out.print(
        f"{said.compositions} compositions of {said.sources} tasks. Intervals are 95 % and robust against tasks that "
        f"compositions share; harm is judged at a margin of {said.margin:g} point."
    )
    _show_comparison(out, found)
    for study in found.studies:
        out.print()
        out.print(table(_HEADS, list(_arm_lines(study)), title=study.setup.label))
        for text in _remarks(study):
            out.print(text)
    _show_cells(out, found.four_cells)
    _show_shadow(out, found.shadow)
    _show_wild(out, found.wild)


def _show_comparison(out: Console, found: Findings) -> None:
    """Show what counts first: all guards beside the sham, then the groups of guards."""
    for each in (comparison(found), groups(found)):
        if each is not None:
            out.print()
            out.print(table(each.heads, each.lines, title=each.title))
            out.print(each.note)


_HEADS = (
    "arm",
    "overall",
    "95 %",
    "rounds",
    "ticks",
    "to none",
    "95 % ",
    "p max-t",
    "to all",
    "95 %  ",
    "harm",
)


def _arm_lines(study: Study) -> Iterable[tuple[str, ...]]:
    for arm in study.arms:
        to_none, to_all = study.effect(arm.arm, NONE), study.effect(arm.arm, ALL)
        adjusted = to_none.p_family if to_none is not None else None
        yield (
            arm.arm,
            *_estimate(arm.overall if arm.valid else None),
            number(arm.rounds),
            number(arm.ticks),
            *_change(to_none),
            "-" if adjusted is None else "<0.001" if adjusted < 0.001 else f"{adjusted:.3f}",
            *_change(to_all),
            _harm(arm, to_none),
        )


def _harm(arm: ArmFigures, effect: Effect | None) -> str:
    if not arm.valid:
        return f"invalid: {arm.errors} errors"
    return "-" if effect is None else effect.harm.value


def _estimate(interval: Interval | None) -> tuple[str, str]:
    return (
        ("-", "")
        if interval is None
        else (f"{interval.value:.1f}", f"{interval.low:.1f} to {interval.high:.1f}")
    )


def _change(effect: Effect | None) -> tuple[str, str]:
    if effect is None:
        return "-", ""
    found = effect.difference
    return f"{found.value:+.1f}", f"{found.low:+.1f} to {found.high:+.1f}"


def _remarks(study: Study) -> Iterable[str]:
    if study.shapley is not None:
        shares = ", ".join(
            f"{each.switch} {each.value.value:+.1f} ({each.value.low:+.1f} to {each.value.high:+.1f})"
            for each in study.shapley.values
            if each.value.value
        )
        yield (
            f"Shapley shares of {study.shapley.all - study.shapley.none:+.1f} points beside the features: "
            f"{shares or 'no guard changes anything'}. {study.shapley.played} runs told of {study.shapley.coalitions}."
        )
    if study.sham is not None:
        sham, beside = study.sham.effect.difference, study.sham.beside_features.difference
        yield (
            f"Sham: {study.sham.rejections_made} of {study.sham.rejections_wanted} refusals at random: "
            f"{sham.value:+.1f} ({sham.low:+.1f} to {sham.high:+.1f}) to none, {beside.value:+.1f} "
            f"({beside.low:+.1f} to {beside.high:+.1f}) to the features without guards."
        )
    for effect in study.same:
        found = effect.difference
        yield f"A/A, {effect.arm}: {found.value:+.1f} ({found.low:+.1f} to {found.high:+.1f})."


def _show_cells(out: Console, cells: Sequence[FourCells]) -> None:
    if not cells:
        return
    heads = (
        "agent",
        "player",
        "sync, none",
        "sync, all",
        "late, none",
        "late, timing",
        "late, all",
        "gap",
        "closed",
    )
    lines = [
        (
            each.setup.agent,
            each.setup.player,
            *(
                f"{interval.value:.1f}"
                for interval in (
                    each.unguarded_sync,
                    each.guarded_sync,
                    each.unguarded_delayed,
                    each.timing_delayed,
                    each.guarded_delayed,
                )
            ),
            f"{each.gap.value:+.1f} ({each.gap.low:+.1f} to {each.gap.high:+.1f})",
            _percent(each.closed_by_timing),
            f"{each.interaction.value:+.1f} ({each.interaction.low:+.1f} to {each.interaction.high:+.1f})",
        )
        for each in cells
    ]
    out.print()
    title = (
        "Four cells; what timing guards close of the gap, and (guarded - unguarded) late minus sync"
    )
    out.print(table((*heads, "interaction"), lines, title=title))


def _percent(interval: Interval | None) -> str:
    return (
        "-"
        if interval is None
        else f"{interval.value:.0f} % ({interval.low:.0f} to {interval.high:.0f})"
    )


def _show_shadow(out: Console, shadows: Sequence[Shadow]) -> None:
    for shadow in shadows:
        lines = [
            (
                guard.guard,
                str(guard.rejections),
                str(guard.deferrals),
                *(
                    text
                    for each in guard.detections
                    for text in (_percent(each.precision), _percent(each.recall))
                ),
            )
            for guard in shadow.guards
            if guard.objections
        ]
        if not lines:
            continue
        truths = [each.truth.value for each in shadow.guards[0].detections]
        heads = [f"{truth}: {what}" for truth in truths for what in ("precision", "recall")]
        out.print()
        title = f"Guards beside {shadow.calls} calls of unguarded runs · {shadow.setup.label}"
        out.print(table(("guard", "rejects", "defers", *heads), lines, title=title))


def _show_wild(out: Console, found: Sequence[Wild]) -> None:
    for wild in found:
        lines = [
            (
                each.guard,
                str(each.rejections),
                str(each.deferrals),
                str(each.nudges),
                _percent(each.rate),
            )
            for each in wild.guards
        ]
        out.print()
        out.print(
            f"Derived values, {wild.setup.label}: {wild.calls} calls in {wild.episodes} pairs of wild tasks, "
            f"overall {wild.unguarded.value:.1f} without and {wild.guarded.value:.1f} with guards ({wild.harm.value})"
        )
        out.print(table(("guard", "rejects", "defers", "nudges", "rejects per call"), lines))
