"""Plans of simulated agents: where each value of a mission is to be read, and never the value itself.

A plan knows the calls of the gold and their order. Values that the message of the mission, the schema or common
knowledge give stand in it. All others are places: characters of a text of the conversation, or a part of a result.
A value that is worked out, or that a text writes in another form, is *sealed* by what has to be read for it: with
another reading the seal does not open, and the agent has nothing but what it read.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import cycle
from typing import Any

from asyncguard_benchmark.harness.pointers import put
from asyncguard_benchmark.suites.missions.bundled.bundle import (
    Bundle,
    BundledDialogue,
    BundledMission,
    Kind,
    Source,
)
from asyncguard_benchmark.suites.missions.bundled.history import today_of
from asyncguard_benchmark.suites.missions.bundled.normal_forms import leaves, stands
from asyncguard_benchmark.suites.missions.gold_graph import Tool
from asyncguard_benchmark.suites.missions.terms import ANSWER, ASK, Letter


@dataclass(frozen=True)
class Given:
    """A value that anyone knows who reads the mission's message and the tools."""

    value: Any


@dataclass(frozen=True, kw_only=True)
class FromText:
    """A value that stands in a text of the conversation."""

    text: int
    """Number of the text among those of user and assistant, from 0; calls and results are not counted."""
    mission: int
    """Mission to which the text belongs, from 0."""
    start: int = 0
    end: int | None = None
    """Characters of the text; all by default."""
    number: bool = False
    """True if the characters are a number."""
    sealed: str = ""
    """The value, sealed by the characters; empty if they are the value."""
    mark: str = ""
    """Digest of the value, by which an agent that is shown it elsewhere knows it again."""


@dataclass(frozen=True, kw_only=True)
class FromResult:
    """A part of the result of a call of this mission."""

    node: int
    pointer: str


@dataclass(frozen=True, kw_only=True)
class WorkedOut:
    """A value that follows from others."""

    inputs: tuple["Value", ...]
    sealed: str
    """The value, sealed by the inputs."""


@dataclass(frozen=True, kw_only=True)
class Elsewhere:
    """A value that an earlier mission tells which may still be under way."""

    mission: int
    """From 0."""
    value: "Value"
    """Place in that mission, in the terms of its own plan."""
    mark: str
    """Digest of the value, by which an agent that is shown it elsewhere knows it again."""


Value = Given | FromText | FromResult | WorkedOut | Elsewhere


@dataclass(frozen=True, kw_only=True)
class Argument:
    """A leaf of the arguments of a call."""

    at: str
    """JSON pointer into the arguments."""
    value: Value
    stale: FromText | Elsewhere | None = None
    """Another value of the same argument, which the history tells; None if it tells none."""


@dataclass(frozen=True, kw_only=True)
class PlannedNode:
    """A call, a question or the end."""

    name: str
    needs: tuple[int, ...]
    arguments: Mapping[str, Any]
    """Arguments with every leaf blank."""
    leaves: tuple[Argument, ...] = ()
    asked: tuple[str, ...] = ()
    """Of a question: words for what is missing."""
    follows: tuple[tuple[int, int], ...] = ()
    """Calls and questions of earlier missions that have to be over, as mission and node; of overlapping missions."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All that an agent knows of a mission before it reads the conversation."""

    key: str
    """Name of the mission, for draws."""
    letter: Letter
    mission: int
    """Place in the dialogue, from 0."""
    texts: int
    """Number of texts of the conversation up to the mission's message, which is the last of them."""
    nodes: tuple[PlannedNode, ...]
    facts: tuple[Value, ...]
    """Values that the end states."""
    tools: Mapping[str, Tool]


def plan_of(bundle: Bundle, dialogue: BundledDialogue, at: int) -> Plan:
    """Return the plan of a mission."""
    return Planner(bundle, dialogue, at).plan()


