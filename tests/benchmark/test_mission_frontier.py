"""The frontier of order ideals and the message clock."""

from dataclasses import replace
from itertools import permutations, product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncguard_benchmark.suites.missions.gold_graph import CyclicGraphError, GoldGraph, Node, bits
from asyncguard_benchmark.suites.missions.scorers.frontier import (
    FrontierOverflowError,
    Rules,
    match,
)
from asyncguard_benchmark.suites.missions.scorers.message_clock import (
    Prematurity,
    TimedCall,
    issued,
    prematurity,
)
from asyncguard_benchmark.suites.missions.scorers.published_paths import follow
from asyncguard_benchmark.suites.missions.scorers.steps import Step, ToolCall
from asyncguard_benchmark.suites.missions.scorers.verdict import judge_strict
from asyncguard_benchmark.suites.missions.terms import ANSWER, Subtype
from tests.benchmark.builders_missions import (
    TEXT,
    entry,
    graph,
    legal_by_search,
    legal_schedules,
    random_graph,
    schedule,
    spoken,
)
from tests.support.examples import examples

SIZES = st.integers(1, 6)
SEEDS = st.integers(0, 2**32)


def by_names(gold: GoldGraph, steps: tuple[Step, ...]) -> bool:
    """Whether the frontier accepts a run by names."""
    return match(Rules.by_names(gold), steps).complete


@pytest.mark.parametrize(
    ("text", "subtype", "length"),
    [
        ("A", None, 2),
        ("A B", Subtype.PARALLEL, 2),
        ("A B1(0)", Subtype.SERIAL, 3),
        ("A B1(0) C2(0,1)", Subtype.SERIAL, 4),
        ("A B1(0) C2", Subtype.COMBINED, 3),
        ("ask0 A1(0) B2(0)", Subtype.PARALLEL, 3),
        ("A ask1(0) B2(1)", Subtype.SERIAL, 4),
    ],
)
def test_subtype_and_least_length(text: str, subtype: Subtype | None, length: int) -> None:
    """Computed of the calls alone; questions order what stands around them."""
    gold = graph(text)
    assert (gold.subtype, gold.optimal_length) == (subtype, length)


@pytest.mark.parametrize("needs", [((0,),), ((1,), (0,)), ((5,),), ((-1,),)])
def test_a_graph_without_an_order_is_refused(needs: tuple[tuple[int, ...], ...]) -> None:
    """Cycles, nodes that need themselves, nodes that are not there."""
    with pytest.raises(CyclicGraphError):
        GoldGraph(tuple(Node(name="A", needs=each) for each in needs))


def shuffled_run(random: Random, gold: GoldGraph) -> list[list[str]]:
    """All names of the gold in a random order and random steps; sometimes one too few, too many or another."""
    names = [node.name for node in gold.nodes[:-1]]
    match random.randrange(6):
        case 0:
            names.pop()
        case 1:
            names.append(random.choice(names))
        case 2:
            names[random.randrange(len(names))] = random.choice("ABCX")
    random.shuffle(names)
    if not names:
        return []
    cuts = sorted(random.sample(range(1, len(names)), random.randint(0, len(names) - 1)))
    return [names[one:other] for one, other in zip([0, *cuts], [*cuts, len(names)], strict=True)]


def legal_run(random: Random, gold: GoldGraph) -> list[list[str]]:
    """A random legal schedule, as names."""
    done, steps = 0, list[list[str]]()
    while ready := [each for each in bits(gold.ready(done)) if gold.nodes[each].name != ANSWER]:
        step = random.sample(ready, random.randint(1, len(ready)))
        done |= sum(1 << each for each in step)
        steps.append([gold.nodes[each].name for each in step])
    return steps


def compare_with_search(seeds: range) -> tuple[int, int]:
    """Compare random schedules of random graphs with the enumerator; return runs and those that are legal."""
    runs = legal = 0
    for seed in seeds:
        random = Random(seed)
        gold = random_graph(random, random.randint(1, 6), random.randint(1, 4))
        for draw in (shuffled_run, legal_run, shuffled_run, legal_run):
            steps = draw(random, gold)
            expected = legal_by_search(gold, steps)
            run = (*(Step(tuple(map(ToolCall, each))) for each in steps), TEXT)
            assert by_names(gold, run) is expected, (seed, steps)
            runs, legal = runs + 1, legal + expected
    return runs, legal


def test_the_frontier_agrees_with_a_search_over_all_assignments() -> None:
    """A thousand random schedules, legal and not."""
    runs, legal = compare_with_search(range(250))
    assert runs == 1000
    assert 400 < legal < 800


