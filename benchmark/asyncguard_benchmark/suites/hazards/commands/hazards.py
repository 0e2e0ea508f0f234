"""``bench hazards``: what befalls which task, played, scored and reported."""

import shlex
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from asyncguard import __version__
from asyncguard.cli.output import refuse_input, replace_text
from asyncguard_benchmark.commands.missing_episodes import check_failures, play_missing
from asyncguard_benchmark.commands.model_options import check_model_options, model_of
from asyncguard_benchmark.commands.output import console, notice, print_json, table, with_progress
from asyncguard_benchmark.commands.report import files_of, side_of
from asyncguard_benchmark.commands.run import NothingToPlayError, estimated
from asyncguard_benchmark.commands.worker_options import without_options
from asyncguard_benchmark.harness.campaign import Cell, Contestant, Failed
from asyncguard_benchmark.harness.faults import Hazard, Profile
from asyncguard_benchmark.harness.journal import read_lines
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.report.assembly import document_of
from asyncguard_benchmark.harness.report.blocks import Table
from asyncguard_benchmark.harness.report.document import page_of
from asyncguard_benchmark.harness.report.figures import COLUMNS, Tally, cells
from asyncguard_benchmark.harness.scenario import Domain, Regime, Surface
from asyncguard_benchmark.suites.hazards.analysis import studies_of
from asyncguard_benchmark.suites.hazards.campaign import Experiment
from asyncguard_benchmark.suites.hazards.chapter import hazard_document
from asyncguard_benchmark.suites.hazards.commands.options import ARM_NAMES
from asyncguard_benchmark.suites.hazards.commands.tables import show_findings, split_tables
from asyncguard_benchmark.suites.hazards.findings import (
    FILE,
    HazardFindings,
    HazardSettings,
    hazard_findings_to_json,
    read_hazard_findings,
    write_hazard_findings,
)
from asyncguard_benchmark.suites.hazards.instances import (
    HELD_OUT_PARTS,
    Gathering,
    Instance,
    Part,
    Wanted,
    all_tasks,
    instance_to_json,
    shipped_instances,
)
from asyncguard_benchmark.suites.hazards.observations import Observed, observed
from asyncguard_benchmark.suites.hazards.validation import Validation, validated

EPISODES = "episodes.jsonl"
"""Name of the episodes' file in the folder of an ablation."""
_QUICK = 7


def execute(options: Namespace) -> int:
    """Run the command."""
    actions: Mapping[str, Callable[[Namespace], int]] = {
        "list": _list,
        "validate": _validate,
        "run": _run,
        "score": _score,
        "ablate": _ablate,
        "report": _report,
    }
    return actions[options.action](options)


# -- list and validate -----------------------------------------------------------------------------------------------


def _list(options: Namespace) -> int:
    found = _wanted(options).chosen(shipped_instances())
    if options.json:
        print_json({"instances": [{"id": each.id, **instance_to_json(each)} for each in found]})
        return 0
    heads = (
        "id",
        "tool",
        "site",
        "where it strikes",
        "workflow",
        "shows itself by",
        "can be survived by",
    )
    console().print(table(heads, [_line(each) for each in found], title=f"{len(found)} instances"))
    return 0


def _line(instance: Instance) -> tuple[str, ...]:
    faults = instance.faults
    return (
        instance.id,
        ", ".join(fault.tool for fault in faults),
        ", ".join(fault.site or "whole" for fault in faults),
        ", ".join(fault.failpoint.value for fault in faults),
        instance.task.workflow.value,
        instance.sign.value,
        ", ".join(dict.fromkeys(way.value for way in instance.witness.values())),
    )


def _validate(options: Namespace) -> int:
    domains = None if options.domains is None else _domains(options.domains)
    found = Validation()
    for text in with_progress(validated(found, domains), found.steps(domains), what="checks"):
        if text is not None and not options.json:
            console().print(text, markup=False, highlight=False)
    if options.json:
        print_json(found.to_json())
    else:
        out = console()
        for line in found.lines():
            out.print(line)
    return 1 if found.problems else 0


# -- run and score ---------------------------------------------------------------------------------------------------


def _run(options: Namespace) -> int:
    check_model_options(options)
    asked = _asked(options, options.arms)
    if options.dry_run:
        return estimated(options, asked)
    _played(asked, options, options.out)
    return _tell(options, [options.out], None)


def _asked(options: Namespace, arms: Sequence[str]) -> list[Cell]:
    """Return the episodes that are asked for.

    Raises:
        NothingToPlayError: there is none.
    """
    asked = _experiment(options, arms).cells()
    if not any(cell.composition.faults for cell in asked):
        raise NothingToPlayError("no instance fits what was asked for; see `bench hazards list`")
    return asked


def _played(asked: Sequence[Cell], options: Namespace, path: Path) -> None:
    """Play the episodes that a file does not hold yet.

    Raises:
        TooManyFailuresError: so many episodes were ended by the infrastructure that the rest is not
            a fair sample.
    """
    outcomes = play_missing(asked, path, options)
    check_failures(sum(isinstance(each, Failed) for each in outcomes), len(asked))


def _score(options: Namespace) -> int:
    return _tell(options, options.files, options.failures)


def _tell(options: Namespace, files: Sequence[Path], failures: str | None) -> int:
    found, kept, others = _found(options, files)
    failed = [
        _failure(each)
        for each in kept
        if failures is not None and each.arm == failures and not each.score.success
    ]
    if options.json:
        told = {what: [row.to_json() for row in tally.figures()] for what, tally in others.items()}
        print_json(
            {
                **hazard_findings_to_json(found),
                **told,
                **({} if failures is None else {"failures": failed}),
            }
        )
        return 0
    out = console()
    if kept:
        show_findings(out, found)
    for what, tally in others.items():
        if figures := tally.figures():
            out.print(
                table(
                    COLUMNS,
                    map(cells, figures),
                    title=f"compositions of the twelve categories, {what}",
                )
            )
    if failed:
        heads = ("composition", "agent", "regime", "ended", "struck", "diagnosed", "calls")
        out.print(
            table(
                heads,
                [tuple(map(str, each.values())) for each in failed],
                title=f"failures of {failures}",
            )
        )
    return 0


