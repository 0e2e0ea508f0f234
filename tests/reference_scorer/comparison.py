"""Verdicts of the project and of the reference beside each other."""

from collections.abc import Sequence
from dataclasses import fields
from math import isclose
from typing import Any

from asyncguard_benchmark import Score, Summary
from tests.reference_scorer.scorer import Figures, Verdict

_SUB_TASK = {
    "task_id": "task_id",
    "trajectory": "trajectory",
    "ordered_trajectory": "ordered_trajectory",
    "result": "result",
    "state": "state",
    "accuracy": "accurate",
    "changes_state": "changes_state",
    "calls": "calls",
    "premature_needed": "premature_needed",
    "premature_harmless": "premature_harmless",
}
"""Field of the reference -> name of the project."""
_EPISODE = ("task_trajectory", "task_state", "overall", "same_task_streak")
_COUNTERS = ("rounds", "ticks", "idle_turns", "format_errors", "truncated")


def verdict_differences(theirs: Score, ours: Verdict) -> list[str]:
    """What the project says otherwise than the reference about one episode."""
    found = [
        f"{name} of {our.task_id}: {getattr(their, known_as)}, not {getattr(our, name)}"
        for their, our in zip(theirs.sub_tasks, ours.sub_tasks, strict=True)
        for name, known_as in _SUB_TASK.items()
        if getattr(their, known_as) != getattr(our, name)
    ]
    found += [
        f"{name}: {getattr(theirs, name)}, not {getattr(ours, name)}"
        for name in _EPISODE
        if getattr(theirs, name) != getattr(ours, name)
    ]
    found += [
        f"{name}: {getattr(theirs.counters, name)}, not {ours.counters[name]}"
        for name in _COUNTERS
        if getattr(theirs.counters, name) != ours.counters[name]
    ]
    won = ours.counters["rounds"] if ours.overall else None
    if theirs.rounds_on_success != won:
        found.append(f"rounds on success: {theirs.rounds_on_success}, not {won}")
    return found


def figure_differences(theirs: Summary, ours: Figures) -> list[str]:
    """What the project says otherwise than the reference about many episodes; sums are equal to nine digits."""
    return [
        f"{each.name}: {getattr(theirs, each.name)}, not {getattr(ours, each.name)}"
        for each in fields(ours)
        if not equal_figures(getattr(theirs, each.name), getattr(ours, each.name))
    ]


def equal_figures(theirs: Any, ours: Any) -> bool:
    """True if two figures are the same; a share of the project comes with its interval."""
    if isinstance(theirs, dict) and "value" in theirs:
        theirs = theirs["value"]
    theirs = getattr(theirs, "value", theirs)
    if isinstance(theirs, dict) and isinstance(ours, dict):
        named = {int(key): value for key, value in theirs.items()}  # in JSON, names are texts
        return named.keys() == ours.keys() and all(equal_figures(named[k], ours[k]) for k in ours)
    if theirs is None or ours is None:
        return theirs is ours
    return isclose(theirs, ours, rel_tol=1e-9, abs_tol=1e-12)


def disagreements(scores: Sequence[Score], verdicts: Sequence[Verdict]) -> list[str]:
    """Every difference over some episodes, with the place of the episode."""
    return [
        f"episode {place}: {difference}"
        for place, (theirs, ours) in enumerate(zip(scores, verdicts, strict=True))
        for difference in verdict_differences(theirs, ours)
    ]
