"""Arguments: the published comparison to the digit, and the strict one."""

from itertools import permutations
from random import Random
from typing import Any

import pytest

from asyncguard_benchmark.suites.missions.gold_graph import Node, Tool
from asyncguard_benchmark.suites.missions.scorers import tokens as tokenizer
from asyncguard_benchmark.suites.missions.scorers.assignment import best_assignment
from asyncguard_benchmark.suites.missions.scorers.published_arguments import (
    PublishedArgumentError,
    Tag,
    compare,
    judge_calls,
)
from asyncguard_benchmark.suites.missions.scorers.strict_arguments import (
    ExpectedCall,
    stated_default,
)
from asyncguard_benchmark.suites.missions.scorers.tokens import (
    MissingTokenizerError,
    rouge_l,
    tokens,
)

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


def tool(required: tuple[str, ...] = (), **properties: Any) -> Tool:
    """A tool with arguments of these schemas."""
    return Tool(name="f", parameters={"properties": properties, "required": list(required)})


def value(one: Any, other: Any, schema: Any) -> float:
    """The published score of a call with one argument."""
    return compare({"a": one}, {"a": other}, tool(a=schema)).score


@pytest.mark.parametrize(
    ("one", "other", "score"),
    [
        ("map_12345", "map_12346", 2 / 3),
        ("2024-05-01", "2024-05-02", 0.8),
        ("user@example.com", "user@example.org", 0.8),
        ("flight on 2024 05 01 to Paris", "flight on 2024 05 02 to Paris", 12 / 13),
        ("Hello big World", "hello World", 0.5),
        ("1.0,2.0", "99.5,88.1", 1),
        ("1.0, 2.0", "99.5, 88.1", 0.5),
        ("-1.0,2.0", "1.0,2.0", 6 / 7),
        ("New York", "newyork", 1),
    ],
)
def test_texts_score_as_published(one: str, other: str, score: float) -> None:
    """The table of the specification; a blank after the comma makes a text of a pair of numbers."""
    assert value(one, other, TEXT) == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize(
    ("one", "other", "schema", "score"),
    [
        (5, 5.0, WHOLE, 1),
        (True, 1, {"type": "boolean"}, 0),
        (5, "5", WHOLE, 0),
        (None, None, WHOLE, 1),
        (5, 6, WHOLE, 0),
        (["b", "a"], ["a", "b"], {"type": "array", "items": TEXT}, 1),
        (["a"], ["a", "b"], {"type": "array", "items": TEXT}, 0),
        ([], [], {"type": "array"}, 1),
        ([1, 2], [1, 3], {"type": "array", "items": WHOLE}, 0.5),
        ({"a": 1}, {"a": 1, "b": 2}, {"type": "object", "properties": {"a": WHOLE, "b": WHOLE}}, 1),
        ({"a": 1, "z": 8}, {"a": 1}, {"type": "object", "properties": {"a": WHOLE}}, 0),
        ({}, {"a": 1}, {"type": "object", "properties": {"a": WHOLE}}, 0),
        ([{"a": 1}], [{"a": 2}], {"type": "array", "items": {"properties": {"a": WHOLE}}}, 0),
        ({"a": 1}, {"a": 2, "b": 1}, {"items": {"properties": {"a": WHOLE}}}, 0),
    ],
)
def test_values_score_as_published(one: Any, other: Any, schema: Any, score: float) -> None:
    """The table of the specification, and objects whose schema stands in `items`."""
    assert value(one, other, schema) == score


@pytest.mark.parametrize(
    ("said", "description", "score"),
    [
        ("1", "Page size, default 10.", 1),
        ("", "Anything.", 1),
        (None, "It may be null.", 1),
        ("7", "Page size, default 10.", 0),
    ],
)
def test_an_argument_that_the_gold_lacks_is_looked_for_in_the_description(
    said: Any, description: str, score: float
) -> None:
    """As part of any text in it."""
    found = compare({"a": said}, {}, tool(a={"type": "string", "description": description}))
    assert found.score == score
    assert found.tags == (() if score else (Tag.INVENTED,))


def test_one_wrong_argument_of_four_passes_and_of_three_fails() -> None:
    """The mean over predicted arguments; 0.7 is the least that passes."""
    names = dict.fromkeys("abcd", WHOLE)
    gold = {"a": 1, "b": 2, "c": 3, "d": 10}
    four = judge_calls([("f", {**gold, "d": 1_000_000})], [("f", gold)], {"f": tool(**names)})
    assert four[0].passed
    del gold["a"]
    three = judge_calls([("f", {**gold, "d": 1_000_000})], [("f", gold)], {"f": tool(**names)})
    assert not three[0].passed
    assert three[0].tags == (Tag.VALUE,)


def test_the_mean_is_summed_from_left_to_right() -> None:
    """Seven of ten pass; three arguments of 0.7 each come to a little less, and fail."""
    tens = {"type": "array", "items": WHOLE}
    one, other = list(range(10)), [0, 1, 2, 3, 4, 5, 6, 71, 81, 91]
    made = {"f": tool(a=tens, b=tens, c=tens)}
    for names, passed in (("a", True), ("abc", False)):
        calls = [("f", dict.fromkeys(names, values)) for values in (one, other)]
        assert judge_calls(calls[:1], calls[1:], made)[0].passed is passed


