"""Comparison of sources: which answer is believed, and the ties in which none is."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from asyncguard.errors import CallerError
from asyncguard.recovery.consensus import Candidate, Comparison, Verdict, compare


def _said(source: str, value: Any, *, trusted: bool = False, date: str | None = None) -> Candidate:
    return Candidate(source=source, value=value, trusted=trusted, date=date)


def _whole(*candidates: Candidate, dated: str | None = None) -> Verdict:
    return compare(candidates, ("",), dated)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (0.1, 0.10),
        (-0.0, 0),
        (10**22, 1e22),
        ("EUR", " EUR\n"),
        ({"a": 1, "b": [1, "x"]}, {"b": [1.0, "x "], "a": 1}),
        (None, None),
        (True, True),
        (0.1 + 0.2, 0.3),
        (3, 0.1 * 30),
        ([{"a": 4.2}], [{"a": 4.2 * (1 + 9e-10)}]),
        (-1e300, -1e300 * (1 + 1e-10)),
    ],
)
def test_equal_values(one: Any, other: Any) -> None:
    """Fractions within a billionth, texts without outer white space, objects in any order."""
    verdict = _whole(_said("a", one), _said("b", other))
    assert (verdict.how, verdict.agreeing, verdict.differing) == (Comparison.AGREE, ("a", "b"), ())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, "1"),
        ("1", "1.00"),
        (1, True),
        (0, False),
        (0, None),
        ("", None),
        ("eur", "EUR"),
        ([1, 2], [2, 1]),
        (10**17 + 1, 10**17),
        (2**53 + 1, float(2**53)),
        (0.3, 0.3 * (1 + 2e-9)),
        (10**9, 10**9 + 1),
        (0, 1e-300),
        (1e-300, -1e-300),
        (float("inf"), 1e308),
        pytest.param(10**400, 1.5, id="huge-1.5"),
        pytest.param(float("inf"), 10**400, id="inf-huge"),
        ({"a": 1}, {"a": 1, "b": None}),
        ({}, []),
        (float("nan"), float("nan")),
    ],
)
def test_different_values(one: Any, other: Any) -> None:
    """No text is a number, no truth value is one, lists have an order, and whole numbers are exact."""
    verdict = _whole(_said("a", one), _said("b", other))
    assert (verdict.how, verdict.value, verdict.chosen) == (Comparison.TIE, None, None)
    assert (verdict.agreeing, verdict.differing) == ((), ("a", "b"))


def test_only_the_selected_parts_have_to_agree() -> None:
    """The chosen answer comes whole, with what was not compared."""
    pointers = ("/price/amount", "/seats/0")
    one, other = (
        {"price": {"amount": 5}, "seats": ["a"], "at": 1},
        {"price": {"amount": 5.0}, "seats": ["a", "b"]},
    )
    verdict = compare((_said("y", other), _said("x", one)), pointers, None)
    assert (verdict.how, verdict.chosen, verdict.value) == (Comparison.AGREE, "x", one)
    assert compare((_said("y", other), _said("x", one)), ("/seats",), None).how is Comparison.TIE


def test_who_lacks_a_part_takes_no_part() -> None:
    """It is named, cannot be chosen, and does not count for a majority."""
    candidates = (
        _said("a", {"v": 1}),
        _said("b", {"v": 1}),
        _said("c", {"v": 2}),
        _said("d", {"w": 1}, trusted=True),
        _said("e", '{"v": 2}'),
    )
    verdict = compare(candidates, ("/v",), None)
    assert (verdict.how, verdict.agreeing, verdict.differing) == (
        Comparison.MAJORITY,
        ("a", "b"),
        ("c",),
    )
    assert verdict.apart == ("d", "e")
    assert (
        verdict.reason
        == "2 of 3 agree (a, b); c said something else; d, e lacked what has to agree"
    )


def test_one_alone_is_taken_and_none_is_a_tie() -> None:
    """There is nothing to compare, and the reason says so."""
    alone = compare((_said("a", {"v": 1}), _said("b", {})), ("/v",), None)
    assert (alone.how, alone.chosen, alone.differing) == (Comparison.AGREE, "a", ())
    assert alone.reason == "a alone could be compared; b lacked what has to agree"
    none = compare((_said("b", {}),), ("/v",), None)
    assert (none.how, none.chosen, none.differing) == (Comparison.TIE, None, ())
    assert compare((), ("",), None).reason == "there is nothing to compare"


def test_a_majority_outvotes_who_is_trusted() -> None:
    """More than half is a majority; the largest group, as two of four, decides nothing."""
    trusted = _said("t", 9, trusted=True)
    assert _whole(trusted, _said("a", 1), _said("b", 1)).value == 1
    verdict = _whole(trusted, _said("a", 1), _said("b", 1), _said("c", 2))
    assert (verdict.how, verdict.chosen, verdict.differing) == (
        Comparison.TRUSTED,
        "t",
        ("a", "b", "c"),
    )


def test_trusted_sources_that_differ_decide_nothing() -> None:
    """Trust counts for one side only."""
    assert _whole(_said("a", 1, trusted=True), _said("b", 2, trusted=True)).how is Comparison.TIE


@pytest.mark.parametrize(
    ("dates", "chosen"),
    [
        (("2026-01-02", "2026-01-03"), "b"),
        (("2026-01-02T10:00:00Z", "2026-01-02T11:30:00+02:00"), "a"),
        (("2026-01-02T10:00", "2026-01-02T09:59:59"), "a"),
        (("2026-01-02", "2026-01-02"), None),
        (("2026-01-02", "2026-01-02T10:00"), None),
        (("2026-01-02T10:00", "2026-01-02T10:00Z"), None),
        (("2026-01-02", "yesterday"), None),
        (("2026-01-02", 20260103), None),
        (("2026-01-02", None), None),
    ],
)
def test_the_latest_counts_if_all_dates_can_be_ordered(
    dates: tuple[Any, Any], chosen: str | None
) -> None:
    """Days with days, times with times of the same kind, strictly later; anything else is a tie."""
    values = [{"v": number, "at": at} for number, at in enumerate(dates)]
    candidates = (_said("a", values[0]), _said("b", values[1]))
    verdict = compare(candidates, ("/v",), "/at")
    assert (verdict.how, verdict.chosen) == (
        Comparison.LATEST if chosen else Comparison.TIE,
        chosen,
    )
    assert compare(candidates, ("/v",), None).how is Comparison.TIE


def test_a_date_that_the_caller_knows_goes_before_the_answer_s() -> None:
    """The caller's date counts first, and only if dates are declared to count."""
    one, other = (
        _said("a", {"v": 1, "at": "2026-05-05"}, date="2020-01-01"),
        _said("b", {"v": 2, "at": "2026-01-01"}),
    )
    assert compare((one, other), ("/v",), "/at").chosen == "b"
    assert compare((one, other), ("/v",), None).chosen is None


