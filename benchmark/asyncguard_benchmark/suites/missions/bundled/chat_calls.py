"""Attempts to answer a chat by a tool: every call whose arguments stand in the conversation or in a schema."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product
from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.services.declarations import Tool
from asyncguard_benchmark.services.service import Executor
from asyncguard_benchmark.suites.missions.bundled.bundle import BundledDialogue, Kind
from asyncguard_benchmark.suites.missions.bundled.history import today_of
from asyncguard_benchmark.suites.missions.bundled.normal_forms import as_text, leaves, stands

MOST_CALLS = 10_000
"""Calls that are tried for one mission, shared evenly by its tools."""
MOST_LISTINGS = 300
"""Calls of one tool that are tried for values of the history."""
_NAMED = re.compile(r"[A-Z][\w&'-]*(?: [A-Z][\w&'-]*){0,2}|\b\w+@[\w.]+|\b\d+(?:\.\d+)?\b")


def literals(dialogue: BundledDialogue, at: int) -> list[Any]:
    """Return the values that the talk up to a mission offers as arguments: those of calls, then names and numbers."""
    found: dict[str, Any] = {}
    for mission in dialogue.missions[:at]:
        for number in mission.calls:
            for _, value in leaves(mission.nodes[number].arguments):
                found.setdefault(repr(value), value)
            for _, value in leaves(mission.nodes[number].observation):
                if any(stands(value, text, today_of(dialogue)) for _, text in mission.texts()):
                    found.setdefault(repr(value), value)
    said = [text for mission in dialogue.missions[:at] for _, text in mission.texts()]
    for value in _named((dialogue.missions[at].text, *said)):
        found.setdefault(repr(value), value)
    return list(found.values())


def _named(texts: Iterable[str]) -> Iterator[Any]:
    """Yield the names and numbers in texts."""
    for text in texts:
        for word in _NAMED.findall(text):
            yield float(word) if re.fullmatch(r"[\d.]+", word) else word


def fact_returned(
    dialogue: BundledDialogue, at: int, world: Executor
) -> tuple[str, dict[str, Any], Any] | None:
    """Return the first call that returns a fact which the answer needs, with its arguments and the fact, or None."""
    today = today_of(dialogue)
    facts = [fact.value for fact in dialogue.missions[at].facts if fact.kind is not Kind.MESSAGE]
    offered = literals(dialogue, at)
    each_tool = MOST_CALLS // len(dialogue.tools)
    for name in dialogue.tools:
        for arguments, result in _results(dialogue, world, name, offered, each_tool):
            for fact in facts:
                if stands(fact, result, today) and not stands(fact, as_text(arguments), today):
                    return name, arguments, fact
    return None


def shown_by_calls(
    dialogue: BundledDialogue, at: int, world: Executor, values: Sequence[Any]
) -> bool:
    """Return True if calls with nothing but words of the message and replies show all of some values among others.

    Such values are not told to an agent that sees no history, but it could come upon them and guess which is meant.
    """
    mission, today = dialogue.missions[at], today_of(dialogue)
    offered = list(_named((mission.text, *mission.replies)))
    text = " ; ".join(
        result
        for name in dialogue.tools
        for _, result in _results(dialogue, world, name, offered, MOST_LISTINGS)
    )
    return all(stands(value, text, today) for value in values)


def _results(
    dialogue: BundledDialogue, world: Executor, name: str, offered: list[Any], most: int
) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the calls of a tool that succeed, each made in the world as it is, with the texts of their results."""
    tools = {each: world.tool(each) for each in dialogue.tools}
    state = world.public_state()
    fresh = Executor(tools, state)
    for arguments in islice(_arguments(tools[name], offered), most):
        try:
            result = as_text(fresh.invoke(name, arguments))
        except ToolFailure:
            continue
        # A call that fails changes nothing, and most of them fail: the world is copied after one that wrote.
        if tools[name].writes:
            fresh = Executor(tools, state)
        yield arguments, result


def _arguments(tool: Tool, offered: list[Any]) -> Iterator[dict[str, Any]]:
    parameters = tool.parameters
    names = parameters["required"]
    columns = [_values(parameters["properties"][name], offered) for name in names]
    for values in product(*columns):
        yield dict(zip(names, values, strict=True))


def _values(schema: dict[str, Any], offered: list[Any]) -> list[Any]:
    if "enum" in schema:
        return list(schema["enum"])
    match schema["type"]:
        case "array":
            return [[each] for each in _values(schema["items"], offered)]
        case "integer":
            return [int(each) for each in offered if _number(each) and float(each).is_integer()]
        case "number":
            return [each for each in offered if _number(each)]
        case _:
            return [each for each in offered if isinstance(each, str)]


def _number(each: Any) -> bool:
    return isinstance(each, int | float) and not isinstance(each, bool)