def test_a_text_of_exactly_the_least_score_is_tagged() -> None:
    """It passes all the same."""
    found = compare({"a": "!!!!!!!???"}, {"a": "!!!!!!!;;;"}, tool(a=TEXT))
    assert (found.score, found.tags) == (0.7, (Tag.VALUE,))


def test_omitted_arguments_cost_nothing_and_required_ones_everything() -> None:
    """Only what is predicted is averaged."""
    made = tool(("a",), a=WHOLE, b=WHOLE)
    assert compare({"a": 1}, {"a": 1, "b": 2}, made).score == 1
    assert compare({"b": 2}, {"a": 1, "b": 2}, made) == compare({}, {"a": 1}, made)
    assert compare({}, {"a": 1}, made).tags == (Tag.MISSING,)
    assert compare({}, {}, tool()).score == 1


@pytest.mark.parametrize(
    ("predicted", "gold", "made"),
    [
        ({}, {"a": "x"}, tool(a=TEXT)),
        ("{bad", {"a": "x"}, tool(a=TEXT)),
        ("[1]", {"a": "x"}, tool(a=TEXT)),
        (None, {"a": "x"}, tool(a=TEXT)),
        ({"a": "x"}, {"a": "y"}, tool(a={"type": "null"})),
        ({"a": "x"}, {"a": "y"}, tool(a={})),
        ({"a": [1]}, {"a": [2]}, tool(a={"type": "array"})),
        ({"a": "x"}, {"a": "y"}, Tool(name="f")),
    ],
)
def test_where_the_published_code_raises_the_mission_is_counted_apart(
    predicted: Any, gold: Any, made: Tool
) -> None:
    """An exception is its own kind of error and never a score."""
    with pytest.raises(PublishedArgumentError):
        compare(predicted, gold, made)


def test_calls_are_paired_greedily() -> None:
    """Of two right calls the first takes the gold call of the second, and the order decides."""
    made = {"f": tool(("q",), q=TEXT, r=TEXT)}
    gold = [("f", {"q": "x", "r": "m"}), ("f", {"q": "x"})]
    calls = [("f", {"q": "x"}), ("f", {"q": "x", "r": "m"})]
    assert [each.passed for each in judge_calls(calls, gold, made)] == [True, False]
    assert all(each.passed for each in judge_calls(calls[::-1], gold, made))


def test_a_call_takes_the_gold_call_that_it_is_most_like() -> None:
    """And leaves the other; tags are those of the gold call that it was compared with last."""
    made = {"f": tool(a=WHOLE)}
    gold = [("f", {"a": 1}), ("f", {"a": 2})]
    assert all(each.passed for each in judge_calls([gold[1], gold[0]], gold, made))
    (wrong, _) = judge_calls([("f", {"a": 3})] * 2, [("f", {"a": 1}), ("f", {"a": "x"})], made)
    assert wrong.tags == (Tag.TYPE,)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a b", ["a", " ", "b"]),
        ("AT&T c++ C#", ["AT&T", " ", "c++", " ", "C#"]),
        ("v1.5% x_1", ["v1.5%", " ", "x", "_", "1"]),
        ("a\r\nb\n", ["a", "\r\n", "b", "\n"]),
        ("(é)!", ["(", "é", ")", "!"]),
        ("", []),
    ],
)
def test_tokens_of_texts_without_chinese_characters(text: str, parts: list[str]) -> None:
    """By the rules of the specification."""
    assert tokens(text) == parts


def test_the_common_subsequence_is_the_longest() -> None:
    """Against the plain table, on random texts."""
    random = Random(1)
    for _ in range(300):
        one, other = ("".join(random.choices("ab c", k=random.randint(1, 9))) for _ in range(2))
        first, second = tokens(one), tokens(other)
        table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
        for i, left in enumerate(first):
            for j, right in enumerate(second):
                best = max(table[i][j + 1], table[i + 1][j])
                table[i + 1][j + 1] = table[i][j] + 1 if left == right else best
        common = table[-1][-1]
        expected = 2 * common / (len(first) + len(second)) if common else 0.0
        assert rouge_l(one, other) == pytest.approx(expected)


