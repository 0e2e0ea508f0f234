"""Tools of an API list that may be called again, stand in for another, or tell whether it has done its work.

All of it is read off names, descriptions and arguments, as a person reads an API list: it may be
wrong. A tool is taken to have an effect unless it plainly says that it tells something.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from asyncguard_benchmark.harness.agents.tool_match import telling, words
from asyncguard_benchmark.services.common_tools import COMMON_NAMES
from asyncguard_benchmark.suites.hazards.agents.api_list import ApiList, parameters_of
from asyncguard_benchmark.suites.hazards.agents.argument_pairs import carried_over, likeness

_TELLS = re.compile(
    r"(?:tell|show|list|read|find|look|check|quote|say|state|comput|calculat|compar|convert|estimat|count|sum|"
    r"measur|return|fetch|get|search|work|describ|derive|forecast|retriev|see|verif|recount|recomput|query)(?:e?s|ies)?",
    re.IGNORECASE,
)
_WORKS_OUT = re.compile(
    r"adds? (?:up|together)\b|turns\b.* into |subtracts? |multipl(?:y|ies) |divides? |rounds? ",
    re.IGNORECASE,
)
_DOES = re.compile(
    r"(?:add|alert|announce|book|buy|cancel|create|delete|dispatch|inform|issue|lodge|notify|pay|place|put|refund|remove|"
    r"reserve|sell|send|submit|update|warn)(?:_|$)"
)
_MAY_DO = re.compile(
    r"(?:close|file|give|move|open|order|post|record|register|release|request|schedule|set|start|stop|switch|transfer)"
    r"(?:_|$)"
)
"""Verbs that are nouns as well: what is said of such a tool decides."""
_AGAIN = re.compile(r"\bcalled again\b|\beach time\b|\bonce more\b", re.IGNORECASE)
_WHETHER = re.compile(r"\bwhether\b|^\w+ if\b", re.IGNORECASE)


def is_telling(tools: ApiList, tool: str) -> bool:
    """Return True if a tool plainly tells something, so that calling it again does no harm."""
    said = str(tools.get(tool, {}).get("description", ""))
    if _DOES.match(tool) or _AGAIN.search(said):
        return False
    if _WORKS_OUT.match(said) or _TELLS.fullmatch(said.split(" ", 1)[0]):
        return True
    return not _MAY_DO.match(tool) and bool(_TELLS.fullmatch(tool.split("_", 1)[0]))


def stand_ins(
    tools: ApiList,
    tool: str,
    arguments: Mapping[str, Any],
    *,
    named: Sequence[str] = (),
    but: Collection[str] = (),
) -> list[tuple[str, dict[str, Any]]]:
    """Return tools that may answer the same question, and the arguments for them, the likeliest first.

    Args:
        tools: The API list.
        tool: The tool that was asked first.
        arguments: It was called with them.
        named: Tools that a message has named; they come first.
        but: Tools that are out of the question.
    """
    found = []
    for other in tools:
        if (
            other in (tool, *but, *COMMON_NAMES)
            or not is_telling(tools, other)
            or _tells_whether(tools, other)
        ):
            continue
        own, theirs = parameters_of(tools, tool), parameters_of(tools, other)
        filled = carried_over(arguments, own, theirs)
        alike = likeness(_about(tools, tool), _about(tools, other))
        if filled is not None and (alike or other in named):
            found.append(
                (named.index(other) if other in named else len(named), -alike, other, filled)
            )
    return [(other, filled) for _, _, other, filled in sorted(found, key=lambda each: each[:3])]


def probe_of(
    tools: ApiList, tool: str, arguments: Mapping[str, Any], *, named: Sequence[str] = ()
) -> tuple[str, dict[str, Any]] | None:
    """Return the tool that most plainly tells whether another has done its work, and its arguments.

    Args:
        tools: The API list.
        tool: The tool that may have done its work.
        arguments: It was called with them.
        named: Tools that a message has named; they come first.
    """
    found = []
    for other in tools:
        names = parameters_of(tools, other).get("properties", {})
        if other in (tool, *COMMON_NAMES) or not is_telling(tools, other):
            continue
        if (
            names
            and set(names) <= set(arguments)
            and (other in named or _tells_whether(tools, other))
        ):
            filled = {name: arguments[name] for name in names}
            alike = likeness(_about(tools, tool), _about(tools, other))
            found.append((other not in named, -alike, -len(names), other, filled))
    return next(
        ((other, filled) for *_, other, filled in sorted(found, key=lambda each: each[:4])), None
    )


def _tells_whether(tools: ApiList, tool: str) -> bool:
    return bool(_WHETHER.search(str(tools[tool].get("description", ""))))


def _about(tools: ApiList, tool: str) -> list[str]:
    return words(tool) + telling(str(tools.get(tool, {}).get("description", "")))
