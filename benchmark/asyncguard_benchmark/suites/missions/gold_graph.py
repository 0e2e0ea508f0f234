"""The gold of a mission: calls, and which of them need which others.

Sets of nodes are bit masks: bit n stands for node n. An order ideal is a set that holds the predecessors of all its
nodes: what a run may have done.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from asyncguard_benchmark.harness.scoring.canonical import freeze
from asyncguard_benchmark.suites.missions.terms import ANSWER, ASK, PSEUDO, Subtype


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A function that the model is offered."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """JSON schema, as loose as it was published."""

    @property
    def properties(self) -> Mapping[str, Any]:
        """Schemas of the arguments by name."""
        found = self.parameters.get("properties")
        return found if isinstance(found, Mapping) else {}

    @property
    def required(self) -> tuple[str, ...]:
        """Names of the arguments that a call must have."""
        found = self.parameters.get("required")
        return (
            tuple(each for each in found if isinstance(each, str))
            if isinstance(found, list)
            else ()
        )


@dataclass(frozen=True, kw_only=True)
class Node:
    """A call of the gold, or a text: a question (`ASK`), the end (`ANSWER`)."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[int, ...] = ()
    """Nodes that come before it."""
    observation: Any = None
    """Result of a call; of a question the question, of the end a reference answer."""
    reply: str | None = None
    """Answer of the user to a question."""
    unordered: frozenset[str] = frozenset()
    """Arguments whose arrays may come in any order."""
    alternatives: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Other values of an argument that are as right."""
    aliases: tuple[tuple[str, ...], ...] = ()
    """Of a question: by missing parameter, the words of which it must say one; empty if the data lists none."""
    uses: frozenset[int] | None = None
    """Nodes whose results its values come from; None if the data does not say."""


class CyclicGraphError(ValueError):
    """Dependencies lead outside of the graph or round in a circle."""


@dataclass(frozen=True)
class GoldGraph:
    """Nodes with everything that is computed of their dependencies.

    Raises:
        CyclicGraphError: a dependency is out of range, of a node on itself, or part of a cycle.
    """

    nodes: tuple[Node, ...]

    def __post_init__(self) -> None:
        if trouble := next(_edge_problems(self.nodes), None):
            raise CyclicGraphError(trouble[1])

    @cached_property
    def predecessors(self) -> tuple[int, ...]:
        """Direct predecessors of each node."""
        return tuple(sum(1 << each for each in set(node.needs)) for node in self.nodes)

    @cached_property
    def successors(self) -> tuple[int, ...]:
        """Direct successors of each node."""
        found = [0] * len(self.nodes)
        for number, node in enumerate(self.nodes):
            for each in set(node.needs):
                found[each] |= 1 << number
        return tuple(found)

    @cached_property
    def ancestors(self) -> tuple[int, ...]:
        """All nodes that must come before each."""
        found = [0] * len(self.nodes)
        for number in self.order:
            for each in self.nodes[number].needs:
                found[number] |= found[each] | 1 << each
        return tuple(found)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The nodes, each after those that it needs."""
        return _topological(self.nodes)

    @cached_property
    def same(self) -> tuple[int, ...]:
        """By node: the lowest node with the same call and the same result."""
        first: dict[object, int] = {}
        return tuple(
            first.setdefault(
                (node.name, freeze(dict(node.arguments)), freeze(node.observation)), number
            )
            for number, node in enumerate(self.nodes)
        )

    @cached_property
    def full(self) -> int:
        """All nodes."""
        return (1 << len(self.nodes)) - 1

    def named(self, *names: str) -> int:
        """Return the nodes of some names."""
        return sum(1 << number for number, node in enumerate(self.nodes) if node.name in names)

    @cached_property
    def asks(self) -> int:
        """Questions to the user."""
        return self.named(ASK)

    @cached_property
    def answers(self) -> int:
        """Final texts; one in a sound mission."""
        return self.named(ANSWER)

    @cached_property
    def tools(self) -> int:
        """Calls of real tools."""
        return self.full & ~self.asks & ~self.answers

    def ready(self, done: int) -> int:
        """Return the nodes outside of an ideal whose predecessors are all in it."""
        found, bit = 0, 1
        for needed in self.predecessors:
            if not (done & bit or needed & ~done):
                found |= bit
            bit <<= 1
        return found

    def chain(self, of: int) -> int:
        """Return the number of nodes in the longest chain within a set."""
        lengths = [0] * len(self.nodes)
        for number in self.order:
            longest = max((lengths[each] for each in self.nodes[number].needs), default=0)
            lengths[number] = longest + (of >> number & 1)
        return max(lengths, default=0)

    @cached_property
    def optimal_length(self) -> int:
        """Least number of steps, questions and the end counted."""
        return self.chain(self.full)

    @cached_property
    def subtype(self) -> Subtype | None:
        """Return the subtype of the tool calls by their dependencies; None with fewer than two."""
        calls = list(bits(self.tools))
        if len(calls) < 2:
            return None
        ordered = sum((self.ancestors[each] & self.tools).bit_count() for each in calls)
        if not ordered:
            return Subtype.PARALLEL
        total = len(calls) * (len(calls) - 1) // 2
        return Subtype.SERIAL if ordered == total else Subtype.COMBINED


