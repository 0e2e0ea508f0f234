"""``bench missions results``: play the published design of missions, and write its document."""

import time
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from asyncguard_benchmark.commands.output import console, notice, print_json, replace_text, table
from asyncguard_benchmark.harness.ablation.analysis import share
from asyncguard_benchmark.harness.ablation.design_file import check_frozen, code_digest, freeze
from asyncguard_benchmark.harness.ablation.findings import Findings, findings_to_json
from asyncguard_benchmark.harness.arms import NONE
from asyncguard_benchmark.harness.report import headlines as told
from asyncguard_benchmark.harness.report.blocks import Table
from asyncguard_benchmark.harness.report.result_cells import (
    difference_of,
    least_seen_of,
    name_of,
    value_of,
)
from asyncguard_benchmark.harness.report.results import opening_of, results
from asyncguard_benchmark.suites.missions.commands.ablate import (
    findings_of,
    outcome_of,
    settings_of,
    study_name,
)
from asyncguard_benchmark.suites.missions.commands.run import play_into, rows_of
from asyncguard_benchmark.suites.missions.design import (
    MissionBlock,
    MissionDesign,
    MissionHeadline,
    read_mission_design,
)
from asyncguard_benchmark.suites.missions.played_rows import MissionFile, PlayedRow
from asyncguard_benchmark.suites.missions.playing.grid import Cell, play
from asyncguard_benchmark.suites.missions.terms import LETTERS

COMMAND = "asyncguard bench missions results"
_SCORES = "the scores: overall is SR under `strict`, and a composition is one mission"
_TIMED = 3
"""Missions of each agent and arm that are timed before the design is played."""
_WASTE = 1.3
"""Processes start, wait for each other, and write and read the file."""


def execute(options: Namespace) -> int:
    """Run the command."""
    design = read_mission_design(options.design)
    if options.freeze:
        for change in freeze(options.design, design) or ["nothing has changed"]:
            console().print(change, soft_wrap=True)
        return 0
    check_frozen(design, options.design, COMMAND)
    # Runs of other code lie in a folder of their own and are never mixed in.
    path = options.runs / code_digest() / "missions.jsonl"
    cells = {block.name: list(block.cells(design.seeds)) for block in design.blocks}
    _announce(cells, path, options.jobs, design)
    if options.dry_run:
        return 0
    found, letters = {}, list[Table]()
    play_into(path, [each for block in cells.values() for each in block], options.jobs)
    for block in design.blocks:
        rows = rows_of(path, cells[block.name])
        found[block.name] = _findings(block, cells[block.name], rows, options)
        letters.append(_by_letter(block, rows))
    headlines = [_headline(each, found, design) for each in design.headlines]
    tables = [_beside_none(found), *letters]
    _write(options, design, list(found.values()), headlines, tables)
    broken = [each.name for each in headlines if each.broken]
    if broken:
        notice(f"the sham did not do its work, so there is no control: {', '.join(broken)}")
    return 1 if broken else 0


def _announce(
    cells: Mapping[str, Sequence[Cell]], path: Path, jobs: int, design: MissionDesign
) -> None:
    """Say what is left to play and how long it takes, by a few missions that are played for that and not kept."""
    total = 0.0
    with MissionFile(path) as file:
        known = {*file.known}
    for name, asked in cells.items():
        missing = [cell for cell in asked if cell.key not in known]
        seconds = _expected(missing) / jobs
        total += seconds
        notice(f"{name}: {len(missing)} of {len(asked)} runs are left, {seconds / 60:.1f} minutes")
    notice(
        f"all of it: about {total / 60:.0f} minutes on {jobs} processes; the design allows {design.minutes} on 2"
    )


