import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard_benchmark.services.data_management import TOOLSET
from asyncguard_benchmark.services.service import Executor

DESK = Executor(TOOLSET.tools, {})
TEAMS = [
    {"name": "Ada", "team": "red", "points": 4},
    {"name": "Bo", "team": "blue", "points": 7},
    {"name": "Cy", "team": "red", "points": 4},
    {"name": "Di", "team": "grey", "points": 0.5},
]
RECORDS = st.lists(
    st.fixed_dictionaries({"k": st.sampled_from(["a", "b", "c"]), "n": st.integers(-9, 9)}),
    min_size=1,
    max_size=9,
)


def ask(name: str, /, **values: Any) -> Any:
    """A call's result, read."""
    return json.loads(DESK.call(name, values))


def names(records: list[dict[str, Any]]) -> list[str]:
    """The names in some records."""
    return [record["name"] for record in records]


@pytest.mark.parametrize(
    ("relation", "kept"),
    [
        ("above", ["Bo"]),
        ("at least", ["Ada", "Bo", "Cy"]),
        ("below", ["Di"]),
        ("at most", ["Ada", "Cy", "Di"]),
    ],
)
def test_a_bound_is_inside_or_outside_as_the_relation_says(relation: str, kept: list[str]) -> None:
    """Records that do not pass are returned apart, in the order given."""
    found = ask("filter_by_number", records=TEAMS, field="points", relation=relation, bound=4)
    assert names(found["records"]) == kept
    assert names(found["others"]) == [name for name in names(TEAMS) if name not in kept]


def test_a_text_is_matched_whole_and_with_its_capitals() -> None:
    """A part of a field, another case or a number does not match a text."""
    assert names(ask("filter_by_text", records=TEAMS, field="team", text="red")["records"]) == [
        "Ada",
        "Cy",
    ]
    assert ask("filter_by_text", records=TEAMS, field="team", text="Red")["records"] == []
    assert ask("filter_by_text", records=TEAMS, field="points", text="4")["records"] == []


def test_ties_keep_their_order_in_both_directions() -> None:
    """Sorting downwards is not sorting upwards read backwards."""
    assert names(ask("order_records", records=TEAMS, field="points")["records"]) == [
        "Bo",
        "Ada",
        "Cy",
        "Di",
    ]
    upwards = ask("order_records", records=TEAMS, field="points", direction="ascending")
    assert names(upwards["records"]) == ["Di", "Ada", "Cy", "Bo"]
    assert (upwards["first"]["name"], upwards["last"]["name"]) == ("Di", "Bo")
    assert names(ask("top_records", records=TEAMS, field="points", count=2)["records"]) == [
        "Bo",
        "Ada",
    ]


def test_numbers_come_before_texts() -> None:
    """A mixed column has an order, and no number is compared with a text."""
    rows = [{"v": "10"}, {"v": 9}, {"v": 10}]
    ordered = ask("order_records", records=rows, field="v", direction="ascending")["records"]
    assert ordered == [{"v": 9}, {"v": 10}, {"v": "10"}]


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("filter_by_number", {"field": "age", "relation": "above", "bound": 1}, "no field 'age'"),
        ("top_records", {"field": "team", "count": 1}, "must hold numbers"),
        ("accumulate_column", {"field": "name"}, "must hold numbers"),
        ("bucket_records", {"field": "points", "edges": [5, 1]}, "must rise"),
        ("bucket_records", {"field": "points", "edges": [1, 1]}, "must rise"),
        (
            "compare_snapshots",
            {"before": TEAMS, "after": TEAMS, "key": "team"},
            "different in every record",
        ),
        ("filter_by_text", {"field": "name", "text": "Ada", "records": []}, "Invalid arguments"),
        (
            "filter_by_text",
            {"field": "name", "text": "Ada", "records": [{"name": None}]},
            "Invalid arguments",
        ),
    ],
)
def test_what_cannot_be_done_is_said(name: str, values: dict[str, Any], said: str) -> None:
    """An error names the field or the argument."""
    given_values = values if "before" in values else {"records": TEAMS, **values}
    assert said in ask(name, **given_values)["error"]


