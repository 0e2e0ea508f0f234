"""Dialogues of a download as something to be played: tools that describe themselves, and results on record."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NoReturn

from asyncguard_benchmark.errors import ForeignCodeRefused
from asyncguard_benchmark.harness.players.translation import (
    IDLE_TOOL,
    UNKNOWN_TOOL,
    UNREADABLE_TOOL,
)
from asyncguard_benchmark.services.declarations import Effect, ForeignTool, Tool
from asyncguard_benchmark.suites.missions import gold_graph
from asyncguard_benchmark.suites.missions.agents.plan import Plan
from asyncguard_benchmark.suites.missions.dialogues import Dialogue, History
from asyncguard_benchmark.suites.missions.foreign.download import Download
from asyncguard_benchmark.suites.missions.foreign.plans import plan_of_read, result_uses
from asyncguard_benchmark.suites.missions.foreign.schemas import repaired
from asyncguard_benchmark.suites.missions.playing.toolboxes import Tools

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PROTOCOL = frozenset({IDLE_TOOL, UNREADABLE_TOOL, UNKNOWN_TOOL})


@dataclass(frozen=True, kw_only=True, eq=False)
class _MissionTool(ForeignTool):
    """A tool that has no code; as a mission is one task, it may have an argument `task_id`."""

    def __post_init__(self) -> None:
        """Accept every name of an argument."""


def _no_code(*_: Any, **__: Any) -> NoReturn:
    raise ForeignCodeRefused("tools of published missions have no code: results are on record")


@dataclass(frozen=True, kw_only=True, eq=False)
class ForeignShelf:
    """A dialogue of a download."""

    dialogue: Dialogue

    @cached_property
    def _schemas(self) -> Mapping[str, gold_graph.Tool]:
        return {
            name: replace(tool, parameters=repaired(tool.parameters))
            for name, tool in self.dialogue.tools.items()
        }

    @cached_property
    def tools(self) -> Mapping[str, Tool]:
        """The tools, with schemas that providers and guards take."""
        return {
            name: _MissionTool(
                name=name,
                description=tool.description,
                effect=Effect.PURE,
                run=_no_code,
                schema=tool.parameters,
            )
            for name, tool in self._schemas.items()
        }

    @property
    def declared(self) -> bool:
        """False: nothing is known of the tools but their schemas."""
        return False

    def time(self, mission: int) -> str:
        """Return the current time in a mission."""
        return self.dialogue.missions[mission].time

    def plan(self, mission: int, history: History) -> Plan:
        """Return the plan of a simulated agent."""
        return plan_of_read(self.dialogue, mission, history, self._schemas)

    def world(self, mission: int) -> Tools | None:
        """Return None: the tools have no code."""
        return None

    def final_state(self, mission: int) -> None:
        """Return None: there is no state."""

    def line(self) -> dict[str, Any]:
        """Return the dialogue as it stands in a file of runs: what scorers need, nothing else of the download."""
        missions = self.dialogue.missions
        return {
            "id": self.dialogue.id,
            "messages": [
                message
                for each in missions
                for message in (*({"role": r, "content": t} for r, t in each.messages), "=====")
            ],
            "task_ids": [each.task_index for each in missions],
            "answer_list": [_answers(each.graph) for each in missions],
            "tools": [
                {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
                for tool in self.dialogue.tools.values()
            ],
            "type": [each.letter.value for each in missions],
            "turn_type": [each.relation is not None for each in missions],
            "turn_subtypes": [each.relation.value for each in missions if each.relation],
            "beside": [
                [{"aliases": [], "uses": sorted(uses)} for uses in result_uses(self.dialogue, k)]
                for k in range(len(missions))
            ],
        }


def unplayable(dialogue: Dialogue) -> str | None:
    """Return the reason why a dialogue cannot be played, which a name of a tool is; None if it can."""
    for name in dialogue.tools:
        if not _NAME.fullmatch(name):
            text = "providers take letters, digits, _ and -, 64 at most"
            return f"{dialogue.id}: cannot be played with the tool {name[:80]!r}: {text}"
        if name in _PROTOCOL:
            return f"{dialogue.id}: cannot be played with the tool {name!r}: the player has one of this name"
    return None


def _answers(graph: gold_graph.GoldGraph) -> list[dict[str, Any]]:
    return [
        {
            "idx": number,
            "action": {"name": node.name, "arguments": dict(node.arguments)},
            "observation": node.observation,
            "dependency_list": list(node.needs),
            **({} if node.reply is None else {"user_input": node.reply}),
        }
        for number, node in enumerate(graph.nodes)
    ]


@dataclass(frozen=True)
class DownloadShelves:
    """The dialogues of a download."""

    download: Download

    def stands(self) -> Mapping[str, ForeignShelf]:
        """Return the readable dialogues by their ids, in the order of the file.

        Raises:
            ChangedDownloadError: the file is not the one that the runs were asked for with.
        """
        return _shelves(self.download)

    def __str__(self) -> str:
        """Return the path."""
        return str(self.download.path)


@lru_cache(maxsize=2)
def _shelves(download: Download) -> Mapping[str, ForeignShelf]:
    return {each.id: ForeignShelf(dialogue=each) for each in download.read().found}
