"""Proofs over the words of all messages: written as people type, by no template, and not to be solved by copying words.

Values are masked before messages are compared, so that one sentence with two names counts as the same sentence twice.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from asyncguard_benchmark.suites.missions.bundled.bundle import (
    Bundle,
    BundledMission,
    Kind,
    Split,
)
from asyncguard_benchmark.suites.missions.bundled.history import today_of
from asyncguard_benchmark.suites.missions.bundled.keyword_copy import solved_by_copying
from asyncguard_benchmark.suites.missions.bundled.normal_forms import stands
from asyncguard_benchmark.suites.missions.bundled.proofs import Place, Problem, places
from asyncguard_benchmark.suites.missions.terms import Letter

ALIKE = 0.5
"""Share of common trigrams of letters from which two messages are alike."""
MOST_OFTEN = 0.03
"""Share of messages with one opening, and of m missions with one multiset of tools."""
FEWEST = 3
"""Repetitions that are allowed in a suite so small that the share allows fewer."""
MEDIAN_WORDS, P90_WORDS = 18, 40
MOST_COPIED = 0.1
"""Share of s, m and c missions that the program which copies words may solve."""


def _median(values: Sequence[int], share: float) -> int:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def masked(mission: BundledMission) -> str:
    """Return the message with numbers and the values of the gold replaced."""
    text = mission.text.casefold()
    for node in mission.nodes:
        for source in node.sources:
            for each in source.origins():
                if each.kind is Kind.MESSAGE and isinstance(each.value, str):
                    text = text.replace(each.value.casefold(), "*")
    return re.sub(r"\d[\d.,:-]*", "*", text)


def _trigrams(text: str) -> frozenset[str]:
    squeezed = " ".join(re.findall(r"[\w*']+", text))
    return frozenset(squeezed[n : n + 3] for n in range(len(squeezed) - 2))


def wording_problems(bundles: Sequence[Bundle]) -> Iterator[Problem]:
    """Yield messages that are alike, too many of one opening or of one multiset of tools, and named tools."""
    found = [place for b in bundles for d in b.dialogues for place in places(b, d)]
    if not found:
        return
    grams = [(place, _trigrams(masked(place.mission))) for place in found]
    for (one, a), (other, b) in combinations(grams, 2):
        if a and b and len(a & b) >= ALIKE * len(a | b):
            yield Problem(one.name, "wording", f"the message is like that of {other.name}")
    openings = Counter(" ".join(masked(place.mission).split()[:3]) for place in found)
    yield from _too_often("opening", openings, len(found))
    several = [place for place in found if place.mission.letter is Letter.MULTI]
    multisets = Counter(
        " ".join(sorted(place.mission.nodes[n].name for n in place.mission.calls))
        for place in several
    )
    yield from _too_often("tools of m missions", multisets, len(several))
    lengths = [len(place.mission.text.split()) for place in found]
    if _median(lengths, 0.5) > MEDIAN_WORDS or _median(lengths, 0.9) > P90_WORDS:
        yield Problem(
            "all",
            "wording",
            f"median {_median(lengths, 0.5)} and p90 {_median(lengths, 0.9)} words",
        )
    for place in found:
        if named := [
            name
            for name in _names(place)
            if stands(name, place.mission.text, today_of(place.dialogue))
        ]:
            yield Problem(
                place.name, "wording", f"the message names the tool or argument {named[0]}"
            )


def _too_often(what: str, counted: Counter[str], total: int) -> Iterator[Problem]:
    for key, count in counted.items():
        if count > max(FEWEST, MOST_OFTEN * total):
            yield Problem("all", "wording", f"{what} {key!r}: {count} times in {total}")


def _names(place: Place) -> Iterator[str]:
    for name in place.dialogue.tools:
        yield from (
            each
            for each in (name, *place.bundle.toolset.tools[name].parameters["properties"])
            if "_" in each
        )


def copying(bundles: Sequence[Bundle], split: Split | None = None) -> tuple[int, int]:
    """Return how many s, m and c missions the program that copies words solves, and how many there are."""
    found = [
        place
        for bundle in bundles
        if split in (None, bundle.split)
        for dialogue in bundle.dialogues
        for place in places(bundle, dialogue)
        if place.mission.letter is not Letter.CHAT
    ]
    return sum(map(solved_by_copying, found)), len(found)


def copying_problems(bundles: Sequence[Bundle]) -> Iterator[Problem]:
    """Yield a problem if the program that copies words solves too many missions."""
    solved, total = copying(bundles)
    if solved > MOST_COPIED * total:
        text = f"choosing tools by words and copying values solves {solved} of {total} missions"
        yield Problem("all", "copying", text)
