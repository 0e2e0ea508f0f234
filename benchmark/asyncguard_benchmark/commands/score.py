"""``bench score``: judge saved episodes by executing everything again; no saved response is believed."""

import gc
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from asyncguard_benchmark.commands.output import console, harmless, notice, print_json, table
from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.episode_key import EpisodeKey, key_of_episode
from asyncguard_benchmark.harness.journal import Line, read_lines
from asyncguard_benchmark.harness.names import Facet
from asyncguard_benchmark.harness.report.breakdown_tables import rows_by, tables_by
from asyncguard_benchmark.harness.report.figures import COLUMNS, Group, Tally, cells
from asyncguard_benchmark.harness.rereading import NotReadableAgainError, read_as_paper
from asyncguard_benchmark.harness.scoring.breakdown import Breakdown
from asyncguard_benchmark.harness.scoring.verdict import Score

_ALLOCATIONS = 100_000
"""Containers that are made between two collections."""
_NEVER = 1_000_000
"""Collections of the middle generation before a full one."""


class UnscorableError(BenchmarkError):
    """A file holds something else than episodes."""


def execute(options: Namespace) -> int:
    """Run the command."""
    with _few_collections():
        return _scored(options)


@contextmanager
def _few_collections() -> Iterator[None]:
    """Let the collector of cycles rest: an episode has none, and looking for them takes as long as reading it."""
    young, middle, _ = thresholds = gc.get_threshold()
    # Full collections alone would look through what was there before. To freeze it instead needs the number of objects
    # that the caller has frozen, as releasing one's own releases them, too; and Python counts them one by one.
    gc.set_threshold(max(young, _ALLOCATIONS), middle, _NEVER)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def _scored(options: Namespace) -> int:
    tally, facets, split = Tally(), [Facet(each) for each in options.by], dict[Group, Breakdown]()
    reading, findings = _Reading(), list[str]()
    for number, episode in _episodes(options, reading):
        judged = tally.add(episode)
        if facets:
            split.setdefault(Group.of(episode), Breakdown()).add(episode, judged)
        if options.explain and not judged.overall:
            findings += _findings(number, judged)
    figures = tally.figures()
    if not options.json:
        sys.stderr.writelines(f"{harmless(each)}\n" for each in findings)
    reading.tell()
    if not figures:
        raise UnscorableError(f"{options.file} holds no episode that can be scored")
    if options.json:
        rows = [row.to_json() for row in figures]
        by = {each.value: [row.to_json() for row in rows_by(each, split)] for each in facets}
        print_json(
            {
                "file": str(options.file),
                "partial": bool(reading.bad),
                "unreadable": reading.bad,
                "not_read_again": reading.left_out,
                "conditions": rows,
                **({"by": by} if by else {}),
                **({"findings": findings} if options.explain else {}),
            }
        )
        return 0
    out = console()
    out.print(table(COLUMNS, map(cells, figures), title="partial score" if reading.bad else None))
    for each in tables_by(facets, split):
        out.print()
        out.print(table(each.heads, each.lines, title=each.title))
        out.print(each.note)
    return 0


@dataclass(kw_only=True)
class _Reading:
    """Notes on the lines of a file."""

    seen: dict[EpisodeKey, int] = field(default_factory=dict)
    """Episode to the number of its first line."""
    bad: list[str] = field(default_factory=list)
    """Problems of the lines that cannot be read."""
    left_out: list[str] = field(default_factory=list)
    """Reasons why episodes were not read again under the paper's contract."""

    def tell(self) -> None:
        """Say what is missing in the score."""
        if self.left_out:
            notice(
                f"{len(self.left_out)} of {len(self.seen)} episodes were not read again; {self.left_out[0]}"
            )
        if self.bad:
            total = len(self.bad) + len(self.seen)
            notice(f"this score is partial: {len(self.bad)} of {total} episodes cannot be read")


def _episodes(options: Namespace, reading: _Reading) -> Iterator[tuple[int, Episode]]:
    """Yield the episodes of the file, once each, with the numbers of their lines."""
    for line in read_lines(options.file):
        if line.episode is None:
            reading.bad.append(_bad(line, partial=options.partial))
            continue
        key = key_of_episode(line.episode)
        if (first := reading.seen.setdefault(key, line.number)) != line.number:
            notice(f"{options.file}:{line.number}: says what line {first} says; counted once")
            continue
        try:
            yield line.number, read_as_paper(line.episode) if options.contract else line.episode
        except NotReadableAgainError as problem:
            reading.left_out.append(f"line {line.number}: {problem}")


def _bad(line: Line, *, partial: bool) -> str:
    problem = line.problem or ""
    if not partial:
        raise UnscorableError(f"{problem}\nNothing was scored; --partial leaves such lines out.")
    notice(problem)
    return problem


def _findings(line: int, judged: Score) -> Iterator[str]:
    for task in judged.sub_tasks:
        for finding in task.findings:
            yield f"line {line}, {judged.composition_id}, {task.task_id}: {finding}"
