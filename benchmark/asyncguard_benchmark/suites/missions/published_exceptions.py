"""The two models that the published analysis treats apart; off unless asked for."""

from asyncguard_benchmark.suites.missions.entries import Entry
from asyncguard_benchmark.suites.missions.scorers.published_errors import REFUSAL_TOOL


def left_out(entry: Entry) -> bool:
    """Return True for a run that is left out of DeepSeek-R1's and V3's: a time-out, an empty end, a refusal."""
    last = entry.steps[-1] if entry.steps else None
    refused = any(call.name == REFUSAL_TOOL for step in entry.steps for call in step.calls)
    return entry.timed_out or refused or last is None or not (last.calls or last.is_text)


def without_end(entry: Entry) -> bool:
    """Return True for a run that xlam's files count as right in its names: the gold's first names, and no end."""
    names = [call.name for step in entry.steps for call in step.calls]
    gold = [node.name for node in entry.graph.nodes[:-1]]
    return len(entry.steps) == len(gold) and names == gold