class Planner:
    """Writes the plan of one mission."""

    def __init__(self, bundle: Bundle, dialogue: BundledDialogue, at: int) -> None:
        self._bundle, self._dialogue, self._at = bundle, dialogue, at
        self._mission = dialogue.missions[at]
        self._today = today_of(dialogue)
        lengths = [len(list(each.texts())) for each in dialogue.missions]
        self._before = [sum(lengths[:k]) for k in range(at + 1)]

    def plan(self) -> Plan:
        """Return the plan."""
        nodes = []
        for node in self._mission.nodes:
            blank: Any = dict(node.arguments) if node.name not in (ASK, ANSWER) else {}
            found = []
            for source in node.sources:
                blank = put(blank, source.at, None)
                value, stale = self.value(source), self.stale(source)
                found.append(Argument(at=source.at, value=value, stale=stale))
            asked = tuple(one.aliases[0] if one.aliases else one.parameter for one in node.missing)
            nodes.append(
                PlannedNode(
                    name=node.name,
                    needs=node.needs,
                    arguments=blank,
                    leaves=tuple(found),
                    asked=asked,
                )
            )
        return Plan(
            key=f"{self._dialogue.id}/{self._at + 1}",
            letter=self._mission.letter,
            mission=self._at,
            texts=self._before[self._at] + 1,
            nodes=tuple(nodes),
            facts=tuple(map(self.value, self._mission.facts)),
            tools=self._bundle.tools_of(self._dialogue),
        )

    def value(self, source: Source) -> Value:
        """Return where an agent finds the value of a source."""
        match source.kind:
            case Kind.RESULT if source.node is not None:
                return FromResult(node=source.node, pointer=source.pointer)
            case Kind.DERIVED:
                inputs = tuple(map(self.value, source.inputs))
                key = key_of([each.value for each in source.inputs])
                return WorkedOut(inputs=inputs, sealed=seal(source.value, key))
            case Kind.HISTORY if source.mission is not None:
                return self._found(source.value, [source.mission])
            case Kind.HISTORY:
                return self._found(source.value, list(range(self._at)))
            case Kind.REPLY:
                return self._found(source.value, [self._at])
        return Given(source.value)

    def _found(self, value: Any, missions: list[int]) -> FromText:
        """Return the place at which a text tells a value: as it is, or else in other words."""
        texts = [each for k in missions for each in self._texts(k)]
        # What only the reader of all texts sees, say that "it" is the room: the whole last text is the reading.
        return told_by(value, texts, self._today) or in_other_words(value, *texts[-1])

    def _texts(self, mission: int) -> Iterator[tuple[int, int, str]]:
        """Yield number, mission and text; of the mission itself the replies alone."""
        for place, (role, text) in enumerate(self._dialogue.missions[mission].texts()):
            if mission < self._at or (role == "user" and place > 0):
                yield self._before[mission] + place, mission, text

    def stale(self, source: Source) -> FromText | Elsewhere | None:
        """Return another value of the argument that an earlier mission tells."""
        name = source.at.split("/")[1]
        if not any(each.kind in (Kind.REPLY, Kind.HISTORY) for each in source.origins()):
            return None
        for k in reversed(range(self._at)):
            for value in values_of(self._dialogue.missions[k], name):
                if value == source.value or isinstance(value, bool) or value is None:
                    continue
                for number, mission, text in self._texts(k):
                    if (found := written(value, number, mission, text)) is not None:
                        return found
        return None


def told_by(value: Any, texts: Sequence[tuple[int, int, str]], today: date) -> FromText | None:
    """Return the place at which a text tells a value, as it is or else in other words; None if none does.

    Args:
        value: A leaf.
        texts: Number, mission and text of each.
        today: The day from which words such as tomorrow count.
    """
    for number, mission, text in texts:
        if (found := written(value, number, mission, text)) is not None:
            return found
    for number, mission, text in texts:
        if stands(value, text, today):
            return in_other_words(value, number, mission, text)
    return None


def in_other_words(value: Any, number: int, mission: int, text: str) -> FromText:
    """Return the place of a value that a whole text tells, in words of its own."""
    return FromText(text=number, mission=mission, sealed=seal(value, text), mark=mark_of(value))


def values_of(mission: BundledMission, name: str) -> Iterator[Any]:
    """Yield the leaves of all arguments of a name."""
    for number in mission.calls:
        for at, value in leaves(mission.nodes[number].arguments):
            if at.split("/")[1] == name:
                yield value


def literal_place(value: Any, text: str, flags: re.RegexFlag = re.NOFLAG) -> tuple[int, int] | None:
    """Return the characters of a text that are a value, not part of a longer word; None if none are.

    Args:
        value: A leaf of arguments.
        text: The text.
        flags: `re.ASCII` for a language that writes no blanks between words.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
        return None
    found = re.search(rf"(?<![\w.-]){re.escape(str(value))}(?![\w-]|\.\d)", text, flags)
    return None if found is None else found.span()


def written(value: Any, number: int, mission: int, text: str) -> FromText | None:
    """Return the characters of a text that are a value, not part of a longer word; None if there are none."""
    if (place := literal_place(value, text)) is None:
        return None
    start, end = place
    return FromText(
        text=number,
        mission=mission,
        start=start,
        end=end,
        number=not isinstance(value, str),
        mark=mark_of(value),
    )


def mark_of(value: Any) -> str:
    """Return the digest by which a value is known again."""
    return hashlib.sha256(str(value).casefold().encode()).hexdigest()[:12]


# -- seals -------------------------------------------------------------------------------------------------------------


def seal(value: Any, key: str) -> str:
    """Return a value that only its key gives back."""
    text = json.dumps(value).encode()
    return _mixed(_digest(text) + text, key).hex()


def opened(sealed: str, key: str) -> tuple[bool, Any]:
    """Return True and the value, or False and None if the key is another one."""
    mixed = _mixed(bytes.fromhex(sealed), key)
    mark, text = mixed[:_MARK], mixed[_MARK:]
    return (True, json.loads(text)) if _digest(text) == mark else (False, None)


_MARK = 8


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()[:_MARK]


def _mixed(text: bytes, key: str) -> bytes:
    return bytes(
        one ^ other
        for one, other in zip(text, cycle(hashlib.sha512(key.encode()).digest()), strict=False)
    )


def key_of(inputs: list[Any]) -> str:
    """Return the key that inputs make."""
    return json.dumps(inputs, sort_keys=True)


def open_by(sealed: str, inputs: list[Any]) -> tuple[bool, Any]:
    """Return the value that inputs open, as `opened` does."""
    return opened(sealed, key_of(inputs))
