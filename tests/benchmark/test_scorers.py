"""Scorers on trajectories made by hand; for every yes there is a trajectory that must get a no."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.harness.scoring.canonical import canonical, freeze, same
from asyncguard_benchmark.harness.scoring.checks import state
from asyncguard_benchmark.harness.scoring.evidence import evidence_of
from asyncguard_benchmark.harness.scoring.explain import Finding, FindingKind, findings
from asyncguard_benchmark.harness.scoring.verdict import Score, SubTaskScore, score
from asyncguard_benchmark.services.catalogue import tools_of
from tests.benchmark.builders import SUB_TASKS, Call, compose, gold, played

PAIR = compose("fs-07", "tb-07")


def judged(*calls: Call, regime: Regime = Regime.SYNC) -> Score:
    """The score of these calls in PAIR."""
    return score(played(PAIR, calls, regime))


def sub_task(*calls: Call) -> SubTaskScore:
    """The score of tb-07 alone."""
    return judged(*calls).sub_tasks[1]


def verdicts(scored: SubTaskScore) -> tuple[bool, bool, bool, bool]:
    """Trajectory, result, state and accuracy."""
    return scored.trajectory, scored.result, scored.state, scored.accurate


def json_values() -> st.SearchStrategy[Any]:
    """Small JSON values, among them many that Python holds equal."""
    leaf = st.sampled_from([0, 1, 0.0, 1.0, False, True, None, "", "1"])
    return st.recursive(
        leaf, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.just("a"), inner)
    )


REMOVE: Call = ("tb-07", "remove_alert", {"symbol": "NUVO"})
SET: Call = ("tb-07", "set_alert", {"symbol": "TRSK", "price": 94.75})
LOOK: Call = ("tb-07", "get_quote", {"symbol": "TRSK"})


def test_the_ground_truth_is_solved_in_any_interleaving() -> None:
    """Order between sub-tasks does not matter."""
    one, two = gold("fs-07")
    assert judged(one, REMOVE, two, SET).overall
    assert judged(REMOVE, SET, one, two).overall


def test_nothing_done_is_nothing_solved() -> None:
    """An empty trajectory gets no for every question, the state of a reading task included."""
    scored = score(played(compose("fs-08", "tb-07"), []))
    assert [verdicts(each) for each in scored.sub_tasks] == [(False, False, False, False)] * 2
    assert not scored.overall
    assert not scored.task_state


def test_extra_harmless_calls_are_free() -> None:
    """Extra calls are allowed, as the ground truth has only to be contained."""
    assert verdicts(sub_task(LOOK, REMOVE, LOOK, SET, LOOK)) == (True, True, True, True)


def test_a_missing_call_fails_every_question() -> None:
    """Trajectory, result and state all see it."""
    assert verdicts(sub_task(REMOVE)) == (False, False, False, False)


def test_a_wrong_value_fails_even_if_the_right_call_followed_elsewhere() -> None:
    """A call of another sub-task is not this one's."""
    assert verdicts(
        sub_task(REMOVE, ("tb-07", "set_alert", {"symbol": "TRSK", "price": 94.5}))
    ) == (
        False,
        False,
        False,
        False,
    )
    assert (
        not judged(REMOVE, ("fs-07", "set_alert", {"symbol": "TRSK", "price": 94.75}))
        .sub_tasks[1]
        .trajectory
    )


def test_a_corrected_guess_passes_if_it_left_no_trace() -> None:
    """An overwritten alert is repaired; an alert on another stock stays, and shows in the state."""
    repaired = sub_task(REMOVE, ("tb-07", "set_alert", {"symbol": "TRSK", "price": 1}), SET)
    assert verdicts(repaired) == (True, True, True, True)
    trace = sub_task(REMOVE, SET, ("tb-07", "set_alert", {"symbol": "TRSC", "price": 1}))
    assert verdicts(trace) == (True, True, False, False)


def test_order_within_a_sub_task_shows_in_results_and_the_ordered_variant() -> None:
    """The calls are all there, but `tail` ran before the line was written."""
    find, write, read = gold("fs-03")
    pair = compose("fs-03", "tb-07")
    scored = score(played(pair, [find, read, write])).sub_tasks[0]
    assert verdicts(scored) == (True, False, True, False)
    assert scored.accurate_without_result
    assert not scored.ordered_trajectory
    assert score(played(pair, [find, write, read])).sub_tasks[0].ordered_trajectory


