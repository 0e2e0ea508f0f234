"""Verdicts of one condition, split: by kind and number of tasks, category, place in the prompt, and what went wrong.

Folded from episodes one at a time; "no data" is None, never 0. Shares are in per cent, with 95 % intervals that count
compositions with a common task as related observations.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.scoring.mistakes import Mistake, modes_of
from asyncguard_benchmark.harness.scoring.summary import mean
from asyncguard_benchmark.harness.scoring.verdict import Score
from asyncguard_benchmark.harness.scoring.wrong_task import (
    Aftermath,
    Course,
    aftermath_of,
    course_of,
)
from asyncguard_benchmark.harness.statistics.clustered import Sources, share_of
from asyncguard_benchmark.harness.statistics.estimates import Interval


@dataclass(frozen=True, kw_only=True)
class Share:
    """A share with its denominator."""

    hits: int
    of: int
    share: Interval | None
    """In per cent; None of nothing."""


@dataclass(kw_only=True)
class Verdicts:
    """Yes and no of observations, with the tasks that each was made with."""

    said: list[bool] = field(default_factory=list)
    sources: list[Sources] = field(default_factory=list)

    def add(self, verdict: bool, sources: Sources) -> None:
        """Count one observation."""
        self.said.append(verdict)
        self.sources.append(sources)

    def join(self, later: "Verdicts") -> None:
        """Add counts made elsewhere after one's own."""
        self.said += later.said
        self.sources += later.sources

    @property
    def share(self) -> Share:
        """Return the share of yes."""
        found = share_of(self.said, self.sources).scaled(100) if self.said else None
        return Share(hits=sum(self.said), of=len(self.said), share=found)


@dataclass(frozen=True, kw_only=True)
class Results:
    """Figures of some compositions."""

    overall: Share
    """Of compositions."""
    accuracy: Share
    """Of sub-tasks."""
    rounds_on_success: float | None
    """Mean assistant messages of the `overall.hits` that are solved; None without one."""


@dataclass(frozen=True, kw_only=True)
class CategoryResults:
    """Figures of the sub-tasks of one category; each share is one of all of them."""

    trajectory: Share
    state: Share
    accuracy: Share


@dataclass(frozen=True, kw_only=True)
class PositionResults:
    """Figures of the sub-tasks at one place in the prompt."""

    neglected: Share
    """Failed, and a gold call is missing in whose stead nothing was called."""
    untouched: Share
    """No call at all."""
    accuracy: Share


@dataclass(frozen=True, kw_only=True)
class ModeResults:
    """Failed sub-tasks with one kind of mistake."""

    mode: Mistake
    share: Share
    """Of all sub-tasks."""
    alone: int
    """Sub-tasks with this mistake and no other."""
    together: Mapping[Mistake, int]
    """Sub-tasks with this mistake and another one, for each; with itself, all that have it."""


@dataclass(kw_only=True)
class _Whole:
    """Compositions of one kind, while they are counted."""

    overall: Verdicts = field(default_factory=Verdicts)
    accuracy: Verdicts = field(default_factory=Verdicts)
    rounds: list[int] = field(default_factory=list)

    def join(self, later: "_Whole") -> None:
        self.overall.join(later.overall)
        self.accuracy.join(later.accuracy)
        self.rounds += later.rounds

    def results(self) -> Results:
        return Results(
            overall=self.overall.share,
            accuracy=self.accuracy.share,
            rounds_on_success=mean(self.rounds),
        )


@dataclass(frozen=True, kw_only=True)
class _SubTask:
    """Facts that are kept of a sub-task."""

    category: StrEnum
    size: int
    position: int
    trajectory: bool
    state: bool
    accurate: bool
    untouched: bool
    modes: frozenset[Mistake]
    sources: Sources


