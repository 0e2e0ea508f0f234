"""Counting for `bench score`: in several processes where the file is long."""

import multiprocessing
import os
import signal
import sys
import threading
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from asyncguard_benchmark.commands.output import notice
from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.episode_key import EpisodeKey, key_of_episode
from asyncguard_benchmark.harness.journal import Line, Part, parts_of, read_lines
from asyncguard_benchmark.harness.report.figures import Group, Tally
from asyncguard_benchmark.harness.rereading import NotReadableAgainError, read_as_paper
from asyncguard_benchmark.harness.scoring.breakdown import Breakdown
from asyncguard_benchmark.harness.scoring.verdict import Score

_WORTH = 2**24
"""Bytes of a file for each process: of 1,000 episodes, about."""


class UnscorableError(BenchmarkError):
    """A file holds something else than episodes."""


class _InOrderError(BenchmarkError):
    """A line cannot be read, or says what an earlier one says: what is told depends on all lines before it."""


@dataclass(kw_only=True)
class Counted:
    """Counts of a file, or of a part of it."""

    tally: Tally = field(default_factory=Tally)
    split: dict[Group, Breakdown] = field(default_factory=dict)
    """Empty unless figures are to be split."""
    findings: list[str] = field(default_factory=list)
    """Reasons why sub-tasks were not solved; empty unless they are asked for."""
    seen: dict[EpisodeKey, int] = field(default_factory=dict)
    """Episode to the number of its first line."""
    bad: list[str] = field(default_factory=list)
    """Problems of the lines that cannot be read."""
    left_out: list[str] = field(default_factory=list)
    """Reasons why episodes were not read again under the paper's contract."""

    def join(self, later: "Counted") -> None:
        """Count what was counted of the next part.

        Raises:
            _InOrderError: both hold an episode.
        """
        if not self.seen.keys().isdisjoint(later.seen):
            raise _InOrderError
        self.tally.join(later.tally)
        for group, breakdown in later.split.items():
            self.split.setdefault(group, Breakdown()).join(breakdown)
        self.findings += later.findings
        self.seen |= later.seen
        self.left_out += later.left_out


def counted(options: Namespace) -> Counted:
    """Return what is counted of a file; the order of its lines decides what is told, however many processes read them.

    Args:
        options: Of `bench score`.

    Raises:
        UnscorableError: a line cannot be read, and such lines are not to be left out.
    """
    parts = parts_of(options.file, _processes(options))
    if len(parts) > 1:
        try:
            return _side_by_side(options, parts)
        except (_InOrderError, EOFError):  # EOFError: a process was killed, as where memory ends
            pass
    return _count(options, Part(), in_order=True)


def _processes(options: Namespace) -> int:
    # Two processes cannot read one pipe. A fork has the locks of other threads, and not the threads that would
    # release them.
    if not options.file.is_file() or sys.platform != "linux" or threading.active_count() > 1:
        return 1
    worth = max(options.file.stat().st_size // _WORTH, 1)
    return int(options.jobs or min(worth, len(os.sched_getaffinity(0))))


def _side_by_side(options: Namespace, parts: Sequence[Part]) -> Counted:
    """Count the first part here, and each other one in a process that knows what is imported.

    Raises:
        _InOrderError: the parts have to be counted in order.
        EOFError: a process was killed.
    """
    context = multiprocessing.get_context("fork")
    readers: list[Connection] = []
    processes: list[BaseProcess] = []
    try:
        for part in parts[1:]:
            reader, writer = context.Pipe(duplex=False)
            process = context.Process(target=_send, args=(options, part, writer), daemon=True)
            process.start()
            writer.close()
            readers.append(reader)
            processes.append(process)
        found = _count(options, parts[0])
        for reader in readers:
            later = reader.recv()
            if later is None:
                raise _InOrderError
            found.join(later)
        return found
    finally:
        for each in processes:
            each.kill()  # one that is not done is not needed
            each.join()


def _send(options: Namespace, part: Part, writer: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a traceback for each process tells nothing
    try:
        found = _count(options, part)
    except BenchmarkError:
        writer.send(None)
    else:
        writer.send(found)


def _count(options: Namespace, part: Part, *, in_order: bool = False) -> Counted:
    """Count a part.

    Args:
        options: Of `bench score`.
        part: The part.
        in_order: True if everything before it has been counted.

    Raises:
        UnscorableError: a line cannot be read.
        _InOrderError: it has to be counted in order.
    """
    found = Counted()
    for number, episode in _episodes(options, part, found, in_order=in_order):
        judged = found.tally.add(episode)
        if options.by:
            found.split.setdefault(Group.of(episode), Breakdown()).add(episode, judged)
        if options.explain and not judged.overall:
            found.findings += _findings(number, judged)
    return found


def _episodes(
    options: Namespace, part: Part, found: Counted, *, in_order: bool
) -> Iterator[tuple[int, Episode]]:
    """Yield the episodes of a part, once each, with the numbers of their lines."""
    for line in read_lines(options.file, part):
        if line.episode is None:
            if not in_order:
                raise _InOrderError
            found.bad.append(_bad(line, partial=options.partial))
            continue
        key = key_of_episode(line.episode)
        if (first := found.seen.setdefault(key, line.number)) != line.number:
            if not in_order:
                raise _InOrderError
            notice(f"{options.file}:{line.number}: says what line {first} says; counted once")
            continue
        try:
            yield line.number, read_as_paper(line.episode) if options.contract else line.episode
        except NotReadableAgainError as problem:
            found.left_out.append(f"line {line.number}: {problem}")


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
