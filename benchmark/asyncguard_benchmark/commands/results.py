"""``bench results``: plays the published design and writes its document, or puts several ablations into one."""

import io
import math
import os
import re
from argparse import Namespace
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

from asyncguard.cli.output import refuse_input, replace_text
from asyncguard_benchmark.commands.output import console, notice, print_json, table, with_progress
from asyncguard_benchmark.commands.replay import recorded_tools
from asyncguard_benchmark.commands.report import FINDINGS
from asyncguard_benchmark.errors import BenchmarkError, ForeignCodeRefused
from asyncguard_benchmark.harness.ablation.design_file import (
    RUN,
    DesignFile,
    Headline,
    TableSet,
    check_frozen,
    code_digest,
    freeze,
    read_design,
)
from asyncguard_benchmark.harness.ablation.findings import (
    Findings,
    findings_to_json,
    read_findings,
    write_findings,
)
from asyncguard_benchmark.harness.ablation.run import Ablation
from asyncguard_benchmark.harness.ablation.units import Task, play_unit
from asyncguard_benchmark.harness.arms import ALL, arm_of
from asyncguard_benchmark.harness.episode_key import EpisodeKey, key_of_episode
from asyncguard_benchmark.harness.journal import read_lines
from asyncguard_benchmark.harness.names import Facet
from asyncguard_benchmark.harness.replay.conversations import Conversation, read_conversations
from asyncguard_benchmark.harness.replay.counts import summed
from asyncguard_benchmark.harness.replay.play import Setting, play
from asyncguard_benchmark.harness.report import headlines as told
from asyncguard_benchmark.harness.report.blocks import Table
from asyncguard_benchmark.harness.report.breakdown_tables import tables_by
from asyncguard_benchmark.harness.report.figures import Group
from asyncguard_benchmark.harness.report.results import opening_of, results
from asyncguard_benchmark.harness.scoring.breakdown import Breakdown
from asyncguard_benchmark.harness.scoring.verdict import score
from asyncguard_benchmark.harness.suites import registry

_TIMED = 3
"""Units of each agent that are timed before the design is played."""
_WASTE = 1.15
"""Processes wait for each other and for the file: what is measured in one process is a little less than it takes."""


class TablesError(BenchmarkError):
    """An episode that tables of the document show could not be played."""


def execute(options: Namespace) -> int:
    """Run the command."""
    if options.findings:
        paths = [path / FINDINGS if path.is_dir() else path for path in options.findings]
        refuse_input(options.out, paths)
        found = [read_findings(path) for path in paths]
        return _written(options, found, told.of_findings(found), _split_tables(options))
    if options.freeze:
        for change in freeze(options.design, read_design(options.design)) or [
            "nothing has changed"
        ]:
            console().print(change, soft_wrap=True)
        return 0
    design = read_design(options.design)
    check_frozen(design, options.design)
    # Episodes of other code lie in a folder of their own and are never mixed in.
    folder = options.runs / code_digest()
    blocks = {
        block.name: Ablation(design=plan, folder=folder / block.name, jobs=options.jobs)
        for block, plan in design.designs(_packages(options, design))
    }
    _announce(options, design, list(blocks.values()))
    if options.dry_run:
        return 0
    found = [_played(options, name, ablation) for name, ablation in blocks.items()]
    by_name = dict(zip(blocks, found, strict=True))
    headlines = [_headline(each, by_name) for each in design.headlines]
    further = [
        *(made for each in design.tables for made in _tables(each, folder / "tables", options)),
        *_split_tables(options),
    ]
    return _written(options, found, headlines, further, design)


