"""``bench missions ablate``: what guards are worth in missions, with the statistics of all ablations."""

import shlex
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import product
from typing import Any

from asyncguard_benchmark.commands.output import console, notice, print_json, table
from asyncguard_benchmark.commands.report import FINDINGS
from asyncguard_benchmark.errors import UnknownNameError
from asyncguard_benchmark.harness.ablation.analysis import Arms, study_of
from asyncguard_benchmark.harness.ablation.design import EVERY_ARM
from asyncguard_benchmark.harness.ablation.findings import (
    Findings,
    Settings,
    Study,
    findings_to_json,
    write_findings,
)
from asyncguard_benchmark.harness.ablation.outcomes import Outcome
from asyncguard_benchmark.harness.ablation.setups import Setup
from asyncguard_benchmark.harness.arms import arm_of
from asyncguard_benchmark.harness.report.number_format import number
from asyncguard_benchmark.suites.missions.commands.joint import verdict_of
from asyncguard_benchmark.suites.missions.commands.played import is_part, premature_calls
from asyncguard_benchmark.suites.missions.commands.run import (
    asked,
    joint_into,
    played_into,
    plays_overlap,
)
from asyncguard_benchmark.suites.missions.played_rows import JointRow, PlayedRow, digest_of
from asyncguard_benchmark.suites.missions.playing.grid import ASK_HINT, Cell
from asyncguard_benchmark.suites.missions.playing.shelf import shelf
from asyncguard_benchmark.suites.missions.scorers.verdict import judge_strict

_FILE = "missions.jsonl"
_HEADS = ("study", "arm", "against", "pairs", "SR against", "difference", "95 %", "p", "adjusted p")


def execute(options: Namespace) -> int:
    """Run the command."""
    every = EVERY_ARM if options.overlap is None else tuple(filter(plays_overlap, EVERY_ARM))
    arms = options.arms or every
    if ASK_HINT in arms:
        raise UnknownNameError(
            f"{ASK_HINT} has no guards to compare: play it by `bench missions run`"
        )
    if options.overlap is not None:
        found = joint_findings(joint_into(options, arms, options.out / _FILE), options)
    else:
        cells = asked(options, arms).cells()
        rows = played_into(options.out / _FILE, cells, options.jobs)
        found = findings_of(rows, cells, options)
    path = options.out / FINDINGS
    write_findings(found, path)
    broken = [each.setup.label for each in found.studies if each.sham and not each.sham.works]
    if options.json:
        print_json(findings_to_json(found))
    else:
        lines = [line for study in found.studies for line in _lines(study)]
        console().print(table(_HEADS, lines))
        console().print(f"findings: {path}; page: asyncguard bench report {path}")
    if broken:
        notice(f"the sham did not do its work, so there is no control: {', '.join(broken)}")
    return 1 if broken else 0


def findings_of(rows: Sequence[PlayedRow], cells: Sequence[Cell], options: Namespace) -> Findings:
    """Return what the runs show: a study for each agent, player, regime and challenge."""
    outcomes = [(row, outcome_of(row)) for row in rows]
    studies = []
    axes = product(options.agents, options.players, options.regimes, options.challenges)
    for agent, player, regime, challenge in axes:
        arms = Arms(
            setup=Setup(
                agent=f"{agent}, {challenge}",
                player=player,
                regime=regime,
                surface="native",
                declared=True,
            )
        )
        for row, outcome in outcomes:
            key = row.key
            if (key.agent, key.player, key.regime) == (agent, player, regime) and is_part(
                challenge, row
            ):
                place = (outcome.composition, outcome.seed)
                arms.outcomes.setdefault(outcome.arm, {})[place] = outcome
        if arms.outcomes:
            studies.append(study_of(arms, None, None, resamples=options.resamples))
    entries = {(each.case.dialogue, each.case.mission, each.case.history) for each in cells}
    settings = _settings(
        options,
        dialogues=sorted({each.case.dialogue for each in cells}),
        compositions=len(entries),
        sub_tasks=len(entries),
        data=digest_of([[*each] for each in sorted(entries)]),
        arms={each.arm for each in cells},
    )
    return Findings(settings=settings, studies=tuple(studies))


