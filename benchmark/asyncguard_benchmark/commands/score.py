"""``bench score``: judge saved episodes by executing everything again; no saved response is believed."""

import gc
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from asyncguard_benchmark.commands.output import console, harmless, notice, print_json, table
from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.episode_key import EpisodeKey, key_of_episode
from asyncguard_benchmark.harness.journal import Line, read_lines
from asyncguard_benchmark.harness.report.figures import COLUMNS, Tally, cells
from asyncguard_benchmark.harness.rereading import NotReadableAgainError, read_as_paper
from asyncguard_benchmark.harness.scoring.verdict import Score

_ALLOCATIONS = 100_000
"""Containers that are made between two collections."""


class UnscorableError(BenchmarkError):
    """A file holds something else than episodes."""


def execute(options: Namespace) -> int:
    """Run the command."""
    with _few_collections():
        return _scored(options)


@contextmanager
def _few_collections() -> Iterator[None]:
    """Let the collector of cycles rest: an episode has none, and looking for them takes as long as reading it."""
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()


def _scored(options: Namespace) -> int:
    tally, bad, left_out = Tally(), [], list[str]()
    seen: dict[EpisodeKey, int] = {}
    for line in read_lines(options.file):
        if line.episode is None:
            bad.append(_bad(line, partial=options.partial))
            continue
        key = key_of_episode(line.episode)
        if seen.setdefault(key, line.number) != line.number:
            notice(f"{options.file}:{line.number}: says what line {seen[key]} says; counted once")
            continue
        try:
            episode = read_as_paper(line.episode) if options.contract else line.episode
        except NotReadableAgainError as problem:
            left_out.append(f"line {line.number}: {problem}")
            continue
        judged = tally.add(episode)
        if options.explain and not judged.overall:
            _explain(line.number, judged)
    figures = tally.figures()
    if left_out:
        notice(f"{len(left_out)} of {len(seen)} episodes were not read again; {left_out[0]}")
    if not figures:
        raise UnscorableError(f"{options.file} holds no episode that can be scored")
    if bad:
        notice(
            f"this score is partial: {len(bad)} of {len(bad) + len(seen)} episodes cannot be read"
        )
    if options.json:
        rows = [row.to_json() for row in figures]
        print_json(
            {
                "file": str(options.file),
                "partial": bool(bad),
                "unreadable": bad,
                "not_read_again": left_out,
                "conditions": rows,
            }
        )
    else:
        console().print(table(COLUMNS, map(cells, figures), title="partial score" if bad else None))
    return 0


def _bad(line: Line, *, partial: bool) -> str:
    problem = line.problem or ""
    if not partial:
        raise UnscorableError(f"{problem}\nNothing was scored; --partial leaves such lines out.")
    notice(problem)
    return problem


def _explain(number: int, judged: Score) -> None:
    for task in judged.sub_tasks:
        for finding in task.findings:
            sys.stderr.write(
                harmless(f"line {number}, {judged.composition_id}, {task.task_id}: {finding}")
                + "\n"
            )
