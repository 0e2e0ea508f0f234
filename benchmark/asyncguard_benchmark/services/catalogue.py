"""Toolset of each category, from the suite that has it. A new one is one file, and one line in its suite."""

from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType

from asyncguard_benchmark.harness.scenario import Composition, SubTask
from asyncguard_benchmark.harness.suites import registry
from asyncguard_benchmark.services.common_tools import COMMON_NAMES, common_tools
from asyncguard_benchmark.services.declarations import Tool
from asyncguard_benchmark.services.service import Executor, Toolset


def toolset_of(category: str) -> Toolset:
    """Return the toolset of a category, without the tools that all tasks of its suite have.

    Raises:
        UnknownNameError: no suite has the category.
        BrokenSuiteError: its suite names a toolset that cannot be loaded.
    """
    suite = registry().suite_of(category)
    toolset: Toolset = suite.load(suite.toolsets[category])
    return toolset


def toolsets() -> dict[StrEnum, Toolset]:
    """Return the toolsets of all suites, by category; all are loaded."""
    return {each.category: each for each in map(toolset_of, registry().categories)}


def names_of(task: SubTask) -> set[str]:
    """Return the tools that may be on the API list of a task, those that all tasks of the suite have among them."""
    suite = registry().suite_of(task.category)
    if suite.task_tools:
        return set(suite.load(suite.task_tools)(task))
    return {*toolset_of(task.category).tools, *(COMMON_NAMES if suite.closing else ())}


def tools_of(task: SubTask) -> Mapping[str, Tool]:
    """Return the tools on the API list of a sub-task; those of a foreign task can be described and not be called."""
    suite = registry().suite_of(task.category)
    if suite.task_tools:
        made: Mapping[str, Tool] = suite.load(suite.task_tools)(task)
        return made
    return tools_named(task.category, task.tools)


@lru_cache(maxsize=4096)
def tools_named(category: str, names: tuple[str, ...]) -> Mapping[str, Tool]:
    """Return the API list; made once for each, as the tool that tells contracts is made for its list."""
    tools = toolset_of(category).tools
    if registry().suite_of(category).closing:
        tools = {**tools, **common_tools(tools[name] for name in names if name in tools)}
    return MappingProxyType({name: tools[name] for name in names})


def composition_tools(composition: Composition) -> dict[str, Tool]:
    """Return the union of the sub-tasks' API lists, each tool once, in the order of first mention."""
    return {name: tool for task in composition.sub_tasks for name, tool in tools_of(task).items()}


def fresh_executor(task: SubTask) -> Executor:
    """Return a new executor with the sub-task's initial state."""
    return Executor(tools_of(task), task.initial_state)
