"""Scores of NESTFUL: the final result by any path, and calls compared position by position.

Calls hold values here and no labels, so labels need not be aligned first. Each call counts, also where one function is
called twice.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import eq
from typing import Any

from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.saved_form import json_value
from asyncguard_benchmark.harness.scenario import SubTask
from asyncguard_benchmark.harness.scoring.canonical import canonical
from asyncguard_benchmark.services.catalogue import tools_of
from asyncguard_benchmark.suites.nestful.replay import equal


@dataclass(frozen=True, kw_only=True)
class Match:
    """Scores of one sub-task."""

    win: bool
    """True if the result of the last call is the recomputed answer."""
    full: bool
    """True if the calls are those of the gold, position by position."""
    partial: float
    """Share of the gold calls that stand in their position, 0 to 1."""


def matches(episode: Episode) -> tuple[Match, ...]:
    """Return the scores of each sub-task of an episode, in the order of its composition."""
    return tuple(_match(task, episode) for task in episode.composition.sub_tasks)


def _match(task: SubTask, episode: Episode) -> Match:
    tools, records = tools_of(task), episode.calls_of(task.id)
    gold = [canonical(call.tool, call.arguments, tools) for call in task.gold]
    made = [canonical(call.tool, call.arguments, tools) for call in records]
    hits = sum(map(eq, gold, made))
    answer = "" if task.origin is None else task.origin.results[-1]
    return Match(
        win=bool(records) and _same(records[-1].response, answer),
        full=hits == len(gold) == len(made),
        partial=hits / len(gold),
    )


def _same(one: str, other: str) -> bool:
    return one == other or equal(_value(one), _value(other))


def _value(text: str) -> Any:
    try:
        return json_value(text)
    except (ValueError, RecursionError):
        return text


def means(found: Iterable[Match]) -> Mapping[str, float | None]:
    """Return the scores in per cent; None of no sub-task."""
    scores: Sequence[Match] = list(found)
    if not scores:
        return dict.fromkeys(("win", "full_match", "partial_match"))
    return {
        "win": 100 * sum(each.win for each in scores) / len(scores),
        "full_match": 100 * sum(each.full for each in scores) / len(scores),
        "partial_match": 100 * sum(each.partial for each in scores) / len(scores),
    }
