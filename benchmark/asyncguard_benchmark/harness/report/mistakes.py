"""Reasons why sub-tasks fail, in five kinds; found from trajectory and verdict, never from a guard's actions."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.scenario import SubTask
from asyncguard_benchmark.harness.scoring.canonical import CanonicalCall, canonical
from asyncguard_benchmark.harness.scoring.verdict import FindingKind, Score, SubTaskScore
from asyncguard_benchmark.services.catalogue import tools_of


class Mistake(StrEnum):
    """Kind of mistake in a sub-task. The first that applies is the one that counts, in this order."""

    CONFUSION = "confusion"
    """A call bears the id of another sub-task: the sub-task was given a tool that is not on its API list, or a gold
    call that it lacks was made under another's id."""
    PREMATURE = "premature"
    """A call was made before a value that it needed was there."""
    FORMAT = "format"
    """A gold call is missing in a run with actions that could not be read, or a call had the wrong names or types."""
    ARGUMENT = "argument"
    """A call has the right form and a wrong value."""
    NEGLECT = "neglect"
    """A gold call is missing, and nothing was done in its stead."""
    OTHER = "other"
    """All gold calls were made, but in the wrong order, too often, or among others that do harm."""


def mistakes_of(episode: Episode, judged: Score) -> tuple[Mistake | None, ...]:
    """Return the mistake in each sub-task, in the order of the composition; None where it was solved."""
    return tuple(
        None if verdict.accurate else _mistake(task, verdict, episode)
        for task, verdict in zip(episode.composition.sub_tasks, judged.sub_tasks, strict=True)
    )


def _mistake(task: SubTask, verdict: SubTaskScore, episode: Episode) -> Mistake:
    kinds = {finding.kind for finding in verdict.findings}
    missing = FindingKind.MISSING_CALL in kinds
    if _confused(task, episode):
        return Mistake.CONFUSION
    if verdict.premature_needed:
        return Mistake.PREMATURE
    if _misshapen(task, episode) or (missing and episode.counters.format_errors):
        return Mistake.FORMAT
    if FindingKind.DIFFERING_ARGUMENT in kinds:
        return Mistake.ARGUMENT
    return Mistake.NEGLECT if missing or not verdict.calls else Mistake.OTHER


def _confused(task: SubTask, episode: Episode) -> bool:
    made = episode.calls_of(task.id)
    if any(record.tool not in task.tools for record in made):
        return True
    tools = tools_of(task)
    lacking = {_key(task, call.tool, call.arguments) for call in task.gold}
    lacking -= {_key(task, record.tool, record.arguments) for record in made}
    strangers = (
        canonical(record.tool, record.arguments, tools)
        for record in episode.trajectory
        if record.task_id != task.id
    )
    return bool(lacking & (set(strangers) - _own(episode, task)))


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