def _expected(missing: Sequence[Cell]) -> float:
    """Return the processor seconds that runs take."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in missing:
        groups.setdefault((cell.agent, cell.arm), []).append(cell)
    seconds = 0.0
    for asked in groups.values():
        chosen = asked[:: max(1, len(asked) // _TIMED)]
        play(chosen[0])  # loads what it needs
        started = time.process_time()
        for cell in chosen:
            play(cell)
        seconds += (time.process_time() - started) / len(chosen) * len(asked)
    return seconds * _WASTE


def _findings(
    block: MissionBlock, cells: Sequence[Cell], rows: Sequence[PlayedRow], options: Namespace
) -> Findings:
    settings = settings_of(
        cells,
        command=f"{COMMAND} --design {options.design}, block {block.name}",
        suite=f"missions, {block.split}",
        resamples=options.resamples,
    )
    return findings_of(rows, (block.challenge,), replace(settings, every=block.every))


def _headline(
    wanted: MissionHeadline, found: Mapping[str, Findings], design: MissionDesign
) -> told.Headline:
    name = study_name(wanted.agent, design.block(wanted.block).challenge)
    played = found[wanted.block]
    return told.Headline(
        name=wanted.name, study=told.study_in(played, name), tasks=played.settings.sources
    )


def _beside_none(found: Mapping[str, Findings]) -> Table:
    """Return every arm beside none: it is where the guards that are off by default stand."""
    lines = [
        (
            *(block, name_of(study.setup), str(study.setup.regime), effect.arm),
            *(difference_of(effect), _adjusted(effect.p_family), least_seen_of(effect)),
            *(effect.harm.value, str(effect.pairs)),
        )
        for block, each in found.items()
        for study in each.studies
        for effect in study.effects
        if effect.against == NONE
    ]
    return Table(
        title="Each arm beside none",
        heads=(
            *("block", "agent", "delay", "arm", "arm - none", "p max-t", "can miss", "harm"),
            "pairs",
        ),
        lines=lines,
        note="`with-provenance` and `with-memory` are all guards and one that is off by default. The sham imitates "
        "the guards that are on by default, so these two arms have no control for feedback of their own.",
    )


def _adjusted(p: float | None) -> str:
    if p is None:
        return "-"
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _by_letter(block: MissionBlock, rows: Sequence[PlayedRow]) -> Table:
    """Return SR by agent, action type and arm: where in the missions a guard has its effect."""
    outcomes = [(row, outcome_of(row)) for row in rows]

    def figure(agent: str, letter: str, arm: str) -> str:
        chosen = [
            outcome
            for row, outcome in outcomes
            if (row.key.agent, row.entry.letter, row.key.arm) == (agent, letter, arm)
        ]
        return value_of(share([each.overall for each in chosen], [each.sources for each in chosen]))

    def lines() -> Iterator[tuple[str, ...]]:
        for agent in block.agents:
            for letter in LETTERS:
                of = [row for row, _ in outcomes if row.key.agent == agent]
                missions = {row.entry.key for row in of if row.entry.letter is letter}
                yield (
                    *(agent, letter.value, str(len(missions))),
                    *(figure(agent, letter, arm) for arm in block.arms),
                )

    return Table(
        title=f"SR by action type, block {block.name}",
        heads=("agent", "type", "missions", *block.arms),
        lines=list(lines()),
        note="s: one call, m: several, c: a value has to be asked for, t: nothing is to be called.",
    )


def _write(
    options: Namespace,
    design: MissionDesign,
    found: Sequence[Findings],
    headlines: Sequence[told.Headline],
    tables: Sequence[Table],
) -> None:
    """Write the document and its picture, and print the headlines."""
    picture: Path = options.out.with_suffix(".svg")
    replace_text(picture, told.picture(headlines))
    text = results(
        found,
        tables,
        headlines=headlines,
        reach=design.reach,
        figure=picture.name,
        about=_about(options.design, design),
    )
    replace_text(options.out, text)
    if options.json:
        print_json({"file": str(options.out), "findings": [*map(findings_to_json, found)]})
        return
    lines = told.headline_lines(headlines, design.reach)
    console().print(table(told.HEADS, lines, title="All guards beside the sham"))
    console().print(str(options.out), markup=False, soft_wrap=True)


def _about(path: Path, design: MissionDesign) -> str:
    reasons = "\n".join(
        f"- {kind}{each.name}: {each.why}"
        for kind, group in (("", design.headlines), ("block ", design.blocks))
        for each in group
    )
    name = f"[{path.name}]({path.name})"
    return (
        f"{opening_of(design.made_by, _SCORES)}\n\nThe design, {name}, was committed before it was played. "
        f"{design.about}\n\n{reasons}"
    )
