"""The tool that workers serve: plays the episodes of one parcel."""

import os
import platform
from typing import Any

from asyncguard import guarded
from asyncguard_benchmark.harness.campaign import Cell, Played, play
from asyncguard_benchmark.harness.fanout.messages import Answer, answer_to_json, cell_from_json
from asyncguard_benchmark.harness.fanout.versions import own_versions


@guarded(effect="pure")
def play_episodes(
    versions: dict[str, str], cells: list[dict[str, Any]], keep_messages: bool
) -> str:
    """Play episodes of the benchmark.

    Args:
        versions: Versions of the runner; a worker that has anything else plays nothing.
        cells: The episodes.
        keep_messages: True if they keep their conversations.

    Returns:
        The answer, as JSON.
    """
    worker = f"{platform.node()}, process {os.getpid()}"
    if versions != own_versions():
        return answer_to_json(Answer(versions=own_versions(), worker=worker))
    played, error = _played([cell_from_json(each) for each in cells], keep_messages=keep_messages)
    return answer_to_json(
        Answer(versions=own_versions(), worker=worker, played=played, error=error)
    )


def _played(cells: list[Cell], *, keep_messages: bool) -> tuple[list[Played], Exception | None]:
    """Return the episodes that were played before one of them ended in an error: the runner ends there, too."""
    played: list[Played] = []
    try:
        for cell in cells:
            played.append(play(cell, keep_messages=keep_messages))  # noqa: PERF401 - what was played before an error is kept
    except Exception as error:  # noqa: BLE001 - it is raised where the runner is
        return played, error
    return played, None
