"""Dialogues that can be played, bundled or of a download, by their ids, with what is made of them once in a process."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

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
from asyncguard_benchmark.suites.missions.played_rows import dialogue_line
from asyncguard_benchmark.suites.missions.playing.toolboxes import LiveTools, Tools


class Stand(Hashable, Protocol):
    """A dialogue that can be played; equal to itself alone, so that what is made of it can be kept."""

    @property
    def dialogue(self) -> Dialogue:
        """The dialogue in the form that scorers take."""
        ...

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools that are offered."""
        ...

    @property
    def declared(self) -> bool:
        """True if it is known what the tools do, which guards are then told."""
        ...

    def time(self, mission: int) -> str:
        """Return the current time in a mission, `YYYY-MM-DD HH:MM:SS`."""
        ...

    def plan(self, mission: int, history: History) -> Plan:
        """Return the plan of a simulated agent."""
        ...

    def world(self, mission: int) -> Tools | None:
        """Return the world in which a mission begins; None if its tools cannot run."""
        ...

    def final_state(self, mission: int) -> str | None:
        """Return the digest of the state that the gold leaves; None if it has none."""
        ...

    def line(self) -> dict[str, Any]:
        """Return the dialogue as it stands in a file of runs."""
        ...


class Shelves(Hashable, Protocol):
    """Dialogues of a download; small, as each run names it and goes to other processes. Its text is its path."""

    def stands(self) -> Mapping[str, Stand]:
        """Return the dialogues by their ids, in the order of the file; the same ones in one process."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Shelf:
    """A dialogue that was written for the bundled suite."""

    bundle: Bundle
    written: BundledDialogue
    dialogue: Dialogue
    """In the form that scorers take."""

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools that are offered, with their code."""
        return {name: self.bundle.toolset.tools[name] for name in self.written.tools}

    @property
    def declared(self) -> bool:
        """True: the tools are ours."""
        return True

    def time(self, mission: int) -> str:
        """Return the current time, which is that of the dialogue."""
        return self.written.time

    def plan(self, mission: int, history: History) -> Plan:
        """Return the plan of a simulated agent; both histories hold the same texts."""
        return plan(self.written.id, mission)

    def world(self, mission: int) -> LiveTools:
        """Return the world in which a mission begins."""
        return LiveTools(self.executor(mission))

    def executor(self, mission: int) -> Executor:
        """Return what runs the tools in the state in which a mission begins."""
        return Executor(self.tools, _states(self.written.id)[mission])

    def final_state(self, mission: int) -> str:
        """Return the digest of the state that the gold leaves."""
        return self.written.missions[mission].final_state

    def line(self) -> dict[str, Any]:
        """Return the dialogue as it stands in a file of runs."""
        return dialogue_line(self.bundle, self.written)


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
def prompt(stand: Stand, mission: int, history: History) -> tuple[Message, ...]:
    """Return the messages before a mission and its task, in the form of OpenAI's chat API."""
    return tuple(stand.dialogue.prompt(mission, history))


def stand_of(dialogue: str, download: Shelves | None) -> Stand:
    """Return a dialogue of a download, or a bundled one.

    Raises:
        UnknownNameError: there is none of this id.
        BenchmarkError: the download is not the one that the runs were asked for with.
    """
    if download is None:
        return shelf(dialogue)
    found = download.stands().get(dialogue)
    if found is None:
        raise UnknownNameError(f"{download} holds no dialogue {dialogue!r}")
    return found


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
