"""The paper's columns for rehearsed episodes: the same figures as `metrics.summary`, made from remembered verdicts."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum

from asyncguard_benchmark.harness.scenario import Kind, Regime
from asyncguard_benchmark.harness.scoring.call_labels import CallLabels
from asyncguard_benchmark.suites.asynctool.agents.personas.rates import Rates
from asyncguard_benchmark.suites.asynctool.calibration.rehearsal import Stage
from asyncguard_benchmark.suites.asynctool.calibration.world import Verdict

MAIN_COLUMNS = (
    "func_f1",
    "param_f1",
    "subtask_traj",
    "subtask_env",
    "subtask_acc",
    "task_traj",
    "task_env",
    "overall",
)
"""The eight columns of the paper's main table."""
SPLIT_COLUMNS: Mapping[str, Kind] = {
    "similar2": Kind.S2,
    "similar3": Kind.S3,
    "cross2": Kind.C2,
    "cross3": Kind.C3,
}
"""Overall by kind of composition."""
ROUNDS_COLUMNS: Mapping[str, int] = {"rounds2": 2, "rounds3": 3}
"""Rounds on success by number of sub-tasks: assistant messages of the compositions that were solved."""
FITTED_COLUMNS = (*MAIN_COLUMNS, *ROUNDS_COLUMNS)
"""The columns by which the members of an ensemble are chosen."""
POINTS_OF_A_ROUND = 2.0
"""Points that an error of one round counts. A persona may be 3 points or 1.5 rounds beside what was published before
the claim that it foretells is withdrawn, so a fit trades one for the other at that price."""

Figures = Mapping[str, float]
"""Column -> per cent, or rounds. A kind or size of which no composition is there, or none is solved, has no column."""

_Labels = Mapping[str, frozenset[str]]


class Troupe:
    """A set of compositions on which rates become figures."""

    def __init__(self, stages: Sequence[Stage]) -> None:
        self.stages = stages
        golds = [_last(world.gold_labels) for stage in stages for world in stage.worlds]
        self._golds: Sequence[_Labels] = golds
        self._functions = Counter(name for gold in golds for name in gold)
        self._parameters = Counter(
            label for gold in golds for labels in gold.values() for label in labels
        )

    def figures(self, rates: Rates, regime: Regime, seed: int) -> Figures:
        """Return the scores of a persona.

        Args:
            rates: The persona's.
            regime: Delays of results.
            seed: Of its draws and of random delays.
        """
        played = [stage.rehearse(rates, regime, seed) for stage in self.stages]
        verdicts = [
            [world.verdict(node) for world, node in zip(stage.worlds, each.histories, strict=True)]
            for stage, each in zip(self.stages, played, strict=True)
        ]
        single = [verdict for each in verdicts for verdict in each]
        return {
            "func_f1": self._function_f1(single),
            "param_f1": self._parameter_f1(single),
            "subtask_traj": _share(verdict.trajectory for verdict in single),
            "subtask_env": _share(verdict.state for verdict in single),
            "subtask_acc": _share(verdict.accurate for verdict in single),
            "task_traj": _share(all(verdict.trajectory for verdict in each) for each in verdicts),
            "task_env": _share(all(verdict.state for verdict in each) for each in verdicts),
            "overall": _share(_solved(each) for each in verdicts),
            **self._by_kind(verdicts),
            **_rounds_on_success(verdicts, [each.rounds for each in played]),
        }

    def _by_kind(self, verdicts: Sequence[Sequence[Verdict]]) -> Figures:
        found = {}
        for column, kind in SPLIT_COLUMNS.items():
            of_kind = [
                each
                for stage, each in zip(self.stages, verdicts, strict=True)
                if stage.composition.kind is kind
            ]
            if of_kind:
                found[column] = _share(_solved(each) for each in of_kind)
        return found

    def _function_f1(self, verdicts: Sequence[Verdict]) -> float:
        made = Counter(name for verdict in verdicts for name in verdict.functions)
        hits = Counter(
            name
            for gold, verdict in zip(self._golds, verdicts, strict=True)
            for name in verdict.functions & gold.keys()
        )
        return _macro_f1(self._functions, made, hits)

    def _parameter_f1(self, verdicts: Sequence[Verdict]) -> float:
        made: Counter[str] = Counter()
        hits: Counter[str] = Counter()
        for gold, verdict in zip(self._golds, verdicts, strict=True):
            for name, labels in gold.items():
                had = verdict.parameters.get(name)
                if had:
                    made.update(had)
                    hits.update(had & labels)
        return _macro_f1(self._parameters, made, hits)


def _macro_f1(gold: Counter[str], made: Counter[str], hits: Counter[str]) -> float:
    return (
        100
        * fsum(2 * hits[label] / (count + made[label]) for label, count in gold.items())
        / len(gold)
    )


def _last(calls: Iterable[CallLabels]) -> dict[str, frozenset[str]]:
    return {call.function: frozenset(call.parameters) for call in calls}


def _solved(verdicts: Sequence[Verdict]) -> bool:
    return all(verdict.accurate for verdict in verdicts)


def _rounds_on_success(verdicts: Sequence[Sequence[Verdict]], rounds: Sequence[int]) -> Figures:
    found = {}
    for column, size in ROUNDS_COLUMNS.items():
        solved = [
            number
            for each, number in zip(verdicts, rounds, strict=True)
            if len(each) == size and _solved(each)
        ]
        if solved:
            found[column] = sum(solved) / len(solved)
    return found


def _share(verdicts: Iterable[bool]) -> float:
    judged = list(verdicts)
    return 100 * sum(judged) / len(judged)


@dataclass(frozen=True, kw_only=True)
class Fit:
    """Distance of figures from published ones."""

    error: float
    """Mean over the columns, in points; a round counts `POINTS_OF_A_ROUND`."""
    by_column: Figures
    """Absolute errors, in per cent or rounds as the columns are."""


def fit(predicted: Figures, published: Figures, columns: Sequence[str] = MAIN_COLUMNS) -> Fit:
    """Return the absolute errors in the columns that both have.

    Raises:
        ValueError: they share none.
    """
    by_column = {
        name: abs(predicted[name] - published[name])
        for name in columns
        if {name} <= predicted.keys() & published.keys()
    }
    if not by_column:
        raise ValueError("predicted and published figures share no column")
    points = [weight_of(name) * error for name, error in by_column.items()]
    return Fit(error=sum(points) / len(points), by_column=by_column)


def weight_of(column: str) -> float:
    """Return the points that one unit of a column counts."""
    return POINTS_OF_A_ROUND if column in ROUNDS_COLUMNS else 1.0
