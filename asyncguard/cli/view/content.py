"""Reading a file of either kind."""

import json
from pathlib import Path

from asyncguard.cli.view.episodes import content_of_episodes, is_episode_line
from asyncguard.cli.view.story import Content, ViewError
from asyncguard.cli.view.traces import content_of_trace
from asyncguard.observability.trace import read_lines, trace_of


def read_content(path: Path, *, thread: str | None = None, growing: bool = False) -> Content:
    """Read a trace, or a file of episodes; its first line says which.

    Args:
        path: The file.
        thread: Id of a thread, the caller's or asyncguard's; its runs alone are read.
        growing: True if a program writes the file: it may be empty, and its last line unfinished.

    Raises:
        CallerError: The trace has no such thread.
        TraceError: A trace is damaged.
        ViewError: The file cannot be read, or its episodes are damaged.
    """
    try:
        lines = read_lines(path)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ViewError(f"{path} cannot be read: {reason}.") from error
    first = next((line for line in lines if line.strip()), b"")
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict) and is_episode_line(value):
        if thread is not None:
            raise ViewError(f"{path} holds episodes, which have no threads; choose by --only.")
        return content_of_episodes(path, lines, growing=growing)
    return content_of_trace(trace_of(path, lines, growing=growing).select(thread=thread))
