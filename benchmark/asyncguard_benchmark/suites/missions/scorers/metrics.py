"""Figures over many missions, each with its number of cases and a 95 % interval; None where there is no data."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf
from statistics import mean, variance
from typing import Any

from asyncguard_benchmark.harness.statistics.clustered import mean_of, share_among, share_of
from asyncguard_benchmark.harness.statistics.estimates import Interval
from asyncguard_benchmark.suites.missions.gold_graph import Node
from asyncguard_benchmark.suites.missions.scorers.frontier import holds_question, names_all
from asyncguard_benchmark.suites.missions.scorers.provenance import ValueOrigin, origin_of
from asyncguard_benchmark.suites.missions.scorers.verdict import Verdict
from asyncguard_benchmark.suites.missions.terms import ASK, LETTERS, Letter, Subtype

LEAST_OF_A_LENGTH = 10
"""Missions with a prompt of one length, below which it is not printed."""


class Scorer(StrEnum):
    """The two scorers."""

    STRICT = "strict"
    COMPAT = "compat"


@dataclass(frozen=True)
class Figure:
    """A share or a mean over some cases."""

    cases: int
    interval: Interval | None
    """None without a case."""

    @property
    def value(self) -> float | None:
        """The share or the mean."""
        return None if self.interval is None else self.interval.value

    def to_json(self) -> dict[str, Any]:
        """Return value, cases and the ends of the interval."""
        low, high = (
            (None, None) if self.interval is None else (self.interval.low, self.interval.high)
        )
        return {"value": self.value, "n": self.cases, "low": low, "high": high}


def share(cases: Iterable[tuple[Verdict, bool]]) -> Figure:
    """Return the share of cases that hold; those of one dialogue are not independent."""
    known = list(cases)
    if not known:
        return Figure(0, None)
    sources = [frozenset({verdict.entry.key.dialogue}) for verdict, _ in known]
    return Figure(len(known), share_of([holds for _, holds in known], sources))


def _mean(cases: Sequence[tuple[Verdict, float]], most: float = inf) -> Figure:
    """Return a mean of values from 0 to a greatest one; one case alone has no interval and counts as no data."""
    if len(cases) < 2:
        return Figure(len(cases), None)
    sources = [frozenset({verdict.entry.key.dialogue}) for verdict, _ in cases]
    found = mean_of([value for _, value in cases], sources).interval
    return Figure(len(cases), replace(found, low=max(0.0, found.low), high=min(most, found.high)))


def _ratio(cases: Sequence[tuple[Verdict, int, int]]) -> Figure:
    sources = [frozenset({verdict.entry.key.dialogue}) for verdict, _, _ in cases]
    hits, chances = [part for _, part, _ in cases], [whole for _, _, whole in cases]
    found = share_among(hits, chances, sources) if cases else None
    return Figure(sum(chances), found)


def judged_by(verdicts: Iterable[Verdict], scorer: Scorer) -> list[Verdict]:
    """Return the missions that a scorer could judge."""
    return [each for each in verdicts if getattr(each, scorer) is not None]


def passed(verdict: Verdict, scorer: Scorer) -> bool:
    """Return whether a mission that a scorer judged has passed."""
    return bool(getattr(verdict, scorer).passed)


def success(verdicts: Iterable[Verdict], scorer: Scorer) -> Figure:
    """Return SR."""
    return share((each, passed(each, scorer)) for each in judged_by(verdicts, scorer))


def success_by(
    verdicts: Iterable[Verdict], scorer: Scorer, group: Callable[[Verdict], Hashable | None]
) -> dict[Any, Figure]:
    """Return SR by a property of missions; those without it are left out."""
    groups = defaultdict[Hashable, list[Verdict]](list)
    for each in judged_by(verdicts, scorer):
        if (key := group(each)) is not None:
            groups[key].append(each)
    return {key: success(groups[key], scorer) for key in sorted(groups, key=_group_order)}


def _group_order(key: Any) -> tuple[int, Any]:
    """Order letters as the heat map does, and patterns by length and then like that."""
    if isinstance(key, tuple):
        return len(key), tuple(LETTERS.index(each) for each in key)
    return (0, LETTERS.index(key)) if isinstance(key, Letter) else (0, key)


def optimality(verdicts: Iterable[Verdict], scorer: Scorer) -> Figure:
    """Return OP: missions that passed in the least number of steps, of all that leave calls unordered."""
    wanted = _of_subtype(judged_by(verdicts, scorer), Subtype.PARALLEL, Subtype.COMBINED)
    return share((each, passed(each, scorer) and getattr(each, scorer).optimal) for each in wanted)


def progress(verdicts: Iterable[Verdict]) -> dict[str, Figure]:
    """Return AP: nodes done of nodes there are, in missions with dependent calls.

    As published (`compat`) a mission counts all nodes, questions and the end too, and a wrong argument costs nothing;
    under `strict` and `names` it counts the calls of the gold in the last ideal that was possible.
    """
    wanted = _of_subtype(verdicts, Subtype.SERIAL, Subtype.COMBINED)
    published, strict, names = [], [], []
    for each in wanted:
        graph = each.entry.graph
        if each.compat is not None:
            published.append((each, min(each.compat.credit, len(graph.nodes)), len(graph.nodes)))
        if each.strict is not None:
            calls = graph.tools.bit_count()
            strict.append((each, each.strict.match.most(graph.tools), calls))
            names.append((each, each.strict.names.most(graph.tools), calls))
    return {"compat": _ratio(published), "strict": _ratio(strict), "names": _ratio(names)}


def _of_subtype(verdicts: Iterable[Verdict], *subtypes: Subtype) -> list[Verdict]:
    return [each for each in verdicts if each.entry.graph.subtype in subtypes]


def parallel_efficiency(verdicts: Iterable[Verdict], scorer: Scorer) -> Figure:
    """Return the longest chain of calls by the messages that called, in passed missions that can run in parallel."""
    wanted = _of_subtype(judged_by(verdicts, scorer), Subtype.PARALLEL, Subtype.COMBINED)
    return _mean(
        [
            (each, each.entry.graph.chain(each.entry.graph.tools) / messages)
            for each in wanted
            if passed(each, scorer)
            and (messages := sum(bool(step.calls) for step in each.entry.steps))
        ],
        most=1.0,
    )


def layer_variance(verdicts: Iterable[Verdict], scorer: Scorer, length: int) -> float | None:
    """Return how much SR differs by the missions that came before.

    It is the sample variance, over patterns of this length, of the mean SR of the missions that follow directly; None
    with fewer than two patterns.
    """
    following = defaultdict[tuple[Letter, ...], list[bool]](list)
    for each in judged_by(verdicts, scorer):
        if each.entry.pattern is not None and len(each.entry.pattern) == length + 1:
            following[each.entry.pattern[:length]].append(passed(each, scorer))
    means = [mean(held) for held in following.values()]
    return variance(means) if len(means) > 1 else None


def by_length(verdicts: Iterable[Verdict], scorer: Scorer) -> dict[int, Figure]:
    """Return SR by the number of messages in the prompt, where there are enough."""
    found = success_by(verdicts, scorer, lambda each: each.entry.prompt_messages)
    return {length: each for length, each in found.items() if each.cases >= LEAST_OF_A_LENGTH}


def output_length(verdicts: Iterable[Verdict]) -> dict[Letter, Figure]:
    """Return the characters that an agent wrote in a mission, texts and calls, by letter."""
    groups = defaultdict[Letter, list[tuple[Verdict, float]]](list)
    for each in verdicts:
        groups[each.entry.letter].append((each, _characters(each)))
    return {letter: _mean(groups[letter]) for letter in LETTERS if letter in groups}


def _characters(verdict: Verdict) -> int:
    return sum(
        len(step.text) + sum(len(call.name) + len(_as_text(call.arguments)) for call in step.calls)
        for step in verdict.entry.steps
    )


def _as_text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def clarification(verdicts: Iterable[Verdict]) -> dict[str, Figure]:
    """Return how an agent asks: where it should, and where it should not."""
    known = list(verdicts)
    asked = [each for each in known if each.entry.letter is Letter.CLARIFY]
    plain = [each for each in known if each.entry.letter in (Letter.SINGLE, Letter.MULTI)]
    chats = [each for each in known if each.entry.letter is Letter.CHAT]
    origins = {id(each): _origins(each) for each in asked}
    return {
        "c_asked_first": share((each, _asks_first(each)) for each in asked),
        "c_named_missing": share(
            (each, _names_missing(each)) for each in asked if _asks_first(each)
        ),
        "c_invented": share((each, ValueOrigin.INVENTED in origins[id(each)]) for each in asked),
        "c_stand_in": share((each, ValueOrigin.STAND_IN in origins[id(each)]) for each in asked),
        "c_stale": share((each, ValueOrigin.STALE in origins[id(each)]) for each in asked),
        "sm_asked": share((each, _asks_needlessly(each)) for each in plain),
        "t_called": share((each, any(step.calls for step in each.entry.steps)) for each in chats),
    }


def _asks_first(verdict: Verdict) -> bool:
    steps = verdict.entry.steps
    return bool(steps) and steps[0].is_text and holds_question(steps[0].text)


def _names_missing(verdict: Verdict) -> bool:
    """Return True if the first question holds the names of the missing parameters; a column, and no condition."""
    text = verdict.entry.steps[0].text.replace("_", " ")
    first = next((node for node in verdict.entry.graph.nodes if node.name == ASK), None)
    words = () if first is None else first.aliases or [(name,) for name in _missing(first)]
    return names_all(text, [[word.replace("_", " ") for word in each] for each in words])


def _missing(node: Node) -> list[str]:
    said = node.arguments.get("missing_required_parameters")
    return [each for each in said if isinstance(each, str)] if isinstance(said, list) else []


def _asks_needlessly(verdict: Verdict) -> bool:
    """Return True for a question before the work is done; a polite one at the end asks for nothing that is missing."""
    found = verdict.strict
    return (
        found is not None
        and found.divergence is not None
        and (found.divergence.label == "asked_needlessly")
    )


def _origins(verdict: Verdict) -> frozenset[ValueOrigin]:
    """Return where the values come from that stand for missing ones in calls before the first question."""
    entry = verdict.entry
    missing = {name for node in entry.graph.nodes if node.name == ASK for name in _missing(node)}
    found = set()
    for step in entry.steps:
        if not step.calls:
            break
        for call in step.calls:
            for name in missing & (call.object or {}).keys():
                found.add(origin_of((call.object or {})[name], entry.said))
    return frozenset(found)


def errors(verdicts: Iterable[Verdict], scorer: Scorer) -> dict[str, int]:
    """Return the label of each mission that failed, most frequent first."""
    labels = Counter[str]()
    for each in judged_by(verdicts, scorer):
        if scorer is Scorer.COMPAT and each.compat is not None and each.compat.error is not None:
            labels[each.compat.error.value] += 1
        if (
            scorer is Scorer.STRICT
            and each.strict is not None
            and each.strict.divergence is not None
        ):
            labels[each.strict.divergence.label] += 1
    return dict(sorted(labels.items(), key=lambda item: (-item[1], item[0])))
