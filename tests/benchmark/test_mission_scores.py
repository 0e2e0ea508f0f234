"""Verdicts and figures: the worked examples of the specification, labels, and the comparison of histories."""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from asyncguard_benchmark.suites.missions.entries import EntryKey
from asyncguard_benchmark.suites.missions.gold_graph import GoldGraph, Node
from asyncguard_benchmark.suites.missions.scorers import metrics
from asyncguard_benchmark.suites.missions.scorers.metrics import Scorer
from asyncguard_benchmark.suites.missions.scorers.provenance import ValueOrigin, origin_of
from asyncguard_benchmark.suites.missions.scorers.published_errors import PublishedError
from asyncguard_benchmark.suites.missions.scorers.steps import Step, ToolCall
from asyncguard_benchmark.suites.missions.scorers.verdict import Verdict, judge
from asyncguard_benchmark.suites.missions.terms import (
    Letter,
    Relation,
    letters_of,
    relations_of,
    switches,
)
from tests.benchmark.builders_missions import END, RUNS, entry, graph, said, tools_for


def example() -> list[Verdict]:
    """The ten missions, judged; each tool has the argument x."""
    found = []
    for number, (text, letter, run) in enumerate(RUNS):
        gold = graph(text)
        made = entry(
            gold,
            said(gold, run),
            key=EntryKey(f"d{number}", 0),
            letter=Letter(letter),
            pattern=(Letter(letter),),
            tools=tools_for(graph("f g h k")),
        )
        found.append(judge(made))
    return found


def numbers(verdicts: Sequence[Verdict], scorer: Scorer) -> list[int]:
    """Which missions passed, from 1."""
    return [n for n, each in enumerate(verdicts, 1) if metrics.passed(each, scorer)]


def test_the_mini_example_comes_out_as_published() -> None:
    """SR, names, OP, AP and errors of ten missions."""
    found = example()
    assert numbers(found, Scorer.COMPAT) == numbers(found, Scorer.STRICT) == [1, 3, 6, 9]
    assert [n for n, each in enumerate(found, 1) if each.compat and each.compat.names] == [
        1,
        3,
        5,
        6,
        9,
    ]
    for scorer in Scorer:
        optimal = metrics.optimality(found, scorer)
        assert (optimal.value, optimal.cases) == (pytest.approx(1 / 3), 3)
        efficiency = metrics.parallel_efficiency(found, scorer).to_json()
        assert efficiency == {"value": 0.75, "n": 2, "low": 0, "high": 1}
    progress = metrics.progress(found)
    assert (progress["compat"].value, progress["compat"].cases) == (0.5, 10)
    assert (progress["strict"].value, progress["strict"].cases) == (pytest.approx(3 / 7), 7)
    assert progress["names"].value == pytest.approx(4 / 7)
    errors = {
        n: each.compat.error for n, each in enumerate(found, 1) if each.compat and each.compat.error
    }
    assert errors == {
        2: PublishedError.CALL_IN_CHAT,
        4: PublishedError.REJECT,
        5: PublishedError.VALUE,
        7: PublishedError.WRONG_TOOL,
        8: PublishedError.NOT_ASKED,
        10: PublishedError.EARLY_STOP,
    }
    assert set(metrics.errors(found, Scorer.COMPAT).values()) == {1}


def test_the_strict_labels_of_the_mini_example() -> None:
    """The first divergence of the frontier."""
    labels = {
        n: each.strict.divergence.label
        for n, each in enumerate(example(), 1)
        if each.strict and each.strict.divergence
    }
    assert labels == {
        2: "chat_called",
        4: "no_call",
        5: "value: invented",
        7: "wrong_tool",
        8: "not_asked",
        10: "unready",
    }


def route() -> list[Verdict]:
    """The last missions of eight patterns of two."""
    outcomes = {"sm": 1, "sc": 0, "ms": 1, "mt": 1, "cs": 0, "cc": 0, "ts": 1, "tm": 0}
    gold = graph("f")
    return [
        judge(
            entry(
                gold,
                said(gold, "f, text" if right else "text"),
                key=EntryKey(text, 1),
                letter=Letter(text[1]),
                pattern=letters_of(text, ""),
            )
        )
        for text, right in outcomes.items()
    ]


