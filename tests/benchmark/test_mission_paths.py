"""The published path rule: worked cases and counts of the specification, and that it accepts nothing illegal."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

import pytest

from asyncguard_benchmark.suites.missions.gold_graph import GoldGraph
from asyncguard_benchmark.suites.missions.scorers.frontier import Rules, match
from asyncguard_benchmark.suites.missions.scorers.published_paths import (
    Position,
    PublishedRuleError,
    follow,
    optimal_path,
    options,
)
from asyncguard_benchmark.suites.missions.scorers.steps import Step, ToolCall
from asyncguard_benchmark.suites.missions.terms import ANSWER, ASK
from tests.benchmark.builders_missions import (
    TEXT,
    graph,
    legal_by_search,
    legal_schedules,
    random_graph,
    schedule,
)

BOTH = "both"
STRICT = "strict only"
CASES = {
    "A A A": {BOTH: "[A][A][A]; [AAA]", STRICT: "[AA][A]; [A][AA]"},
    "A A B": {
        BOTH: "[A][A][B]; [B][A][A]; [AA][B]; [B][AA]; [AAB]",
        STRICT: "[A][B][A]; [A][AB]; [AB][A]",
    },
    "B A A": {BOTH: "[AB][A]", STRICT: "[A][AB]; [A][B][A]"},
    "A A C C": {BOTH: "[AAC][C]; [CC][AA]", STRICT: "[ACC][A]; [AC][AC]; [C][AAC]"},
    "A0 A1 D2(1)": {BOTH: "[A][A][D]; [AA][D]", STRICT: "[A][D][A]; [A][AD]"},
    "A0 C1(0) A2": {BOTH: "[A][A][C]; [AA][C]", STRICT: "[A][C][A]; [A][AC]"},
    "A0 B1 A2 D3(2)": {BOTH: "[A][A][D][B]; [AA][BD]", STRICT: "[A][D][B][A]"},
    "B0 B1 C2(0) D3(1)": {
        BOTH: "[B][B][C][D]; [BB][CD]",
        STRICT: "[B][C][B][D]; [B][D][B][C]; [B][BC][D]; [B][BD][C]",
    },
}
COUNTS = """AA 2/2 AB 3/3 AAA 2/4 AAB 5/8 ABA 8/8 ABB 6/8 ABC 13/13 AAAA 2/8 AAAB 5/20 AABA 13/20 AABB 10/26 AABC 21/44
ABAA 16/20 ABAB 23/26 ABAC 41/44 ABBA 17/26 ABBB 8/20 ABBC 26/44 ABCA 44/44 ABCB 42/44 ABCC 30/44 ABCD 75/75"""
COUNTED = dict(zip(COUNTS.split()[::2], COUNTS.split()[1::2], strict=True))

NESTFUL = (
    (12, "A0 B1(0)", "1/1"),
    (2, "A0 A1 B2(0,1)", "2/2"),
    (1, "A0 B1(0) C2 B3(1,2) C4(3)", "5/5"),
    (1, "A0 B1 C2(0,1)", "3/3"),
    (1, "A0 B1(0) A2(1)", "1/1"),
    (1, "A0 B1(0) C2(1) B3(2)", "1/1"),
    (2, "A0 B1(0) C2(1)", "1/1"),
    (1, "A0 B1 C2(1) B3(2) A4(3) D5(4) D6(5) B7(0,6)", "8/12"),
    (1, "A0 A1(0) B2(1)", "1/1"),
    (1, "A0 B1 C2(0,1) A0 B1 C2(3,4) A6(5) C7(6) D8(2,7)", "116/478"),
    (1, "A0 A0 A2 B3(1,2) A4(3) C5(0,4)", "2/10"),
    (1, "A0 B1(0) B2 C3(1,2)", "4/4"),
    (1, "A0 B1 B2 C3(1,2) D4(3) E5(0,4)", "14/16"),
    (1, "A0 B1(0) A0 B1(2) B4(3) B5(1,4)", "4/12"),
    (1, "A0 B1(0) A2 B3(2) C4(1,3)", "4/6"),
    (1, "A0 B1 C2(1)", "5/5"),
    (1, "A0 B1 A2(1) A3(2) B4(0,3) B1 B6(5) C7(4,6)", "58/148"),
)
"""The call graphs of 30 tasks of NESTFUL: how often, calls with equal digits for equal arguments, accepted of legal."""


def runs() -> Iterator[tuple[str, str, str]]:
    """Every schedule of the table."""
    for gold, columns in CASES.items():
        for column, cell in columns.items():
            yield from ((gold, column, each) for each in cell.split("; "))


def by_names(gold: GoldGraph, steps: tuple[Step, ...]) -> bool:
    """Whether the frontier accepts a run by names."""
    return match(Rules.by_names(gold), steps).complete


@pytest.mark.parametrize(("gold", "column", "run"), tuple(runs()))
def test_a_schedule_of_the_table_is_accepted_by_whom_the_table_says(
    gold: str, column: str, run: str
) -> None:
    """Every worked case; all of them are legal, so the frontier accepts each."""
    made, steps = graph(gold), (*schedule(run), TEXT)
    assert by_names(made, steps)
    assert follow(made, steps).correct is (column == BOTH)


def schedules(gold: GoldGraph) -> set[tuple[str, ...]]:
    """Every legal schedule as sorted names by step; those of equal names are one."""
    return {
        tuple("".join(sorted(gold.nodes[each].name for each in step)) for step in steps)
        for steps in legal_schedules(gold)
    }


def accepted(gold: GoldGraph, names: tuple[str, ...]) -> bool:
    """Whether the published rule accepts steps of one-letter names."""
    return follow(gold, (*(Step(tuple(map(ToolCall, step))) for step in names), TEXT)).correct


@pytest.mark.parametrize("names", COUNTED)
def test_as_many_schedules_of_independent_calls_are_accepted_as_published(names: str) -> None:
    """The self-check figures."""
    gold = graph(" ".join(names))
    every = schedules(gold)
    assert f"{sum(accepted(gold, each) for each in every)}/{len(every)}" == COUNTED[names]


@pytest.mark.parametrize(("times", "text", "counted"), NESTFUL)
def test_as_many_schedules_of_real_tasks_are_accepted_as_published(
    times: int, text: str, counted: str
) -> None:
    """Task by task; calls that are equal in name, arguments and result count as one where the first option is fixed."""
    gold = graph(text)
    every = schedules(gold)
    assert times > 0
    assert f"{sum(accepted(gold, each) for each in every)}/{len(every)}" == counted


def test_the_real_tasks_come_to_the_published_sums() -> None:
    """720 legal schedules, 244 accepted."""
    sums = [
        sum(times * int(cell.split("/")[place]) for times, _, cell in NESTFUL) for place in (0, 1)
    ]
    assert (sums, sum(times for times, _, _ in NESTFUL)) == ([244, 720], 30)


def test_calls_that_differ_are_fixed_by_the_first_option_that_agrees() -> None:
    """The largest of the real graphs with all calls different: by the rule as it is written, 78 and not 116."""
    gold = graph("A B C(0,1) A B C(3,4) A(5) C(6) D(2,7)")
    every = schedules(gold)
    assert (sum(accepted(gold, each) for each in every), len(every)) == (78, 478)


def test_all_legal_schedules_of_a_b_a_are_accepted() -> None:
    """Equal names that are not neighbours do no harm."""
    gold = graph("A B A")
    assert all(accepted(gold, each) for each in schedules(gold))


def test_b_a_a_accepts_six() -> None:
    """One is in the table, five more are not."""
    gold = graph("B A A")
    assert sum(accepted(gold, each) for each in schedules(gold)) == 6


def test_after_a_question_a_call_that_was_never_made_is_missed_by_compat_only() -> None:
    """All options stay alive after a text, also those that did something else."""
    gold = graph("t0 ask1 f2(1)")
    ask = gold.nodes[1].name
    steps = (TEXT, Step((ToolCall(ask),)), Step((ToolCall("f"),)), TEXT)
    assert follow(gold, steps).correct
    assert not by_names(gold, steps)


def test_a_path_that_ended_before_the_run_is_not_scored() -> None:
    """The published code raises there."""
    gold = graph("ask0 f1", closed=False)
    run = (TEXT, Step((ToolCall("f"),)), Step((ToolCall("f"),)))
    with pytest.raises(PublishedRuleError, match="ended before the run"):
        follow(gold, run)


@pytest.mark.parametrize("seed", range(30))
def test_without_questions_nothing_illegal_is_accepted(seed: int) -> None:
    """Random graphs with repeated names, random steps: what compat accepts, a search by hand accepts, too."""
    random = Random(seed)
    gold = random_graph(random, random.randint(2, 5), 2)
    names = [node.name for node in gold.nodes[:-1]]
    for _ in range(40):
        random.shuffle(names)
        cuts = sorted(random.sample(range(1, len(names)), random.randint(0, len(names) - 1)))
        steps = [
            names[one:other] for one, other in zip([0, *cuts], [*cuts, len(names)], strict=True)
        ]
        legal = legal_by_search(gold, steps)
        run = tuple("".join(sorted(each)) for each in steps)
        assert legal or not accepted(gold, run)
        assert (
            by_names(gold, (*(Step(tuple(map(ToolCall, each))) for each in steps), TEXT)) is legal
        )


def test_optimal_counts_the_steps() -> None:
    """A run is optimal if it is correct and as long as the longest chain, the end counted."""
    gold = graph("A B C2(0)")
    assert follow(gold, (*schedule("[A][BC]"), TEXT)).optimal
    late = follow(gold, (*schedule("[A][B][C]"), TEXT))
    assert (late.correct, late.optimal) == (True, False)


@pytest.mark.parametrize(
    ("gold", "path"),
    [
        ("f g h2(0)", ((0,), (1, 2), (3,))),
        ("A A", ((0, 1), (2,))),
        ("A0 A1 B2(0)", ((0, 1), (2,), (3,))),
    ],
)
def test_the_history_shows_the_first_of_the_shortest_paths(
    gold: str, path: tuple[tuple[int, ...], ...]
) -> None:
    """Independent f, g and h after f: f alone, then g and h."""
    assert optimal_path(graph(gold)) == path


@pytest.mark.parametrize("seed", range(25))
def test_the_shown_path_is_the_first_of_all_shortest(seed: int) -> None:
    """Against every path in the published order, listed one by one."""
    gold = random_graph(Random(seed), 5, 2)
    assert optimal_path(gold) == min(all_paths(gold, Position()), key=len)
    assert len(optimal_path(gold)) == gold.optimal_length


# -- the rule in its published form: a list of all paths ---------------------------------------------------------------


def all_paths(gold: GoldGraph, place: Position) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Every path, in the published order."""
    if place.done == gold.full:
        yield ()
        return
    for taken, after in options(gold, place):
        yield from ((taken, *rest) for rest in all_paths(gold, after))


