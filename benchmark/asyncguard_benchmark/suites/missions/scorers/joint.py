"""The frontier of several missions at once, as they are open when the user does not wait for results.

The gold is the disjoint union of the missions' graphs, with edges where a later mission takes a value or a state from
an earlier one. A call names its mission, so it fits only nodes there; the names of nodes and calls are qualified by it,
and the frontier and the message clock work on the union as they do on one mission. A step is everything that was issued
or said in one tick. All its parts are judged by what was done before it: a call cannot build on another of its tick.

A part that fits nothing ends its own mission, and the others go on. Which assignment is right may depend on another
mission, so ideals are those of the union; if only one of two parts of a step can fit, the earlier mission's does.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from asyncguard_benchmark.suites.missions.gold_graph import GoldGraph, Node, Tool
from asyncguard_benchmark.suites.missions.scorers.frontier import (
    MOST_IDEALS,
    FrontierOverflowError,
    Rules,
    assignments,
    said_node,
)
from asyncguard_benchmark.suites.missions.scorers.steps import Step, ToolCall
from asyncguard_benchmark.suites.missions.terms import PSEUDO

Place = tuple[int, int]
"""Mission and node, both from 0."""


@dataclass(frozen=True, kw_only=True)
class Across:
    """Calls of earlier missions that a call or a text follows."""

    needs: tuple[Place, ...] = ()
    uses: tuple[Place, ...] = ()
    """Those of `needs` whose results it takes a value from."""


@dataclass(frozen=True)
class JointGold:
    """Missions of one dialogue with the edges between them.

    Raises:
        CyclicGraphError: an edge leads outside of a mission or to a mission that is not earlier.
    """

    missions: tuple[GoldGraph, ...]
    across: Mapping[Place, Across]
    """Node -> what it follows in earlier missions; those that follow nothing are left out."""

    @cached_property
    def first(self) -> tuple[int, ...]:
        """By mission: number of its first node in the union."""
        sizes = [len(each.nodes) for each in self.missions]
        return tuple(sum(sizes[:place]) for place in range(len(sizes)))

    @cached_property
    def parts(self) -> tuple[int, ...]:
        """By mission: its nodes in the union."""
        return tuple(
            each.full << start for each, start in zip(self.missions, self.first, strict=True)
        )

    @cached_property
    def graph(self) -> GoldGraph:
        """The union; names of calls are qualified by their missions."""
        return GoldGraph(
            tuple(
                self._node((mission, number), node)
                for mission, graph in enumerate(self.missions)
                for number, node in enumerate(graph.nodes)
            )
        )

    def _node(self, place: Place, node: Node) -> Node:
        mission, start = place[0], self.first[place[0]]
        across = self.across.get(place, Across())
        if any(other >= mission for other, _ in across.needs):
            raise ValueError(f"mission {mission + 1}, node {place[1]} follows a later mission")
        uses = None if node.uses is None else {start + each for each in node.uses}
        taken = frozenset(self.first[other] + each for other, each in across.uses)
        needs = (self.first[other] + each for other, each in across.needs)
        return replace(
            node,
            name=node.name if node.name in PSEUDO else qualified(mission, node.name),
            needs=(*(start + each for each in node.needs), *needs),
            uses=None if uses is None else taken | uses,
        )

    def tools(self, tools: Mapping[str, Tool]) -> dict[str, Tool]:
        """Return the tools of the dialogue by their qualified names."""
        return {
            qualified(mission, name): tool
            for mission in range(len(self.missions))
            for name, tool in tools.items()
        }

    def least_ticks(self, overlap: int) -> int:
        """Return the length of the longest chain, in ticks with results at once.

        Args:
            overlap: Ticks after a mission's first call or text at which the user puts the next one; it is answered in
                the tick after that.
        """
        graph, lengths, release = self.graph, [0] * len(self.graph.nodes), 0
        for mission, start in enumerate(self.first):
            inside = [start + each for each in self.missions[mission].order]
            for number in inside:
                before = (lengths[each] for each in graph.nodes[number].needs)
                lengths[number] = max(release, *before, 0) + 1
            release = min(lengths[number] for number in inside) + overlap
        return max(lengths, default=0)


def qualified(mission: int, name: str) -> str:
    """Return the name of a tool as a call of one mission."""
    return f"m{mission + 1} {name}"


def labelled(mission: int, step: Step) -> Step:
    """Return a part of a step with qualified names."""
    calls = tuple(ToolCall(qualified(mission, each.name), each.arguments) for each in step.calls)
    return replace(step, calls=calls)


@dataclass(frozen=True, kw_only=True)
class JointMatch:
    """Progress of a run along several missions."""

    ideals: frozenset[int]
    """Those of the union that are possible; parts that fitted nothing have changed none."""
    diverged: Mapping[int, int]
    """Mission -> number of the step at which a part of it fitted nothing; its later parts were not looked at."""
    complete: frozenset[int]
    """Missions of which all is done and nothing else was."""


def follow(gold: JointGold, rules: Rules, steps: Iterable[Mapping[int, Step]]) -> JointMatch:
    """Follow a run.

    Args:
        gold: The missions.
        rules: Nodes of the union that a call may stand for.
        steps: By step the mission -> its calls or its text, with qualified names.

    Raises:
        FrontierOverflowError: the gold has too many equal names.
    """
    ideals, diverged = frozenset({0}), dict[int, int]()
    for number, step in enumerate(steps):
        ways = {(done, done) for done in ideals}
        for mission in sorted(step.keys() - diverged.keys()):
            following = _after(rules, gold.parts[mission], ways, step[mission])
            if following:
                ways = following
            else:
                diverged[mission] = number
        ideals = frozenset(after for _, after in ways)
    complete = frozenset(
        mission
        for mission, part in enumerate(gold.parts)
        if mission not in diverged and any(not part & ~done for done in ideals)
    )
    return JointMatch(ideals=ideals, diverged=diverged, complete=complete)


def _after(
    rules: Rules, part: int, ways: Iterable[tuple[int, int]], step: Step
) -> set[tuple[int, int]]:
    """Return the ways to take a part of a step: what was done before the step, and with it."""
    candidates: Sequence[int] = [rules.candidates(call) for call in step.calls]
    found: set[tuple[int, int]] = set()
    for before, after in ways:
        free = rules.graph.ready(before) & part
        if step.calls:
            taken = assignments(before, free, candidates, rules.lower_twins)
        else:
            node = said_node(rules, free, step.text) if step.is_text else 0
            taken = frozenset({node} - {0})
        found.update((before, after | each) for each in taken)
        if len(found) > MOST_IDEALS:
            raise FrontierOverflowError(FrontierOverflowError.__doc__)
    return found
