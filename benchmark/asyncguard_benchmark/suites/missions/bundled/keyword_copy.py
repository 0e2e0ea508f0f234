"""A program without understanding: it takes the tool whose words the message has and copies values that fit by type."""

import re
from typing import Any

from asyncguard_benchmark.services.declarations import Tool
from asyncguard_benchmark.suites.missions.bundled.proofs import Place

_WORD = re.compile(r"[a-z]{3,}")
_STRINGS = re.compile(
    r"[A-Z]{1,3}[- ]\d+|\d{4}-\d\d-\d\d|\b\w+@[\w.]+|[A-Z][\w'-]*(?: [A-Z][\w'-]*)*"
)
_NUMBERS = re.compile(r"(?<![\w-])\d+(?:\.\d+)?(?![\w-])")


def solved_by_copying(place: Place) -> bool:
    """Return True if one call per clause of the message, chosen by words, makes exactly the calls of the gold."""
    mission = place.mission
    said = " ".join((mission.text, *mission.replies))
    gold = [(mission.nodes[n].name, mission.nodes[n].arguments) for n in mission.calls]
    clauses = re.split(r"[,;.?!]| and | then ", said) if len(gold) > 1 else [said]
    made = [call for clause in clauses if (call := _call(place, clause)) is not None]
    return len(made) == len(gold) and all(each in made for each in gold)


def _call(place: Place, text: str) -> tuple[str, dict[str, Any]] | None:
    words = set(_WORD.findall(text.casefold()))
    tools = [place.bundle.toolset.tools[name] for name in place.dialogue.tools]
    best = max(tools, key=lambda tool: len(words & _words_of(tool)))
    if not words & _words_of(best):
        return None
    arguments: dict[str, Any] = {}
    for name in best.parameters["required"]:
        schema = best.parameters["properties"][name]
        if (value := _copied(schema, text, list(arguments.values()))) is None:
            return None
        arguments[name] = value
    return best.name, arguments


def _words_of(tool: Tool) -> set[str]:
    return set(_WORD.findall(f"{tool.name.replace('_', ' ')} {tool.description}".casefold()))


def _copied(schema: dict[str, Any], text: str, taken: list[Any]) -> Any:
    if "enum" in schema:
        return next((word for word in schema["enum"] if word in text.casefold()), None)
    if schema["type"] == "array":
        found = _STRINGS.findall(text)
        return found or None
    if schema["type"] in ("integer", "number"):
        numbers = [float(each) for each in _NUMBERS.findall(text)]
        return next((n for n in numbers if n not in taken), None)
    strings = [each for each in _STRINGS.findall(text) if each not in taken]
    return max(strings, key=len, default=None)