def bits(mask: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def graph_problems(nodes: Sequence[Node], tools: Mapping[str, Tool]) -> Iterator[tuple[str, str]]:
    """Yield everything for which a mission is refused, as field and text.

    Args:
        nodes: The nodes of the mission.
        tools: The tools of the dialogue by name.
    """
    edges = list(_edge_problems(nodes))
    yield from edges
    for number, node in enumerate(nodes):
        if node.name not in PSEUDO and node.name not in tools:
            yield f"[{number}].action.name", f"the tool {node.name[:80]!r} is not in tools"
    if not nodes or nodes[-1].name != ANSWER:
        yield f"[{max(0, len(nodes) - 1)}].action.name", f"the last node must be {ANSWER}"
    if edges:
        return
    graph = GoldGraph(tuple(nodes))
    for number in bits(graph.asks | graph.answers):
        beside = graph.full & ~graph.ancestors[number] & ~(1 << number)
        rivals = [each for each in bits(beside) if not graph.ancestors[each] >> number & 1]
        if rivals:
            text = f"{nodes[number].name} is ready together with node {rivals[0]}; it must be alone"
            yield f"[{number}].dependency_list", text


def late_dependencies(nodes: Sequence[Node]) -> list[int]:
    """Return the nodes that need a later one; the published subtypes may then differ."""
    return [
        number for number, node in enumerate(nodes) if any(each > number for each in node.needs)
    ]


def _edge_problems(nodes: Sequence[Node]) -> Iterator[tuple[str, str]]:
    sound = True
    for number, node in enumerate(nodes):
        for each in node.needs:
            if not 0 <= each < len(nodes) or each == number:
                sound = False
                what = "itself" if each == number else f"node {each}, which is not there"
                yield f"[{number}].dependency_list", f"node {number} depends on {what}"
    if sound and len(reached := _topological(nodes)) < len(nodes):
        stuck = [number for number in range(len(nodes)) if number not in reached]
        yield f"[{stuck[0]}].dependency_list", f"nodes {stuck} depend on each other in a circle"


def _topological(nodes: Sequence[Node]) -> tuple[int, ...]:
    """Return the nodes in an order that obeys their dependencies; those of a circle are missing."""
    open_needs = [len(set(node.needs)) for node in nodes]
    after: list[list[int]] = [[] for _ in nodes]
    for number, node in enumerate(nodes):
        for each in set(node.needs):
            after[each].append(number)
    found = [number for number, count in enumerate(open_needs) if not count]
    for number in found:  # grows while it is read
        for each in after[number]:
            open_needs[each] -= 1
            if not open_needs[each]:
                found.append(each)
    return tuple(found)
