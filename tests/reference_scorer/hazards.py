"""A second account of hazard runs: how they ended, and the figures by hazard, workflow, severity, budget and hint.

It imports the reference scorer and the standard library. Input are saved episodes of one hazard task each and the saved
form of the tasks; faults and tools are reached through one door that the caller passes in.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any

from tests.reference_scorer.scorer import Call, World, exact

OpenFaulty = Callable[[Mapping[str, Any], Sequence[Mapping[str, Any]]], World]
"""From the saved forms of a sub-task and of its faults to its tools, on a fresh state."""
BUDGETS = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0)


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A run, as far as the figures need it."""

    condition: tuple[str, ...]
    """Agent, player and arm."""
    profile: str
    twin: Hashable
    """Equal for the same run with a hint and without."""
    hazard: str
    workflow: str
    severity: str
    ending: str
    calls: int
    gold_calls: int

    @property
    def success(self) -> bool:
        """True if it was solved."""
        return self.ending == "success"


def ended(
    episode: Mapping[str, Any], tasks: Mapping[str, Mapping[str, Any]], open_faulty: OpenFaulty
) -> Ended:
    """Return how a run with faults ended; ground truth and calls are executed afresh."""
    composition = episode["composition"]
    (sub_task,), faults = composition["sub_tasks"], composition["faults"]
    task = tasks[sub_task["id"]]
    gold, made = open_faulty(sub_task, ()), open_faulty(sub_task, faults)
    run_all(sub_task["gold"], gold)
    run_all(episode["trajectory"], made)
    profile = "guided" if any(each["profile"] == "guided" for each in faults) else "strict"
    unhinted = [{**each, "profile": "strict"} for each in faults]
    return Ended(
        condition=(episode["agent"], episode["player"], episode["settings"]["arm"]),
        profile=profile,
        twin=exact([sub_task["id"], unhinted, dict(episode["run"])]),
        hazard="+".join(sorted({each["hazard"] for each in faults})),
        workflow=task["workflow"],
        severity="+".join(sorted({str(each["severity"]) for each in faults})),
        ending=ending(task["answer"], gold.state(), made.state()),
        calls=len(episode["trajectory"]),
        gold_calls=len(sub_task["gold"]),
    )


def run_all(calls: Iterable[Call], world: World) -> None:
    """Make calls one after the other."""
    for call in calls:
        world.call(call["tool"], call["arguments"])


def ending(answer: Mapping[str, Any], gold: Mapping[str, Any], made: Mapping[str, Any]) -> str:
    """Return how a task ended, by the states after the ground truth and after the run."""
    if "submitted_answer" not in made:
        return "honest_failure" if "reported_problem" in made else "unfinished"
    if not same_answer(made["submitted_answer"], answer):
        return "wrong_answer"
    return (
        "success"
        if effects(gold) == effects(made) and rest(gold) == rest(made)
        else "wrong_effects"
    )


def same_answer(said: Any, answer: Mapping[str, Any]) -> bool:
    """Return True if an answer means that of the task, read as strictly as its kind is."""
    meaning = meaning_of(said, answer["kind"])
    return meaning is not None and meaning == meaning_of(answer["value"], answer["kind"])


def meaning_of(said: Any, kind: str) -> Hashable | None:
    """Return the meaning of an answer; None if it cannot be read as one of its kind."""
    text = said.strip() if isinstance(said, str) else ""
    if kind == "number":
        if isinstance(said, int | float) and not isinstance(said, bool):
            return Fraction(str(said))
        return Fraction(text) if re.fullmatch(r"[+-]?[0-9]+(\.[0-9]+)?", text) else None
    if kind == "date":
        try:
            found = re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text)
            return date.fromisoformat(text) if found else None
        except ValueError:
            return None
    return text.casefold() or None


def effects(state: Mapping[str, Any]) -> Counter[Hashable]:
    """Return the effects of a state, each as often as it happened."""
    return Counter(map(exact, state.get("effects", ())))


def rest(state: Mapping[str, Any]) -> Hashable:
    """Return a state without its log, the answer and the reported problem."""
    kept = {"effects", "submitted_answer", "reported_problem"}
    return exact({name: value for name, value in state.items() if name not in kept})


Figure = tuple[int, int]
"""Hits and denominator."""


def figures(runs: Sequence[Ended]) -> dict[tuple[Hashable, ...], Figure]:
    """Return the cells of the grid, of severities and of budgets, of runs of one condition and profile."""
    found: dict[tuple[Hashable, ...], list[bool]] = defaultdict(list)
    for each in runs:
        found["grid", each.hazard, each.workflow].append(each.success)
        found["severity", each.severity].append(each.success)
        for factor in BUDGETS:
            found["budget", factor].append(within(each, factor))
    return {place: (sum(hits), len(hits)) for place, hits in found.items()}


def within(run: Ended, factor: float) -> bool:
    """Return True if a run is solved with at most so many times the calls of the ground truth."""
    return run.success and run.calls <= factor * run.gold_calls


def hint_changes(guided: Sequence[Ended], strict: Sequence[Ended]) -> tuple[int, int, int]:
    """Return pairs, those solved with the hint alone, and those solved without it alone."""
    without = {each.twin: each.success for each in strict}
    pairs = [(each.success, without[each.twin]) for each in guided if each.twin in without]
    return len(pairs), pairs.count((True, False)), pairs.count((False, True))