@dataclass(kw_only=True)
class Breakdown:
    """Verdicts of one condition."""

    solved: dict[tuple[str, int], bool] = field(default_factory=dict)
    """Composition id and seed -> overall."""
    sources: dict[str, Sources] = field(default_factory=dict)
    """Composition id -> its tasks."""
    _kinds: dict[str, _Whole] = field(default_factory=dict)
    _whole: _Whole = field(default_factory=_Whole)
    _sizes: dict[int, _Whole] = field(default_factory=dict)
    _sub_tasks: list[_SubTask] = field(default_factory=list)
    _courses: list[Course] = field(default_factory=list)

    def add(self, episode: Episode, judged: Score) -> None:
        """Count one episode; the verdict on it has been given."""
        course, size = course_of(episode, judged), len(judged.sub_tasks)
        self._courses.append(course)
        self.solved[judged.composition_id, judged.run.seed] = judged.overall
        self.sources[judged.composition_id] = course.sources
        for whole in (
            self._whole,
            self._kinds.setdefault(judged.kind.value, _Whole()),
            self._sizes.setdefault(size, _Whole()),
        ):
            whole.overall.add(judged.overall, course.sources)
            for verdict in judged.sub_tasks:
                whole.accuracy.add(verdict.accurate, course.sources)
            if judged.rounds_on_success is not None:
                whole.rounds.append(judged.rounds_on_success)
        modes = modes_of(episode, judged)
        for place, (verdict, found) in enumerate(zip(judged.sub_tasks, modes, strict=True), 1):
            self._sub_tasks.append(
                _SubTask(
                    category=verdict.category,
                    size=size,
                    position=place,
                    trajectory=verdict.trajectory,
                    state=verdict.state,
                    accurate=verdict.accurate,
                    untouched=not verdict.calls,
                    modes=found,
                    sources=course.sources,
                )
            )

    def join(self, later: "Breakdown") -> None:
        """Add counts made elsewhere after one's own."""
        self.solved |= later.solved
        self.sources |= later.sources
        self._whole.join(later._whole)  # noqa: SLF001 - of its own class, as below
        for kind, whole in later._kinds.items():  # noqa: SLF001
            self._kinds.setdefault(kind, _Whole()).join(whole)
        for size, whole in later._sizes.items():  # noqa: SLF001
            self._sizes.setdefault(size, _Whole()).join(whole)
        self._sub_tasks += later._sub_tasks  # noqa: SLF001
        self._courses += later._courses  # noqa: SLF001

    def whole(self) -> Results:
        """Return the figures of all compositions."""
        return self._whole.results()

    def by_kind(self) -> dict[str, Results]:
        """Return the figures by kind of composition, in the order of their names without the letter."""
        ordered = sorted(self._kinds, key=lambda kind: (kind[1:], kind[0] == "C"))
        return {kind: self._kinds[kind].results() for kind in ordered}

    def by_tasks(self) -> dict[int, Results]:
        """Return the figures by number of tasks."""
        return {size: self._sizes[size].results() for size in sorted(self._sizes)}

    def by_category(self) -> dict[str, CategoryResults]:
        """Return the figures of sub-tasks by category, in the order of the names of categories."""
        groups: dict[str, list[_SubTask]] = {}
        for each in self._sub_tasks:
            groups.setdefault(each.category.value, []).append(each)
        return {
            name: CategoryResults(
                trajectory=_share(groups[name], "trajectory"),
                state=_share(groups[name], "state"),
                accuracy=_share(groups[name], "accurate"),
            )
            for name in sorted(groups)
        }

    def by_position(self) -> dict[tuple[int, int], PositionResults]:
        """Return the figures of sub-tasks by number of tasks and place in the prompt, from 1."""
        groups: dict[tuple[int, int], list[_SubTask]] = {}
        for each in self._sub_tasks:
            groups.setdefault((each.size, each.position), []).append(each)
        return {
            place: PositionResults(
                neglected=_share_with(groups[place], Mistake.NEGLECT),
                untouched=_share(groups[place], "untouched"),
                accuracy=_share(groups[place], "accurate"),
            )
            for place in sorted(groups)
        }

    def modes(self) -> tuple[ModeResults, ...]:
        """Return all kinds of mistakes, those that were not made among them."""
        sets = Counter(each.modes for each in self._sub_tasks)
        return tuple(
            ModeResults(
                mode=mode,
                share=_share_with(self._sub_tasks, mode),
                alone=sets[frozenset({mode})],
                together={
                    other: sum(n for found, n in sets.items() if {mode, other} <= found)
                    for other in Mistake
                },
            )
            for mode in Mistake
        )

    def cascades(self) -> tuple[Aftermath, ...]:
        """Return what follows the first call for the wrong sub-task."""
        return aftermath_of(self._courses)


def _share(tasks: Iterable[_SubTask], name: str) -> Share:
    found = Verdicts()
    for each in tasks:
        found.add(getattr(each, name), each.sources)
    return found.share


def _share_with(tasks: Iterable[_SubTask], mode: Mistake) -> Share:
    found = Verdicts()
    for each in tasks:
        found.add(mode in each.modes, each.sources)
    return found.share
