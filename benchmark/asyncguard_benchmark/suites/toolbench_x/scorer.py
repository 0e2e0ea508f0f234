"""Verdict on an episode of ToolBench-X, twice: to the letter, as published, and by what the answer means."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from asyncguard_benchmark.harness.scoring.answers import (
    Answer,
    AnswerKind,
    Ending,
    canonical_answer,
    is_right,
)
from asyncguard_benchmark.suites.toolbench_x.download import Instance
from asyncguard_benchmark.suites.toolbench_x.play import Outcome, Playing, settings_of

_WORD = re.compile(r"[a-z]+(?:_[a-z0-9]+)*")
Row = Mapping[str, Any]
KEY = ("task", "model", "front", "arm", "faults", "hints", "declared", "seed")
"""Fields of a row that name an episode."""


def kind_of(answer: str) -> AnswerKind:
    """Return the kind of a canonical answer: a number or a date if it can be read as one, a word, else a code."""
    for kind in (AnswerKind.NUMBER, AnswerKind.DATE):
        if canonical_answer(answer, kind) is not None:
            return kind
    return AnswerKind.ENUM if _WORD.fullmatch(answer) else AnswerKind.CODE


def ending_of(said: str | None, problem: str | None, answer: str) -> Ending:
    """Return the ending of an episode; the meaning of the answer decides, not its form."""
    if said is not None:
        right = is_right(said, Answer(kind=kind_of(answer), value=answer))
        return Ending.SUCCESS if right else Ending.WRONG_ANSWER
    return Ending.HONEST_FAILURE if problem is not None else Ending.UNFINISHED


def name_of(instance: Instance, model: str, playing: Playing) -> tuple[Any, ...]:
    """Return the name of the episode, in the order of ``KEY``."""
    settings = settings_of(playing)
    return (instance.task.key, model, *(settings[name] for name in KEY[2:]))


def row_of(
    instance: Instance, model: str, playing: Playing, outcome: Outcome, usage: Row
) -> dict[str, Any]:
    """Return one line of the results."""
    task = instance.task
    return {
        **dict(zip(KEY, name_of(instance, model, playing), strict=True)),
        "workflow": task.workflow.value,
        "hazard": None if instance.hazard is None else instance.hazard.value,
        "expected": task.answer,
        "said": outcome.said,
        "problem": outcome.problem,
        "ending": ending_of(outcome.said, outcome.problem, task.answer).value,
        "exact": outcome.said == task.answer,
        "proposed": outcome.proposed,
        "attempts": outcome.attempts,
        "model_turns": outcome.turns,
        "reason": outcome.reason,
        "fired": [asdict(each) for each in outcome.fired],
        "own_profile": outcome.profiled,
        "sandbox": outcome.sandbox,
        "seconds": outcome.seconds,
        "usage": dict(usage),
        "settings": settings_of(playing),
    }


def summary(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return figures by model, adapter, arm, faults, hints and declarations.

    Episodes whose worker was ended are left out of them and counted; a share of nothing is None.
    """
    names = tuple(name for name in KEY if name not in ("task", "seed"))
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return [
        {**dict(zip(names, key, strict=True)), **_figures(each)} for key, each in groups.items()
    ]


def _figures(rows: Sequence[Row]) -> dict[str, Any]:
    fair = [row for row in rows if row["sandbox"] is None]
    counts = {each.value: sum(row["ending"] == each.value for row in fair) for each in Ending}
    del counts[Ending.WRONG_EFFECTS.value]  # the tools have none
    return {
        "episodes": len(fair),
        "left_out": len(rows) - len(fair),
        "success_rate": _share(counts[Ending.SUCCESS.value], len(fair)),
        "exact_rate": _share(sum(bool(row["exact"]) for row in fair), len(fair)),
        **counts,
        "attempts": sum(row["attempts"] for row in fair),
        "fired": sum(len(row["fired"]) for row in fair),
    }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
