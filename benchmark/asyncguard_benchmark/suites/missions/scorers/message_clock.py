"""The frontier on the message clock: which calls were made before the results that they follow had arrived.

A call is on time if the predecessors of its node are returned, premature if some of them are issued only, and fits
nothing otherwise. Calls that stand earlier in the same message count as issued. Where names are equal more than one
assignment may be right; the one with the fewest premature calls counts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from asyncguard_benchmark.suites.missions.gold_graph import bits
from asyncguard_benchmark.suites.missions.scorers.frontier import (
    MOST_IDEALS,
    FrontierOverflowError,
    Rules,
    lower_twins,
)
from asyncguard_benchmark.suites.missions.scorers.steps import ToolCall


@dataclass(frozen=True)
class TimedCall:
    """A call, with the calls that were pending when it was issued."""

    call: ToolCall
    pending_before: frozenset[int]
    """Their numbers in the order of issue, from 0."""


@dataclass(frozen=True, order=True)
class Prematurity:
    """The least prematurity of a run; ordered by what counts first."""

    premature: int
    needed: int | None
    """Premature calls with a value from a result that had not arrived; None if the data names no sources."""


def issued(calls: Iterable[tuple[int, int, ToolCall]]) -> tuple[TimedCall, ...]:
    """Return calls with what was pending: a result is seen by the messages after it is due.

    Args:
        calls: Message in which a call stands, message after which its result is there, and the call; in order.
    """
    known = list(calls)
    return tuple(
        TimedCall(
            call, frozenset(n for n, (_, due, _) in enumerate(known[:number]) if due >= message)
        )
        for number, (message, _, call) in enumerate(known)
    )


_State = tuple[int, tuple[tuple[int, int], ...]]
"""Issued nodes, and the node of each pending call."""


def prematurity(
    rules: Rules, calls: Sequence[TimedCall], done: int = 0, *, skipping: bool = False
) -> Prematurity | None:
    """Return the least prematurity of a run; None if a call fits nothing that could have been issued.

    Args:
        rules: What a call may stand for.
        calls: The calls in the order of issue.
        done: Nodes that are issued and returned before, say questions.
        skipping: True to pass over calls that fit nothing, which one mission of several may have.

    Raises:
        FrontierOverflowError: the gold has too many equal names.
    """
    graph = rules.graph
    sourced = all(node.uses is not None for node in graph.nodes)
    twins = _twins(rules)
    costs: Mapping[_State, tuple[int, int]] = {(done, ()): (0, 0)}
    for number, timed in enumerate(calls):
        following: dict[_State, tuple[int, int]] = {}
        fitting = rules.candidates(timed.call)
        for (taken, held), (early, needed) in costs.items():
            pending = tuple(each for each in held if each[0] in timed.pending_before)
            missing = sum(1 << node for _, node in pending)
            for node in bits(fitting & graph.ready(taken)):
                if twins[node] & ~taken:
                    continue
                waits = graph.predecessors[node] & missing
                uses = sum(1 << each for each in graph.nodes[node].uses or ()) & missing
                cost = (early + bool(waits), needed + bool(waits and uses))
                state = (taken | 1 << node, (*pending, (number, node)))
                following[state] = min(cost, following.get(state, cost))
        if len(following) > MOST_IDEALS:
            raise FrontierOverflowError(FrontierOverflowError.__doc__)
        costs = following or (costs if skipping else {})
    if not costs:
        return None
    early, needed = min(costs.values())
    return Prematurity(early, needed if sourced else None)


def _twins(rules: Rules) -> tuple[int, ...]:
    """Return twins that are also used by the same nodes: else it matters whose result was missing."""
    graph = rules.graph
    used_by = [
        frozenset(n for n, node in enumerate(graph.nodes) if number in (node.uses or ()))
        for number in range(len(graph.nodes))
    ]
    alike = lower_twins(graph, lambda number: (used_by[number], graph.nodes[number].uses))
    return tuple(one & other for one, other in zip(alike, rules.lower_twins, strict=True))