@pytest.mark.slow
def test_the_frontier_agrees_with_a_search_on_twelve_thousand_schedules() -> None:
    """The same with other graphs."""
    runs, legal = compare_with_search(range(1000, 4000))
    assert runs == 12_000
    assert 5000 < legal < 9000


@given(SEEDS, SIZES)
@settings(max_examples=examples(60), deadline=None)
def test_the_order_of_calls_in_a_message_does_not_matter(seed: int, size: int) -> None:
    """Names and arguments alike."""
    random = Random(seed)
    gold = random_graph(random, size, 2)
    steps = spoken(gold, random.choice(list(legal_schedules(gold))))
    turned = tuple(Step(step.calls[::-1], step.text) for step in steps)
    assert judge_strict(entry(gold, steps)).passed
    assert judge_strict(entry(gold, turned)).passed


@given(SEEDS, SIZES)
@settings(max_examples=examples(60), deadline=None)
def test_with_distinct_names_both_scorers_accept_the_same(seed: int, size: int) -> None:
    """Legal schedules, and random ones."""
    random = Random(seed)
    gold = random_graph(random, size, 1)
    nodes = tuple(
        Node(name=node.name if node.name == ANSWER else f"f{number}", needs=node.needs)
        for number, node in enumerate(gold.nodes)
    )
    gold = GoldGraph(nodes)
    for draw in (shuffled_run, legal_run):
        run = (*(Step(tuple(map(ToolCall, each))) for each in draw(random, gold)), TEXT)
        assert by_names(gold, run) is follow(gold, run).correct


def test_arguments_tell_equal_names_apart() -> None:
    """By names the first A may be any; with arguments it is the second, and B has to wait for the other."""
    gold = graph("A0 A1 B2(0)")
    assert judge_strict(entry(gold, spoken(gold, [(1,), (0,), (2,)]))).passed
    early = judge_strict(entry(gold, spoken(gold, [(1,), (2,), (0,)])))
    assert early.names.complete
    assert not early.passed
    assert early.divergence is not None
    assert early.divergence.label == "unready"


def test_a_step_says_something_and_the_end_comes_last() -> None:
    """Silence is not a step; what follows the end is too much; a run may not stop before it."""
    gold = graph("A")
    call = Step((ToolCall("A"),))
    assert by_names(gold, (call, TEXT))
    assert not by_names(gold, (call, Step(text="  ")))
    assert not by_names(gold, (call, TEXT, TEXT))
    assert not by_names(gold, (call,))
    assert not by_names(gold, (TEXT,))
    assert not by_names(gold, (Step((ToolCall(ANSWER),)), TEXT))


def test_a_question_must_ask() -> None:
    """Under strict; the published rule does not read it."""
    gold = graph("ask0 A1(0)")
    call = Step((ToolCall("A", {"x": 1}),))
    assert judge_strict(entry(gold, (Step(text="Which day?"), call, TEXT))).passed
    found = judge_strict(entry(gold, (Step(text="Fine."), call, TEXT)))
    assert found.names.complete
    assert found.divergence is not None
    assert found.divergence.label == "not_asked"


def test_a_question_names_what_is_missing_where_the_data_lists_the_words() -> None:
    """One word for each parameter, in any case; data without such words leaves it open."""
    gold = graph("ask0 A1(0)")
    listed = replace(gold.nodes[0], aliases=(("date", "day"), ("room",)))
    gold = GoldGraph((listed, *gold.nodes[1:]))
    for question, right in (
        ("Which Day, and which ROOM?", True),
        ("Which day?", False),
        ("Which?", False),
    ):
        run = (Step(text=question), Step((ToolCall("A", {"x": 1}),)), TEXT)
        assert judge_strict(entry(gold, run)).passed is right
        assert by_names(gold, run)


def test_too_many_ideals_end_with_an_error() -> None:
    """Nine names, four times each, all with successors of their own."""
    firsts = [f"{name}{number}" for number, name in enumerate("ABCDEFGHI" * 4)]
    seconds = [f"Z{number}({number - 36})" for number in range(36, 72)]
    gold = graph(" ".join([*firsts, *seconds]))
    run = tuple(Step((ToolCall(name),)) for name in "ABCDEFGHI" * 2)
    with pytest.raises(FrontierOverflowError):
        match(Rules.by_names(gold), run)


# -- the message clock -------------------------------------------------------------------------------------------------

CHAIN = graph("f g1(0)", closed=False)
CHAINS = graph("A0 A1 B2(0) B3(1)", closed=False)


