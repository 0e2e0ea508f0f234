"""What the bundled suite holds, counted, beside what is planned."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from asyncguard_benchmark.suites.missions.bundled.bundle import (
    Bundle,
    BundledDialogue,
    Kind,
    Split,
)
from asyncguard_benchmark.suites.missions.bundled.history import distance
from asyncguard_benchmark.suites.missions.bundled.proofs import Place, held_out, places
from asyncguard_benchmark.suites.missions.terms import ASK, LETTERS, Letter, Relation, switches

QUICK = (
    "sssm",
    "smcc",
    "stmt",
    "scts",
    "mstt",
    "mmms",
    "mtcm",
    "mcsc",
    "tscs",
    "tmst",
    "tttc",
    "tcmm",
    "csmc",
    "cmtm",
    "ctss",
    "ccct",
)
"""Patterns of `--quick`: any two positions take all 16 pairs of letters once."""
PLANNED: Mapping[str, int] = {
    "dialogues": 256,
    "held-out dialogues": 64,
    "quick dialogues": 16,
    "domains": 16,
    "m, P": 86,
    "m, S": 85,
    "m, S+P": 85,
    "m, repeated names": 64,
    "m, repeated names with different successors": 40,
    "reference": 230,
    "ellipsis": 230,
    "long memory": 170,
    "long memory, distance 2": 80,
    "long memory, distance 3": 40,
    "long memory, two source missions": 40,
    "c, two missing values": 64,
    "c, two rounds": 32,
    "c, several calls": 32,
    "c, stale bait": 64,
    "s and m, derived value": 64,
    "t, a tool shares words": 64,
    "PTF 0": 84,
    "PTF 1": 324,
    "PTF 2": 252,
    "PTF 3": 108,
}
"""Least number of each, in the whole suite."""
_WORD = re.compile(r"[a-z]{4,}")


def census(bundles: Sequence[Bundle]) -> dict[str, int]:
    """Return how many there are of each planned kind, and of each letter and relation with each letter."""
    found: Counter[str] = Counter(dict.fromkeys(PLANNED, 0))
    found["domains"] = sum(bool(bundle.dialogues) for bundle in bundles)
    for bundle in bundles:
        for dialogue in bundle.dialogues:
            found.update(_of_dialogue(bundle, dialogue))
            for place in places(bundle, dialogue):
                found.update(_of_mission(place))
    return dict(found)


def _of_dialogue(bundle: Bundle, dialogue: BundledDialogue) -> Iterator[str]:
    yield "dialogues"
    if bundle.split is Split.HELD_OUT:
        yield "held-out dialogues"
    if dialogue.pattern in QUICK:
        yield "quick dialogues"
    letters = [Letter(each) for each in dialogue.pattern]
    yield from (f"PTF {switches(letters[:length])}" for length in range(2, len(letters) + 1))


def _of_mission(place: Place) -> Iterator[str]:
    mission = place.mission
    letter, relation = mission.letter, mission.relation
    yield f"letter {letter}"
    if relation is not None:
        yield relation.value
        yield f"{relation.value}, {letter}"
    if relation is Relation.LONG_MEMORY:
        yield f"long memory, distance {distance(place.bundle, place.dialogue, place.at)}"
        if len(mission.history_sources) > 1:
            yield "long memory, two source missions"
    yield from _OF_LETTER[letter](place)


def _of_chat(place: Place) -> Iterator[str]:
    words = set(_WORD.findall(place.mission.text.casefold()))
    tools = (place.bundle.toolset.tools[name] for name in place.dialogue.tools)
    if any(
        words & set(_WORD.findall(f"{tool.name} {tool.description}".casefold())) for tool in tools
    ):
        yield "t, a tool shares words"


def _of_calls(place: Place) -> Iterator[str]:
    mission = place.mission
    sources = (source for number in mission.calls for source in mission.nodes[number].sources)
    if any(source.kind is Kind.DERIVED for source in sources):
        yield "s and m, derived value"


def _of_several(place: Place) -> Iterator[str]:
    yield from _of_calls(place)
    graph = place.mission.graph()
    yield f"m, {graph.subtype}"
    names = Counter(graph.nodes[number].name for number in place.mission.calls)
    repeated = [name for name, count in names.items() if count > 1]
    if repeated:
        yield "m, repeated names"
    if any(
        len({graph.successors[n] for n in place.mission.calls if graph.nodes[n].name == name}) > 1
        for name in repeated
    ):
        yield "m, repeated names with different successors"


def _of_questions(place: Place) -> Iterator[str]:
    mission = place.mission
    asked = [one for node in mission.nodes for one in node.missing]
    rounds = sum(node.name == ASK for node in mission.nodes)
    if len(asked) > 1:
        yield "c, two missing values"
    if rounds > 1:
        yield "c, two rounds"
    if len(mission.calls) > 1:
        yield "c, several calls"
    wanted = {one.parameter for one in asked}
    earlier = (
        node.arguments for each in place.dialogue.missions[: place.at] for node in each.nodes
    )
    if any(wanted & arguments.keys() for arguments in earlier):
        yield "c, stale bait"


_OF_LETTER = {
    Letter.SINGLE: _of_calls,
    Letter.MULTI: _of_several,
    Letter.CLARIFY: _of_questions,
    Letter.CHAT: _of_chat,
}


def to_json(bundles: Sequence[Bundle]) -> dict[str, Any]:
    """Return the census with the plan, the patterns that are there and those that are missing."""
    there = {dialogue.pattern for bundle in bundles for dialogue in bundle.dialogues}
    patterns = [a + b + c + d for a in LETTERS for b in LETTERS for c in LETTERS for d in LETTERS]
    found = census(bundles)
    return {
        "counts": found,
        "planned": dict(PLANNED),
        "letters": {each.value: found.get(f"letter {each}", 0) for each in LETTERS},
        "missing_held_out": [each for each in patterns if held_out(each) and each not in there],
        "missing_development": [
            each for each in patterns if not held_out(each) and each not in there
        ],
    }