def _packages(options: Namespace, design: DesignFile) -> Path | None:
    """Return the folder of packages of other benchmarks, if the design needs it; they are checked before anything runs.

    Raises:
        ForeignCodeRefused: their code would run, and the option that allows it was not given.
        MissingPackageError: one is not there.
    """
    needed = [block for block in design.blocks if block.package is not None]
    if not needed:
        return None
    if not options.run_foreign_code:
        named = ", ".join(
            f"{each.package.requirement} ({each.name})" for each in needed if each.package
        )
        raise ForeignCodeRefused(
            f"the design plays tools of other benchmarks, which are Python code from outside: {named}. Say "
            "--run-foreign-code to run it in bounded processes without network (a guard-rail, no security boundary)"
        )
    for block in needed:
        if block.package is not None:
            block.package.found_in(options.packages)
    packages: Path = options.packages
    return packages


def _announce(options: Namespace, design: DesignFile, blocks: Sequence[Ablation]) -> None:
    """Say what is left to play, and how long it takes: a few units of each agent are played for that and not kept."""
    total = 0.0
    for block, ablation in zip(design.blocks, blocks, strict=True):
        missing = ablation.missing()
        seconds = expected(ablation, _TIMED) if missing else 0.0
        total += seconds / options.jobs
        notice(
            f"{block.name}: {len(missing)} of {ablation.total()} units are to be played, about "
            f"{seconds / options.jobs / 60:.1f} minutes"
        )
    for wanted in design.tables:
        notice(
            f"tables of {wanted.name}: {wanted.minutes:g} minutes if nothing of it is played yet"
        )
    total += 120 * sum(each.minutes for each in design.tables) / options.jobs
    notice(
        f"all of it: about {total / 60:.0f} minutes on {options.jobs} processes; "
        f"the design allows {design.minutes} on 2"
    )


def expected(ablation: Ablation, timed: int) -> float:
    """Return the processor seconds that the missing units take, by a few that are played for it and not kept."""
    groups: dict[tuple[str, object, tuple[str, ...]], list[Task]] = {}
    for unit in ablation.missing():
        agent = re.split("[:,]", unit.condition.agent.label)[0]
        key = (agent, unit.condition.regime, unit.arms)
        groups.setdefault(key, []).append(Task(unit=unit))
    seconds = 0.0
    for tasks in groups.values():
        chosen = tasks[:: math.ceil(len(tasks) / timed)]
        play_unit(chosen[0])  # loads what the agent needs
        started = _processor_seconds()
        for task in chosen:
            play_unit(task)
        seconds += (_processor_seconds() - started) / len(chosen) * len(tasks)
    return seconds * _WASTE


def _processor_seconds() -> float:
    """Return the time of this process and of those that it has ended: foreign tools run in processes of their own."""
    return sum(os.times()[:4])


def _played(options: Namespace, name: str, ablation: Ablation) -> Findings:
    for result in with_progress(ablation.play(), ablation.total(), f"units of {name}"):
        for failure in result.failures:
            notice(
                f"{failure.key.composition} under {failure.key.arm} ended by an error: {failure.error}"
            )
    for text in ablation.notices:
        notice(text)
    command = f"asyncguard bench results --design {options.design}, block {name}"
    found = ablation.findings(command, resamples=options.resamples)
    write_findings(found, ablation.folder / FINDINGS)
    return found


def _headline(wanted: Headline, found: dict[str, Findings]) -> told.Headline:
    if not wanted.block:
        return told.Headline(name=wanted.name, note=wanted.elsewhere or _recorded(wanted))
    return told.Headline(
        name=wanted.name,
        study=told.study_in(found[wanted.block], wanted.agent),
        band=told.band_of(found[wanted.band], wanted.agent) if wanted.band else None,
        tasks=found[wanted.block].settings.sources,
    )


