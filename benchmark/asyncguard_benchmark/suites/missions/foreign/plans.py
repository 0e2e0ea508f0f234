"""Plans of simulated agents for dialogues that say of no value where it comes from: the sources are looked for.

For a leaf of a call's arguments the first that holds: the reply to a question that names its argument; the mission's
message; a reply; an equal leaf in the result of a call that must come before; the history, literally or in other words.
What stands nowhere is worked out or common knowledge, and the plan holds it. Truth values, null and empty lists are
the schema's. A source may be found where the author had another in mind; it tells the same value.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from math import isfinite
from typing import Any

from asyncguard_benchmark.harness.pointers import leaves, parts, put
from asyncguard_benchmark.suites.missions.agents.heard import parsed
from asyncguard_benchmark.suites.missions.agents.plan import (
    Argument,
    FromResult,
    FromText,
    Given,
    Plan,
    PlannedNode,
    Value,
    in_other_words,
    literal_place,
    mark_of,
)
from asyncguard_benchmark.suites.missions.bundled.normal_forms import stands
from asyncguard_benchmark.suites.missions.dialogues import Dialogue, History, told_text
from asyncguard_benchmark.suites.missions.gold_graph import GoldGraph, Node, Tool, bits
from asyncguard_benchmark.suites.missions.terms import ANSWER, ASK

_Text = tuple[int, int, str]
"""Number of a text in the conversation, its mission, and the text."""


def plan_of_read(
    dialogue: Dialogue, mission: int, history: History, tools: Mapping[str, Tool]
) -> Plan:
    """Return the plan of a mission.

    Args:
        dialogue: A dialogue as it was read.
        mission: Which, from 0.
        history: What is shown of earlier ones; texts are counted in it.
        tools: Tools with schemas that agents understand.
    """
    return _Planner(dialogue, mission, history).plan(tools)


def result_uses(dialogue: Dialogue, mission: int) -> list[frozenset[int]]:
    """Return the nodes from whose results each node's values come, as a plan looks for them."""
    nodes = plan_of_read(dialogue, mission, History.UA, dialogue.tools).nodes
    return [
        frozenset(leaf.value.node for leaf in each.leaves if isinstance(leaf.value, FromResult))
        for each in nodes
    ]


class _Planner:
    def __init__(self, dialogue: Dialogue, at: int, history: History) -> None:
        self._dialogue, self._at = dialogue, at
        self._mission = dialogue.missions[at]
        self._graph: GoldGraph = self._mission.graph
        self._today = date.fromisoformat(self._mission.time[:10])
        shown = [list(_spoken(dialogue, each, history)) for each in range(at + 1)]
        ends = [len(each) - 1 for each in shown[1:]]
        self._history: list[_Text] = [
            (number, sum(number >= end for end in ends), text)
            for number, text in enumerate(shown[at][:-1])
        ]
        self._task = shown[at][-1]
        self._count = len(shown[at])
        self._replies: dict[int, _Text] = {
            ask: (self._count + 2 * place + 1, at, reply)
            for place, ask in enumerate(bits(self._graph.asks))
            if (reply := self._graph.nodes[ask].reply)
        }

    def plan(self, tools: Mapping[str, Tool]) -> Plan:
        return Plan(
            key=f"{self._dialogue.id}/{self._at + 1}",
            letter=self._mission.letter,
            mission=self._at,
            texts=self._count,
            nodes=tuple(self._planned(number) for number in range(len(self._graph.nodes))),
            facts=(),
            tools=tools,
        )

    def _planned(self, number: int) -> PlannedNode:
        node = self._graph.nodes[number]
        if node.name in (ASK, ANSWER):
            asked = _missing(node) or ("details",) if node.name == ASK else ()
            return PlannedNode(name=node.name, needs=node.needs, arguments={}, asked=asked)
        blank: Any = dict(node.arguments)
        found = []
        for at, value in leaves(blank) if blank else ():
            source = self._source(number, parts(at)[0], value)
            stale = self._stale(parts(at)[0], value) if isinstance(source, FromText) else None
            found.append(Argument(at=at, value=source, stale=stale))
            blank = put(blank, at, None)
        return PlannedNode(name=node.name, needs=node.needs, arguments=blank, leaves=tuple(found))

    def _source(self, number: int, name: str, value: Any) -> Value:
        if not isinstance(value, str | int | float) or isinstance(value, bool) or value == "":
            return Given(value)
        if isinstance(value, float) and not isfinite(value):
            return Given(value)  # no text writes it as JSON does
        before = self._graph.ancestors[number]
        replies = [each for ask, each in self._replies.items() if before >> ask & 1]
        asked = [
            each
            for ask, each in self._replies.items()
            if before >> ask & 1 and _asks(self._graph.nodes[ask], self._graph.nodes[number], name)
        ]
        if asked:
            return self._told(value, asked) or in_other_words(value, *asked[0])
        if self._place(value, self._task) is not None:
            return Given(value)
        return (
            self._told(value, replies)
            or self._in_results(before, value)
            or self._told(value, self._history)
            or self._meant(value, self._history)
            or Given(value)
        )

    def _place(self, value: Any, text: str) -> tuple[int, int] | None:
        return literal_place(value, text, re.ASCII)

    def _told(self, value: Any, texts: list[_Text]) -> FromText | None:
        """Return the characters of the first text that are a value."""
        for number, mission, text in texts:
            if (place := self._place(value, text)) is not None:
                return FromText(
                    text=number,
                    mission=mission,
                    start=place[0],
                    end=place[1],
                    number=not isinstance(value, str),
                    mark=mark_of(value),
                )
        return None

    def _meant(self, value: Any, texts: list[_Text]) -> FromText | None:
        """Return the first text that tells a value in another form, say a date in words."""
        for each in texts:
            try:
                if stands(value, each[2], self._today):
                    return in_other_words(value, *each)
            except ValueError:
                continue  # value or text name a day that no calendar has
        return None

    def _in_results(self, before: int, value: Any) -> FromResult | None:
        for node in bits(before & self._graph.tools):
            result = parsed(told_text(self._graph.nodes[node].observation))
            for pointer, each in leaves(result):
                if type(each) is type(value) and each == value:
                    return FromResult(node=node, pointer=pointer)
        return None

    def _stale(self, name: str, value: Any) -> FromText | None:
        """Return another value of an argument of the name that an earlier mission had, and a text tells."""
        for k in reversed(range(self._at)):
            texts = [each for each in self._history if each[1] == k]
            graph = self._dialogue.missions[k].graph
            for node in bits(graph.tools):
                for other in _values(graph.nodes[node], name):
                    if other != value and (found := self._told(other, texts)) is not None:
                        return found
        return None


def _spoken(dialogue: Dialogue, mission: int, history: History) -> Iterator[str]:
    """Yield the texts before a mission and its message, those of user and assistant alone."""
    for each in dialogue.prompt(mission, history):
        if each["role"] != "tool" and not each.get("tool_calls"):
            yield each["content"] or ""


def _missing(ask: Node) -> tuple[str, ...]:
    """Return the names of the arguments that a question asks for."""
    said = ask.arguments.get("missing_required_parameters")
    return tuple(map(str, said if isinstance(said, list) else [said] if said else []))


def _asks(ask: Node, call: Node, name: str) -> bool:
    tool = ask.arguments.get("tool_name")
    return name in _missing(ask) and (not isinstance(tool, str) or tool in ("", call.name))


def _values(node: Node, name: str) -> Iterator[Any]:
    if name in node.arguments:
        yield from (value for _, value in leaves(node.arguments[name]))
