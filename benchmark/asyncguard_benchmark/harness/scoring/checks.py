"""Checks of a solved sub-task: one small function for each question."""

from collections import Counter
from collections.abc import Hashable, Iterable

from asyncguard_benchmark.harness.scoring.canonical import same
from asyncguard_benchmark.harness.scoring.evidence import Evidence


def contained(needed: Iterable[Hashable], had: Iterable[Hashable]) -> bool:
    """Return True if one multiset is contained in another."""
    return not Counter(needed) - Counter(had)


def trajectory(evidence: Evidence) -> bool:
    """Return True if every gold call was made, in any order and with any others."""
    return contained(evidence.gold.calls, evidence.made.calls)


def ordered_trajectory(evidence: Evidence) -> bool:
    """Return True if every gold call was made, in the order of the ground truth, with any others between."""
    made = iter(evidence.made.calls)
    return all(call in made for call in evidence.gold.calls)


def result(evidence: Evidence) -> bool:
    """Return True if every result of the ground truth was obtained."""
    return contained(evidence.gold.results, evidence.made.results)


def state(evidence: Evidence) -> bool:
    """Return True if the final state is that of the ground truth, and something was done."""
    return bool(evidence.records) and same(evidence.gold.state, evidence.made.state)


def changes_state(evidence: Evidence) -> bool:
    """Return True if the ground truth changes the state at all; if not, the state check is free."""
    return not same(evidence.gold.state, evidence.task.initial_state)
