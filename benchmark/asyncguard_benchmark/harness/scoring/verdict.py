"""The verdict on one episode, in the form that every suite gives it; the suite's own scorer judges."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from asyncguard_benchmark.errors import BenchmarkError, DataError
from asyncguard_benchmark.harness.environment import Counters
from asyncguard_benchmark.harness.episode import Episode, Run
from asyncguard_benchmark.harness.scenario import Kind
from asyncguard_benchmark.harness.scoring.call_labels import (
    CallLabels,
    ComparedLabels,
    compare_labels,
)
from asyncguard_benchmark.harness.suites import registry


class FindingKind(StrEnum):
    """Kind of a finding."""

    MISSING_CALL = "missing_call"
    """A gold call was not made, nor one of the same tool in its stead."""
    DIFFERING_ARGUMENT = "differing_argument"
    """The tool was called with another value."""
    MISSING_RESULT = "missing_result"
    """The call was made, but at a time when its result was another."""
    DIFFERING_STATE = "differing_state"
    """A part of the final state is not that of the ground truth."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One reason; values are JSON text, None where there is none."""

    kind: FindingKind
    place: str
    """A tool, ``tool.argument``, or a JSON pointer into the state."""
    expected: str | None
    found: str | None

    def __str__(self) -> str:
        """Return one line for a report."""
        expected, found = (
            "nothing" if side is None else side for side in (self.expected, self.found)
        )
        return f"{self.kind.value} at {self.place}: expected {expected}, found {found}"


class FindingsOnDemand(Sequence[Finding]):
    """Findings that are made when one of them is looked at, as few are."""

    def __init__(self, make: Callable[[], Sequence[Finding]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> Sequence[Finding]:
        return self._make()

    def __getitem__(self, place: Any) -> Any:
        """Return the finding at a place, or those of a slice."""
        return self._made[place]

    def __len__(self) -> int:
        """Return the number of findings."""
        return len(self._made)

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave them in the process that judged: what they are made of is many times as large as a verdict."""
        return FindingsOnDemand, (_left_elsewhere,)


def _left_elsewhere() -> Sequence[Finding]:
    raise BenchmarkError("The findings of this verdict are in the process that judged.")


@dataclass(frozen=True, kw_only=True)
class SubTaskScore:
    """The verdict on one sub-task."""

    task_id: str
    category: StrEnum
    trajectory: bool
    ordered_trajectory: bool
    result: bool
    state: bool
    changes_state: bool
    """True if the ground truth changes the state; if not, `state` is free."""
    calls: int
    premature_needed: int
    """Calls that needed the value of a pending call."""
    premature_harmless: int
    """Calls issued while another was pending that did not need its value."""
    gold_labels: tuple[CallLabels, ...]
    made_labels: tuple[CallLabels, ...]
    findings: Sequence[Finding] = field(compare=False)
    """Reasons why it was not solved."""

    @cached_property
    def compared(self) -> ComparedLabels:
        """The labels of the ground truth beside those of the run; kept, as many episodes share a verdict."""
        return compare_labels(self.gold_labels, self.made_labels)

    @property
    def accurate(self) -> bool:
        """The paper's sub-task accuracy."""
        return self.trajectory and self.result and self.state

    @property
    def accurate_without_result(self) -> bool:
        """The weaker reading: calls and state, whatever was returned."""
        return self.trajectory and self.state


@dataclass(frozen=True, kw_only=True)
class Score:
    """The verdict on one episode."""

    composition_id: str
    kind: Kind
    agent: str
    player: str
    run: Run
    sub_tasks: tuple[SubTaskScore, ...]
    same_task_streak: int
    counters: Counters

    @property
    def task_trajectory(self) -> bool:
        """Every sub-task's gold calls were made."""
        return all(each.trajectory for each in self.sub_tasks)

    @property
    def task_state(self) -> bool:
        """Every sub-task's final state is right."""
        return all(each.state for each in self.sub_tasks)

    @property
    def overall(self) -> bool:
        """Every sub-task is accurate."""
        return all(each.accurate for each in self.sub_tasks)

    @property
    def rounds_on_success(self) -> int | None:
        """Assistant messages, the final one included; None if the episode failed."""
        return self.counters.rounds if self.overall else None


def score(episode: Episode) -> Score:
    """Score an episode by the scorer of its suite; the same for a fresh and a saved one.

    Raises:
        BrokenSuiteError: the suite's scorer cannot be loaded.
        DataError: a value is nested so deeply that it cannot be compared; a player lets no such call pass.
    """
    suite = registry().suite_of(episode.composition.sub_tasks[0].category)
    try:
        verdict: Score = suite.load(suite.score)(episode)
    except RecursionError as problem:
        place = f"the episode of {episode.composition.id}"
        raise DataError(place, "a value is nested too deeply to be compared") from problem
    return verdict