def test_the_multiset_counts() -> None:
    """A call that the ground truth makes twice must be made twice."""
    first, middle, last = gold("fs-05")
    assert first == last
    pair = compose("fs-05", "tb-07")
    assert not score(played(pair, [first, middle])).sub_tasks[0].trajectory
    assert score(played(pair, [first, middle, last])).sub_tasks[0].trajectory


def test_saved_responses_are_not_believed() -> None:
    """Results are executed again: a forged one changes nothing."""
    episode = played(PAIR, [REMOVE])
    forged = replace(
        episode,
        trajectory=tuple(
            replace(r, response='{"symbol": "TRSK", "price": 94.75}') for r in episode.trajectory
        ),
    )
    assert score(forged) == score(episode)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"lines": 10}, {}, True),
        ({"lines": 10.0}, {"lines": 10}, True),
        ({"lines": 9}, {}, False),
        ({"lines": "10"}, {}, False),
        ({"lines": True}, {"lines": 1}, False),
        ({"lines": [1, 2]}, {"lines": [2, 1]}, False),
        ({"lines": {"a": 1, "b": 2}}, {"lines": {"b": 2, "a": 1}}, True),
        ({"lines": None}, {}, False),
        ({"file": "A"}, {"file": "a"}, False),
        ({"file": "a "}, {"file": "a"}, False),
    ],
)
def test_when_two_calls_are_one(one: dict[str, Any], other: dict[str, Any], same: bool) -> None:
    """Defaults and the spelling of numbers make no difference, everything else does."""
    tools = {"head": tools_of(SUB_TASKS["fs-14"])["head"]}
    assert (canonical("head", one, tools) == canonical("head", other, tools)) is same


def test_calls_to_unknown_tools_are_compared_as_they_are() -> None:
    """They belong to the trajectory, and make nothing right."""
    assert canonical("x", {"a": [1]}, {}) == canonical("x", {"a": [1.0]}, {})
    assert canonical("x", {}, {}) != canonical("y", {}, {})


def test_changes_state_marks_where_the_state_question_is_free() -> None:
    """fs-08 only reads, tb-07 does not."""
    scored = score(played(compose("fs-08", "tb-07"), []))
    assert [each.changes_state for each in scored.sub_tasks] == [False, True]


@given(st.data())
def test_what_is_dropped_or_added(data: st.DataObject) -> None:
    """Any interleaving of the ground truth is solved; without any one call it is not."""
    parts = [gold("fs-10"), gold("tb-01")]
    merged: list[Call] = []
    while any(parts):
        merged.append(data.draw(st.sampled_from([part for part in parts if part])).pop(0))
    pair = compose("fs-10", "tb-01")
    assert score(played(pair, merged)).overall
    dropped = data.draw(st.integers(0, len(merged) - 1))
    assert not score(played(pair, merged[:dropped] + merged[dropped + 1 :])).overall


def test_streaks_skip_turns_without_a_call() -> None:
    """Only calls count, and the longest run is taken."""
    assert judged().same_task_streak == 0
    assert judged(REMOVE, *gold("fs-07"), SET).same_task_streak == 2
    assert judged(REMOVE, SET, LOOK, *gold("fs-07")).same_task_streak == 3


def test_premature_calls_are_split_by_what_they_need() -> None:
    """SET needs the pending price, LOOK does not; once the result is there, nothing is premature."""
    patient = judged(REMOVE, gold("fs-07")[0], SET, regime=Regime.FIXED1).sub_tasks[1]
    assert (patient.premature_needed, patient.premature_harmless) == (0, 0)
    needed = judged(REMOVE, SET, regime=Regime.FIXED1).sub_tasks[1]
    assert (needed.premature_needed, needed.premature_harmless) == (1, 0)
    mixed = judged(REMOVE, LOOK, SET, regime=Regime.FIXED1).sub_tasks[1]
    assert (mixed.premature_needed, mixed.premature_harmless) == (0, 2)


def test_each_call_stands_for_the_next_step_with_its_tool() -> None:
    """A chain of one tool: the second read needs the first, the third the second; a further one stands for the last."""
    pair = compose("fs-08", "tb-07")
    chain = gold("fs-08")
    scored = score(played(pair, [*chain, chain[2]], Regime.FIXED1)).sub_tasks[0]
    assert (scored.premature_needed, scored.premature_harmless) == (2, 1)


