import hypothesis.strategies as st
import pytest
from hypothesis import given

from asyncguard_benchmark.errors import UnknownSubTaskError
from asyncguard_benchmark.harness.environment import Environment, delay, most_rounds
from asyncguard_benchmark.harness.scenario import Regime
from tests.benchmark.builders import compose

TWO = compose("fs-08", "tb-07")
READ = ("cat", {"file": "start_here.txt"})


def deliveries(regime: Regime, turns: int = 6) -> list[list[int]]:
    """Call numbers delivered after each message when every message but the last three makes one call."""
    environment = Environment(TWO, regime, 3)
    seen = []
    for turn in range(turns):
        environment.begin_round()
        if turn < turns - 3:
            environment.issue("fs-08", *READ)
        seen.append([record.number for record in environment.due()])
    return seen


@pytest.mark.parametrize(
    ("regime", "expected"),
    [
        (Regime.SYNC, [[0], [1], [2], [], [], []]),
        (Regime.FIXED1, [[], [0], [1], [2], [], []]),
        (Regime.FIXED2, [[], [], [0], [1], [2], []]),
    ],
)
def test_a_fixed_delay_is_counted_in_messages(regime: Regime, expected: list[list[int]]) -> None:
    """The result of the call of message t arrives after message t + d."""
    assert deliveries(regime) == expected


@pytest.mark.parametrize(
    ("regime", "allowed"), [(Regime.RANDOM01, {0, 1}), (Regime.RANDOM12, {1, 2})]
)
def test_random_delays_take_both_values_and_no_other(regime: Regime, allowed: set[int]) -> None:
    """Both delays of the regime occur, evenly enough, and repeat with the seed."""
    drawn = [delay(regime, 1, "fs-01", count) for count in range(1, 201)]
    assert set(drawn) == allowed
    assert 70 <= drawn.count(min(allowed)) <= 130
    assert drawn == [delay(regime, 1, "fs-01", count) for count in range(1, 201)]
    assert drawn != [delay(regime, 2, "fs-01", count) for count in range(1, 201)]
    assert drawn != [delay(regime, 1, "fs-02", count) for count in range(1, 201)]


@given(st.lists(st.sampled_from(["fs-08", "tb-07"]), max_size=12), st.integers(0, 5))
def test_random_delays_do_not_depend_on_scheduling(order: list[str], seed: int) -> None:
    """The k-th call of a sub-task has the same delay wherever it stands among the calls of others."""
    environment = Environment(TWO, Regime.RANDOM12, seed)
    for task_id in order:
        environment.begin_round()
        environment.issue(task_id, "cat", {})
    for task_id in set(order):
        waits = [
            record.due - record.issued
            for record in environment.trajectory
            if record.task_id == task_id
        ]
        assert waits == [delay(Regime.RANDOM12, seed, task_id, k) for k in range(1, len(waits) + 1)]


@given(
    st.lists(st.sampled_from(["fs-08", "tb-07", "wait"]), max_size=20),
    st.sampled_from(list(Regime)),
)
def test_each_call_is_delivered_exactly_once_and_in_order(order: list[str], regime: Regime) -> None:
    """Nothing is lost, doubled, early or late; one turn's results are sorted by due tick, then issue."""
    environment = Environment(TWO, regime, 1)
    delivered = []
    for step in [*order, "wait", "wait"]:
        environment.advance()
        if step != "wait":
            environment.issue(step, "cat", {})
        now = environment.due()
        assert [(r.due, r.number) for r in now] == sorted((r.due, r.number) for r in now)
        assert all(r.due == r.delivered == environment.tick for r in now)
        delivered += [record.number for record in now]
    assert sorted(delivered) == list(range(len(environment.trajectory)))
    assert environment.pending() == ()


