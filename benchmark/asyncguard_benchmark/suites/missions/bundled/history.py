"""History that a mission cannot do without: which of its values stand in earlier missions and in nothing else it shows.

A leaf is *hidden* if its source is the history and its value, in any normal form, stands in nothing else that the agent
sees: the message, replies, the schemas of the tools, the current date, and results of calls of the gold that need no
such leaf. Without the earlier missions a hidden leaf can only be invented.
"""

import json
from collections.abc import Iterator
from datetime import date
from typing import Any

from asyncguard_benchmark.suites.missions.bundled.bundle import (
    Bundle,
    BundledDialogue,
    BundledMission,
    HistorySource,
    Kind,
    Source,
)
from asyncguard_benchmark.suites.missions.bundled.normal_forms import as_text, stands
from asyncguard_benchmark.suites.missions.terms import ASK, Letter


def today_of(dialogue: BundledDialogue) -> date:
    """Return the current day of a dialogue."""
    return date.fromisoformat(dialogue.time[:10])


def required_leaves(mission: BundledMission) -> Iterator[tuple[int | None, Source]]:
    """Yield the leaves that a mission stands or falls with, with their nodes: arguments, of a chat the facts."""
    if mission.letter is Letter.CHAT:
        yield from ((None, fact) for fact in mission.facts)
    else:
        for number in mission.calls:
            yield from ((number, source) for source in mission.nodes[number].sources)


def _from_history(source: Source) -> list[Source]:
    return [each for each in source.origins() if each.kind is Kind.HISTORY]


def tainted_calls(mission: BundledMission) -> set[int]:
    """Return the calls that take a value of the history, themselves or through a call before them."""
    found: set[int] = set()
    for number in mission.calls:
        node = mission.nodes[number]
        if any(map(_from_history, node.sources)) or found & set(node.needs):
            found.add(number)
    return found


def seen_without_history(bundle: Bundle, dialogue: BundledDialogue, at: int) -> str:
    """Return all that a mission shows to an agent that sees none of the earlier ones."""
    mission = dialogue.missions[at]
    tools = [
        tool.function_schema()
        for name, tool in bundle.toolset.tools.items()
        if name in dialogue.tools
    ]
    tainted = tainted_calls(mission)
    results = (as_text(mission.nodes[n].observation) for n in mission.calls if n not in tainted)
    asked = (str(node.observation) for node in mission.nodes if node.name == ASK)
    weekday = today_of(dialogue).strftime("%A")
    schemas = as_text([tool["parameters"] for tool in tools]) + json.dumps(
        [t["description"] for t in tools]
    )
    return " ; ".join(
        (mission.text, *mission.replies, *asked, *results, schemas, dialogue.time, weekday)
    )


def hidden_values(bundle: Bundle, dialogue: BundledDialogue, at: int) -> list[Any]:
    """Return the values of the history that a mission needs and shows nowhere else.

    Of a derived leaf these are its inputs, and there are none if the derived value itself stands elsewhere.
    """
    seen, today = seen_without_history(bundle, dialogue, at), today_of(dialogue)
    found: list[Any] = []
    for _, leaf in required_leaves(dialogue.missions[at]):
        origins = _from_history(leaf)
        if not origins or stands(leaf.value, seen, today, units=True):
            continue
        found += [each.value for each in origins if not stands(each.value, seen, today, units=True)]
    return found


def told_in(dialogue: BundledDialogue, at: int, value: Any, *, results: bool = True) -> bool:
    """Return True if a mission tells a value, in a text or, unless `results` is False, in a call or its result."""
    mission, today = dialogue.missions[at], today_of(dialogue)
    said = " ; ".join(text for _, text in mission.texts())
    if results:
        nodes = [mission.nodes[n] for n in mission.calls]
        said += " ; " + as_text([[node.arguments, node.observation] for node in nodes])
    return stands(value, said, today)


def history_sources(
    bundle: Bundle, dialogue: BundledDialogue, at: int
) -> tuple[HistorySource, ...]:
    """Return the earlier missions that a mission cannot do without: each alone holds a value, in texts and results."""
    found: dict[int, Any] = {}
    for value in hidden_values(bundle, dialogue, at):
        holders = [k for k in range(at) if told_in(dialogue, k, value)]
        if len(holders) == 1:
            found.setdefault(holders[0], value)
    return tuple(HistorySource(mission=k, value=found[k]) for k in sorted(found))


def distance(bundle: Bundle, dialogue: BundledDialogue, at: int) -> int:
    """Return how many missions back a mission must look: the most over its hidden values, 0 with none."""
    far = [
        at - max(k for k in range(at) if told_in(dialogue, k, value))
        for value in hidden_values(bundle, dialogue, at)
        if any(told_in(dialogue, k, value) for k in range(at))
    ]
    return max(far, default=0)
