"""Evidence: generous to what was derived, strict with what was made up."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard.core.evidence import EvidenceBook, leaves

TOLD = (
    "Please move the report 'Q3_final.pdf' from /home/anna/drafts to the archive and book flight LH-1234 for "
    "2024-05-17, at most 1,250.50 EUR, seat 12A. Mail anna.smith@example.org; the budget for Zürich is 3000."
)
RESULT = {
    "ids": ["ord_77", "ord_78"],
    "prices": [3, 1.5, -5],
    "rate": 1e-05,
    "note": "Straße gesperrt",
    "n": 40,
}


def book() -> EvidenceBook:
    """Return evidence with a user's text for all tasks, and a compact JSON result for one."""
    evidence = EvidenceBook()
    evidence.add_common(TOLD)
    evidence.add("t1", json.dumps(RESULT, separators=(",", ":"), ensure_ascii=False))
    return evidence


@pytest.mark.parametrize(
    "value",
    [
        "Q3_final.pdf",
        "q3_FINAL.pdf",
        "/home/anna/drafts/Q3_final.pdf",
        "/archive/Q3_final.pdf",
        "LH-1234",
        "LH1234"[:2],
        "2024-05-17",
        "17-05-2024",
        "anna.smith@example.org",
        "  ZÜRICH ",
        "STRASSE",
        "at  most",
        1250.5,
        "1250.5",
        3000,
        3000.0,
        "3000",
        "12A",
        "ord_77",
        ["ord_77", {"price": 1.5}],
        3,
        1.5,
        -5,
        1e-05,
        40,
        "",
        "???",
        True,
        None,
        [],
        "I have kindly taken care of everything that you wanted",
    ],
)
def test_what_was_told_or_follows_from_it(value: Any) -> None:
    """Case, spacing, order of parts, notation of numbers and free prose do not make a value a guess."""
    assert book().ungrounded("t1", value) is None


@pytest.mark.parametrize(
    ("value", "culprit"),
    [
        ("ord_99", "ord_99"),
        ("Q4_final.pdf", "Q4_final.pdf"),
        ("LH-9999", "LH-9999"),
        ("2024-06-17", "2024-06-17"),
        ("bob@example.org", "bob@example.org"),
        (1251, 1251),
        (4.5, 4.5),
        (77.5, 77.5),
        (10**400, 10**400),
        (float("inf"), float("inf")),
        (["ord_77", "ord_99"], "ord_99"),
        ({"to": {"id": "acc_1"}}, "acc_1"),
        ("I have booked the flight LH-9999 for you as you wanted", None),
    ],
)
def test_what_nobody_said(value: Any, culprit: Any) -> None:
    """A value with a part that occurs nowhere is found, also deep inside and in prose that carries digits."""
    assert book().ungrounded("t1", value) == (value if culprit is None else culprit)


def test_another_tasks_result_grounds_nothing() -> None:
    """A task may use what all tasks were told and its own results only."""
    evidence = book()
    assert evidence.ungrounded("t2", "ord_77") == "ord_77"
    assert evidence.ungrounded("t2", "LH-1234") is None
    assert EvidenceBook().ungrounded("t1", "LH-1234") == "LH-1234"


def test_evidence_grows_while_it_is_asked() -> None:
    """Text added after a question counts in the next."""
    evidence = EvidenceBook()
    assert evidence.ungrounded("t1", "ord_5") == "ord_5"
    evidence.add("t1", "The order is ord_5.")
    assert evidence.ungrounded("t1", "ord_5") is None


def test_leaves_are_the_strings_and_numbers() -> None:
    """Names of fields, booleans and nothing need no evidence."""
    assert list(leaves({"a": [1, True, None, "x"], "b": {"c": 2.5}})) == [1, "x", 2.5]


values = st.text(max_size=30) | st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6, allow_nan=False)


@given(st.lists(values, min_size=1, max_size=6))
def test_what_a_result_holds_is_grounded(items: list[Any]) -> None:
    """Every value of a JSON result may be used, however the result was written."""
    for separators in ((",", ":"), (", ", ": ")):
        evidence = EvidenceBook()
        evidence.add("t1", json.dumps({"items": items}, separators=separators, ensure_ascii=False))
        for item in items:
            clean = not isinstance(item, str) or json.dumps(item, ensure_ascii=False) == f'"{item}"'
            if clean:
                assert evidence.ungrounded("t1", item) is None, item


@given(st.lists(values, max_size=5), values)
def test_more_evidence_never_ungrounds(items: list[Any], value: Any) -> None:
    """A value that was grounded stays grounded when evidence is added."""
    evidence = EvidenceBook()
    was = False
    for item in items:
        evidence.add_common(str(item))
        now = evidence.ungrounded("t1", value) is None
        assert now or not was
        was = now


@given(
    st.text(max_size=40),
    st.recursive(values, lambda inner: st.lists(inner, max_size=3), max_leaves=5),
)
def test_any_text_and_any_value_get_an_answer(text: str, value: Any) -> None:
    """The check has no input that it chokes on, and names a leaf of the value."""
    evidence = EvidenceBook()
    evidence.add_common(text)
    found = evidence.ungrounded("t1", value)
    assert found is None or found in list(leaves(value))
