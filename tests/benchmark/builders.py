"""Compositions, gold calls and episodes shared by the tests of the benchmark."""

from collections.abc import Mapping, Sequence
from typing import Any

from asyncguard_benchmark.harness.environment import Environment
from asyncguard_benchmark.harness.episode import Episode, Run, finished
from asyncguard_benchmark.harness.loading import by_id, shipped_compositions, shipped_sub_tasks
from asyncguard_benchmark.harness.scenario import (
    Composition,
    GoldCall,
    Kind,
    Regime,
    SubTask,
    Suite,
    Surface,
)

SUB_TASKS = by_id(shipped_sub_tasks())
LITE = shipped_compositions(Suite.LITE)
"""For slow tests."""
SAMPLE = LITE[::5]
"""24 of all kinds and categories, for fast tests."""

Call = tuple[str, str, Mapping[str, Any]]


def compose(*ids: str) -> Composition:
    """A composition of shipped sub-tasks."""
    tasks = tuple(SUB_TASKS[task_id] for task_id in ids)
    letter = "C" if len({task.category for task in tasks}) > 1 else "S"
    return Composition(id="-".join(ids), kind=Kind(f"{letter}{len(ids)}"), sub_tasks=tasks)


def gold(task_id: str) -> list[Call]:
    """The gold calls of a shipped sub-task."""
    return [(task_id, call.tool, dict(call.arguments)) for call in SUB_TASKS[task_id].gold]


def played(
    composition: Composition, calls: Sequence[Call], regime: Regime = Regime.SYNC
) -> Episode:
    """The episode of an agent that made exactly these calls, one a turn."""
    environment = Environment(composition, regime, 0)
    for task_id, tool, arguments in calls:
        environment.begin_round()
        environment.issue(task_id, tool, arguments)
        environment.due()
    run = Run(regime=regime, surface=Surface.TEXT, seed=0)
    return finished(environment, [], run, agent="hand", player="hand")


def changed(task: SubTask, position: int, **values: Any) -> tuple[GoldCall, ...]:
    """The gold calls with other values in one of them."""
    from dataclasses import replace

    calls = list(task.gold)
    calls[position] = replace(calls[position], **values)
    return tuple(calls)
