"""Evidence for the scorers of one sub-task: ground truth and trajectory, both executed afresh.

The responses in a saved trajectory are not believed: everything is executed again, on executors of its own; only of
tasks whose code is foreign they are taken as they were noted. The same
calls on the same sub-task under the same faults are executed once in a process, as executors are deterministic:
thousands of episodes share the ground truth, and many of them their calls. Without faults so is each call on the same
state, as most calls only read.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from asyncguard_benchmark.harness.environment import CallRecord
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.fault_pipeline import Pipeline
from asyncguard_benchmark.harness.faults import Fault
from asyncguard_benchmark.harness.scenario import GoldCall, SubTask
from asyncguard_benchmark.harness.scoring.call_labels import CallLabels
from asyncguard_benchmark.harness.scoring.canonical import CanonicalCall, canonical
from asyncguard_benchmark.harness.scoring.labels import labels
from asyncguard_benchmark.harness.suites import registry
from asyncguard_benchmark.services.catalogue import fresh_executor, tools_of
from asyncguard_benchmark.services.service import Executor, plain_numbers, serialise


@dataclass(frozen=True, kw_only=True, eq=False)
class Replay:
    """A list of calls after its execution on a fresh executor; equal to itself only, as it is shared."""

    calls: tuple[CanonicalCall, ...]
    labels: tuple[CallLabels, ...]
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
    if any(fault.task == task.id for fault in faults) or registry().suite_of(task.category).closing:
        pipeline = Pipeline(task, faults)
        results = [pipeline.call(n, call.tool, call.arguments).text for n, call in enumerate(calls)]
        return _replay(task, calls, results, pipeline.public_state())
    executor, made = _fresh(_Start(identity=id(task), task=task)), list[_Called]()
    for call in calls:
        text = repr((call.tool, call.arguments))
        made.append(_called(_Call(before=executor, text=text, task=task, call=call)))
        executor = made[-1].after
    return Replay(
        calls=tuple(each.call for each in made),
        labels=tuple(each.label for each in made),
        results=tuple(each.result for each in made),
        state=executor.state,
    )


def _replay(
    task: SubTask,
    calls: Sequence[GoldCall | CallRecord],
    results: Iterable[str],
    state: Mapping[str, Any],
) -> Replay:
    tools = tools_of(task)
    return Replay(
        calls=tuple(canonical(call.tool, call.arguments, tools) for call in calls),
        labels=labels(task, calls),
        results=tuple(results),
        state=state,
    )


@dataclass(frozen=True, kw_only=True)
class _Start:
    """A sub-task as the key of a cache."""

    identity: int
    """Of the sub-task, as the JSON in it cannot be hashed."""
    task: SubTask = field(compare=False)
    """It cannot be freed, and its identity pass to another, while the key is in use."""


@lru_cache(maxsize=4096)
def _fresh(key: _Start) -> Executor:
    return fresh_executor(key.task)


@dataclass(frozen=True, kw_only=True)
class _Call:
    """A call without faults as the key of a cache: equal if tools, state and call are the same."""

    before: Executor
    text: str
    """Tool and arguments as Python writes them, so that 1, 1.0 and True differ."""
    task: SubTask = field(compare=False)
    call: GoldCall | CallRecord = field(compare=False)


@dataclass(frozen=True, kw_only=True)
class _Called:
    call: CanonicalCall
    label: CallLabels
    result: str
    after: Executor


@lru_cache(maxsize=8192)
def _called(key: _Call) -> _Called:
    call = key.call
    result, after = key.before.after(call.tool, call.arguments)
    (label,) = labels(key.task, [call])
    made = canonical(call.tool, call.arguments, tools_of(key.task))
    return _Called(call=made, label=label, result=result, after=after)


@dataclass(frozen=True, kw_only=True)
class _Calls:
    """Calls on fresh tools, as the key of a cache: equal if sub-task, faults and calls are the same."""

    identity: int
    """Of the sub-task, as the JSON in it cannot be hashed."""
    faults: tuple[Fault, ...]
    text: str
    """Tools and arguments as Python writes them, so that 1, 1.0 and True differ; empty for the ground truth."""
    task: SubTask = field(compare=False)
    """It cannot be freed, and its identity pass to another, while the key is in use."""
    calls: Sequence[GoldCall | CallRecord] = field(compare=False)


@lru_cache(maxsize=8192)
def _replayed(key: _Calls) -> Replay:
    return replay(key.task, key.calls, key.faults)


def _made(task: SubTask, calls: Sequence[CallRecord], faults: Sequence[Fault]) -> Replay:
    if task.origin is not None:
        return _recorded(task, calls, [call.response for call in calls])
    text = repr([(call.tool, call.arguments) for call in calls])
    placed = tuple(fault for fault in faults if fault.task == task.id)
    key = _Calls(identity=id(task), faults=placed, text=text, task=task, calls=calls)
    return _replayed(key)


def gold_replay(task: SubTask) -> Replay:
    """Return the ground truth after its execution; of a foreign task with the results that were noted."""
    if task.origin is not None:
        return _recorded(task, task.gold, task.origin.results)
    return _replayed(_Calls(identity=id(task), faults=(), text="", task=task, calls=task.gold))


def _recorded(
    task: SubTask, calls: Sequence[GoldCall | CallRecord], results: Sequence[str]
) -> Replay:
    """Return calls of a foreign task with the results that were noted: to score a file must not run foreign code."""
    return _replay(task, calls, map(_comparable, results), task.initial_state)


def _comparable(text: str) -> str:
    """Return a result in which 10.0 is 10: calls are the same for both, and the code may answer in kind."""
    try:
        return serialise(plain_numbers(json.loads(text)))
    except ValueError:
        return text


def evidence_of(episode: Episode) -> tuple[Evidence, ...]:
    """Return the evidence of every sub-task, in the order of the composition."""
    found = []
    for task in episode.composition.sub_tasks:
        records = episode.calls_of(task.id)
        made = _made(task, records, episode.composition.faults)
        found.append(Evidence(task=task, records=records, gold=gold_replay(task), made=made))
    return tuple(found)
