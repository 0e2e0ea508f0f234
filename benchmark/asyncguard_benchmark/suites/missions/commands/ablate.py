"""``bench missions ablate``: what guards are worth in missions, with the statistics of all ablations."""

import shlex
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
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
from asyncguard_benchmark.suites.missions.commands.overlap import joint_into, plays_overlap
from asyncguard_benchmark.suites.missions.commands.played import (
    EVERY_MISSION,
    is_part,
    premature_calls,
)
from asyncguard_benchmark.suites.missions.commands.run import asked, estimated, played_into
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
        rows = joint_into(options, arms, options.out / _FILE)
        return _tell(joint_findings(rows, options, _suite(options)), options.out, options)
    cells = asked(options, arms).cells()
    if options.dry_run:
        return estimated(options, cells)
    return compare(options, cells, options.out, _suite(options))


def _suite(options: Namespace) -> str:
    return "missions, held out" if options.held_out else "missions"


def compare(options: Namespace, cells: Sequence[Cell], folder: Path, suite: str) -> int:
    """Play runs into a folder and compare their arms.

    Args:
        options: The command line.
        cells: The runs.
        folder: Where runs and findings go.
        suite: Name of the missions, for findings.
    """
    rows = played_into(folder / _FILE, cells, options)
    settings = settings_of(
        cells,
        command=shlex.join(["asyncguard", "bench", *options.argv]),
        suite=suite,
        resamples=options.resamples,
    )
    return _tell(findings_of(rows, options.challenges, settings), folder, options)


def _tell(found: Findings, folder: Path, options: Namespace) -> int:
    """Write and print findings; return 1 if a sham did not do its work."""
    path = folder / FINDINGS
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


def findings_of(
    rows: Sequence[PlayedRow], challenges: Sequence[str], settings: Settings
) -> Findings:
    """Return what runs show: a study for each agent, player, regime and challenge.

    Args:
        rows: The runs.
        challenges: The parts of them that are told apart, by the names of the command line.
        settings: What was played.
    """
    studies: dict[tuple[str, str, str, str], Arms] = {}
    for row in rows:
        key, outcome = row.key, outcome_of(row)
        for challenge in (each for each in challenges if is_part(each, row)):
            place = (key.agent, key.player, key.regime, challenge)
            setup = Setup(
                agent=study_name(key.agent, challenge),
                player=key.player,
                regime=key.regime,
                surface="native",
                declared=True,
            )
            arms = studies.setdefault(place, Arms(setup=setup))
            arms.outcomes.setdefault(outcome.arm, {})[outcome.composition, outcome.seed] = outcome
    made = (study_of(each, None, None, resamples=settings.resamples) for each in studies.values())
    return Findings(settings=settings, studies=tuple(made))


def study_name(agent: str, challenge: str) -> str:
    """Return the name under which findings hold an agent in a challenge."""
    return agent if challenge == EVERY_MISSION else f"{agent}, {challenge}"


def joint_findings(rows: Sequence[JointRow], options: Namespace, suite: str) -> Findings:
    """Return what runs of overlapping missions show: a study for each agent, player and regime."""
    studies: dict[tuple[str, str, str], Arms] = {}
    for row in rows:
        key, outcome = row.key, joint_outcome(row)
        setup = Setup(
            agent=f"{key.agent}, overlap {key.overlap}",
            player=key.player,
            regime=key.regime,
            surface="native",
            declared=True,
        )
        arms = studies.setdefault((key.agent, key.player, key.regime), Arms(setup=setup))
        arms.outcomes.setdefault(outcome.arm, {})[outcome.composition, outcome.seed] = outcome
    made = (study_of(each, None, None, resamples=options.resamples) for each in studies.values())
    dialogues = sorted({row.key.dialogue for row in rows})
    settings = Settings(
        version=version("asyncguard"),
        command=shlex.join(["asyncguard", "bench", *options.argv]),
        suite=suite,
        compositions=len(dialogues),
        sub_tasks=sum(len(shelf(each).written.missions) for each in dialogues),
        sources=len(dialogues),
        seeds=tuple(range(options.repeats)),
        data=digest_of([options.overlap, *dialogues]),
        configs={arm: digest_of(arm_of(arm).to_json()) for arm in {row.key.arm for row in rows}},
        resamples=options.resamples,
    )
    return Findings(settings=settings, studies=tuple(made))


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


def settings_of(cells: Sequence[Cell], *, command: str, suite: str, resamples: int) -> Settings:
    """Return what findings say of the runs that they come from."""
    entries = {(each.case.dialogue, each.case.mission, each.case.history) for each in cells}
    dialogues = sorted({each.case.dialogue for each in cells})
    return Settings(
        version=version("asyncguard"),
        command=command,
        suite=suite,
        compositions=len(entries),
        sub_tasks=len(entries),
        sources=len(dialogues),
        seeds=tuple(sorted({each.case.seed for each in cells})),
        data=digest_of([[*each] for each in sorted(entries)]),
        configs={arm: digest_of(arm_of(arm).to_json()) for arm in {each.arm for each in cells}},
        resamples=resamples,
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
