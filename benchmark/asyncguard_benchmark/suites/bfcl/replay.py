"""Replay of the ground truth on its own executors: the figures that only running gives."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from asyncguard_benchmark.harness.sandbox import Sandbox
from asyncguard_benchmark.suites.bfcl.judgement import judge
from asyncguard_benchmark.suites.bfcl.projections import Cut, TaskKind, cuts_of
from asyncguard_benchmark.suites.bfcl.reading import Source
from asyncguard_benchmark.suites.bfcl.shown import ERROR
from asyncguard_benchmark.suites.bfcl.worlds import pairs, replayed, world_of


def dynamic_figures(source: Source, sandbox: Sandbox) -> dict[str, Any]:
    """Return the figures of a replay, under the names of `terms.RELEASES`.

    Args:
        source: Entries to replay.
        sandbox: A running worker.

    Raises:
        SandboxError: the worker ended, or was ended for its time or memory.
    """
    found = [replayed(sandbox, entry) for entry in source.entries]
    results = [list(each["results"]) for each in found]
    by_entry = {entry.id: texts for entry, texts in zip(source.entries, results, strict=True)}
    failing = [
        name for name, texts in by_entry.items() if any(text.startswith(ERROR) for text in texts)
    ]
    single = cuts_of(source.entries, (TaskKind.ENTRY, TaskKind.PROJECTION))
    accepted = sum(
        not each["differing"] and _own_truth(sandbox, cuts)
        for each, cuts in zip(found, _of_entries(source), strict=True)
    )
    return {
        "entries replayed": len(results),
        "entries with an error": len(failing),
        "which these are": ", ".join(failing) or "none",
        "entries whose own truth the verdict accepts": accepted,
        "single tasks as in the full replay": sum(
            _as_in_full(sandbox, cut, by_entry[cut.entry.id]) for cut in single
        ),
        "digest": replay_digest(results),
    }


def replay_digest(results: Sequence[Sequence[str]]) -> str:
    """Return the first 12 digits of the SHA-256 of all results, entry by entry in the order of the file."""
    return hashlib.sha256(json.dumps(results).encode()).hexdigest()[:12]


def _of_entries(source: Source) -> list[list[tuple[Mapping[str, Any], list[list[Any]]]]]:
    """Return for each entry the world and the calls of each class that its truth touches."""
    return [
        [
            (
                world_of(entry, name),
                pairs([call for call in entry.calls if call.class_name == name]),
            )
            for name in entry.touched
        ]
        for entry in source.entries
    ]


def _own_truth(sandbox: Sandbox, cuts: Sequence[tuple[Mapping[str, Any], list[list[Any]]]]) -> bool:
    """Return True if the truth, taken for an agent's calls, is found to be right."""
    return all(judge(sandbox, world, calls, calls).accepted for world, calls in cuts)


def _as_in_full(sandbox: Sandbox, cut: Cut, full: Sequence[str]) -> bool:
    """Return True if a single task runs without an error and answers as the same calls do in the whole entry."""
    world, calls = world_of(cut.entry, cut.class_name, cut.setup), pairs(cut.calls)
    texts = list(judge(sandbox, world, calls, []).truth)
    expected = [
        text
        for call, text in zip(cut.entry.calls, full, strict=True)
        if call.class_name == cut.class_name
    ]
    return texts == expected and not any(text.startswith(ERROR) for text in texts)
