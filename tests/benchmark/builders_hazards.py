"""Places for modes, and faults in them, shared by the tests of injected faults."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from asyncguard_benchmark.harness.fault_modes import Mode, Spot
from asyncguard_benchmark.harness.faults import Fault
from asyncguard_benchmark.harness.scenario import Domain, GoldCall
from asyncguard_benchmark.services.catalogue import fresh_executor, tools_of
from asyncguard_benchmark.services.declarations import Tool
from asyncguard_benchmark.suites.hazards.mode_table import MODES
from asyncguard_benchmark.suites.hazards.tasks import HazardTask, load_hazard_tasks

TASKS: tuple[HazardTask, ...] = (
    load_hazard_tasks(Domain.TREASURY)[0],
    load_hazard_tasks(Domain.TREASURY)[7],
    load_hazard_tasks(Domain.LOGISTICS)[11],
    load_hazard_tasks(Domain.ENERGY)[5],
)
"""A few, of all workflows."""


def tool_of(task: HazardTask, name: str) -> Tool:
    """A tool on the API list of a task."""
    return tools_of(task.sub_task)[name]


@cache
def gold_results(position: int) -> tuple[tuple[GoldCall, Any], ...]:
    """The gold calls of one of the tasks, each with its clean result."""
    task = TASKS[position].sub_task
    executor = fresh_executor(task)
    return tuple((call, json.loads(executor.call(call.tool, call.arguments))) for call in task.gold)


def spots(mode: Mode) -> Iterator[tuple[Spot, GoldCall, Any]]:
    """Every place and severity at which a mode can strike a gold call of the tasks, with the call's clean result."""
    for position, task in enumerate(TASKS):
        for call, result in gold_results(position):
            tool = tool_of(task, call.tool)
            for site in mode.sites(tool):
                for severity in (1, 2, 3):
                    yield Spot(tool=tool, site=site, severity=severity, seed=severity), call, result


def fault_on(task: HazardTask, mode: str, tool: str, **more: Any) -> Fault:
    """A fault of a mode on a tool of a task, at the first place and failpoint that fit."""
    found = MODES[mode]
    sites = found.sites(tool_of(task, tool))
    defaults = {"site": sites[0], "failpoint": found.failpoints[0]}
    return Fault(task=task.id, hazard=found.hazard, mode=mode, tool=tool, **(defaults | more))


def bound(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments in the shape of a live contract, for one that renames one of them or moves some into an object."""
    left = dict(arguments)

    def fill(inner: Mapping[str, Any]) -> dict[str, Any]:
        filled: dict[str, Any] = {}
        new = [name for name in inner["properties"] if name not in arguments]
        for name in inner["properties"]:
            if name in left:
                filled[name] = left.pop(name)
        for name in new:
            if "properties" in inner["properties"][name]:
                filled[name] = fill(inner["properties"][name])
            elif name in inner.get("required", ()):
                filled[name] = left.pop(next(iter(left)))
        return filled

    return fill(schema)
