"""Episodes as a Chrome trace, which chrome://tracing, Perfetto and speedscope open.

One process for each episode, one thread for each sub-task and one for the guards. A tick is a microsecond. A call lasts
from its issue to the delivery of its result, or to the end of the run if its result never came; verdicts of guards are
instants.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from asyncguard_benchmark.harness.environment import CallRecord
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.report.figures import Group
from asyncguard_benchmark.harness.scoring.verdict import score

_GUARDS = 0
"""Thread of what guards did to no sub-task; sub-tasks follow."""
_LEAST = 1
"""Microseconds of a call whose result came at once, so that it can be seen."""


def trace_of(episodes: Iterable[Episode]) -> dict[str, Any]:
    """Return the whole trace, in the object form of the format."""
    events = [
        event for process, episode in enumerate(episodes, 1) for event in _events(process, episode)
    ]
    return {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {"unit": "one microsecond is one tick"},
    }


def _events(process: int, episode: Episode) -> Iterator[dict[str, Any]]:
    threads = {
        task_id: number for number, task_id in enumerate(episode.composition.task_ids, _GUARDS + 1)
    }
    yield from _names(process, episode, threads)
    for record in episode.trajectory:
        yield _call(process, threads[record.task_id], record, episode.counters.ticks)
    for told in episode.settings.get("interventions", ()):
        yield _verdict(process, threads.get(told.get("task", ""), _GUARDS), told)


def _names(process: int, episode: Episode, threads: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    judged = score(episode)
    solved = "solved" if judged.overall else "not solved"
    label = (
        f"{episode.composition.id} · {Group.of(episode).label} · seed {episode.run.seed} · {solved}"
    )
    yield _metadata("process_name", process, _GUARDS, name=label)
    yield _metadata("process_sort_index", process, _GUARDS, sort_index=process)
    yield _metadata("thread_name", process, _GUARDS, name="guards")
    for verdict in judged.sub_tasks:
        state = "solved" if verdict.accurate else "not solved"
        name = f"{verdict.task_id} ({verdict.category.value}), {state}"
        yield _metadata("thread_name", process, threads[verdict.task_id], name=name)


def _metadata(what: str, process: int, thread: int, **told: Any) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": told}


def _call(process: int, thread: int, record: CallRecord, ticks: int) -> dict[str, Any]:
    end = ticks + 1 if record.delivered is None else record.delivered
    return {
        "ph": "X",
        "cat": "call",
        "name": record.tool,
        "ts": record.issued,
        "dur": max(_LEAST, end - record.issued),
        "pid": process,
        "tid": thread,
        "args": {
            "arguments": dict(record.arguments),
            "response": record.response,
            "delivered": record.delivered,
            "premature": record.premature,
            "number": record.number,
        },
    }


def _verdict(process: int, thread: int, told: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "ph": "i",
        "s": "t",
        "cat": "guard",
        "name": f"{told['guard']}: {told['verdict']}",
        "ts": told["tick"],
        "pid": process,
        "tid": thread,
        "args": {"call": told.get("call", "")},
    }