def test_a_state_dependency_is_harmless_by_value() -> None:
    """`mkdir` then `cd` shares no value: the effect has happened at issue."""
    pair = compose("fs-02", "tb-07")
    scored = score(played(pair, gold("fs-02"), Regime.FIXED1)).sub_tasks[0]
    assert (scored.premature_needed, scored.premature_harmless) == (1, 1)


def test_explanations_name_the_difference() -> None:
    """Each kind of failure is reported with expected and found."""
    wrong = sub_task(REMOVE, ("tb-07", "set_alert", {"symbol": "TRSC", "price": 94.75})).findings
    assert {(f.kind, f.place, f.expected, f.found) for f in wrong} == {
        (FindingKind.DIFFERING_ARGUMENT, "set_alert.symbol", '"TRSK"', '"TRSC"'),
        (FindingKind.DIFFERING_STATE, "/alerts/TRSC", "90", "94.75"),
        (FindingKind.DIFFERING_STATE, "/alerts/TRSK", "94.75", None),
    }
    missing = sub_task(REMOVE).findings
    assert missing[0].kind is FindingKind.MISSING_CALL
    assert "set_alert" in str(missing[0])
    assert sub_task().findings[-1].kind is FindingKind.DIFFERING_STATE
    find, write, read = gold("fs-03")
    late = score(played(compose("fs-03", "tb-07"), [find, read, write])).sub_tasks[0].findings
    assert [(f.kind, f.place) for f in late] == [(FindingKind.MISSING_RESULT, "tail")]


def test_a_difference_of_states_names_nothing_else() -> None:
    """The explanation shows only the values that an agent changed beyond the gold or left out."""
    extra = sub_task(REMOVE, SET, ("tb-07", "set_alert", {"symbol": "NUVO", "price": 3})).findings
    assert [(f.kind, f.place, f.expected, f.found) for f in extra] == [
        (FindingKind.DIFFERING_STATE, "/alerts/NUVO", None, "3")
    ]
    left = [f for f in sub_task(REMOVE).findings if f.kind is FindingKind.DIFFERING_STATE]
    assert [(f.place, f.found) for f in left] == [("/alerts/TRSK", None)]


@given(
    st.lists(
        st.sampled_from(
            [REMOVE, SET, LOOK, ("tb-07", "set_alert", {"symbol": "TRSK", "price": 2})]
        ),
        max_size=5,
    )
)
def test_there_is_a_finding_exactly_when_something_is_wrong(calls: list[Call]) -> None:
    """No failure goes unexplained, and no success is explained away."""
    scored = sub_task(*calls)
    assert bool(scored.findings) is not scored.accurate


def test_a_truth_value_is_no_number_in_a_state() -> None:
    """Python holds 1 and true equal; a state does not, and the difference is explained."""
    (evidence, *_) = evidence_of(played(compose("tb-07", "fs-07"), [REMOVE, SET]))
    assert state(evidence)
    alerts = evidence.gold.state["alerts"]
    one, true = ({**evidence.gold.state, "alerts": {**alerts, "TRSK": each}} for each in (1, True))
    mixed = replace(
        evidence, gold=replace(evidence.gold, state=one), made=replace(evidence.made, state=true)
    )
    assert not state(mixed)
    assert [str(each) for each in findings(mixed)] == [
        "differing_state at /alerts/TRSK: expected 1, found true"
    ]
    assert state(
        replace(
            mixed, made=replace(evidence.made, state={**true, "alerts": {**alerts, "TRSK": 1.0}})
        )
    )


@given(value=json_values(), other=json_values())
def test_equal_is_what_has_the_same_form(value: Any, other: Any) -> None:
    """The quick comparison of states is that of the frozen forms in which calls are compared."""
    assert same(value, value)
    assert same(value, other) is (freeze(value) == freeze(other))


def test_a_finding_says_where_there_is_nothing() -> None:
    """An attribute that is missing is not one that holds null."""
    absent = Finding(kind=FindingKind.DIFFERING_STATE, place="/a", expected="1", found=None)
    assert str(absent) == "differing_state at /a: expected 1, found nothing"
    assert (
        str(replace(absent, expected=None, found="null"))
        == "differing_state at /a: expected nothing, found null"
    )
