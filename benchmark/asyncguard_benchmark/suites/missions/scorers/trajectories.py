"""The same missions after a short history (C2) and after one with the calls of earlier missions (C3).

What was published (VF, Acc2, DDD) counts the noise between two runs of one condition as an effect. So it is printed
beside what repeats of one condition differ by, and beside an exact test.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import log, sqrt
from random import Random
from statistics import mean
from typing import Any

from asyncguard_benchmark.harness.statistics.estimates import Interval, Z
from asyncguard_benchmark.harness.statistics.paired import Pair, mcnemar, paired_difference
from asyncguard_benchmark.suites.missions.entries import Entry, EntryKey
from asyncguard_benchmark.suites.missions.scorers.metrics import Scorer, judged_by, passed
from asyncguard_benchmark.suites.missions.scorers.verdict import Verdict

PERMUTATIONS = 2000
"""Draws of the test for a trend."""


@dataclass(frozen=True, kw_only=True)
class Cells:
    """Counts of the four outcomes: right or wrong (R, W) in C2, then in C3."""

    rr: int
    rw: int
    wr: int
    ww: int

    @classmethod
    def of(cls, pairs: Iterable[tuple[bool, bool]]) -> "Cells":
        """Count pairs of verdicts."""
        known = list(pairs)
        return cls(
            rr=known.count((True, True)),
            rw=known.count((True, False)),
            wr=known.count((False, True)),
            ww=known.count((False, False)),
        )

    @property
    def total(self) -> int:
        """All pairs."""
        return self.rr + self.rw + self.wr + self.ww

    @property
    def vf(self) -> float | None:
        """Share of verdicts that differ."""
        return (self.rw + self.wr) / self.total if self.total else None

    @property
    def acc2(self) -> float | None:
        """Share that is right in both; no accuracy."""
        return self.rr / self.total if self.total else None

    @property
    def ddd(self) -> float | None:
        """Published: (RW / WR) / Acc2; None if WR or RR is 0."""
        return self.rw / self.wr / (self.rr / self.total) if self.wr and self.rr else None

    @property
    def ddd_without_effect(self) -> float | None:
        """Limit of DDD if the history changes nothing: 1 / Acc2."""
        return self.total / self.rr if self.rr else None

    @property
    def smoothed_ddd(self) -> float | None:
        """DDD with half a case more in each cell; None without a case."""
        if not self.total:
            return None
        return (self.rw + 0.5) / (self.wr + 0.5) / ((self.rr + 0.5) / (self.total + 1))

    @property
    def log_odds(self) -> Interval:
        """Logarithm of the odds that a changed verdict got worse."""
        value = log((self.rw + 0.5) / (self.wr + 0.5))
        reach = Z * self.log_odds_error
        return Interval(value=value, low=value - reach, high=value + reach)

    @property
    def log_odds_error(self) -> float:
        """Its standard error."""
        return sqrt(1 / (self.rw + 0.5) + 1 / (self.wr + 0.5))

    @property
    def p(self) -> float:
        """McNemar's exact two-sided p."""
        return mcnemar(self.wr, self.rw)

    def to_json(self, first: "Cells") -> dict[str, Any]:
        """Return everything.

        Args:
            first: The same of the first repeat alone, for what takes each case as independent.
        """
        odds = first.log_odds
        return {
            "n": self.total,
            "RR": self.rr,
            "RW": self.rw,
            "WR": self.wr,
            "WW": self.ww,
            "VF": self.vf,
            "Acc2": self.acc2,
            "DDD": self.ddd,
            "DDD0": self.ddd_without_effect,
            "DDD_smoothed": self.smoothed_ddd,
            "log_odds": {
                "value": odds.value,
                "low": odds.low,
                "high": odds.high,
                "se": first.log_odds_error,
            },
            "mcnemar_p": first.p,
        }


