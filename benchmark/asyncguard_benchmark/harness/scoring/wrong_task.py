"""Calls made for the wrong sub-task, and the course of a run after the first of them.

A call is made for the wrong sub-task if its tool is not on the API list of the sub-task that it names and is on
another's, or if it is a gold call of another sub-task and none of its own. What a runtime refused is not in the
trajectory and so does not count.

After any call of a run the same questions can be asked, so that runs in which a call went to the wrong sub-task can be
laid beside runs in which none had at that step.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.scoring.canonical import CanonicalCall
from asyncguard_benchmark.harness.scoring.evidence import Evidence, evidence_of
from asyncguard_benchmark.harness.scoring.verdict import Score
from asyncguard_benchmark.harness.statistics.clustered import Sources, least_error, mean_of
from asyncguard_benchmark.harness.statistics.estimates import Interval


class Sequel(StrEnum):
    """Question about the rest of a run after one of its calls; each is answered by a share from 0 to 1."""

    MISSED = "open gold calls never made"
    """Of the gold calls not made by then, in all sub-tasks."""
    WRONG = "later calls that are wrong"
    """Of the later calls: those that are none of the gold calls that their sub-task lacks by then."""
    OTHERS = "other sub-tasks that fail"
    """Of the sub-tasks that the call does not name."""
    OVERALL = "runs that fail"


@dataclass(frozen=True, kw_only=True)
class Course:
    """A run, call by call, as far as the questions need it."""

    sources: Sources
    gold: int
    """Gold calls of all sub-tasks."""
    right: tuple[bool, ...]
    """Of each call: True if it is a gold call that its sub-task lacked."""
    named: tuple[int, ...]
    """Of each call: the place of the sub-task that it names."""
    solved: tuple[bool, ...]
    """Of each sub-task."""
    first: int | None
    """Index of the first call for the wrong sub-task; None if there is none."""

    def sequel(self, question: Sequel, step: int) -> float | None:
        """Return the answer after a call; None if there is nothing that it could be a share of.

        Args:
            question: The question.
            step: Index of the call.
        """
        match question:
            case Sequel.MISSED:
                lacking = self.gold - sum(self.right[: step + 1])
                return (self.gold - sum(self.right)) / lacking if lacking else None
            case Sequel.WRONG:
                later = self.right[step + 1 :]
                return later.count(False) / len(later) if later else None
            case Sequel.OTHERS:
                others = [n for n in range(len(self.solved)) if n != self.named[step]]
                return sum(not self.solved[n] for n in others) / len(others) if others else None
            case Sequel.OVERALL:
                return float(not all(self.solved))


def course_of(episode: Episode, judged: Score) -> Course:
    """Return the course of a run."""
    evidence = evidence_of(episode)
    places = {each.task.id: place for place, each in enumerate(evidence)}
    calls = {
        record.number: call
        for each in evidence
        for record, call in zip(each.records, each.made.calls, strict=True)
    }
    lacking = [Counter(each.gold.calls) for each in evidence]
    right, first = [], None
    for record in episode.trajectory:
        place, call = places[record.task_id], calls[record.number]
        right.append(lacking[place][call] > 0)
        lacking[place][call] -= right[-1]
        if first is None and _is_misplaced(call, place, evidence):
            first = record.number
    return Course(
        sources=frozenset(places),
        gold=sum(len(each.gold.calls) for each in evidence),
        right=tuple(right),
        named=tuple(places[record.task_id] for record in episode.trajectory),
        solved=tuple(verdict.accurate for verdict in judged.sub_tasks),
        first=first,
    )


def _is_misplaced(call: CanonicalCall, place: int, evidence: Sequence[Evidence]) -> bool:
    own, others = evidence[place], [each for n, each in enumerate(evidence) if n != place]
    if call.tool not in own.task.tools:
        return any(call.tool in other.task.tools for other in others)
    return call not in own.gold.calls and any(call in other.gold.calls for other in others)


@dataclass(frozen=True, kw_only=True)
class Aftermath:
    """Answer to one question after the first call for the wrong sub-task, and at the same step of runs without one."""

    question: Sequel
    runs: int
    """Runs with such a call."""
    cases: int
    """Those of them that could be laid beside others."""
    after: float | None
    """Mean over the cases, in per cent; None without one."""
    steps: int
    """Runs and steps that they were laid beside."""
    without: float | None
    """Mean over the cases of the means at the same step, in per cent."""
    difference: Interval | None
    """In points; the means at the same step are taken as known."""


def aftermath_of(courses: Sequence[Course]) -> tuple[Aftermath, ...]:
    """Return the answers to all questions.

    A run whose first call for the wrong sub-task is its k-th is laid beside the runs of as many sub-tasks that have a
    k-th call and none for the wrong sub-task up to it, whatever comes later.

    Args:
        courses: Of one agent under one condition.
    """
    return tuple(_aftermath(question, courses) for question in Sequel)


def _aftermath(question: Sequel, courses: Sequence[Course]) -> Aftermath:
    known: dict[tuple[int, int], list[float]] = {}
    pairs, used = [], set()
    runs = [(course, course.first) for course in courses if course.first is not None]
    for course, first in runs:
        place = (len(course.solved), first)
        if place not in known:
            known[place] = _without(question, courses, *place)
        after = course.sequel(question, first)
        if after is not None and known[place]:
            used.add(place)
            pairs.append((after, sum(known[place]) / len(known[place]), course.sources))
    afters, withouts = [after for after, _, _ in pairs], [other for _, other, _ in pairs]
    return Aftermath(
        question=question,
        runs=len(runs),
        cases=len(pairs),
        after=_mean(afters),
        steps=sum(len(known[place]) for place in used),
        without=_mean(withouts),
        difference=_difference(pairs) if pairs else None,
    )


def _mean(shares: Sequence[float]) -> float | None:
    return 100 * sum(shares) / len(shares) if shares else None


def _difference(pairs: Sequence[tuple[float, float, Sources]]) -> Interval:
    """Return the mean difference in points; an end beyond what is possible stands at that end."""
    sources = [own for _, _, own in pairs]
    differences = [after - other for after, other, _ in pairs]
    found = mean_of(differences, sources, floor=least_error(sources)).interval
    low, high = max(-1.0, found.low), min(1.0, found.high)
    return Interval(value=found.value, low=low, high=high).scaled(100)


def _without(question: Sequel, courses: Sequence[Course], size: int, step: int) -> list[float]:
    answers = (
        course.sequel(question, step)
        for course in courses
        if len(course.solved) == size
        and step < len(course.right)
        and (course.first is None or course.first > step)
    )
    return [each for each in answers if each is not None]