def test_results_due_together_keep_due_order_before_issue_order() -> None:
    """With late delivery by the driver the earlier due call comes first although it was issued later."""
    environment = Environment(TWO, Regime.RANDOM12, 0)
    task_id, other = ("fs-08", "tb-07")
    seeds = (
        s
        for s in range(100)
        if delay(Regime.RANDOM12, s, task_id, 1) > delay(Regime.RANDOM12, s, other, 1)
    )
    environment = Environment(TWO, Regime.RANDOM12, next(seeds))
    environment.advance()
    environment.issue(task_id, "cat", {})
    environment.issue(other, "cat", {})
    environment.advance()
    environment.advance()
    assert [record.number for record in environment.due()] == [1, 0]


def test_effects_happen_at_issue_and_results_are_fixed_then() -> None:
    """A pending listing does not show what a later call changed, though that call sees the change before it."""
    environment = Environment(compose("fs-05", "tb-07"), Regime.FIXED2, 0)
    environment.begin_round()
    listing = environment.issue("fs-05", "ls", {})
    environment.issue("fs-05", "rm", {"file": "nightly-118.img"})
    after = environment.issue("fs-05", "ls", {})
    assert "nightly-118.img" in listing.response
    assert "nightly-118.img" not in after.response
    environment.advance()
    environment.advance()
    assert environment.due()[0].response == listing.response


def test_rounds_and_ticks_are_counted_apart() -> None:
    """A wait of the runtime is a tick without a round, and brings results nearer."""
    environment = Environment(TWO, Regime.FIXED2, 0)
    environment.begin_round()
    environment.issue("fs-08", *READ)
    environment.advance()
    environment.advance()
    assert len(environment.due()) == 1
    assert (environment.counters.rounds, environment.counters.ticks) == (1, 3)


def test_a_call_issued_by_the_runtime_starts_its_delay_in_that_tick() -> None:
    """A deferred call that is released when its dependency arrives is due d ticks later."""
    environment = Environment(TWO, Regime.FIXED1, 0)
    environment.begin_round()
    environment.issue("fs-08", *READ)
    environment.advance()
    environment.due()
    released = environment.issue("fs-08", *READ)
    assert (released.issued, released.due, released.premature) == (2, 3, False)


def test_premature_means_pending_in_the_same_sub_task() -> None:
    """A pending call of another sub-task does not count."""
    environment = Environment(TWO, Regime.FIXED1, 0)
    environment.begin_round()
    environment.issue("fs-08", *READ)
    assert not environment.issue("tb-07", "remove_alert", {"symbol": "NUVO"}).premature
    assert environment.issue("fs-08", *READ).pending_before == (0,)


def test_another_tasks_tool_is_an_error_result_in_the_trajectory() -> None:
    """It goes through the executor and is delivered after the normal delay."""
    environment = Environment(TWO, Regime.FIXED1, 0)
    environment.begin_round()
    record = environment.issue("fs-08", "set_alert", {"symbol": "TRSK", "price": 1})
    assert record.due == 2
    assert '"error"' in record.response
    assert environment.trajectory == (record,)


def test_an_unknown_sub_task_is_the_players_fault() -> None:
    """It raises and leaves nothing behind."""
    environment = Environment(TWO, Regime.SYNC, 0)
    with pytest.raises(UnknownSubTaskError, match="fs-99"):
        environment.issue("fs-99", "cat", {})
    assert environment.trajectory == ()


def test_environments_share_nothing() -> None:
    """Changes of one run are seen neither in another run nor in the data."""
    for _ in range(2):
        environment = Environment(TWO, Regime.SYNC, 0)
        assert (
            "error" not in environment.issue("tb-07", "remove_alert", {"symbol": "NUVO"}).response
        )


def test_the_cap_follows_the_length_of_the_ground_truth() -> None:
    """The cap is max(30, 4 * calls + 4 * sub-tasks)."""
    assert most_rounds(TWO) == 30
    assert most_rounds(compose("fs-10", "fs-13", "fs-14")) == 4 * 13 + 4 * 3