Run = Mapping[EntryKey, bool]
"""Passed or failed, for each mission, in one repeat of one condition."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Both conditions over the missions that all repeats hold; repeats with one number share their seed."""

    before: tuple[Run, ...]
    """C2, by repeat."""
    after: tuple[Run, ...]
    """C3, by repeat."""
    entries: Mapping[EntryKey, Entry]

    @property
    def cells(self) -> Cells:
        """The four outcomes, over pairs of repeats with one number."""
        return self._cells(self.entries, len(self.before))

    @property
    def first(self) -> Cells:
        """The four outcomes of the first repeat alone: one case a mission, as an exact test needs."""
        return self._cells(self.entries, 1)

    def _cells(self, keys: Iterable[EntryKey], repeats: int) -> Cells:
        chosen = list(keys)
        pairs = list(zip(self.before, self.after, strict=True))[:repeats]
        return Cells.of((one[key], other[key]) for key in chosen for one, other in pairs)

    @property
    def by_switches(self) -> dict[int, tuple[Cells, Cells]]:
        """The four outcomes by PTF, over all repeats and of the first."""
        groups: dict[int, list[EntryKey]] = {}
        for key, entry in self.entries.items():
            if entry.switches is not None:
                groups.setdefault(entry.switches, []).append(key)
        return {
            number: (self._cells(groups[number], len(self.before)), self._cells(groups[number], 1))
            for number in sorted(groups)
        }

    @property
    def null_vf(self) -> float | None:
        """Share of verdicts by which repeats of one condition differ, mean of both; None without repeats."""
        if len(self.before) < 2:
            return None
        return mean(
            mean(self._differing(one, other) for one, other in combinations(runs, 2))
            for runs in (self.before, self.after)
        )

    @property
    def crossed_vf(self) -> float:
        """Share of verdicts that differ, over all pairs of a repeat of one condition and one of the other."""
        return mean(self._differing(one, other) for one, other in product(self.before, self.after))

    @property
    def excess(self) -> float | None:
        """VF beyond that of repeats: the mean squared change of a mission's chance; None without repeats."""
        return None if self.null_vf is None else self.crossed_vf - self.null_vf

    def _differing(self, one: Run, other: Run) -> float:
        return mean(one[key] is not other[key] for key in self.entries)

    @property
    def accuracy_change(self) -> Interval:
        """SR in C3 minus SR in C2, paired."""
        pairs = [
            Pair(
                composition=f"{key.dialogue}/{key.mission}",
                seed=repeat,
                sources=frozenset({key.dialogue}),
                arm=other[key],
                against=one[key],
            )
            for key in self.entries
            for repeat, (one, other) in enumerate(zip(self.before, self.after, strict=True))
        ]
        return paired_difference(pairs).interval

    def trend_p(self, seed: int = 0) -> float | None:
        """Return how surprising it is that the change of SR goes with PTF as it does; None where nothing can vary.

        PTF labels change places between missions; two-sided, and never 0.
        """
        rows = [
            (
                entry.switches,
                mean(run[key] for run in self.after) - mean(run[key] for run in self.before),
            )
            for key, entry in self.entries.items()
            if entry.switches is not None
        ]
        labels, changes = [label for label, _ in rows], [change for _, change in rows]
        if len(set(labels)) < 2 or len(set(changes)) < 2:
            return None
        centre = mean(labels)
        random, observed = Random(seed), abs(_slope(labels, changes, centre))
        more = 0
        for _ in range(PERMUTATIONS):
            random.shuffle(labels)
            more += abs(_slope(labels, changes, centre)) >= observed - 1e-9
        return (1 + more) / (1 + PERMUTATIONS)

    def to_json(self) -> dict[str, Any]:
        """Return everything."""
        change = self.accuracy_change
        return {
            "repeats": len(self.before),
            "all": self.cells.to_json(self.first),
            "by_ptf": {
                str(number): every.to_json(first)
                for number, (every, first) in self.by_switches.items()
            },
            "accuracy_change": {"value": change.value, "low": change.low, "high": change.high},
            "VF_null": self.null_vf,
            "VF_crossed": self.crossed_vf,
            "VF_excess": self.excess,
            "trend_p": self.trend_p(),
            "note": None
            if len(self.before) > 1
            else "one repeat: no null exists, and VF and DDD alone show nothing; deterministic agents have a null of 0",
        }


def _slope(labels: Sequence[int], changes: Sequence[float], centre: float) -> float:
    return sum((label - centre) * change for label, change in zip(labels, changes, strict=True))


def compared(
    before: Sequence[Sequence[Verdict]], after: Sequence[Sequence[Verdict]], scorer: Scorer
) -> Comparison | None:
    """Compare later missions in both conditions; None if no mission is in all repeats of both.

    Args:
        before: Verdicts in C2, by repeat.
        after: Verdicts in C3, by repeat, as many.
        scorer: Whose verdicts count.
    """
    runs = [
        [{each.entry.key: passed(each, scorer) for each in judged_by(run, scorer)} for run in side]
        for side in (before, after)
    ]
    common = set.intersection(*(set(run) for side in runs for run in side))
    entries = {
        each.entry.key: each.entry
        for each in before[0]
        if each.entry.key in common and each.entry.position > 1
    }
    if not entries:
        return None
    return Comparison(before=tuple(runs[0]), after=tuple(runs[1]), entries=entries)
