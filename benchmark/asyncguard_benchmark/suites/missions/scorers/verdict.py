"""Verdict on one mission, by both scorers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from asyncguard_benchmark.suites.missions.entries import Entry
from asyncguard_benchmark.suites.missions.gold_graph import GoldGraph, Tool
from asyncguard_benchmark.suites.missions.scorers.divergence import Divergence, divergence
from asyncguard_benchmark.suites.missions.scorers.frontier import (
    FrontierOverflowError,
    Match,
    Rules,
    lower_twins,
    match,
)
from asyncguard_benchmark.suites.missions.scorers.published_arguments import (
    JudgedCall,
    PublishedArgumentError,
    judge_calls,
)
from asyncguard_benchmark.suites.missions.scorers.published_errors import (
    PublishedError,
    error_of_arguments,
    error_of_names,
)
from asyncguard_benchmark.suites.missions.scorers.published_paths import (
    PathVerdict,
    PublishedRuleError,
    follow,
)
from asyncguard_benchmark.suites.missions.scorers.steps import Step, ToolCall
from asyncguard_benchmark.suites.missions.scorers.strict_arguments import (
    ArgumentVerdict,
    ExpectedCall,
)
from asyncguard_benchmark.suites.missions.scorers.tokens import MissingTokenizerError


@dataclass(frozen=True, kw_only=True)
class StrictVerdict:
    """Verdict of the frontier."""

    passed: bool
    optimal: bool
    names: Match
    """By equal tools alone."""
    match: Match
    """By equal tools and right arguments."""
    divergence: Divergence | None
    """Place at which it failed; None if it passed."""


@dataclass(frozen=True, kw_only=True)
class CompatVerdict:
    """Verdict of the published scorer."""

    passed: bool
    optimal: bool
    names: bool
    """True if the published path rule accepts the run."""
    raised: bool
    """True if the published comparison of arguments raises, which is an error by rule."""
    error: PublishedError | None
    credit: int
    """Steps that count as done in the published AP, out of all nodes."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Both, beside the mission; None where a scorer cannot judge, and then the reason."""

    entry: Entry
    strict: StrictVerdict | None
    compat: CompatVerdict | None
    unscored: tuple[str, ...] = ()


class StrictRules:
    """The strict comparison of calls with the nodes of a mission; each pair is compared once."""

    def __init__(self, graph: GoldGraph, tools: Mapping[str, Tool]) -> None:
        self.graph = graph
        self._expected = {
            number: ExpectedCall(node, tools[node.name])
            for number, node in enumerate(graph.nodes)
            if node.name in tools
        }
        self._judged: dict[tuple[int, int], ArgumentVerdict] = {}
        self._calls: list[ToolCall] = []

    def judge(self, call: ToolCall, number: int) -> ArgumentVerdict:
        """Compare the arguments of a call with those of a node of its tool."""
        key = (id(call), number)
        if key not in self._judged:
            self._calls.append(call)  # kept, so that no other call gets its identity
            self._judged[key] = self._expected[number].judge(call.object)
        return self._judged[key]

    @cached_property
    def rules(self) -> Rules:
        """The rules of the frontier."""
        twins = lower_twins(
            self.graph,
            lambda number: self._expected[number].key if number in self._expected else None,
        )
        return Rules(
            graph=self.graph,
            fits=lambda call, number: self.judge(call, number).passed,
            lower_twins=twins,
            wording=True,
        )


def judge(entry: Entry, *, trusting: bool = False) -> Verdict:
    """Judge one mission by both scorers.

    Args:
        entry: The mission.
        trusting: True to take the stored label of the names instead of the published rule, where there is one.
    """
    strict, compat, unscored = None, None, []
    try:
        strict = judge_strict(entry)
    except FrontierOverflowError as problem:
        unscored.append(f"strict: {problem}")
    try:
        compat = judge_compat(entry, trusting=trusting)
    except (PublishedRuleError, MissingTokenizerError) as problem:
        unscored.append(f"compat: {problem}")
    return Verdict(entry=entry, strict=strict, compat=compat, unscored=tuple(unscored))


def judge_strict(entry: Entry) -> StrictVerdict:
    """Judge one mission by the frontier.

    Raises:
        FrontierOverflowError: the gold has too many equal names.
    """
    rules = StrictRules(entry.graph, entry.tools)
    found = match(rules.rules, entry.steps)
    names = match(Rules.by_names(entry.graph), entry.steps)
    passed = found.complete and not entry.pending_at_end
    rounds = len(entry.steps) + entry.without_step
    return StrictVerdict(
        passed=passed,
        optimal=passed and rounds == entry.graph.optimal_length,
        names=names,
        match=found,
        divergence=None if passed else _divergence(entry, rules, found),
    )


def _divergence(entry: Entry, rules: StrictRules, found: Match) -> Divergence:
    if found.complete:  # then the answer came before the results
        return Divergence(step=len(entry.steps) - 1, labels=("early_answer",), ready=())
    return divergence(entry, rules, found)


def judge_compat(entry: Entry, *, trusting: bool = False) -> CompatVerdict:
    """Judge one mission as published; `trusting` takes the stored label of the names.

    Raises:
        PublishedRuleError: the published code raises an exception that ends it.
        MissingTokenizerError: texts with Chinese characters are to be compared, and jieba is not installed.
    """
    path = follow(entry.graph, entry.steps)
    played = entry.steps[: len(path.taken) + (not path.correct)]
    if trusting and entry.stored_label is not None:
        path = replace(path, correct=entry.stored_label, optimal=bool(entry.stored_optimal))
        played = entry.steps
    if not path.correct:
        error = error_of_names(entry.graph, played, entry.tools)
        # A run stops at the step that fits nothing, so the last one is that step.
        return _compat(path, error=error, credit=sum(len(step.calls) or 1 for step in played[:-1]))
    nodes = len(entry.graph.nodes)
    try:
        judged = _judged(entry, played)
    except PublishedArgumentError:
        return _compat(path, error=PublishedError.REDUNDANT, credit=nodes - 1, raised=True)
    passed = all(each.passed for each in judged)
    return _compat(path, error=None if passed else error_of_arguments(judged), credit=nodes)


def _compat(
    path: PathVerdict, *, error: PublishedError | None, credit: int, raised: bool = False
) -> CompatVerdict:
    return CompatVerdict(
        passed=error is None,
        optimal=error is None and path.optimal,
        names=path.correct,
        raised=raised,
        error=error,
        credit=credit,
    )


def _judged(entry: Entry, steps: Sequence[Step]) -> tuple[JudgedCall, ...]:
    gold = [(node.name, _plain(node.arguments)) for node in entry.graph.nodes]
    calls = [(call.name, call.arguments) for step in steps for call in step.calls]
    return judge_calls(calls, gold, entry.tools)


def _plain(arguments: Mapping[str, object]) -> dict[str, object]:
    return dict(arguments)
