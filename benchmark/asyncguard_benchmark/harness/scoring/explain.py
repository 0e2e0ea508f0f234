"""Explanation of why a sub-task was not solved."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from asyncguard_benchmark.harness.environment import CallRecord
from asyncguard_benchmark.harness.pointers import child, leaves
from asyncguard_benchmark.harness.scenario import GoldCall
from asyncguard_benchmark.harness.scoring.canonical import freeze, same
from asyncguard_benchmark.harness.scoring.checks import contained
from asyncguard_benchmark.harness.scoring.evidence import Evidence
from asyncguard_benchmark.harness.scoring.verdict import Finding, FindingKind
from asyncguard_benchmark.services.catalogue import tools_of


def findings(evidence: Evidence) -> tuple[Finding, ...]:
    """Return all reasons; empty if and only if the sub-task is solved."""
    return (*_calls(evidence), *_results(evidence), *_state(evidence))


def _calls(evidence: Evidence) -> Iterator[Finding]:
    """Compare each gold call that was not made with the first spare call of the same tool."""
    if contained(evidence.gold.calls, evidence.made.calls):
        return
    tools = tools_of(evidence.task)
    wanted = Counter(evidence.gold.calls)
    spare: list[CallRecord] = []
    for record, call in zip(evidence.records, evidence.made.calls, strict=True):
        if wanted[call] > 0:
            wanted[call] -= 1
        else:
            spare.append(record)
    for gold, key in zip(evidence.task.gold, evidence.gold.calls, strict=True):
        if wanted[key] <= 0:
            continue
        wanted[key] -= 1
        nearest = next((record for record in spare if record.tool == gold.tool), None)
        if nearest is None:
            yield Finding(
                kind=FindingKind.MISSING_CALL,
                place=gold.tool,
                expected=_json(gold.arguments),
                found=None,
            )
        else:
            spare.remove(nearest)
            yield from _arguments(gold, nearest, tools[gold.tool].defaults)


def _arguments(gold: GoldCall, made: CallRecord, defaults: Any) -> Iterator[Finding]:
    expected, found = {**defaults, **gold.arguments}, {**defaults, **made.arguments}
    yield from _differences(FindingKind.DIFFERING_ARGUMENT, expected, found, f"{gold.tool}.")


def _results(evidence: Evidence) -> Iterator[Finding]:
    made = Counter(evidence.made.calls)
    lacking = Counter(evidence.gold.results) - Counter(evidence.made.results)
    for call, text in zip(evidence.gold.calls, evidence.gold.results, strict=True):
        if lacking[text] <= 0:
            continue
        lacking[text] -= 1
        # Where the call itself is missing, that has been said already.
        if made[call] > 0:
            yield Finding(
                kind=FindingKind.MISSING_RESULT, place=call.tool, expected=text, found=None
            )


def _state(evidence: Evidence) -> Iterator[Finding]:
    if not evidence.records:
        yield Finding(
            kind=FindingKind.DIFFERING_STATE, place="", expected="at least one call", found=None
        )
    if same(evidence.gold.state, evidence.made.state):
        return
    expected: dict[str, Any] = {}
    found: dict[str, Any] = {}
    _gather(evidence.gold.state, evidence.made.state, "", expected, found)
    yield from _differences(FindingKind.DIFFERING_STATE, expected, found, "")


def _gather(
    one: Any, other: Any, pointer: str, expected: dict[str, Any], found: dict[str, Any]
) -> None:
    """Enter the leaves of the parts in which two states differ: most of two states is the same."""
    if not (isinstance(one, dict) and isinstance(other, dict) and one and other):
        expected.update(leaves(one, pointer))
        found.update(leaves(other, pointer))
        return
    for name in {**one, **other}:
        here = child(pointer, name)
        if name not in other:
            expected.update(leaves(one[name], here))
        elif name not in one:
            found.update(leaves(other[name], here))
        elif not same(one[name], other[name]):
            _gather(one[name], other[name], here, expected, found)


def _differences(kind: FindingKind, expected: Any, found: Any, before: str) -> Iterator[Finding]:
    for name in sorted({*expected, *found}):
        equal = name in expected and name in found and freeze(expected[name]) == freeze(found[name])
        if not equal:
            here, there = (
                _json(side[name]) if name in side else None for side in (expected, found)
            )
            yield Finding(kind=kind, place=f"{before}{name}", expected=here, found=there)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=dict)
