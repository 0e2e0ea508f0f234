import pytest

from asyncguard_benchmark.harness.scoring import f1
from asyncguard_benchmark.harness.scoring.summary import rate, summarise
from asyncguard_benchmark.harness.scoring.verdict import Score, score
from tests.benchmark.builders import Call, compose, gold, played

PAIR = compose("fs-07", "tb-07")
REMOVE, SET = gold("tb-07")


def scored(*calls: Call) -> Score:
    """The score of these calls in PAIR."""
    return score(played(PAIR, calls))


def test_no_data_is_none() -> None:
    """An empty list of scores has no rates, not rates of zero."""
    summary = summarise([])
    assert summary.episodes == 0
    assert summary.overall is None
    assert summary.function_f1 is None
    assert summary.parameter_micro_f1 is None
    assert summary.rounds is None
    assert summary.rounds_on_success == {}


def test_sub_task_and_task_figures_have_their_own_denominators() -> None:
    """Sub-task rates are over sub-tasks, task rates over compositions."""
    summary = summarise([scored(*gold("fs-07"), REMOVE, SET), scored(*gold("fs-07"), REMOVE)])
    assert summary.accuracy is not None
    assert summary.overall is not None
    assert (summary.accuracy.value, summary.accuracy.count) == (75, 4)
    assert (summary.overall.value, summary.overall.count) == (50, 2)
    assert summary.rounds_on_success == {2: 4}
    assert summary.rounds == 3.5


def test_the_state_figure_has_a_variant_without_free_points() -> None:
    """A reading sub-task with any call gets the state for free; the variant leaves it out."""
    pair = compose("fs-08", "tb-07")
    summary = summarise([score(played(pair, [("fs-08", "ls", {}), REMOVE]))])
    assert summary.state is not None
    assert summary.state_where_changed is not None
    assert (summary.state.value, summary.state_where_changed.value) == (50, 0)


def test_intervals_hold_the_value_and_stay_in_range() -> None:
    """Wilson's interval of 8 in 10, as tables give it; the ends are 0 and 100."""
    found = rate([True] * 8 + [False] * 2)
    assert found is not None
    assert (round(found.low, 1), found.value, round(found.high, 1)) == (49.0, 80, 94.3)
    for count in range(1, 60):
        for verdict in (True, False):
            edge = rate([verdict] * count)
            assert edge is not None
            assert 0 <= edge.low <= edge.value <= edge.high <= 100


def test_repetitions_do_not_narrow_an_interval() -> None:
    """Runs of one composition with more seeds are not more compositions."""
    both = [scored(*gold("fs-07"), REMOVE, SET), score(played(compose("fs-08", "tb-08"), ()))]
    once, often = summarise(both), summarise(both * 5)
    for name in ("overall", "accuracy", "state", "truncated"):
        one, five = getattr(once, name), getattr(often, name)
        assert five.count == 5 * one.count
        assert five.value == one.value
        assert five.high - five.low > 0.9 * (one.high - one.low), name


def test_perfect_calls_have_perfect_f1() -> None:
    """All four figures are 1."""
    tasks = scored(*gold("fs-07"), REMOVE, SET).sub_tasks
    for figure in (
        f1.function_macro_f1,
        f1.parameter_macro_f1,
        f1.function_micro_f1,
        f1.parameter_micro_f1,
    ):
        assert figure(tasks) == 1


def test_macro_ignores_invented_names_and_micro_does_not() -> None:
    """A binarizer fitted on the ground truth does not see them; micro counts them against precision."""
    extra: Call = ("tb-07", "no_such_tool", {"x": 1})
    tasks = scored(*gold("fs-07"), REMOVE, SET, extra).sub_tasks
    assert f1.function_macro_f1(tasks) == 1
    assert f1.function_micro_f1(tasks) == pytest.approx(2 * 4 / (4 + 5))
    assert f1.parameter_macro_f1(tasks) == 1
    assert f1.parameter_micro_f1(tasks) == pytest.approx(2 * 8 / (8 + 9))


def test_macro_is_the_mean_over_gold_labels() -> None:
    """Three of four functions found: labels at 1, 1, 1 and 0."""
    tasks = scored(*gold("fs-07"), REMOVE).sub_tasks
    assert f1.function_macro_f1(tasks) == pytest.approx(3 / 4)
    assert f1.function_micro_f1(tasks) == pytest.approx(2 * 3 / (4 + 3))


def test_the_last_occurrence_of_a_function_counts_for_macro_parameters() -> None:
    """A corrected value is right, a spoilt one wrong."""
    guess: Call = ("tb-07", "set_alert", {"symbol": "TRSK", "price": 1})
    corrected = scored(*gold("fs-07"), REMOVE, guess, SET).sub_tasks
    spoilt = scored(*gold("fs-07"), REMOVE, SET, guess).sub_tasks
    assert f1.parameter_macro_f1(corrected) == 1
    assert f1.parameter_macro_f1(spoilt) == pytest.approx(7 / 8)
    assert (
        f1.parameter_micro_f1(corrected)
        == f1.parameter_micro_f1(spoilt)
        == pytest.approx(2 * 8 / (8 + 10))
    )


def test_defaults_and_spellings_of_numbers_are_no_labels_of_their_own() -> None:
    """`price = 94.75` is one label however it is written, and a written default is none."""
    pair = compose("fs-06", "tb-04")
    calls = [
        (t, tool, {**a, "order": "ascending"} if tool == "sort" else a)
        for t, tool, a in gold("fs-06")
    ]
    calls += [
        (t, tool, {**a, "amount": 1500.0} if tool == "deposit" else a)
        for t, tool, a in gold("tb-04")
    ]
    assert f1.parameter_micro_f1(score(played(pair, calls)).sub_tasks) == 1
