"""Evidence for the scorers of one sub-task: ground truth and trajectory, both executed afresh.

The responses in a saved trajectory are not believed: everything is executed again, on executors of its own. The ground
truth of a sub-task is executed once in a process, as executors are deterministic and thousands of episodes share it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from asyncguard_benchmark.harness.environment import CallRecord
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.fault_pipeline import Pipeline
from asyncguard_benchmark.harness.faults import Fault
from asyncguard_benchmark.harness.scenario import GoldCall, SubTask
from asyncguard_benchmark.harness.scoring.canonical import CanonicalCall, canonical
from asyncguard_benchmark.services.catalogue import tools_of


@dataclass(frozen=True, kw_only=True)
class Replay:
    """A list of calls after its execution on a fresh executor."""

    calls: tuple[CanonicalCall, ...]
    results: tuple[str, ...]
    state: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One sub-task of one episode."""

    task: SubTask
    records: tuple[CallRecord, ...]
    """The calls made with the sub-task's id."""
    gold: Replay
    made: Replay


def replay(
    task: SubTask, calls: Sequence[GoldCall | CallRecord], faults: Sequence[Fault] = ()
) -> Replay:
    """Execute calls on fresh tools, which have the same faults as those of the run: faults are deterministic, too."""
    pipeline, tools = Pipeline(task, faults), tools_of(task)
    results = tuple(
        pipeline.call(n, call.tool, call.arguments).text for n, call in enumerate(calls)
    )
    return Replay(
        calls=tuple(canonical(call.tool, call.arguments, tools) for call in calls),
        results=results,
        state=pipeline.public_state(),
    )


class _Task:
    """A sub-task as the key of a cache: equal to itself only, as the JSON in it cannot be hashed."""

    def __init__(self, task: SubTask) -> None:
        self.task = task

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Task) and other.task is self.task

    def __hash__(self) -> int:
        return id(self.task)


@lru_cache(maxsize=4096)
def _gold(key: _Task) -> Replay:
    return replay(key.task, key.task.gold)


def evidence_of(episode: Episode) -> tuple[Evidence, ...]:
    """Return the evidence of every sub-task, in the order of the composition."""
    found = []
    for task in episode.composition.sub_tasks:
        records = episode.calls_of(task.id)
        made = replay(task, records, episode.composition.faults)
        found.append(Evidence(task=task, records=records, gold=_gold(_Task(task)), made=made))
    return tuple(found)
