"""Which toolset belongs to which category. A new category is one file and one line here."""

from collections.abc import Mapping

from asyncguard_benchmark.executors import (
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
from asyncguard_benchmark.executors.declarations import Tool
from asyncguard_benchmark.executors.executor import Executor, Toolset
from asyncguard_benchmark.scenario import Category, Composition, Domain, SubTask

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
    )
}


def toolset_of(category: Category | Domain) -> Toolset:
    """The toolset of a category.

    Raises:
        ValueError: the category has no tools yet.
    """
    found = TOOLSETS.get(category)
    if found is None:
        raise ValueError(f"there are no tools for category {category}")
    return found


def tools_of(task: SubTask) -> dict[str, Tool]:
    """The tools on the API list of a sub-task."""
    tools = toolset_of(task.category).tools
    return {name: tools[name] for name in task.tools}


def composition_tools(composition: Composition) -> dict[str, Tool]:
    """The union of the sub-tasks' API lists, each tool once, in the order of first mention."""
    return {name: tool for task in composition.sub_tasks for name, tool in tools_of(task).items()}


def fresh_executor(task: SubTask) -> Executor:
    """A new executor with the sub-task's initial state."""
    return Executor(tools_of(task), task.initial_state)
