"""The bundled dialogues by their ids, with what is made of them once in a process."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from asyncguard_benchmark.errors import UnknownNameError
from asyncguard_benchmark.services.declarations import Tool
from asyncguard_benchmark.services.service import Executor
from asyncguard_benchmark.suites.missions.agents.plan import Plan, plan_of
from asyncguard_benchmark.suites.missions.bundled.bundle import (
    Bundle,
    BundledDialogue,
    bundles,
)
from asyncguard_benchmark.suites.missions.dialogues import Dialogue, History, Message


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """A written dialogue."""

    bundle: Bundle
    written: BundledDialogue
    dialogue: Dialogue
    """In the form that scorers take."""

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools that are offered, with their code."""
        return {name: self.bundle.toolset.tools[name] for name in self.written.tools}


@cache
def shelves() -> Mapping[str, Shelf]:
    """Return all bundled dialogues by their ids, in the order of their files."""
    return {
        each.id: Shelf(bundle=bundle, written=each, dialogue=bundle.dialogue(each))
        for bundle in bundles()
        for each in bundle.dialogues
    }


def shelf(dialogue: str) -> Shelf:
    """Return a bundled dialogue.

    Raises:
        UnknownNameError: there is none of this id.
    """
    if dialogue not in shelves():
        raise UnknownNameError(
            f"there is no bundled dialogue {dialogue!r}; see `bench missions list --dialogues`"
        )
    return shelves()[dialogue]


@cache
def plan(dialogue: str, mission: int) -> Plan:
    """Return the plan of a mission, from 0."""
    found = shelf(dialogue)
    return plan_of(found.bundle, found.written, mission)


@cache
def prompt(dialogue: str, mission: int, history: History) -> tuple[Message, ...]:
    """Return the messages before a mission and its task, in the form of OpenAI's chat API."""
    return tuple(shelf(dialogue).dialogue.prompt(mission, history))


@cache
def _states(dialogue: str) -> tuple[dict[str, Any], ...]:
    """Return the states before each mission: what the gold of the earlier ones leaves."""
    found = shelf(dialogue)
    executor = found.bundle.executor(found.written)
    states = [executor.public_state()]
    for mission in found.written.missions[:-1]:
        for number in mission.graph().order:
            if number in mission.calls:
                executor.invoke(mission.nodes[number].name, mission.nodes[number].arguments)
        states.append(executor.public_state())
    return tuple(states)


def world(dialogue: str, mission: int) -> Executor:
    """Return the world in which a mission begins."""
    return Executor(shelf(dialogue).tools, _states(dialogue)[mission])
