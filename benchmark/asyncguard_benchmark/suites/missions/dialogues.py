"""Dialogues of several missions, and the history that a mission is played with."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from asyncguard_benchmark.suites.missions.entries import EntryKey
from asyncguard_benchmark.suites.missions.gold_graph import GoldGraph, Tool
from asyncguard_benchmark.suites.missions.scorers.published_paths import optimal_path
from asyncguard_benchmark.suites.missions.terms import Letter, Relation

Message = dict[str, Any]
"""A message in the form of OpenAI's chat API."""


class History(StrEnum):
    """Form in which a mission shows earlier ones; always their gold."""

    UA = "ua"
    """Texts of user and assistant, questions and replies too."""
    UPTA = "upta"
    """Texts of the user, the calls and results of one optimal path, and the summary."""


class HistoryForm(StrEnum):
    """Notation of the calls of earlier missions."""

    PROVIDER = "provider"
    """Calls have ids, and each result is a message of its own, as providers want it."""
    PUBLISHED = "published"
    """Calls have no ids, and one message holds the list of all results."""


@dataclass(frozen=True, kw_only=True)
class Mission:
    """One task of a dialogue."""

    task: str
    letter: Letter
    relation: Relation | None
    graph: GoldGraph
    messages: tuple[tuple[str, str], ...]
    """Texts of user and assistant, role and text, questions and the summary too."""
    task_index: int
    """Number of the message that holds the task."""
    time: str
    """`YYYY-MM-DD HH:MM:SS`, or empty."""


@dataclass(frozen=True, kw_only=True)
class Dialogue:
    """Missions after each other, with the same tools."""

    id: str
    tools: Mapping[str, Tool]
    missions: tuple[Mission, ...]

    @property
    def pattern(self) -> tuple[Letter, ...]:
        """Action types of the missions."""
        return tuple(each.letter for each in self.missions)

    def key(self, mission: int) -> EntryKey:
        """Return the name of a mission."""
        return EntryKey(self.id, mission)

    def prompt(
        self, mission: int, history: History, form: HistoryForm = HistoryForm.PROVIDER
    ) -> list[Message]:
        """Return the messages before a mission, and its task.

        Args:
            mission: Which, from 0.
            history: What it shows of earlier ones.
            form: How it writes their calls.
        """
        found: list[Message] = []
        for number, each in enumerate(self.missions[:mission]):
            if history is History.UA:
                found += [{"role": role, "content": text} for role, text in each.messages]
            else:
                found += _played(each, number, form)
        current = self.missions[mission]
        return [*found, {"role": "user", "content": current.messages[current.task_index][1]}]


def _played(mission: Mission, number: int, form: HistoryForm) -> Iterator[Message]:
    yield {"role": "user", "content": mission.messages[mission.task_index][1]}
    graph = mission.graph
    for step in optimal_path(graph):
        node = graph.nodes[step[0]]
        if graph.asks >> step[0] & 1:
            yield {"role": "assistant", "content": told_text(node.observation)}
            yield {"role": "user", "content": node.reply or ""}
        elif graph.answers >> step[0] & 1:
            yield {"role": "assistant", "content": told_text(node.observation)}
        else:
            yield from _calls(graph, step, number, form)


def _calls(
    graph: GoldGraph, step: tuple[int, ...], number: int, form: HistoryForm
) -> Iterator[Message]:
    named = form is HistoryForm.PROVIDER
    yield {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                **({"id": f"h{number}_{each}"} if named else {}),
                "type": "function",
                "function": {
                    "name": graph.nodes[each].name,
                    "arguments": json.dumps(graph.nodes[each].arguments, ensure_ascii=False),
                },
            }
            for each in step
        ],
    }
    results = [graph.nodes[each].observation for each in step]
    if not named:
        yield {"role": "tool", "content": json.dumps(results, ensure_ascii=False)}
        return
    for each, result in zip(step, results, strict=True):
        yield {"role": "tool", "tool_call_id": f"h{number}_{each}", "content": told_text(result)}


def told_text(value: Any) -> str:
    """Return a text as it is, and any other result of a call as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