def _failure(each: Observed) -> dict[str, Any]:
    return {
        "composition": each.score.composition_id,
        "agent": each.score.agent,
        "regime": each.regime,
        "ended": each.score.ending.value,
        "struck": each.struck,
        "diagnosed": ", ".join(each.diagnosed) or "nothing",
        "calls": each.score.calls,
    }


def published(out: Path) -> list[Table]:
    """Return tables of the file that `hazards run` wrote: the grid, severity, hints, and success against calls."""
    kept = _observed([out])[0]
    return [made for study in studies_of(kept) for made in split_tables(study)]


def _found(
    options: Namespace, files: Iterable[Path]
) -> tuple[HazardFindings, list[Observed], Mapping[str, Tally]]:
    """Return findings, what they were made of, and figures of the compositions that hold no task of the suite."""
    found, others = _observed(files)
    settings = HazardSettings(
        version=__version__,
        command=shlex.join(["asyncguard", "bench", *without_options(options.argv)]),
        tasks=len({each.score.task_id for each in found}),
        instances=len({each.score.composition_id for each in found if each.score.faults}),
        seeds=tuple(sorted({each.score.run.seed for each in found})),
    )
    return HazardFindings(settings=settings, studies=studies_of(found)), found, others


def _observed(files: Iterable[Path]) -> tuple[list[Observed], Mapping[str, Tally]]:
    """Return the episodes of the suite, each once, and figures of the others.

    Raises:
        NothingToPlayError: the files hold neither.
    """
    kept: dict[tuple[object, ...], Observed] = {}
    others = {"clean": Tally(), "broken": Tally()}
    tasks = all_tasks()
    for path in files:
        for line in read_lines(path):
            if line.episode is None:
                notice(f"left out: {line.problem}")
                continue
            each = observed(line.episode, tasks)
            if each is None:
                others["broken" if line.episode.composition.faults else "clean"].add(line.episode)
            else:
                kept[
                    each.arm,
                    each.score.agent,
                    each.score.player,
                    each.score.composition_id,
                    each.score.run,
                ] = each
    found = list(kept.values())
    if not found and not any(tally.figures() for tally in others.values()):
        raise NothingToPlayError(f"{', '.join(map(str, files))}: no episode of the hazard suite")
    return found, others


# -- ablate and report -----------------------------------------------------------------------------------------------


def _ablate(options: Namespace) -> int:
    check_model_options(options)
    asked = _asked(options, ARM_NAMES)
    if options.dry_run:
        return estimated(options, asked)
    path = options.out / EPISODES
    _played(asked, options, path)
    found = _found(options, [path])[0]
    write_hazard_findings(found, options.out / FILE)
    if options.json:
        print_json(hazard_findings_to_json(found))
        return 0
    show_findings(console(), found)
    console().print(f"\nEverything that was found: {options.out / FILE}; episodes: {path}")
    return 0


def _report(options: Namespace) -> int:
    given: Path = options.findings
    path = given / FILE if given.is_dir() else given
    beside = [] if options.beside is None else files_of(options.beside)
    refuse_input(options.out, [path, *beside])
    found = _found(options, [path])[0] if path.suffix == ".jsonl" else read_hazard_findings(path)
    if not found.studies:
        raise NothingToPlayError(
            f"{path}: no episode of the hazard suite; `asyncguard bench report` makes a page of others"
        )
    closing = f"Made by asyncguard bench hazards report from {given.name}. The page needs nothing from anywhere else."
    document = hazard_document(found, closing=closing)
    if options.beside is not None:
        document = document_of(
            side_of(options.beside, ()), closing=closing, further=document.chapters
        )
    page = page_of(document)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    replace_text(options.out, page.text)
    if options.json:
        print_json({"file": str(options.out), "bytes": page.size})
    else:
        console().print(str(options.out), markup=False, soft_wrap=True)
    return 0


# -- what was asked for ----------------------------------------------------------------------------------------------


def _wanted(options: Namespace) -> Wanted:
    parts = HELD_OUT_PARTS if options.held_out else (Part.DEVELOPMENT,)
    return Wanted(
        gathering=Gathering(options.gathering),
        parts=parts if options.parts is None else tuple(map(Part, options.parts)),
        hazards=None if options.hazards is None else tuple(map(Hazard, options.hazards)),
        domains=None if options.domains is None else _domains(options.domains),
        severities=None if options.severity is None else tuple(map(int, options.severity)),
        profiles=tuple(map(Profile, options.profiles)),
        every=_QUICK if options.quick else 1,
    )


def _domains(names: Sequence[str]) -> tuple[Domain, ...]:
    return tuple(Domain[name.upper()] for name in names)


def _experiment(options: Namespace, arms: Sequence[str]) -> Experiment:
    return Experiment(
        wanted=_wanted(options),
        agents=_contestants(options),
        players=options.players,
        arms=arms,
        regimes=[Regime(each) for each in options.regimes],
        surfaces=[Surface(each) for each in options.surfaces],
        seeds=options.seeds,
    )


def _contestants(options: Namespace) -> list[Contestant]:
    model = model_of(options)
    names = options.agents or (() if model is not None else ("naive",))
    return [*([] if model is None else [model]), *(AgentSpec(kind=name) for name in names)]
