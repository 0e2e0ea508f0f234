"""Episodes as CSV: one line for each episode, and one for each of its sub-tasks, with all that was judged."""

import csv
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.report.figures import Group
from asyncguard_benchmark.harness.scoring.mistakes import mistakes_of
from asyncguard_benchmark.harness.scoring.verdict import Score, SubTaskScore, score

_CONDITION = (
    "line",
    "composition",
    "kind",
    "agent",
    "player",
    "arm",
    "declared",
    "regime",
    "surface",
    "contract",
    "seed",
)
_VERDICT = (
    "task",
    "category",
    "solved",
    "trajectory",
    "ordered_trajectory",
    "result",
    "state",
    "changes_state",
    "mistake",
    "first_finding",
)
_COUNTED = (
    "calls",
    "gold_calls",
    "premature_needed",
    "premature_harmless",
    "rounds",
    "ticks",
    "idle_turns",
    "format_errors",
    "truncated",
    "same_task_streak",
    "characters",
    "interventions",
)
COLUMNS = (*_CONDITION, *_VERDICT, *_COUNTED)
"""`line` is ``episode`` or ``sub_task``. What does not apply to a line is empty."""


def write_csv(episodes: Iterable[Episode], file: TextIO) -> int:
    """Write all lines.

    Args:
        episodes: Episodes that were played.
        file: Opened with ``newline=""``.

    Returns:
        Number of episodes.
    """
    writer = csv.DictWriter(file, COLUMNS, restval="")
    writer.writeheader()
    written = 0
    for episode in episodes:
        writer.writerows(_lines(episode))
        written += 1
    return written


def _lines(episode: Episode) -> Iterator[dict[str, Any]]:
    judged, group = score(episode), Group.of(episode)
    condition = {
        "composition": judged.composition_id,
        "kind": judged.kind.value,
        "agent": group.agent,
        "player": group.player,
        "arm": group.arm,
        "declared": int(group.declared),
        "regime": group.regime,
        "surface": group.surface,
        "contract": group.contract,
        "seed": episode.run.seed,
    }
    yield {"line": "episode", **condition, **_whole(episode, judged)}
    mistakes = mistakes_of(episode, judged)
    for task, verdict, mistake in zip(
        episode.composition.sub_tasks, judged.sub_tasks, mistakes, strict=True
    ):
        counted = {
            "calls": verdict.calls,
            "gold_calls": len(task.gold),
            "mistake": mistake.value if mistake else "",
        }
        yield {
            "line": "sub_task",
            **condition,
            **_part(verdict),
            **counted,
            "interventions": _met(episode, task.id),
        }


def _whole(episode: Episode, judged: Score) -> dict[str, Any]:
    counters = judged.counters
    return {
        "solved": int(judged.overall),
        "trajectory": int(judged.task_trajectory),
        "result": int(all(each.result for each in judged.sub_tasks)),
        "state": int(judged.task_state),
        "calls": len(episode.trajectory),
        "gold_calls": episode.composition.gold_calls,
        "premature_needed": sum(each.premature_needed for each in judged.sub_tasks),
        "premature_harmless": sum(each.premature_harmless for each in judged.sub_tasks),
        "rounds": counters.rounds,
        "ticks": counters.ticks,
        "idle_turns": counters.idle_turns,
        "format_errors": counters.format_errors,
        "truncated": int(counters.truncated),
        "same_task_streak": judged.same_task_streak,
        "characters": episode.settings.get("characters", ""),
        "interventions": len(episode.settings.get("interventions", ())),
    }


def _part(verdict: SubTaskScore) -> dict[str, Any]:
    return {
        "task": verdict.task_id,
        "category": verdict.category.value,
        "solved": int(verdict.accurate),
        "trajectory": int(verdict.trajectory),
        "ordered_trajectory": int(verdict.ordered_trajectory),
        "result": int(verdict.result),
        "state": int(verdict.state),
        "changes_state": int(verdict.changes_state),
        "first_finding": str(verdict.findings[0]) if verdict.findings else "",
        "premature_needed": verdict.premature_needed,
        "premature_harmless": verdict.premature_harmless,
    }


def _met(episode: Episode, task_id: str) -> int:
    return sum(each.get("task") == task_id for each in episode.settings.get("interventions", ()))