def _tables(wanted: TableSet, folder: Path, options: Namespace) -> Sequence[Table]:
    """Play what a set of tables shows, where that is not done yet, and return the tables.

    Raises:
        TablesError: the command failed; what it said of it stands on the standard error.
    """
    from asyncguard_benchmark.commands import main  # noqa: PLC0415 - it loads this module

    splits = wanted.verb == RUN
    out = folder / (f"{wanted.name}.jsonl" if splits else wanted.name)
    folder.mkdir(parents=True, exist_ok=True)
    for command, words in zip(wanted.commands, wanted.words, strict=True):
        # Its own tables are not those of the document.
        with redirect_stdout(io.StringIO()):
            code = main([*words, "--json", "--out", str(out), "--jobs", str(options.jobs)])
        if code:
            raise TablesError(f"tables of {wanted.name}: `asyncguard bench {command}` failed")
    if splits:
        made: Sequence[Table] = tables_by(wanted.facets, _split([out]))
    else:
        suite, reference = registry().published[wanted.verb]
        made = suite.load(reference)(out)
    if not made:
        raise TablesError(f"tables of {wanted.name}: {out} holds nothing to split")
    played = " and ".join(f"`asyncguard bench {command}`" for command in wanted.commands)
    first = replace(made[0], note=f"{played}: {wanted.why}. {made[0].note}".strip())
    return [first, *made[1:]]


def _recorded(wanted: Headline) -> str:
    """Return what guards do to recorded conversations, which cannot be scored and do not react to a sham."""
    read = [each for path in wanted.recorded for each in read_conversations(Path(path))]
    tools = recorded_tools(Path(wanted.tools) if wanted.tools else None)
    setting = Setting(tools=tools, config=arm_of(ALL).config)
    counts = summed(play([each], setting) for each in read if isinstance(each, Conversation)).counts
    return f"no verdicts; {counts['made']} of {counts['recorded']} recorded calls pass all guards"


def _written(
    options: Namespace,
    found: Sequence[Findings],
    headlines: Sequence[told.Headline],
    further: Sequence[Table],
    design: DesignFile | None = None,
) -> int:
    reach = told.REACH if design is None else design.reach
    picture: Path = options.out.with_suffix(".svg")
    drawn = any(each.effect is not None for each in headlines)
    if drawn:
        replace_text(picture, told.picture(headlines))
    text = results(
        found,
        further,
        headlines=headlines,
        reach=reach,
        figure=picture.name if drawn else "",
        about="" if design is None else _about(options.design, design),
    )
    replace_text(options.out, text)
    if options.json:
        kept = [findings_to_json(each) for each in found]
        print_json({"file": str(options.out), "findings": kept})
    else:
        out = console()
        out.print(
            table(
                told.HEADS,
                told.headline_lines(headlines, reach),
                title="All guards beside the sham",
            )
        )
        title, _, heads, lines = told.power(headlines, reach)
        out.print(table(heads, lines, title=title))
        out.print(str(options.out), markup=False, soft_wrap=True)
    broken = [each.name for each in headlines if each.broken]
    if broken:
        notice(f"the sham did not do its work, so there is no control: {', '.join(broken)}")
    invalid = any(not arm.valid for each in found for study in each.studies for arm in study.arms)
    return 1 if broken or (invalid and design is not None) else 0


def _about(path: Path, design: DesignFile) -> str:
    reasons = "\n".join(f"- {each.name}: {each.why}" for each in design.headlines)
    blocks = "\n".join(f"- block `{each.name}`: {each.why}" for each in design.blocks)
    name = f"[{path.name}]({path.name})"
    return (
        f"{opening_of(design.made_by)}\n\nThe design, {name}, was committed before it was played. "
        f"{design.about}\n\n{reasons}\n\n{blocks}"
    )


def _split_tables(options: Namespace) -> list[Table]:
    return tables_by(Facet, _split(options.episodes))


def _split(paths: Iterable[Path]) -> dict[Group, Breakdown]:
    """Return the verdicts of all conditions in some files; an episode that is there twice counts once."""
    found: dict[Group, Breakdown] = {}
    seen: set[EpisodeKey] = set()
    for path in paths:
        for line in read_lines(path):
            if line.episode is None:
                notice(f"left out: {line.problem}")
            elif (key := key_of_episode(line.episode)) not in seen:
                seen.add(key)
                place = Group.of(line.episode)
                found.setdefault(place, Breakdown()).add(line.episode, score(line.episode))
    return found