def by_enumeration(gold: GoldGraph, steps: Sequence[Step]) -> tuple[bool, bool] | None:
    """Correct and optimal by comparing a run with a list of all paths; None where a path is too short."""
    live = list(all_paths(gold, Position()))
    shortest = min(map(len, live))
    for number, step in enumerate(steps):
        if step.calls:
            if any(len(path) <= number for path in live):
                return None
            wanted = sorted(call.name for call in step.calls)
            agreeing = [
                path
                for path in live
                if sorted(gold.nodes[each].name for each in path[number]) == wanted
            ]
            live = [path for path in agreeing if path[number] == agreeing[0][number]]
            if not live:
                return False, False
            continue
        decided = False
        for path in live:
            if len(path) <= number:
                return None
            kinds = {gold.nodes[each].name for each in path[number]}
            if ANSWER in kinds:
                return True, number + 1 == shortest
            if ASK in kinds:
                decided = True
                break
        if not decided:
            return False, False
    return False, False


def compare_with_enumeration(seeds: range) -> tuple[int, int, int]:
    """Compare random runs with the enumeration; return runs, and how many are correct and not scored."""
    runs = correct = unscored = 0
    for seed in seeds:
        random = Random(seed)
        plain = random_graph(random, random.randint(1, 5), 2)
        asks = {number for number in range(len(plain.nodes) - 1) if random.random() < 0.15}
        gold = GoldGraph(
            tuple(
                replace(node, name=ASK) if number in asks else node
                for number, node in enumerate(plain.nodes)
            )
        )
        every = list(legal_schedules(gold))
        for _ in range(6):
            steps = [
                TEXT
                if asks.intersection(step)
                else Step(tuple(ToolCall(gold.nodes[each].name) for each in step))
                for step in random.choice(every)
            ]
            if random.random() < 0.3:
                random.shuffle(steps)
            steps.insert(
                random.randint(0, len(steps)) if random.random() < 0.2 else len(steps), TEXT
            )
            expected = by_enumeration(gold, steps)
            try:
                found = follow(gold, steps)
            except PublishedRuleError:
                assert expected is None, (seed, steps)
                unscored += 1
            else:
                assert (found.correct, found.optimal) == expected, (seed, steps)
                correct += found.correct
            runs += 1
    return runs, correct, unscored


def test_the_rule_agrees_with_a_list_of_all_paths() -> None:
    """Random graphs with repeated names and questions, legal runs and others; labels, optimality and no verdict."""
    runs, correct, unscored = compare_with_enumeration(range(150))
    assert runs == 900
    assert 200 < correct < 700
    assert unscored > 3


@pytest.mark.slow
def test_the_rule_agrees_with_a_list_of_all_paths_on_eighteen_thousand_runs() -> None:
    """The same with other graphs."""
    runs, correct, unscored = compare_with_enumeration(range(1000, 4000))
    assert runs == 18_000
    assert 4000 < correct < 14_000
    assert unscored > 50