def test_of_those_that_agree_the_latest_represents_the_latest_side() -> None:
    """A date that decided stands in the answer that is taken."""
    old, new = {"v": 1, "at": "2026-01-01"}, {"v": 1, "at": "2026-01-03"}
    candidates = (
        _said("a", old),
        _said("b", new),
        _said("c", {"v": 2, "at": "2026-01-02"}),
        _said("d", {"v": 2, "at": "2026-01-02"}),
    )
    verdict = compare(candidates, ("/v",), "/at")
    assert (verdict.how, verdict.value, verdict.agreeing) == (Comparison.LATEST, new, ("a", "b"))


def test_of_those_that_agree_a_trusted_one_speaks() -> None:
    """Among sources that agree, the rest of the answer comes from a trusted one."""
    verdict = compare(
        (_said("a", {"v": 1}), _said("b", {"v": 1, "w": 2}, trusted=True)), ("/v",), None
    )
    assert (verdict.chosen, verdict.value) == ("b", {"v": 1, "w": 2})


def test_no_pointer_is_an_error() -> None:
    """Without a pointer an error is raised, as any two answers would agree."""
    with pytest.raises(CallerError, match="at least one JSON pointer"):
        compare((_said("a", 1), _said("b", 2)), (), None)


def test_a_malformed_pointer_leads_nowhere() -> None:
    """A malformed pointer compares and decides nothing."""
    assert compare((_said("a", {"v": 1}), _said("b", {"v": 1})), ("v",), None).how is Comparison.TIE


