"""Episodes of the study by condition, and the differences between conditions on the same compositions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from asyncguard.config import FEATURE_NAMES
from asyncguard_benchmark.harness.arms import (
    ALL,
    FEATURES,
    LEAVE_ONE_OUT,
    NONE,
    SHAM,
    coalition_name,
)
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.harness.scoring.verdict import Score, score
from asyncguard_benchmark.harness.statistics.estimates import Interval
from asyncguard_benchmark.harness.statistics.paired import Pair, difference_interval

WITHOUT_VIEW = "without-task_view"
"""The arm with all guards that does not list the states of tasks to the agent."""
WITHOUT_VIEW_OR_GUARDS = coalition_name(frozenset(FEATURE_NAMES) - {"task_view"})
"""The arm with the features of `WITHOUT_VIEW` and none of its guards."""
Condition = tuple[str, str]
"""Regime and arm."""
AT_ONCE: Condition = (Regime.SYNC.value, NONE)
LATE: Condition = (Regime.FIXED1.value, NONE)


@dataclass(frozen=True, kw_only=True)
class ModelRun:
    """Episodes of the study that one model has played."""

    episodes: Sequence[Episode]
    record: Mapping[str, Any]
    """How the model was trained."""
    digest: str
    """Of the model's files."""
    asked: int
    """Episodes that the study asks for."""

    @property
    def seed(self) -> int:
        """Return the seed of the training run."""
        return int(self.record["training"]["seed"])

    @property
    def late(self) -> float:
        """Return the share of late traces in training."""
        return float(self.record["training"].get("late", 0.0))

    @property
    def title(self) -> str:
        """Return the name of the model in the page."""
        seen = f"{self.late:.0%} late traces" if self.late else "synchronous traces only"
        begun = self.record["training"].get("begun_with")
        return f"seed {self.seed}, {seen}" + (f", begun with `{begun[:12]}`" if begun else "")


class Played:
    """Episodes of the compositions, by condition."""

    def __init__(self, run: ModelRun) -> None:
        """Score the episodes of a run."""
        self.seed = run.seed
        self.scores: dict[Condition, dict[str, Score]] = {}
        self.episodes: dict[Condition, dict[str, Episode]] = {}
        for each in run.episodes:
            if len(each.composition.sub_tasks) > 1:
                condition = (each.run.regime.value, str(each.settings["arm"]))
                self.scores.setdefault(condition, {})[each.composition.id] = score(each)
                self.episodes.setdefault(condition, {})[each.composition.id] = each

    def pairs(self, one: Condition, other: Condition) -> list[Pair]:
        """Return the compositions played under both conditions."""
        left, right = self.scores.get(one, {}), self.scores.get(other, {})
        return [
            Pair(
                composition=name,
                seed=self.seed,
                sources=frozenset(self.episodes[one][name].composition.task_ids),
                arm=left[name].overall,
                against=right[name].overall,
            )
            for name in sorted(left.keys() & right.keys())
        ]


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Paired difference in overall between two conditions."""

    name: str
    points: Interval
    count: int
    """Pairs."""

    def __str__(self) -> str:
        """Return the difference in points with its interval and its count."""
        found = self.points
        return f"{found.value:+.1f} ({found.low:+.1f} to {found.high:+.1f}; n {self.count})"


def difference(
    played: Sequence[Played], one: Condition, other: Condition, name: str = ""
) -> Difference | None:
    """Return the difference between two conditions over all models; None without pairs."""
    pairs = [pair for each in played for pair in each.pairs(one, other)]
    if not pairs:
        return None
    return Difference(name=name, points=difference_interval(pairs).scaled(100), count=len(pairs))


def differences(played: Sequence[Played]) -> dict[str, Difference]:
    """Return the differences that the study asks for, as far as both sides were played, by name."""
    late = Regime.FIXED1.value
    compared = [
        (f"{regime.value} - sync, unguarded", (regime.value, NONE), AT_ONCE)
        for regime in (Regime.FIXED1, Regime.FIXED2, Regime.RANDOM12)
    ]
    arms = (
        (ALL, SHAM),
        (ALL, NONE),
        (ALL, FEATURES),
        (FEATURES, NONE),
        (FEATURES, WITHOUT_VIEW_OR_GUARDS),
        (WITHOUT_VIEW, WITHOUT_VIEW_OR_GUARDS),
        (WITHOUT_VIEW, NONE),
        (WITHOUT_VIEW_OR_GUARDS, NONE),
        *((ALL, arm) for arm in LEAVE_ONE_OUT),
    )
    compared += [(f"{one} - {other}, fixed1", (late, one), (late, other)) for one, other in arms]
    found = (difference(played, one, other, name) for name, one, other in compared)
    return {each.name: each for each in found if each is not None}


def closed(found: Mapping[str, Difference], arm: str) -> float | None:
    """Return the share of the drop from results at once to late ones that an arm closes; None without a drop."""
    drop, gain = found.get("fixed1 - sync, unguarded"), found.get(f"{arm} - none, fixed1")
    if drop is None or gain is None or drop.points.value >= 0:
        return None
    return gain.points.value / -drop.points.value