@pytest.mark.parametrize("scorer", Scorer)
def test_the_route_example(scorer: Scorer) -> None:
    """SR of the second missions, and how much it differs by the first."""
    found = route()
    by_position = metrics.success_by(found, scorer, lambda each: each.entry.position)
    assert {place: (each.value, each.cases) for place, each in by_position.items()} == {2: (0.5, 8)}
    parents = metrics.success_by(
        found, scorer, lambda each: each.entry.pattern and each.entry.pattern[0]
    )
    assert {letter.value: each.value for letter, each in parents.items()} == {
        "s": 0.5,
        "m": 1,
        "c": 0,
        "t": 0.5,
    }
    assert list(parents) == [Letter.SINGLE, Letter.MULTI, Letter.CLARIFY, Letter.CHAT]
    assert metrics.layer_variance(found, scorer, 1) == pytest.approx(0.5 / 3)
    assert metrics.layer_variance(found, scorer, 2) is None


@pytest.mark.parametrize(
    ("gold", "run", "error"),
    [
        ("f g(0)", "f, text", PublishedError.WRONG_TOOL),
        ("f g(0)", "(f g)", PublishedError.EARLY_STOP),
        ("f", "(filter_by_prompt k)", PublishedError.REJECT),
        ("f", "(filter_by_prompt z)", PublishedError.UNKNOWN_TOOL),
        ("ask f(0)", "text, k", PublishedError.WRONG_TOOL),
        ("ask ask(0) f(1)", "text, f", PublishedError.ASKED_TOO_LITTLE),
        ("f g(0)", "(f f)", PublishedError.REDUNDANT),
        ("f", "(f f)", PublishedError.REDUNDANT),
        ("f", "(f k)", PublishedError.REDUNDANT),
        ("ask f(0)", "(f f), text", PublishedError.NOT_ASKED),
    ],
)
def test_published_errors_of_names(gold: str, run: str, error: PublishedError) -> None:
    """The first rule that holds, and the consequences that were seen."""
    made = graph(gold)
    found = judge(entry(made, said(made, run), tools=tools_for(graph("f g h k"))))
    assert found.compat is not None
    assert found.compat.error is error


def test_the_most_severe_tag_of_the_first_wrong_call_is_the_error() -> None:
    """Not the first tag, and not that of a later call."""
    gold = graph("f g")
    calls = (ToolCall("f", {"x": 99, "z": 1}), ToolCall("g", {"x": "text"}))
    found = judge(entry(gold, (Step(calls), END))).compat
    assert found is not None
    assert found.error is PublishedError.UNKNOWN_ARGUMENT


def test_an_exception_in_the_arguments_is_an_error_of_its_own_count() -> None:
    """By the published rule it is redundant calling, with all but one node credited."""
    gold = graph("f g(0)")
    steps = (Step((ToolCall("f", "{bad"),)), *said(gold, "g, text"))
    found = judge(entry(gold, steps)).compat
    assert found is not None
    assert (found.names, found.raised, found.error, found.credit) == (
        True,
        True,
        PublishedError.REDUNDANT,
        2,
    )


@pytest.mark.parametrize(
    ("gold", "run", "label"),
    [
        ("f g(0)", "f, text", "early_answer"),
        ("f", "f, f, text", "surplus"),
        ("f", "f, text, text", "surplus"),
        ("f", "z, text", "unknown_tool"),
        ("f", "f", "no_answer"),
    ],
)
def test_strict_labels(gold: str, run: str, label: str) -> None:
    """What else may go wrong first."""
    made = graph(gold)
    found = judge(entry(made, said(made, run))).strict
    assert found is not None
    assert found.divergence is not None
    assert found.divergence.label == label


def test_a_needless_question_is_told_from_an_early_answer() -> None:
    """By its question mark."""
    gold = graph("f")
    found = judge(entry(gold, (Step(text="Which day?"),)))
    assert found.strict is not None
    assert found.strict.divergence is not None
    assert found.strict.divergence.label == "asked_needlessly"
    assert metrics.clarification([found])["sm_asked"].value == 1


def test_misfits_are_paired_with_the_nearest_nodes() -> None:
    """So that most arguments are right, and each call has a node of its own; all that is wrong is recorded."""
    gold = GoldGraph(
        (
            Node(name="f", arguments={"x": 1, "y": 1}),
            Node(name="f", arguments={"x": 2, "y": 2}),
            Node(name="prepare_to_answer", needs=(0, 1)),
        )
    )
    tools = {"f": tools_for(graph("f"))["f"]}
    properties = {"x": {"type": "integer"}, "y": {"type": "integer"}, "z": {"type": "integer"}}
    tools = {"f": type(tools["f"])(name="f", parameters={"properties": properties})}
    calls = (ToolCall("f", {"x": 2, "y": 5}), ToolCall("f", {"x": 1, "y": 1, "z": 3}))
    found = judge(entry(gold, (Step(calls),), tools=tools)).strict
    assert found is not None
    assert found.divergence is not None
    assert [each.nearest for each in found.divergence.calls] == [1, 0]
    assert found.divergence.labels == ("value: invented", "extra")
    assert found.divergence.to_json()["ready"] == [["f", "f"]]