# -- for all candidates --------------------------------------------------------------------------------------------

days = st.sampled_from(["2026-01-01", "2026-01-02", "2026-01-03"])
NEAR = [
    0.3,
    0.3 * (1 + 6e-10),
    0.3 * (1 + 12e-10),
]  # each agrees with the next, the first not with the last
bodies = st.fixed_dictionaries(
    {"v": st.sampled_from([0, 1, 1.0, *NEAR, "1", True, None])}, optional={"at": days}
)
answers = st.builds(
    Candidate,
    source=st.sampled_from("abcde"),
    value=bodies | st.just({}),
    trusted=st.booleans(),
    date=st.none() | days,
)
crowds = st.lists(answers, max_size=6)


def _of(candidates: Sequence[Candidate]) -> Verdict:
    return compare(candidates, ("/v",), "/at")


@given(data=st.data(), crowd=crowds)
def test_the_order_of_candidates_does_not_matter(
    data: st.DataObject, crowd: list[Candidate]
) -> None:
    """The order in which the sources were asked does not change the verdict."""
    assert _of(data.draw(st.permutations(crowd))) == _of(crowd)


@given(crowd=crowds, trusted=st.booleans(), date=days)
def test_more_agreement_never_turns_a_decision_over(
    crowd: list[Candidate], trusted: bool, date: str
) -> None:
    """A candidate that agrees with the chosen value changes nothing, whatever its date or trust."""
    before = _of(crowd)
    assume(before.chosen is not None)
    after = _of([*crowd, Candidate(source="z", value=before.value, trusted=trusted, date=date)])
    assert after.chosen is not None
    assert _of([_said("x", before.value), _said("y", after.value)]).how is Comparison.AGREE
    assert after.differing == before.differing


@given(crowd=crowds)
def test_an_undated_supporter_can_only_take_the_date_out_of_play(crowd: list[Candidate]) -> None:
    """It may turn a decision by date into a tie, never into another decision."""
    before = _of(crowd)
    assume(before.chosen is not None)
    after = _of([*crowd, _said("z", {"v": before.value["v"]})])
    if after.chosen is None:
        assert before.how is Comparison.LATEST
    else:
        assert _of([_said("x", before.value), _said("y", after.value)]).how is Comparison.AGREE


@given(one=bodies, other=bodies, trusted=st.booleans())
def test_a_tie_is_symmetric(one: dict[str, Any], other: dict[str, Any], trusted: bool) -> None:
    """A tie does not depend on the names of the sources, and chooses none of them."""
    verdict = _of([_said("a", one, trusted=trusted), _said("b", other, trusted=trusted)])
    swapped = _of([_said("b", one, trusted=trusted), _said("a", other, trusted=trusted)])
    assert (verdict.how is Comparison.TIE) is (swapped.how is Comparison.TIE)
    if verdict.how is Comparison.TIE:
        assert verdict == swapped
        assert (verdict.chosen, verdict.value, verdict.agreeing) == (None, None, ())


@given(crowd=crowds)
def test_everybody_is_named_once(crowd: list[Candidate]) -> None:
    """Every source is named once: agreeing, differing or apart; the reason holds no value."""
    verdict = _of(crowd)
    named = [*verdict.agreeing, *verdict.differing, *verdict.apart]
    assert sorted(named) == sorted(candidate.source for candidate in crowd)
    assert "2026" not in verdict.reason
    assert (verdict.chosen is None) is (verdict.how is Comparison.TIE)
