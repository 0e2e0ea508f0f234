"""Faults of the calls of a run, found without asking any guard."""

from collections import Counter
from collections.abc import Iterator, Sequence

from asyncguard_benchmark.harness.environment import CallRecord
from asyncguard_benchmark.harness.scenario import GoldCall, SubTask
from asyncguard_benchmark.harness.scoring import checks
from asyncguard_benchmark.harness.scoring.canonical import CanonicalCall, canonical
from asyncguard_benchmark.harness.scoring.evidence import Evidence, Replay, replay
from asyncguard_benchmark.services.catalogue import tools_of


def wrong(task: SubTask, records: Sequence[CallRecord]) -> list[bool]:
    """Return for each call of a sub-task whether it is none of the gold calls that remained when it was made."""
    tools = tools_of(task)
    remaining = Counter(canonical(call.tool, call.arguments, tools) for call in task.gold)
    found = []
    for record in records:
        call: CanonicalCall = canonical(record.tool, record.arguments, tools)
        found.append(remaining[call] <= 0)
        remaining[call] -= 1
    return found


def irrecoverable(task: SubTask, records: Sequence[CallRecord]) -> list[bool]:
    """Return for each call whether it is the one after which the sub-task cannot be solved any more.

    An oracle goes on from the state that the calls so far have made. It knows the ground truth and
    may make any end of it again: the calls that remain, the last few calls, or all of it. It does
    not undo calls.
    """
    gold = replay(task, task.gold)
    found, lost = [], False
    for count in range(1, len(records) + 1):
        hopeless = lost or not _can_be_solved(task, records[:count], gold)
        found.append(hopeless and not lost)
        lost = hopeless
    return found


def _can_be_solved(task: SubTask, made: Sequence[CallRecord], gold: Replay) -> bool:
    for following in _continuations(task, made):
        evidence = Evidence(
            task=task, records=tuple(made), gold=gold, made=replay(task, [*made, *following])
        )
        if checks.trajectory(evidence) and checks.result(evidence) and checks.state(evidence):
            return True
    return False


def _continuations(task: SubTask, made: Sequence[CallRecord]) -> Iterator[Sequence[GoldCall]]:
    """Yield the attempts of an oracle: the gold calls that remain, then ever longer ends of the ground truth."""
    tools = tools_of(task)
    had = Counter(canonical(record.tool, record.arguments, tools) for record in made)
    remaining = []
    for call in task.gold:
        key = canonical(call.tool, call.arguments, tools)
        if had[key] > 0:
            had[key] -= 1
        else:
            remaining.append(call)
    yield remaining
    for start in range(len(task.gold), -1, -1):
        yield task.gold[start:]
