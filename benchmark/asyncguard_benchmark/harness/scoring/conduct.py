"""Conduct of an agent: its switches between tasks, and its calls ahead of results."""

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

from asyncguard_benchmark.harness.environment import CallRecord
from asyncguard_benchmark.harness.scoring.evidence import Evidence


def same_task_streak(trajectory: Sequence[CallRecord]) -> int:
    """Return the length of the longest run of calls with one sub-task id; turns without a call do not break it."""
    return max(
        (len(list(run)) for _, run in groupby(trajectory, key=attrgetter("task_id"))),
        default=0,
    )


def premature_calls(evidence: Evidence) -> tuple[int, int]:
    """Count calls issued while the sub-task had a pending call.

    Returns:
        Number of calls that needed a value of a pending call, and of those that did not. The
        ground truth of a call's step says what it needs.
    """
    needed = harmless = 0
    steps = _steps(evidence)
    for record in evidence.records:
        if not record.premature:
            continue
        step = steps.get(record.number)
        sources = evidence.task.gold[step].needs() if step is not None else frozenset()
        if any(steps.get(number) in sources for number in record.pending_before):
            needed += 1
        else:
            harmless += 1
    return needed, harmless


def _steps(evidence: Evidence) -> dict[int, int]:
    """Return the gold step of each call, by number: the next one with its tool, or the last one if all are taken."""
    steps: dict[int, int] = {}
    for record in evidence.records:
        fitting = [
            position for position, call in enumerate(evidence.task.gold) if call.tool == record.tool
        ]
        free = [position for position in fitting if position not in steps.values()]
        if fitting:
            steps[record.number] = free[0] if free else fitting[-1]
    return steps
