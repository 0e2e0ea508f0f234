"""C2 against C3: what was published, beside what repeats of one condition differ by."""

from collections.abc import Sequence
from random import Random

import pytest

from asyncguard_benchmark.suites.missions.entries import EntryKey
from asyncguard_benchmark.suites.missions.scorers.metrics import Scorer
from asyncguard_benchmark.suites.missions.scorers.trajectories import Cells, Comparison, compared
from asyncguard_benchmark.suites.missions.scorers.verdict import Verdict, judge
from asyncguard_benchmark.suites.missions.terms import (
    Letter,
    letters_of,
)
from tests.benchmark.builders_missions import entry, graph, said


def test_the_four_cells_of_the_specification() -> None:
    """RR 8, RW 3, WR 1, WW 8."""
    cells = Cells(rr=8, rw=3, wr=1, ww=8)
    assert (cells.vf, cells.acc2, cells.ddd) == (0.2, 0.4, pytest.approx(7.5))
    assert cells.smoothed_ddd == pytest.approx(5.76, abs=0.005)
    assert cells.log_odds.value == pytest.approx(0.85, abs=0.005)
    assert cells.log_odds_error == pytest.approx(0.98, abs=0.005)
    assert cells.p == 0.625
    assert cells.ddd_without_effect == 2.5
    assert Cells(rr=8, rw=3, wr=0, ww=8).ddd is None
    assert Cells(rr=0, rw=3, wr=1, ww=8).ddd is None


def repeats(
    random: Random, chances: Sequence[float], count: int, change: float
) -> list[list[Verdict]]:
    """Runs of missions that pass with these chances, moved by a change."""
    gold = graph("f")
    return [
        [
            judge(
                entry(
                    gold,
                    said(gold, "f, text" if random.random() < chance + change else "text"),
                    key=EntryKey(f"d{number}", 1),
                    pattern=(Letter.SINGLE, list(Letter)[number % 4]),
                )
            )
            for number, chance in enumerate(chances)
        ]
        for _ in range(count)
    ]


def test_repeats_of_one_condition_show_what_differs_without_an_effect() -> None:
    """Without an effect VF is large and its excess about 0; with one the excess is the mean squared change."""
    random = Random(5)
    chances = [random.choice((0.2, 0.5, 0.8)) for _ in range(700)]
    before = repeats(random, chances, 2, 0.0)
    same = compared(before, repeats(random, chances, 2, 0.0), Scorer.STRICT)
    other = compared(before, repeats(random, chances, 2, -0.4), Scorer.STRICT)
    assert same is not None
    assert other is not None
    assert same.cells.vf is not None
    assert same.cells.vf > 0.3
    assert same.excess == pytest.approx(0, abs=0.03)
    assert same.accuracy_change.low < 0 < same.accuracy_change.high
    assert other.excess is not None
    assert other.excess > 0.08
    assert other.accuracy_change.high < 0
    assert other.first.p < 0.001
    assert same.by_switches.keys() == {0, 1}
    told = same.to_json()
    assert told["all"]["n"] == 2 * same.first.total
    assert told["all"]["mcnemar_p"] == same.first.p
    assert sum(each.total for each, _ in same.by_switches.values()) == 1400


def test_one_repeat_has_no_null() -> None:
    """And says so."""
    random = Random(1)
    chances = [0.5] * 30
    found = compared(repeats(random, chances, 1, 0), repeats(random, chances, 1, 0), Scorer.COMPAT)
    assert found is not None
    said_of_it = found.to_json()
    assert said_of_it["VF_null"] is said_of_it["VF_excess"] is None
    assert "no null" in said_of_it["note"]


def test_a_trend_over_switches_is_found_and_not_invented() -> None:
    """By permuting the labels of missions."""
    gold = graph("f")
    patterns = ["ss", "sm", "smt", "smtc"]
    before, trend, flat = {}, {}, {}
    entries = {}
    for number in range(200):
        letters = letters_of(patterns[number % 4], "")
        key = EntryKey(f"d{number}", len(letters) - 1)
        entries[key] = entry(gold, (), key=key, pattern=letters)
        before[key] = True
        trend[key] = number % 4 < 2 or number % 3 == 0
        flat[key] = number % 5 > 0
    one = Comparison(before=(before,), after=(trend,), entries=entries)
    other = Comparison(before=(before,), after=(flat,), entries=entries)
    assert (one.trend_p() or 1) < 0.01
    assert (other.trend_p() or 0) > 0.2
    assert Comparison(before=(before,), after=(before,), entries=entries).trend_p() is None


def test_missions_that_a_repeat_lacks_are_left_out() -> None:
    """Only what all files hold is compared; first missions never are."""
    random = Random(2)
    full = repeats(random, [0.5] * 10, 1, 0)
    gold = graph("f")
    full[0].insert(0, judge(entry(gold, said(gold, "f, text"), key=EntryKey("first", 0))))
    short = [full[0][:5]]
    found = compared(full, short, Scorer.STRICT)
    assert found is not None
    assert found.cells.total == 4
    assert compared(full, [[]], Scorer.STRICT) is None
