"""The first divergence of a run from the gold under `strict`: its label, and what a report says of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from asyncguard_benchmark.suites.missions.entries import Entry
from asyncguard_benchmark.suites.missions.gold_graph import GoldGraph, bits
from asyncguard_benchmark.suites.missions.scorers.assignment import best_assignment
from asyncguard_benchmark.suites.missions.scorers.frontier import (
    Match,
    Rules,
    after_calls,
    assignments,
    holds_question,
)
from asyncguard_benchmark.suites.missions.scorers.provenance import origin_of, told
from asyncguard_benchmark.suites.missions.scorers.steps import Step, ToolCall
from asyncguard_benchmark.suites.missions.scorers.strict_arguments import ArgumentVerdict, Fault


class Comparison(Protocol):
    """Strict rules, and the verdict on the arguments of any call against any node of its tool."""

    @property
    def rules(self) -> Rules:
        """The rules of the frontier."""

    def judge(self, call: ToolCall, number: int) -> ArgumentVerdict:
        """Compare the arguments of a call with those of a node."""


@dataclass(frozen=True, kw_only=True)
class MisfitCall:
    """A call that fits no node that is ready."""

    tool: str
    labels: tuple[str, ...]
    nearest: int | None = None
    """The ready node of its tool that it is paired with."""
    faults: Mapping[str, Fault] | None = None
    """By argument, against that node."""


@dataclass(frozen=True, kw_only=True)
class Divergence:
    """Place at which a run leaves the gold."""

    step: int
    """From 0; the number of steps if the run ends too early."""
    labels: tuple[str, ...]
    """All that is wrong there; the first is the label of the mission."""
    ready: tuple[tuple[str, ...], ...]
    """By ideal: names of the nodes that were ready."""
    calls: tuple[MisfitCall, ...] = ()

    @property
    def label(self) -> str:
        """Label of the mission."""
        return self.labels[0]

    def to_json(self) -> dict[str, Any]:
        """Return it for `--explain`."""
        calls = [
            {
                "tool": each.tool,
                "labels": list(each.labels),
                "nearest_node": each.nearest,
                "arguments": {name: fault.value for name, fault in (each.faults or {}).items()},
            }
            for each in self.calls
        ]
        ready = [list(names) for names in self.ready]
        return {"step": self.step, "labels": list(self.labels), "ready": ready, "calls": calls}


def divergence(entry: Entry, comparison: Comparison, found: Match) -> Divergence:
    """Tell why a run that was followed is not complete."""
    graph = entry.graph
    ready = tuple(
        tuple(graph.nodes[each].name for each in bits(graph.ready(done)))
        for done in sorted(found.ideals)
    )
    if not found.diverged:
        label = "no_call" if not any(step.calls for step in entry.steps) else "no_answer"
        return Divergence(step=found.accepted, labels=(label,), ready=ready)
    step = entry.steps[found.accepted]
    if not step.calls:
        label = _text_label(graph, found.ideals, step, entry.steps[: found.accepted])
        return Divergence(step=found.accepted, labels=(label,), ready=ready)
    calls = _misfits(entry, comparison, found.ideals, step)
    labels = tuple(dict.fromkeys(label for each in calls for label in each.labels))
    return Divergence(step=found.accepted, labels=labels, ready=ready, calls=calls)


def _text_label(
    graph: GoldGraph, ideals: frozenset[int], step: Step, before: Sequence[Step]
) -> str:
    if graph.full in ideals:
        return "surplus"
    if all(graph.ready(done) & graph.asks for done in ideals):
        return "not_asked"
    if not step.is_text:
        return "no_call"
    if holds_question(step.text):
        return "asked_needlessly"
    return "early_answer" if any(each.calls for each in before) else "no_call"


def _misfits(
    entry: Entry, comparison: Comparison, ideals: frozenset[int], step: Step
) -> tuple[MisfitCall, ...]:
    """Return the calls of a step that are left after those before them have been placed."""
    rules = comparison.rules
    placed: list[int] = []
    left: list[ToolCall] = []
    for call in step.calls:
        fitting = rules.candidates(call)
        if fitting and after_calls(rules, ideals, [*placed, fitting]):
            placed.append(fitting)
        else:
            left.append(call)
    # Of the ways to place the others one is shown: the lowest, so that a report is the same in each run.
    start, shown = min(
        (done, done | taken)
        for done in ideals
        for taken in assignments(done, rules.graph.ready(done), placed, rules.lower_twins)
    )
    ready = rules.graph.ready(start)
    nearest = _nearest(entry, comparison, left, ready & ~shown)
    return tuple(
        _misfit(entry, comparison, call, _Around(start, ready, shown), nearest.get(place))
        for place, call in enumerate(left)
    )


@dataclass(frozen=True)
class _Around:
    """The ideal at which a step is judged."""

    start: int
    ready: int
    shown: int
    """Done after the calls of the step that fit."""


def _nearest(
    entry: Entry, comparison: Comparison, calls: Sequence[ToolCall], ready: int
) -> dict[int, int]:
    """Pair calls with ready nodes of their tool, so that most arguments are right."""
    found: dict[int, int] = {}
    for name in dict.fromkeys(call.name for call in calls):
        nodes = list(bits(ready & entry.graph.named(name) & entry.graph.tools))
        mine = [place for place, call in enumerate(calls) if call.name == name]
        if not nodes:
            continue
        worth = [
            [comparison.judge(calls[place], node).right + 1.0 for node in nodes] for place in mine
        ]
        for place, column in zip(mine, best_assignment(worth), strict=True):
            if column is not None:
                found[place] = nodes[column]
    return found


def _misfit(
    entry: Entry, comparison: Comparison, call: ToolCall, around: _Around, nearest: int | None
) -> MisfitCall:
    graph = entry.graph
    if nearest is not None:
        faults = comparison.judge(call, nearest).faults
        seen = (*entry.said, *told(graph, around.start))
        labels = dict.fromkeys(
            f"value: {origin_of((call.object or {})[name], seen)}"
            if fault is Fault.VALUE
            else fault.value
            for name, fault in faults.items()
        )
        return MisfitCall(tool=call.name, labels=tuple(labels), nearest=nearest, faults=faults)
    nodes = graph.named(call.name) & graph.tools
    if graph.full == graph.answers:
        label = "chat_called"
    elif call.name not in entry.tools:
        label = "unknown_tool"
    elif around.ready & graph.asks:
        label = "not_asked"
    elif not nodes:
        label = "wrong_tool"
    else:
        label = "unready" if nodes & ~around.shown else "surplus"
    return MisfitCall(tool=call.name, labels=(label,))