def test_groups_are_added_up_exactly_and_named_by_their_extremes() -> None:
    """A group with many small numbers can be the largest; sums are decimal, not binary."""
    rows = [{"k": "x", "n": 0.1}, {"k": "y", "n": 0.25}, {"k": "x", "n": 0.2}]
    assert ask("aggregate_by", records=rows, key="k", measure="n") == {
        "groups": [
            {"group": "x", "count": 2, "total": 0.3, "mean": 0.15},
            {"group": "y", "count": 1, "total": 0.25, "mean": 0.25},
        ],
        "largest_total": "x",
        "smallest_total": "y",
    }


@given(RECORDS)
def test_groups_pivot_and_running_sum_agree(records: list[dict[str, Any]]) -> None:
    """Grouping, pivot and running sum give one total."""
    groups = ask("aggregate_by", records=records, key="k", measure="n")["groups"]
    pivot = ask("pivot_records", records=records, row="k", column="k", measure="n")
    summed = ask("accumulate_column", records=records, field="n")
    assert (
        {row["group"]: row["total"] for row in groups}
        == pivot["row_totals"]
        == pivot["column_totals"]
    )
    assert sum(row["count"] for row in groups) == len(records)
    assert (
        summed["total"]
        == summed["records"][-1]["cumulative"]
        == sum(row["total"] for row in groups)
    )


def test_a_join_pairs_all_partners_and_keeps_the_left_order() -> None:
    """Two partners make two rows; what has none stands apart on its side."""
    left = [{"id": 2, "a": "two"}, {"id": 1, "a": "one"}, {"id": 3, "a": "three"}]
    right = [{"id": 1, "b": 10}, {"id": 2, "b": 20}, {"id": 1, "b": 11}, {"id": 9, "b": 90}]
    found = ask("match_records", left=left, right=right, key="id")
    assert [(row["a"], row["b"]) for row in found["matched"]] == [
        ("two", 20),
        ("one", 10),
        ("one", 11),
    ]
    assert found["only_left"] == [left[2]]
    assert found["only_right"] == [right[3]]


@given(RECORDS, RECORDS)
def test_a_join_loses_no_row(left: list[dict[str, Any]], right: list[dict[str, Any]]) -> None:
    """Every row is in the matched part or in its own rest."""
    found = ask("match_records", left=left, right=right, key="k")
    shared = {row["k"] for row in left} & {row["k"] for row in right}
    assert found["only_left"] == [row for row in left if row["k"] not in shared]
    assert found["only_right"] == [row for row in right if row["k"] not in shared]
    partners = [(one["k"], other["k"]) for one in left for other in right if one["k"] == other["k"]]
    assert [row["k"] for row in found["matched"]] == [one for one, _ in partners]


def test_the_first_of_equal_records_stays() -> None:
    """Records are equal if the named fields are."""
    found = ask("drop_repeats", records=TEAMS, fields=["team", "points"])
    assert (names(found["records"]), names(found["repeats"])) == (["Ada", "Bo", "Di"], ["Cy"])


@given(RECORDS)
def test_buckets_hold_every_record_once(records: list[dict[str, Any]]) -> None:
    """A number on an edge belongs to the bucket that begins there."""
    found = ask("bucket_records", records=records, field="n", edges=[-4, 0, 5])
    parts = [found["below"], *(bucket["records"] for bucket in found["buckets"]), found["beyond"]]
    assert sorted(row["n"] for part in parts for row in part) == sorted(row["n"] for row in records)
    assert all(
        bucket["low"] <= row["n"] < bucket["high"]
        for bucket in found["buckets"]
        for row in bucket["records"]
    )
    assert all(row["n"] < -4 for row in found["below"])
    assert all(row["n"] >= 5 for row in found["beyond"])


def test_a_changed_list_is_told_field_by_field() -> None:
    """A field that is new on one side does not count as a change of a value."""
    before = [{"id": 1, "p": 5, "q": "x"}, {"id": 2, "p": 6}, {"id": 3, "p": 7}]
    after = [{"id": 3, "p": 7}, {"id": 1, "p": 4, "q": "y", "r": 1}, {"id": 4, "p": 8}]
    assert ask("compare_snapshots", before=before, after=after, key="id") == {
        "added": [{"id": 4, "p": 8}],
        "removed": [{"id": 2, "p": 6}],
        "changed": [
            {"key": 1, "field": "p", "before": 5, "after": 4},
            {"key": 1, "field": "q", "before": "x", "after": "y"},
        ],
        "same": [{"id": 3, "p": 7}],
    }


