"""Reasons why sub-tasks fail, in six kinds; found from trajectory and verdict, never from a guard's actions."""

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.scenario import SubTask
from asyncguard_benchmark.harness.scoring.canonical import CanonicalCall, canonical
from asyncguard_benchmark.harness.scoring.verdict import FindingKind, Score, SubTaskScore
from asyncguard_benchmark.services.catalogue import tools_of


class Mistake(StrEnum):
    """Kind of mistake in a sub-task; several may apply. Where one is to count, it is the first, in this order."""

    CONFUSION = "confusion"
    """The sub-task was given a tool that is not on its API list, or a gold call that it lacks bears another id."""
    PREMATURE = "premature"
    """A call needed a pending value."""
    FORMAT = "format"
    """A call does not fit its schema, or a gold call is missing in a run with unreadable actions."""
    ARGUMENT = "argument"
    """A gold call is missing, and there is a spare call of its tool."""
    NEGLECT = "neglect"
    """A gold call is missing, and there is no spare call of its tool."""
    OTHER = "other"
    """None of these: all gold calls were made, but in the wrong order, too often, or among others that do harm."""


def mistakes_of(episode: Episode, judged: Score) -> tuple[Mistake | None, ...]:
    """Return the mistake that counts in each sub-task, in the order of the composition; None where it was solved."""
    return tuple(
        next((each for each in Mistake if each in found), None)
        for found in modes_of(episode, judged)
    )


def modes_of(episode: Episode, judged: Score) -> tuple[frozenset[Mistake], ...]:
    """Return all mistakes in each sub-task, in the order of the composition; none where it was solved."""
    return tuple(
        frozenset() if verdict.accurate else _modes(task, verdict, episode)
        for task, verdict in zip(episode.composition.sub_tasks, judged.sub_tasks, strict=True)
    )


def _modes(task: SubTask, verdict: SubTaskScore, episode: Episode) -> frozenset[Mistake]:
    kinds = {finding.kind for finding in verdict.findings}
    missing = FindingKind.MISSING_CALL in kinds
    unreadable = missing and episode.counters.format_errors > 0
    applies = {
        Mistake.CONFUSION: _confused(task, episode),
        Mistake.PREMATURE: verdict.premature_needed > 0,
        Mistake.FORMAT: unreadable or _misshapen(task, episode),
        Mistake.ARGUMENT: FindingKind.DIFFERING_ARGUMENT in kinds,
        Mistake.NEGLECT: missing,
    }
    return frozenset(each for each, is_so in applies.items() if is_so) or frozenset({Mistake.OTHER})


def _confused(task: SubTask, episode: Episode) -> bool:
    made = episode.calls_of(task.id)
    if any(record.tool not in task.tools for record in made):
        return True
    tools = tools_of(task)
    # Counted, as a sub-task may need the same call twice and make it once.
    lacking = Counter(_key(task, call.tool, call.arguments) for call in task.gold)
    lacking -= Counter(_key(task, record.tool, record.arguments) for record in made)
    strangers = (
        canonical(record.tool, record.arguments, tools)
        for record in episode.trajectory
        if record.task_id != task.id
    )
    return bool(lacking.keys() & (set(strangers) - _own(episode, task)))


def _own(episode: Episode, task: SubTask) -> set[CanonicalCall]:
    """Return the gold calls of the other sub-tasks: a call made under their ids does not count as confusion."""
    others: Iterable[SubTask] = (
        each for each in episode.composition.sub_tasks if each.id != task.id
    )
    return {_key(task, call.tool, call.arguments) for other in others for call in other.gold}


def _key(task: SubTask, tool: str, arguments: Mapping[str, Any]) -> CanonicalCall:
    return canonical(tool, arguments, tools_of(task))


def _misshapen(task: SubTask, episode: Episode) -> bool:
    """Return True if a call lacks a required argument, or has one that its tool does not know or cannot take."""
    tools = tools_of(task)
    return any(
        record.tool in tools and tools[record.tool].problem(record.arguments) is not None
        for record in episode.calls_of(task.id)
    )
