"""Toolset of each category and domain. A new one is one file and one line here."""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from asyncguard_benchmark.harness.scenario import Category, Composition, Domain, SubTask
from asyncguard_benchmark.services import (
    box_office,
    data_format,
    data_generation,
    data_management,
    filesystem,
    machine,
    messaging,
    number_operations,
    social,
    string_manipulation,
    trading,
    travel,
)
from asyncguard_benchmark.services.common_tools import COMMON_NAMES, common_tools
from asyncguard_benchmark.services.declarations import Tool
from asyncguard_benchmark.services.service import Executor, Toolset
from asyncguard_benchmark.suites.hazards.domains import (
    clinic,
    energy,
    fleet,
    lending,
    logistics,
    rail,
    treasury,
    warehouse,
    weather,
)

TOOLSETS: Mapping[Category | Domain, Toolset] = {
    each.category: each
    for each in (
        data_management.TOOLSET,
        filesystem.TOOLSET,
        data_generation.TOOLSET,
        messaging.TOOLSET,
        number_operations.TOOLSET,
        social.TOOLSET,
        string_manipulation.TOOLSET,
        box_office.TOOLSET,
        trading.TOOLSET,
        travel.TOOLSET,
        data_format.TOOLSET,
        machine.TOOLSET,
        logistics.TOOLSET,
        energy.TOOLSET,
        clinic.TOOLSET,
        treasury.TOOLSET,
        warehouse.TOOLSET,
        weather.TOOLSET,
        rail.TOOLSET,
        lending.TOOLSET,
        fleet.TOOLSET,
    )
}
"""Of a domain, without the tools that all hazard tasks have."""


def toolset_of(category: Category | Domain) -> Toolset:
    """Return the toolset of a category or domain."""
    return TOOLSETS[category]


def names_of(category: Category | Domain) -> set[str]:
    """Return the tools that may be on an API list: of a domain, also those that all hazard tasks have."""
    return {*toolset_of(category).tools, *(COMMON_NAMES if isinstance(category, Domain) else ())}


def tools_of(task: SubTask) -> Mapping[str, Tool]:
    """Return the tools on the API list of a sub-task."""
    return _tools(task.category, task.tools)


@lru_cache(maxsize=4096)
def _tools(category: Category | Domain, names: tuple[str, ...]) -> Mapping[str, Tool]:
    """Return the API list; made once for each, as the tool that tells contracts is made for its list."""
    tools = toolset_of(category).tools
    if isinstance(category, Domain):
        tools = {**tools, **common_tools(tools[name] for name in names if name in tools)}
    return MappingProxyType({name: tools[name] for name in names})


def composition_tools(composition: Composition) -> dict[str, Tool]:
    """Return the union of the sub-tasks' API lists, each tool once, in the order of first mention."""
    return {name: tool for task in composition.sub_tasks for name, tool in tools_of(task).items()}


def fresh_executor(task: SubTask) -> Executor:
    """Return a new executor with the sub-task's initial state."""
    return Executor(tools_of(task), task.initial_state)