def test_the_nearest_may_lie_on_either_side() -> None:
    """The earlier of two equally near records wins; a single record has no runner-up."""
    rows = [{"v": 12}, {"v": 8}, {"v": 10.5}]
    assert ask("nearest_record", records=rows[:2], field="v", target=10)["record"] == {"v": 12}
    assert ask("nearest_record", records=rows, field="v", target=10) == {
        "record": {"v": 10.5},
        "distance": 0.5,
        "runner_up": {"v": 12},
    }
    assert ask("nearest_record", records=rows[:1], field="v", target=0)["runner_up"] is None


def test_values_are_counted_and_lists_compared_as_sets() -> None:
    """Ties of a count go to the value that came first, and 1 is not the text 1."""
    found = ask("tally_values", values=["b", "a", "a", "b", 1, "1"])
    assert [(row["value"], row["count"]) for row in found["counts"]] == [
        ("b", 2),
        ("a", 2),
        (1, 1),
        ("1", 1),
    ]
    assert (found["most_common"], found["least_common"], found["single"]) == ("b", 1, [1, "1"])
    assert ask("compare_lists", first=["x", "y", "x"], second=["z", "y", "z"]) == {
        "both": ["y"],
        "only_first": ["x"],
        "only_second": ["z"],
    }
    assert ask("extract_column", records=TEAMS, field="team") == {
        "values": ["red", "blue", "red", "grey"],
        "distinct": ["red", "blue", "grey"],
    }


@given(st.lists(st.integers(-99, 99), min_size=1, max_size=9))
def test_the_median_has_as_many_below_as_above(values: list[int]) -> None:
    """The median lies between equal halves, and the figures fit each other."""
    found = ask("describe_numbers", values=values)
    assert (
        sum(v < found["median"] for v in values)
        <= len(values) / 2
        >= sum(v > found["median"] for v in values)
    )
    assert found["spread"] == found["largest"] - found["smallest"] == max(values) - min(values)
    assert abs(found["mean"] - sum(values) / len(values)) <= 0.005000001


def test_means_are_rounded_half_away_from_zero() -> None:
    """Halves are rounded away from zero on both sides of it."""
    assert ask("describe_numbers", values=[0.01, 0.02])["mean"] == 0.02
    assert ask("describe_numbers", values=[-0.01, -0.02])["mean"] == -0.02
    thirds = [{"k": "x", "n": 1}, {"k": "x", "n": 0}, {"k": "x", "n": 1}]
    assert ask("aggregate_by", records=thirds, key="k", measure="n")["groups"][0]["mean"] == 0.67


def test_an_overlay_tells_what_gave_way() -> None:
    """An entry that is laid over by itself gave nothing up."""
    found = ask(
        "overlay_mapping", base={"a": 1, "b": "x", "c": 3}, changes={"c": 3, "b": "y", "d": 4}
    )
    assert found == {
        "merged": {"a": 1, "b": "y", "c": 3, "d": 4},
        "replaced": {"b": "x"},
        "added": ["d"],
    }
    assert list(found["merged"]) == ["a", "b", "c", "d"]


@given(st.dictionaries(st.text("abc", min_size=1), st.sampled_from(["x", "y", 7]), min_size=1))
def test_turning_a_mapping_round_loses_no_name(mapping: dict[str, Any]) -> None:
    """Each name stands under its value, once."""
    found = ask("invert_mapping", mapping=mapping)
    assert {name: value for value, owners in found["names"].items() for name in owners} == {
        name: str(value) for name, value in mapping.items()
    }
    assert found["shared"] == [value for value, owners in found["names"].items() if len(owners) > 1]


@given(RECORDS)
def test_arguments_come_out_as_they_went_in(records: list[dict[str, Any]]) -> None:
    """No function changes what it was given, and what is sorted is the same records."""
    before = json.dumps(records)
    ordered = ask("order_records", records=records, field="n", direction="ascending")["records"]
    ask("accumulate_column", records=records, field="n")
    assert json.dumps(records) == before
    assert all(one["n"] <= other["n"] for one, other in pairwise(ordered))
    assert sorted(map(json.dumps, ordered)) == sorted(map(json.dumps, records))
