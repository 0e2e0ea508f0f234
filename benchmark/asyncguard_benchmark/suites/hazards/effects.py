"""Comparison of a run's effects with those of the ground truth, each once; by final states alone.

Every domain of the hazard suite logs its effects in the state, one entry for each that happened.
The beliefs of a guard or an agent about effects are not used.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from asyncguard_benchmark.harness.scoring.canonical import freeze
from asyncguard_benchmark.services.common_tools import ANSWER_KEY, PROBLEM_KEY

LOG_KEY = "effects"
"""Key of the state under which its log lies: ``{"tool": name, "result": {...}}``, oldest first."""
_OWN = frozenset({LOG_KEY, ANSWER_KEY, PROBLEM_KEY})


@dataclass(frozen=True, kw_only=True)
class EffectsVerdict:
    """Differences between the effects of a run and those of the ground truth; counts of log entries."""

    missing: int
    """Effects of the ground truth that did not happen."""
    extra: int
    """Effects that the ground truth does not have, repetitions among them."""
    duplicated: int
    """Of the extra ones: effects of a tool that happened more often than they were meant to."""
    state: bool
    """True if the rest of the state is that of the ground truth."""

    @property
    def exact(self) -> bool:
        """Return True if everything is as in the ground truth, and once; order does not count."""
        return not self.missing and not self.extra and self.state


def compare_effects(
    before: Mapping[str, Any], gold: Mapping[str, Any], made: Mapping[str, Any]
) -> EffectsVerdict:
    """Compare the final state of a run with that of the ground truth.

    Args:
        before: The state in which both began; its log is the beginning of theirs.
        gold: After the ground truth.
        made: After the run.
    """
    past = len(_entries(before))
    wanted, had = _entries(gold)[past:], _entries(made)[past:]
    tools = {entry["tool"] for entry in had}
    return EffectsVerdict(
        missing=(_frozen(wanted) - _frozen(had)).total(),
        extra=(_frozen(had) - _frozen(wanted)).total(),
        duplicated=sum(_duplicated(_of(wanted, tool), _of(had, tool)) for tool in tools),
        state=bool(_rest(gold) == _rest(made)),
    )


def _entries(state: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    entries: Sequence[Mapping[str, Any]] = state.get(LOG_KEY, ())
    return entries


def _of(entries: Sequence[Mapping[str, Any]], tool: str) -> list[Mapping[str, Any]]:
    return [entry["result"] for entry in entries if entry["tool"] == tool]


def _frozen(entries: Sequence[Mapping[str, Any]]) -> Counter[Hashable]:
    return Counter(freeze(dict(entry)) for entry in entries)


def _rest(state: Mapping[str, Any]) -> Any:
    return freeze({name: value for name, value in state.items() if name not in _OWN})


def _duplicated(wanted: Sequence[Mapping[str, Any]], had: Sequence[Mapping[str, Any]]) -> int:
    """Return entries too many of one tool: more than were meant, though at least one may be, or the same thing again.

    The first count finds a repetition that was rewritten, the second one that took the place of another effect.
    """
    return max(0, len(had) - max(1, len(wanted)), _repeated(had) - _repeated(wanted))


def _repeated(results: Sequence[Mapping[str, Any]]) -> int:
    """Return the number of entries that equal an earlier one but for one field, the id that is new in each."""
    return sum(
        any(_is_repetition(one, earlier) for earlier in results[:n])
        for n, one in enumerate(results)
    )


def _is_repetition(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    differing = sum(freeze(one.get(name)) != freeze(other.get(name)) for name in {*one, *other})
    return bool(differing <= 1)