def early(gold: GoldGraph, *calls: tuple[int, int, str]) -> int | None:
    """Premature calls of a run of (message, due after message, name); None if a call fits nothing."""
    found = prematurity(
        Rules.by_names(gold), issued((at, due, ToolCall(name)) for at, due, name in calls)
    )
    return None if found is None else found.premature


@pytest.mark.parametrize(
    ("gold", "calls", "premature"),
    [
        (CHAIN, [(1, 0, "f"), (2, 0, "g")], 0),
        (CHAIN, [(1, 2, "f"), (2, 3, "g")], 1),
        (CHAIN, [(1, 2, "f"), (3, 4, "g")], 0),
        (CHAIN, [(1, 1, "f"), (1, 1, "g")], 1),
        (CHAIN, [(1, 1, "g")], None),
        (CHAINS, [(1, 3, "A"), (2, 2, "A"), (3, 3, "B")], 0),
        (CHAINS, [(1, 3, "A"), (2, 3, "A"), (3, 3, "B")], 1),
    ],
)
def test_calls_before_the_results_that_they_follow(
    gold: GoldGraph, calls: list[tuple[int, int, str]], premature: int | None
) -> None:
    """The examples of the specification: B goes with the A that has returned."""
    assert early(gold, *calls) == premature


def test_the_better_of_two_ways_to_one_state_is_kept() -> None:
    """The first A may be early or not; once all have returned, both ways have done the same."""
    gold = graph("X A A2(0) D", closed=False)
    assert early(gold, (1, 2, "X"), (2, 2, "A"), (3, 3, "A"), (4, 4, "D")) == 0


@given(SEEDS, SIZES)
@settings(max_examples=examples(80), deadline=None)
def test_the_count_is_the_least_over_all_assignments(seed: int, size: int) -> None:
    """Against every way to give the calls their nodes."""
    random = Random(seed)
    gold = GoldGraph(random_graph(random, size, 2).nodes[:-1])
    message, calls = 1, list[tuple[int, int, ToolCall]]()
    for name in random.sample([node.name for node in gold.nodes], random.randint(1, size)):
        message += random.randint(0, 1)
        calls.append((message, message + random.randint(0, 2), ToolCall(name)))
    timed = issued(calls)

    def cost(chosen: tuple[int, ...]) -> int | None:
        total = 0
        for number, node in enumerate(chosen):
            needs = set(gold.nodes[node].needs)
            if gold.nodes[node].name != timed[number].call.name or not needs <= set(
                chosen[:number]
            ):
                return None
            pending = {chosen[each] for each in timed[number].pending_before}
            total += bool(needs & pending)
        return total

    costs = [cost(each) for each in permutations(range(len(gold.nodes)), len(calls))]
    possible = [each for each in costs if each is not None]
    found = prematurity(Rules.by_names(gold), timed)
    assert (None if found is None else found.premature) == min(possible, default=None)


def test_a_premature_call_needs_the_result_if_a_value_comes_from_it() -> None:
    """Else it is early and harmless; without sources in the data the question has no answer."""
    calls = (TimedCall(ToolCall("f"), frozenset()), TimedCall(ToolCall("g"), frozenset({0})))
    for uses, needed in ((frozenset({0}), 1), (frozenset[int](), 0), (None, None)):
        gold = GoldGraph((Node(name="f", uses=frozenset()), Node(name="g", needs=(0,), uses=uses)))
        assert prematurity(Rules.by_names(gold), calls) == Prematurity(1, needed)


def test_the_lesser_harm_is_taken_of_equal_counts() -> None:
    """Both ways are premature; one of them does not miss a value."""
    gold = GoldGraph(
        (
            Node(name="A", uses=frozenset()),
            Node(name="B", needs=(0,), uses=frozenset()),
            Node(name="B", needs=(0,), uses=frozenset({0})),
        )
    )
    calls = (TimedCall(ToolCall("A"), frozenset()), TimedCall(ToolCall("B"), frozenset({0})))
    assert prematurity(Rules.by_names(gold), calls) == Prematurity(1, 0)


def test_all_legal_schedules_of_fourteen_pairs_need_one_ideal_if_they_are_twins() -> None:
    """Interchangeable calls are taken lowest first."""
    gold = graph(" ".join("A" for _ in range(14)))
    for size in product((1, 2), repeat=2):
        found = match(Rules.by_names(gold), tuple(Step((ToolCall("A"),) * each) for each in size))
        assert found.ideals == {(1 << sum(size)) - 1}


def test_a_schedule_written_as_in_the_specification_is_read_as_such() -> None:
    """The helper of these tests."""
    assert schedule("[A][BC]") == (Step((ToolCall("A"),)), Step((ToolCall("B"), ToolCall("C"))))