@pytest.mark.parametrize(
    ("value", "origin"),
    [
        ("<date>", ValueOrigin.STAND_IN),
        ("Unknown", ValueOrigin.STAND_IN),
        ("", ValueOrigin.STAND_IN),
        ("new york", ValueOrigin.STALE),
        (12, ValueOrigin.STALE),
        (12.0, ValueOrigin.STALE),
        (3, ValueOrigin.INVENTED),
        ("York City", ValueOrigin.INVENTED),
        (5, ValueOrigin.INVENTED),
        (True, ValueOrigin.OTHER),
        ([1], ValueOrigin.OTHER),
    ],
)
def test_where_a_wrong_value_comes_from(value: object, origin: ValueOrigin) -> None:
    """A number is not a part of another one."""
    assert origin_of(value, ["From  New York on 12.", "At 3.5 and 54."]) is origin


def test_whether_a_question_names_the_parameter_is_a_column() -> None:
    """Among missions that ask first; it decides nothing on official data."""
    node = Node(
        name="ask_user_for_required_parameters",
        arguments={"missing_required_parameters": ["start_date"]},
    )
    gold = GoldGraph((node, Node(name="prepare_to_answer", needs=(0,))))
    found = [
        judge(entry(gold, (Step(text=text), END), letter=Letter.CLARIFY))
        for text in ("Which start date?", "When?", "Fine.")
    ]
    told = metrics.clarification(found)["c_named_missing"]
    assert (told.value, told.cases) == (0.5, 2)
    assert [metrics.passed(each, Scorer.STRICT) for each in found] == [True, True, False]


def test_values_in_place_of_a_question() -> None:
    """Stale, invented and stand-in values of the missing parameter are told apart."""
    gold = GoldGraph(
        (
            Node(
                name="ask_user_for_required_parameters",
                arguments={"tool_name": "f", "missing_required_parameters": ["x"]},
            ),
            Node(name="f", arguments={"x": 1}, needs=(0,)),
            Node(name="prepare_to_answer", needs=(1,)),
        )
    )
    found = [
        judge(
            entry(
                gold,
                (Step((ToolCall("f", {"x": value}),)),),
                letter=Letter.CLARIFY,
                said=("Room 12 was nice.", "Book f."),
            )
        )
        for value in (12, 99, "?")
    ]
    told = metrics.clarification(found)
    for name in ("c_stale", "c_invented", "c_stand_in"):
        assert told[name].value == pytest.approx(1 / 3)
    assert told["c_asked_first"].value == 0
    assert told["sm_asked"].value is None


@pytest.mark.parametrize(("pattern", "count"), [("smmt", 2), ("s", 0), ("stst", 3), ("tttt", 0)])
def test_switches_are_neighbours_that_differ(pattern: str, count: int) -> None:
    """PTF; s m m t has two."""
    assert switches(letters_of(pattern, "")) == count


def test_switches_of_all_patterns_come_to_the_official_strata() -> None:
    """Each pattern of four once: of the 768 later missions 84, 324, 252 and 108 have 0 to 3."""
    from itertools import product

    strata = [
        switches(pattern[:length]) for pattern in product(Letter, repeat=4) for length in (2, 3, 4)
    ]
    assert [strata.count(number) for number in range(4)] == [84, 324, 252, 108]


def test_relations_are_aligned_to_missions_that_depend_on_earlier_ones() -> None:
    """As many as missions, or as many as those; other counts are refused."""
    first, second = Relation.REFERENCE, Relation.LONG_MEMORY
    words = ["指代理解", "长期记忆"]
    assert relations_of([False, True, "真"], words, 3, "") == (None, first, second)
    assert relations_of(["假", True, True], ["", *words], 3, "") == (None, first, second)


def test_lengths_with_few_missions_are_not_printed() -> None:
    """Ten of one length are the least."""
    gold = graph("f")
    found = [
        judge(entry(gold, said(gold, "f, text"), key=EntryKey(f"d{n}", 0), prompt_messages=length))
        for length, count in ((3, 10), (5, 9))
        for n in range(length * 100, length * 100 + count)
    ]
    assert {
        length: each.cases for length, each in metrics.by_length(found, Scorer.STRICT).items()
    } == {3: 10}


def test_no_case_is_no_data() -> None:
    """None, and never 0."""
    assert metrics.success([], Scorer.STRICT).to_json() == {
        "value": None,
        "n": 0,
        "low": None,
        "high": None,
    }
    assert {each.value for each in metrics.progress([]).values()} == {None}
    assert all(
        one.value == other.value for one, other in pairwise(metrics.clarification([]).values())
    )
