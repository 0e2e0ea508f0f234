"""Checks a corpus of single tasks as a whole: it must not be made from templates."""

import difflib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from asyncguard_benchmark.pointers import leaves
from asyncguard_benchmark.scenario import Narration, SubTask

MOST_SIMILAR = 0.5
"""Similarity that two masked queries must stay below."""
MOST_SHARED_OPENING = 0.05
"""Largest share of tasks that open with the same words."""
LEAST_INDIRECT = 0.25
"""Smallest share of tasks that tell their steps out of order or leave a lookup out."""
MOST_SHARED_SEQUENCE = 0.1
"""Largest share of a category's tasks with the same sequence of tools."""
MOST_SHARED_STATE = 3
"""Largest number of tasks with the same initial state."""
_OPENING_WORDS = 3


def corpus_problems(tasks: Sequence[SubTask]) -> tuple[str, ...]:
    """What is wrong with a corpus as a whole: templates, repeated openings, sequences and states."""
    return (*_similar(tasks), *_openings(tasks), *_direct(tasks), *_sequences(tasks), *_states(tasks))


def masked(task: SubTask) -> str:
    """The query without its values: what a template would have in common."""
    text = task.query
    for call in task.gold:
        for _, value in leaves(call.arguments):
            text = text.replace(str(value), "_") if isinstance(value, str) and len(value) > 2 else text
    return re.sub(r"\d[\d.,]*", "0", text).lower()


def similarity(one: SubTask, other: SubTask) -> float:
    """Share of words that the two masked queries have in common, in order; 0 to 1."""
    left, right = masked(one).split(), masked(other).split()
    return difflib.SequenceMatcher(None, left, right, autojunk=False).ratio()


def _similar(tasks: Sequence[SubTask]) -> Iterator[str]:
    for one, other in combinations(tasks, 2):
        if (ratio := similarity(one, other)) >= MOST_SIMILAR:
            yield f"{one.id} and {other.id} read alike ({ratio:.2f})"


def _openings(tasks: Sequence[SubTask]) -> Iterator[str]:
    most = max(1, int(MOST_SHARED_OPENING * len(tasks)))
    openings = Counter(" ".join(re.findall(r"\w+", task.query.lower())[:_OPENING_WORDS]) for task in tasks)
    for opening, count in openings.items():
        if count > most:
            yield f"{count} queries open with {opening!r}"


def _direct(tasks: Sequence[SubTask]) -> Iterator[str]:
    indirect = sum(task.narration is not Narration.IN_ORDER for task in tasks)
    if indirect < LEAST_INDIRECT * len(tasks):
        yield f"only {indirect} of {len(tasks)} queries are told out of order or leave a lookup out"


def _sequences(tasks: Sequence[SubTask]) -> Iterator[str]:
    sizes = Counter(task.category for task in tasks)
    sequences = Counter((task.category, tuple(call.tool for call in task.gold)) for task in tasks)
    for (category, tools), count in sequences.items():
        if count > max(1, int(MOST_SHARED_SEQUENCE * sizes[category])):
            yield f"{count} {category} tasks use the tools {' '.join(tools)}"


def _states(tasks: Sequence[SubTask]) -> Iterator[str]:
    states = Counter(json.dumps(task.initial_state, sort_keys=True) for task in tasks)
    for state, count in states.items():
        if count > MOST_SHARED_STATE:
            yield f"{count} tasks start from the same state {state[:60]}..."
