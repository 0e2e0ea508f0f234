"""The frontier over several missions at once, against an enumerator of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations, product
from random import Random

import pytest

from asyncguard_benchmark.suites.missions.gold_graph import GoldGraph, Node
from asyncguard_benchmark.suites.missions.scorers.frontier import Rules
from asyncguard_benchmark.suites.missions.scorers.joint import (
    Across,
    JointGold,
    JointMatch,
    Place,
    follow,
    labelled,
)
from asyncguard_benchmark.suites.missions.scorers.message_clock import TimedCall, prematurity
from asyncguard_benchmark.suites.missions.scorers.steps import Step, ToolCall
from asyncguard_benchmark.suites.missions.scorers.verdict import StrictRules
from asyncguard_benchmark.suites.missions.terms import ANSWER
from tests.benchmark.builders_missions import END, graph, random_graph, tools_for

Written = Sequence[Mapping[int, str]]
"""By step: mission -> names of its calls, one letter a call; `!` is the end."""


def gold_of(*texts: str, across: Mapping[Place, Sequence[Place]] | None = None) -> JointGold:
    """Missions written as graphs, and the nodes that follow earlier missions."""
    edges = {place: Across(needs=tuple(needs)) for place, needs in (across or {}).items()}
    return JointGold(tuple(map(graph, texts)), edges)


def step_of(mission: int, text: str) -> Step:
    """A part of a step."""
    return END if text == "!" else labelled(mission, Step(tuple(map(ToolCall, text))))


def followed(gold: JointGold, run: Written) -> JointMatch:
    """The run by names."""
    steps = [{mission: step_of(mission, text) for mission, text in each.items()} for each in run]
    return follow(gold, Rules.by_names(gold.graph), steps)


# -- by hand -----------------------------------------------------------------------------------------------------------


def test_missions_advance_side_by_side() -> None:
    """Calls and texts of one tick belong to their missions, whatever the other does."""
    gold = gold_of("A B(0)", "C")
    assert followed(gold, [{0: "A"}, {0: "B", 1: "C"}, {0: "!", 1: "!"}]).complete == {0, 1}
    assert followed(gold, [{0: "A", 1: "C"}, {1: "!", 0: "B"}, {0: "!"}]).complete == {0, 1}


def test_a_call_of_the_wrong_mission_ends_only_that_one() -> None:
    """The name alone does not do: `C` belongs to the other mission."""
    found = followed(gold_of("A", "C"), [{0: "A"}, {0: "C", 1: "C"}, {1: "!"}])
    assert found.complete == {1}
    assert found.diverged == {0: 1}


def test_a_later_mission_waits_for_what_it_follows() -> None:
    """Neither before the earlier call nor in the same tick; after it, it fits."""
    gold = gold_of("A", "C", across={(1, 0): [(0, 0)]})
    assert followed(gold, [{1: "C"}, {0: "A"}]).diverged == {1: 0}
    assert followed(gold, [{0: "A", 1: "C"}]).diverged == {1: 0}
    late = followed(gold, [{0: "A"}, {0: "!", 1: "C"}, {1: "!"}])
    assert late.complete == {0, 1}


def test_which_of_two_equal_calls_was_made_is_told_by_the_other_mission() -> None:
    """`A` may be either; the second mission's call fits if it was the one that it follows."""
    gold = gold_of("A A B(0)", "C", across={(1, 0): [(0, 1)]})
    found = followed(gold, [{0: "A"}, {1: "C"}, {0: "A"}, {0: "B"}, {0: "!", 1: "!"}])
    assert found.complete == {0, 1}
    # The first mission goes first: with `B` the call was the other one, and `C` had to wait.
    assert followed(gold, [{0: "A"}, {0: "B", 1: "C"}]).diverged == {1: 1}


def test_an_edge_to_a_later_mission_is_refused() -> None:
    """The user speaks in order; an edge backwards is a mistake in the data."""
    with pytest.raises(ValueError, match="mission 1, node 0 follows a later mission"):
        _ = gold_of("A", "B", across={(0, 0): [(1, 0)]}).graph


def test_a_call_is_premature_through_another_mission() -> None:
    """The result of the earlier mission is pending; it is needed if the call takes a value of it."""
    for uses, needed in (((), 0), (((0, 0),), 1)):
        missions = tuple(
            GoldGraph(tuple(_sourced(each) for each in graph(text).nodes)) for text in ("A", "C D")
        )
        gold = JointGold(missions, {(1, 0): Across(needs=((0, 0),), uses=uses)})
        names = [("m1 A", ()), ("m2 D", (0,)), ("m2 C", (0, 1))]
        calls = [TimedCall(ToolCall(name), frozenset(pending)) for name, pending in names]
        found = prematurity(Rules.by_names(gold.graph), calls)
        assert found is not None
        assert (found.premature, found.needed) == (1, needed)
        assert prematurity(Rules.by_names(gold.graph), [calls[0], calls[0]]) is None
        stray = TimedCall(ToolCall("m1 Z"), frozenset())
        assert prematurity(Rules.by_names(gold.graph), [*calls, stray], skipping=True) == found