def joint_findings(rows: Sequence[JointRow], options: Namespace) -> Findings:
    """Return what runs of overlapping missions show: a study for each agent, player and regime."""
    outcomes = [(row.key, joint_outcome(row)) for row in rows]
    studies = []
    for agent, player, regime in product(options.agents, options.players, options.regimes):
        arms = Arms(
            setup=Setup(
                agent=f"{agent}, overlap {options.overlap}",
                player=player,
                regime=regime,
                surface="native",
                declared=True,
            )
        )
        for key, outcome in outcomes:
            if (key.agent, key.player, key.regime) == (agent, player, regime):
                place = (outcome.composition, outcome.seed)
                arms.outcomes.setdefault(outcome.arm, {})[place] = outcome
        if arms.outcomes:
            studies.append(study_of(arms, None, None, resamples=options.resamples))
    dialogues = sorted({row.key.dialogue for row in rows})
    settings = _settings(
        options,
        dialogues=dialogues,
        compositions=len(dialogues),
        sub_tasks=sum(len(shelf(each).written.missions) for each in dialogues),
        data=digest_of([options.overlap, *dialogues]),
        arms={row.key.arm for row in rows},
    )
    return Findings(settings=settings, studies=tuple(studies))


def joint_outcome(row: JointRow) -> Outcome:
    """Return a run of overlapping missions as the statistics of ablations take it: a composition of its missions."""
    notes, verdict = row.value["notes"], verdict_of(row)
    return Outcome(
        composition=row.key.dialogue,
        seed=row.key.seed,
        sources=frozenset({row.key.dialogue}),
        arm=row.key.arm,
        overall=all(verdict.passed),
        accurate=verdict.passed,
        calls=len(row.value["calls"]),
        rounds=row.value["messages_made"] + row.value["waiting_messages"],
        ticks=row.value["ticks"],
        premature_needed=verdict.premature.needed or 0,
        **_notes(row.key.arm, notes),
    )


def outcome_of(row: PlayedRow) -> Outcome:
    """Return a run as the statistics of ablations take it; a mission's success is that of the strict scorer."""
    notes, entry = row.value["notes"], row.entry
    passed = judge_strict(entry).passed
    early = premature_calls(row)
    return Outcome(
        composition=f"{row.key.dialogue}/{entry.position} {row.key.history}",
        seed=row.key.seed,
        sources=frozenset({row.key.dialogue}),
        arm=row.key.arm,
        overall=passed,
        accurate=(passed,),
        calls=len(row.value["calls"]),
        rounds=row.value["messages_made"] + row.value["waiting_messages"],
        ticks=row.value["ticks"],
        premature_needed=0 if early is None else early[1] or 0,
        **_notes(row.key.arm, notes),
    )


def _notes(arm: str, notes: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a player noted, in the words of an outcome."""
    interventions: dict[tuple[str, str], int] = {}
    for each in notes.get("interventions", ()):
        place = (each["guard"], each["verdict"])
        interventions[place] = interventions.get(place, 0) + 1
    switches = arm_of(arm).switched_on
    counts = ("refused", "refusals_wanted", "reminded", "reminders_wanted")
    return {
        "switches": switches,
        "involved": frozenset(notes.get("involved", ())) & switches,
        "interventions": interventions,
        **{name: int(notes.get(name, 0)) for name in counts},
    }


def _settings(
    options: Namespace,
    *,
    dialogues: Sequence[str],
    compositions: int,
    sub_tasks: int,
    data: str,
    arms: Iterable[str],
) -> Settings:
    return Settings(
        version=version("asyncguard"),
        command=shlex.join(["asyncguard", "bench", *options.argv]),
        suite="missions, held out" if options.held_out else "missions",
        compositions=compositions,
        sub_tasks=sub_tasks,
        sources=len(dialogues),
        seeds=tuple(range(options.repeats)),
        data=data,
        configs={arm: digest_of(arm_of(arm).to_json()) for arm in arms},
        resamples=options.resamples,
    )


def _lines(study: Study) -> Iterator[tuple[str, ...]]:
    setup = study.setup
    for each in study.effects:
        low, high = number(each.difference.low), number(each.difference.high)
        yield (
            *(f"{setup.agent} · {setup.player} · {setup.regime}", each.arm, each.against),
            *(str(each.pairs), number(each.against_value), number(each.difference.value)),
            *(f"{low} to {high}", number(each.p, 3), number(each.p_family, 3)),
        )
