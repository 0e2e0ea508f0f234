"""Origin of the values of wrong calls that were made before a result of their task was there."""

import json
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from asyncguard_benchmark.harness.environment import CallRecord
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.pointers import leaves
from asyncguard_benchmark.harness.scenario import SubTask
from asyncguard_benchmark.services.catalogue import tools_of


class ValueOrigin(StrEnum):
    """Origin of the values of a wrong call that was made before a result of its task was there."""

    INVENTED = "invented"
    """A value stands nowhere in the conversation so far."""
    OTHER_TASK = "of another task"
    """A value stands in what concerns another task only."""
    PLAUSIBLE = "plausible"
    """Every value stands in the question, the results or the schemas of the task, and one is the wrong one."""


def origins(episode: Episode) -> Iterator[ValueOrigin]:
    """Yield the origin of the values of each early call that is none of the gold calls of its task."""
    for record in episode.trajectory:
        task = episode.composition.sub_task(record.task_id)
        if task is None or not record.premature:
            continue
        if (record.tool, as_text(record.arguments)) in {
            (call.tool, as_text(call.arguments)) for call in task.gold
        }:
            continue
        yield _origin(record, task, episode)


def _origin(record: CallRecord, task: SubTask, episode: Episode) -> ValueOrigin:
    own = _told(task, record, episode)
    others = "\n".join(
        _told(each, record, episode) for each in episode.composition.sub_tasks if each is not task
    )
    values = [str(leaf) for _, leaf in leaves(record.arguments) if leaf not in ({}, [], "")]
    if any(value not in own and value not in others for value in values):
        return ValueOrigin.INVENTED
    if any(value not in own for value in values):
        return ValueOrigin.OTHER_TASK
    return ValueOrigin.PLAUSIBLE


def _told(task: SubTask, record: CallRecord, episode: Episode) -> str:
    """Return what the conversation had said of a task when a call was made."""
    results = [
        each.response
        for each in episode.calls_of(task.id)
        if each.delivered is not None and each.delivered < record.issued
    ]
    schemas = [as_text(tool.parameters) for tool in tools_of(task).values()]
    return "\n".join((task.query, *results, *schemas))


def as_text(value: Any) -> str:
    """Return a value as JSON, alike for values that are alike."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