def test_chinese_characters_without_jieba_are_an_error_that_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The comparison does not guess."""

    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(tokenizer, "import_module", missing)
    with pytest.raises(MissingTokenizerError, match=r"asyncguard\[jieba\]"):
        value("北京 1", "北京 2", TEXT)


# -- strict ------------------------------------------------------------------------------------------------------------


def faults(said: Any, gold: dict[str, Any], made: Tool, **fields: Any) -> dict[str, str]:
    """Faults of a call by argument, as texts."""
    node = Node(name="f", arguments=gold, **fields)
    return {
        name: fault.value for name, fault in ExpectedCall(node, made).judge(said).faults.items()
    }


@pytest.mark.parametrize(
    ("one", "other", "fault"),
    [
        (10, 10.0, None),
        (10, 10.0000001, "value"),
        (True, 1, "type"),
        (None, None, None),
        (None, "x", "type"),
        ("5", 5, "type"),
        ("  New   York ", "New York", None),
        ("e\u0301", "\u00e9", None),
        ("new york", "New York", "value"),
        ([1, 2], [2, 1], "value"),
        ([1, 2], [1.0, 2.0], None),
        ({"a": {"b": " x"}}, {"a": {"b": "x"}}, None),
        ({"a": True}, {"a": 1}, "value"),
        ({"a": 1, "b": 2}, {"a": 1}, "value"),
    ],
)
def test_strict_values(one: Any, other: Any, fault: str | None) -> None:
    """Equal but for blanks and the spelling of numbers; no tolerance."""
    assert faults({"a": one}, {"a": other}, tool(a={})) == ({} if fault is None else {"a": fault})


def test_strict_names() -> None:
    """Each argument has its own verdict."""
    made = tool(("a",), a=WHOLE, b=WHOLE, c={"type": "integer", "default": 7})
    assert faults({"b": 1, "z": 1}, {"a": 1, "b": 1}, made) == {"a": "missing", "z": "name"}
    assert faults({"a": 1}, {"a": 1, "b": 1}, made) == {"b": "omitted"}
    assert faults({"a": 1, "b": 1}, {"a": 1}, made) == {"b": "extra"}
    assert faults({"a": 1, "c": 7}, {"a": 1}, made) == {}
    assert faults({"a": 1}, {"a": 1, "c": 7.0}, made) == {}
    assert faults({"a": 1, "c": 8}, {"a": 1}, made) == {"c": "extra"}
    assert faults(None, {"a": 1}, made) == {"": "malformed"}


@pytest.mark.parametrize(
    ("description", "literal"),
    [
        ("Page size, default 10.", "10"),
        ("Defaults to 'metric units'.", "metric units"),
        ("The default is 2.50 EUR", "2.5"),
        ("Sorted (default: True)", "true"),
        ("default is none", "null"),
        ("Defaults to the current date.", None),
        ("By default a person is meant.", None),
        ("Uses 2024-05-01; default 2024-05-01", None),
        ("Nothing.", None),
        (None, None),
    ],
)
def test_a_default_that_a_description_states_outright(
    description: Any, literal: str | None
) -> None:
    """One literal directly after the word; a phrase does not count."""
    assert stated_default(description) == literal


def test_arguments_at_a_stated_default_count_for_nothing() -> None:
    """Compared as text, on both sides."""
    made = tool(a={"type": "integer", "description": "Page size, default 10"})
    assert faults({"a": 10}, {}, made) == faults({}, {"a": "10"}, made) == {}
    assert faults({"a": 11}, {}, made) == {"a": "extra"}


def test_arrays_in_any_order() -> None:
    """By the schema, at any depth, or by a mark of the gold; a bag and no set."""
    free = {"type": "array", "uniqueItems": True}
    assert faults({"a": ["x", "y"]}, {"a": ["y", "x"]}, tool(a=free)) == {}
    deep = tool(a={"type": "object", "properties": {"b": free}})
    assert faults({"a": {"b": [1, 2]}}, {"a": {"b": [2, 1]}}, deep) == {}
    marked = {"unordered": frozenset({"a"})}
    assert faults({"a": [1, 2]}, {"a": [2, 1]}, tool(a={}), **marked) == {}
    assert faults({"a": [1, 1, 2]}, {"a": [2, 2, 1]}, tool(a={}), **marked) == {"a": "value"}


def test_alternatives_of_a_free_text() -> None:
    """A node may list other values that are as right."""
    made = {"alternatives": {"a": ("hello", "hi")}}
    assert faults({"a": "hi"}, {"a": "good day"}, tool(a=TEXT), **made) == {}
    assert faults({"a": "hey"}, {"a": "good day"}, tool(a=TEXT), **made) == {"a": "value"}


def test_nesting_beyond_reason_is_malformed() -> None:
    """It neither ends the scorer nor passes."""
    deep: Any = 1
    for _ in range(50_000):
        deep = [deep]
    assert faults({"a": deep}, {"a": 1}, tool(a={})) == {"": "malformed"}


@pytest.mark.parametrize("seed", range(40))
def test_the_assignment_is_the_best(seed: int) -> None:
    """Against all permutations."""
    random = Random(seed)
    rows, columns = random.randint(1, 4), random.randint(1, 5)
    worth = [[float(random.randint(0, 6)) for _ in range(columns)] for _ in range(rows)]
    found = best_assignment(worth)
    total = sum(worth[row][column] for row, column in enumerate(found) if column is not None)
    padded = [[*line, *[0.0] * rows] for line in worth]
    best = max(
        sum(padded[row][column] for row, column in enumerate(chosen))
        for chosen in permutations(range(columns + rows), rows)
    )
    assert total == best
    taken = [column for column in found if column is not None]
    assert len(taken) == len(set(taken))
