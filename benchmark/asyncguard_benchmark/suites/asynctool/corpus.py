"""Check of a corpus of single tasks as a whole: the paper's counts and lengths, and that no template made it."""

import difflib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from asyncguard_benchmark.harness.pointers import leaves
from asyncguard_benchmark.harness.scenario import Category, Narration, SubTask

PAPER_SIZES: Mapping[Category, tuple[int, float]] = {
    Category.DATA_MANAGEMENT: (59, 2.14),
    Category.FILESYSTEM: (53, 3.58),
    Category.DATA_GENERATION: (29, 2.14),
    Category.MESSAGE_API: (23, 3.48),
    Category.NUMBER_OPERATIONS: (24, 2.12),
    Category.SOCIAL_CONNECT: (18, 4.11),
    Category.STRING_MANIPULATION: (34, 2.09),
    Category.TICKET_PURCHASE: (21, 2.81),
    Category.TRADING_BOT: (15, 3.27),
    Category.TRAVEL_PLANNING: (20, 3.10),
    Category.DATA_FORMAT: (44, 2.09),
    Category.MACHINE_OPERATION: (18, 3.00),
}
"""Number of single tasks of each category in the paper, and the mean length of their ground
truths."""
STATEFUL = frozenset(
    {
        Category.FILESYSTEM,
        Category.MESSAGE_API,
        Category.SOCIAL_CONNECT,
        Category.TICKET_PURCHASE,
        Category.TRADING_BOT,
        Category.TRAVEL_PLANNING,
        Category.MACHINE_OPERATION,
    }
)
"""The categories that are services with a state; the others are families of functions."""
MOST_LENGTH_ERROR = 0.05
"""Largest deviation of a category's mean length from the paper's."""
LEAST_WILD = 80
"""Fewest tasks of the wild split."""
LEAST_PLAIN = 120
"""Fewest tasks of the plain split."""
MOST_SIMILAR = 0.5
"""Similarity that two masked queries must stay below."""
MOST_SHARED_OPENING = 0.05
"""Largest share of tasks that open with the same words."""
LEAST_INDIRECT = 0.25
"""Smallest share of tasks that tell their steps out of order or leave a lookup out."""
MOST_SHARED_SEQUENCE = 0.1
"""Largest share of a stateful category's tasks with the same sequence of tools."""
MOST_SHARED_STATE = 3
"""Largest number of tasks with the same initial state."""
_OPENING_WORDS = 3


def size_problems(tasks: Sequence[SubTask], categories: Iterable[Category]) -> tuple[str, ...]:
    """Return the deviations of the main split from the paper in number of tasks or mean length."""
    return tuple(problem for category in categories for problem in _size(tasks, category))


def _size(tasks: Sequence[SubTask], category: Category) -> Iterator[str]:
    lengths = [len(task.gold) for task in tasks if task.category is category]
    count, mean = PAPER_SIZES[category]
    if len(lengths) != count:
        yield f"{category} has {len(lengths)} tasks, the paper {count}"
    if lengths and abs(sum(lengths) / len(lengths) - mean) > MOST_LENGTH_ERROR:
        yield f"{category} tasks are {sum(lengths) / len(lengths):.2f} calls long on average, the paper's {mean}"


def corpus_problems(tasks: Sequence[SubTask]) -> tuple[str, ...]:
    """Return the problems of a corpus as a whole: templates, repeated openings, sequences and states."""
    return (
        *_similar(tasks),
        *_openings(tasks),
        *_direct(tasks),
        *_sequences(tasks),
        *_states(tasks),
    )


def plain_problems(tasks: Sequence[SubTask], unshared: Sequence[SubTask]) -> tuple[str, ...]:
    """Return the problems of the plain split as a whole: number of tasks, templates, openings, sequences, states.

    Args:
        tasks: All tasks of the split.
        unshared: Those whose initial state no other task may have; the set `independent` shares its states.
    """
    few = [f"the plain split has {len(tasks)} tasks, not {LEAST_PLAIN}"]
    states = Counter(_state_text(task) for task in unshared if task.category in STATEFUL)
    return (
        *(few if len(tasks) < LEAST_PLAIN else ()),
        *_similar(tasks),
        *_openings(tasks),
        *_sequences(unshared),
        *(f"{n} tasks start from {state[:60]}..." for state, n in states.items() if n > 1),
    )


def masked(task: SubTask) -> str:
    """Return the query without its values: what a template would have in common."""
    text = task.query
    for call in task.gold:
        for _, value in leaves(call.arguments):
            text = (
                text.replace(str(value), "_") if isinstance(value, str) and len(value) > 2 else text
            )
    return re.sub(r"\d[\d.,]*", "0", text).lower()


def similarity(one: SubTask, other: SubTask) -> float:
    """Return the share of words that the two masked queries have in common, in order; 0 to 1."""
    return _ratio(masked(one).split(), masked(other).split())


def _ratio(left: Sequence[str], right: Sequence[str]) -> float:
    return difflib.SequenceMatcher(None, left, right, autojunk=False).ratio()


def _similar(tasks: Sequence[SubTask]) -> Iterator[str]:
    read = [(task.id, words := masked(task).split(), Counter(words)) for task in tasks]
    for (one, left, counted), (other, right, too) in combinations(read, 2):
        # Words in common, in any order, bound the share of those in order: few pairs get near the limit.
        shared = sum(min(count, too[word]) for word, count in counted.items() if word in too)
        if 2 * shared < MOST_SIMILAR * (len(left) + len(right)):
            continue
        if (ratio := _ratio(left, right)) >= MOST_SIMILAR:
            yield f"{one} and {other} read alike ({ratio:.2f})"


def _openings(tasks: Sequence[SubTask]) -> Iterator[str]:
    most = max(1, int(MOST_SHARED_OPENING * len(tasks)))
    openings = Counter(
        " ".join(re.findall(r"\w+", task.query.lower())[:_OPENING_WORDS]) for task in tasks
    )
    for opening, count in openings.items():
        if count > most:
            yield f"{count} queries open with {opening!r}"


def indirect_count(tasks: Sequence[SubTask]) -> int:
    """Return the number of queries that tell their steps out of order or leave a lookup out."""
    return sum(task.narration is not Narration.IN_ORDER for task in tasks)


def _direct(tasks: Sequence[SubTask]) -> Iterator[str]:
    if (indirect := indirect_count(tasks)) < LEAST_INDIRECT * len(tasks):
        yield f"only {indirect} of {len(tasks)} queries are told out of order or leave a lookup out"


def _sequences(tasks: Sequence[SubTask]) -> Iterator[str]:
    sizes = Counter(task.category for task in tasks)
    stateful = [task for task in tasks if task.category in STATEFUL]
    sequences = Counter(
        (task.category, tuple(call.tool for call in task.gold)) for task in stateful
    )
    for (category, tools), count in sequences.items():
        if count > max(1, int(MOST_SHARED_SEQUENCE * sizes[category])):
            yield f"{count} {category} tasks use the tools {' '.join(tools)}"


def _states(tasks: Sequence[SubTask]) -> Iterator[str]:
    # Functions without a state all start from the same nothing.
    stateful = (task for task in tasks if task.category in STATEFUL)
    states = Counter(map(_state_text, stateful))
    for state, count in states.items():
        if count > MOST_SHARED_STATE:
            yield f"{count} tasks start from the same state {state[:60]}..."


def _state_text(task: SubTask) -> str:
    return json.dumps(task.initial_state, sort_keys=True)
