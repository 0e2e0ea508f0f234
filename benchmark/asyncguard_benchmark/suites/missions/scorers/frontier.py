"""The frontier of order ideals: what a run may have done of the gold so far.

A step's calls go to different nodes that are ready; where more than one assignment is possible, all are kept, so the
order in which calls of one message stand, or which of two equal names was meant, never decides. The run matches as
long as one ideal is left, and is complete when the end is said with everything done.

Nodes that cannot be told apart (equal in name, predecessors and successors, and where arguments count in these) are
taken lowest first. So the set holds one ideal if names are distinct, and grows only where equal names lead to different
calls.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.suites.missions.gold_graph import GoldGraph, bits
from asyncguard_benchmark.suites.missions.scorers.steps import Step, ToolCall

MOST_IDEALS = 20_000
"""A frontier that grows beyond is given up."""
QUESTION_MARKS = "?\uff1f\u061f"
"""The common one, the full-width one, the Arabic one."""


class FrontierOverflowError(BenchmarkError):
    """The gold has so many equal names that the frontier cannot be held; the mission is not scored."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Nodes that a step may stand for, in one mode."""

    graph: GoldGraph
    fits: Callable[[ToolCall, int], bool]
    """Returns True if a call may be a node of its tool."""
    lower_twins: tuple[int, ...]
    """By node: the nodes of lower number that cannot be told apart from it."""
    wording: bool
    """True if a question must ask, and for the missing parameters; in any mode a text must not be empty."""

    @classmethod
    def by_names(cls, graph: GoldGraph) -> "Rules":
        """Return the rules under which a call fits each node of its tool."""
        twins = lower_twins(graph, lambda number: None)
        return cls(graph=graph, fits=lambda call, number: True, lower_twins=twins, wording=False)

    def candidates(self, call: ToolCall) -> int:
        """Return the nodes that a call fits, done or not; it fits no pseudo tool."""
        return sum(
            nodes for first, nodes in self._alike.get(call.name, ()) if self.fits(call, first)
        )

    @cached_property
    def _alike(self) -> Mapping[str, Sequence[tuple[int, int]]]:
        """By tool: nodes that cannot be told apart, as the first and all; a call fits all of them or none."""
        nodes: dict[int, int] = {}
        for number in bits(self.graph.tools):
            lower = self.lower_twins[number] or 1 << number
            first = (lower & -lower).bit_length() - 1
            nodes[first] = nodes.get(first, 0) | 1 << number
        found: dict[str, list[tuple[int, int]]] = {}
        for first, every in nodes.items():
            found.setdefault(self.graph.nodes[first].name, []).append((first, every))
        return found


def lower_twins(graph: GoldGraph, mark: Callable[[int], object]) -> tuple[int, ...]:
    """Return for each node the lower ones with equal name, predecessors, successors and mark."""
    found, seen = [], dict[tuple[object, ...], int]()
    for number, node in enumerate(graph.nodes):
        key = (node.name, graph.predecessors[number], graph.successors[number], mark(number))
        found.append(seen.get(key, 0))
        seen[key] = seen.get(key, 0) | 1 << number
    return tuple(found)


def assignments(
    done: int, free: int, candidates: Iterable[int], twins: Sequence[int]
) -> frozenset[int]:
    """Return every set of free nodes that calls can take, each another one.

    Args:
        done: Nodes that are taken already; a twin waits for the lower ones.
        free: Nodes that may be taken.
        candidates: By call: the nodes that it fits.
        twins: By node: lower nodes that cannot be told apart from it.

    Raises:
        FrontierOverflowError: there are too many.
    """
    found = {0}
    for fitting in candidates:
        found = {
            taken | 1 << number
            for taken in found
            for number in bits(fitting & free & ~taken)
            if not twins[number] & ~(done | taken)
        }
        if len(found) > MOST_IDEALS:
            raise FrontierOverflowError(FrontierOverflowError.__doc__)
    return frozenset(found)


def after_calls(rules: Rules, ideals: Iterable[int], candidates: Sequence[int]) -> frozenset[int]:
    """Return the ideals after calls of one message; empty if they fit nowhere.

    Args:
        rules: What a step may stand for.
        ideals: Those before.
        candidates: By call: the nodes that it fits.

    Raises:
        FrontierOverflowError: there are too many.
    """
    found: set[int] = set()
    for done in ideals:
        taken = assignments(done, rules.graph.ready(done), candidates, rules.lower_twins)
        found.update(done | each for each in taken)
        if len(found) > MOST_IDEALS:
            raise FrontierOverflowError(FrontierOverflowError.__doc__)
    return frozenset(found)


def after_text(rules: Rules, ideals: Iterable[int], text: str) -> frozenset[int]:
    """Return the ideals after a text: it is the question that is ready, else the end; empty if neither is."""
    return frozenset(
        done | node for done in ideals if (node := said_node(rules, rules.graph.ready(done), text))
    )


def said_node(rules: Rules, ready: int, text: str) -> int:
    """Return the node that a text is, of those that are ready: a question, else the end; 0 if it fits neither."""
    if asks := ready & rules.graph.asks:
        node = rules.graph.nodes[(asks & -asks).bit_length() - 1]
        fits = not rules.wording or (holds_question(text) and names_all(text, node.aliases))
        return asks & -asks if fits else 0
    answers = ready & rules.graph.answers
    return answers & -answers


def names_all(text: str, aliases: Iterable[Iterable[str]]) -> bool:
    """Return True if a text says one of the words for each missing parameter, in any case."""
    folded = " ".join(text.casefold().split())
    return all(any(word.casefold() in folded for word in words) for words in aliases)


def holds_question(text: str) -> bool:
    """Return True if a text asks: it holds a question mark."""
    return any(mark in text for mark in QUESTION_MARKS)


@dataclass(frozen=True, kw_only=True)
class Match:
    """Progress of a run along the gold."""

    ideals: frozenset[int]
    """The last that were possible, before the step that fits none."""
    accepted: int
    """Steps that fitted."""
    diverged: bool
    """True if a step fitted nothing; what came after it was not looked at."""
    complete: bool
    """True if the end was said with everything done, and nothing came after it."""

    def most(self, of: int) -> int:
        """Return the largest number of some nodes that an ideal holds."""
        return max((each & of).bit_count() for each in self.ideals)


def match(rules: Rules, steps: Sequence[Step]) -> Match:
    """Follow a run until it ends or a step fits nothing.

    Raises:
        FrontierOverflowError: the gold has too many equal names.
    """
    ideals, accepted = frozenset({0}), 0
    for step in steps:
        if step.calls:
            following = after_calls(rules, ideals, [rules.candidates(call) for call in step.calls])
        else:
            following = after_text(rules, ideals, step.text) if step.is_text else frozenset()
        if not following:
            break
        ideals, accepted = following, accepted + 1
    diverged = accepted < len(steps)
    complete = not diverged and rules.graph.full in ideals
    return Match(ideals=ideals, accepted=accepted, diverged=diverged, complete=complete)