def _sourced(node: Node) -> Node:
    return replace(node, uses=frozenset())


def test_the_longest_chain_counts_when_the_user_speaks() -> None:
    """A mission cannot begin before its message, nor end before what it follows."""
    gold = gold_of("A B(0)", "C D(0)", across={(1, 1): [(0, 1)]})
    assert gold.least_ticks(0) == 4  # A, then B and C, then D, then the end
    assert gold.least_ticks(1) == 5
    assert gold.least_ticks(4) == 8


def test_arguments_are_compared_within_the_mission() -> None:
    """Under `strict` a call with another mission's values does not fit."""
    gold = gold_of("A1", "A2")
    tools = gold.tools(tools_for(gold.missions[0]))
    for value, complete in ((2, {0, 1}), (1, {0})):
        calls = {
            0: Step((ToolCall("m1 A", {"x": 1}),)),
            1: Step((ToolCall("m2 A", {"x": value}),)),
        }
        rules = StrictRules(gold.graph, tools).rules
        assert follow(gold, rules, [calls, {0: END, 1: END}]).complete == complete


# -- against the enumerator --------------------------------------------------------------------------------------------


def possible(gold: JointGold, run: Written) -> bool:
    """Tell by trying every assignment of every call whether all missions of a run are done."""
    names = [[node.name for node in each.nodes] for each in gold.missions]
    needs = {
        (mission, number): {(mission, each) for each in node.needs}
        | set(gold.across.get((mission, number), Across()).needs)
        for mission, each in enumerate(gold.missions)
        for number, node in enumerate(each.nodes)
    }

    def rest(at: int, done: frozenset[Place]) -> bool:
        if at == len(run):
            return len(done) == len(needs)
        ready = [each for each in needs if each not in done and needs[each] <= done]
        choices = []
        for mission, text in run[at].items():
            wanted = [ANSWER] if text == "!" else list(text)
            mine = [each for each in ready if each[0] == mission]
            choices.append(
                [
                    way
                    for way in permutations(mine, len(wanted))
                    if [names[mission][number] for _, number in way] == wanted
                ]
            )
        return any(
            rest(at + 1, done | {place for way in chosen for place in way})
            for chosen in product(*choices)
        )

    return rest(0, frozenset())


def random_gold(random: Random) -> JointGold:
    """Two or three small missions with random edges between their calls."""
    missions = tuple(
        random_graph(random, random.randint(1, 3), 2) for _ in range(random.choice((2, 2, 3)))
    )
    across = {}
    for mission, each in enumerate(missions):
        for number in range(len(each.nodes) - 1):
            needs = [
                (other, earlier)
                for other in range(mission)
                for earlier in range(len(missions[other].nodes) - 1)
                if random.random() < 0.3
            ]
            if needs:
                across[mission, number] = Across(needs=tuple(needs))
    return JointGold(missions, across)


def random_run(random: Random, gold: JointGold) -> list[dict[int, str]]:
    """A legal run, in which now and then a call moves to another step or another name."""
    graph_, done, run = gold.graph, 0, list[dict[int, str]]()
    while done != graph_.full:
        ready = [n for n in range(len(graph_.nodes)) if graph_.ready(done) >> n & 1]
        chosen = random.sample(ready, random.randint(1, len(ready)))
        step: dict[int, str] = {}
        for number in chosen:
            mission = max(m for m, start in enumerate(gold.first) if start <= number)
            name = graph_.nodes[number].name
            step[mission] = step.get(mission, "") + ("!" if name == ANSWER else name[-1])
            done |= 1 << number
        run.append(step)
    if random.random() < 0.6:
        one, other = random.choices(range(len(run)), k=2)
        mission = random.choice(sorted(run[one]))
        text = run[one].pop(mission)
        before = run[other].get(mission, "")
        run[other][mission] = text if "!" in (text, before) else before + text
    return run


@pytest.mark.parametrize(
    "seeds", [range(2_000), pytest.param(range(2_000, 12_000), marks=pytest.mark.slow)]
)
def test_the_joint_frontier_agrees_with_a_search_over_all_assignments(seeds: range) -> None:
    """Random runs of several missions: the same verdict, of which a fair part is either way."""
    verdicts = []
    for seed in seeds:
        random = Random(seed)
        gold = random_gold(random)
        run = random_run(random, gold)
        found = followed(gold, run)
        passed = found.complete == set(range(len(gold.missions)))
        assert passed is possible(gold, run), (seed, run)
        verdicts.append(passed)
    assert 0.2 < sum(verdicts) / len(verdicts) < 0.95
