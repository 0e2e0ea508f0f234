"""The checkpoints that a run has read and put."""

import contextlib
import time
from typing import Any
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import id as ids

from asyncguard.adapters.langgraph_internals.run import Run, namespace_of_run, run_of

_NEWEST_TIME = "_last_v6_timestamp"
_FARTHEST_AHEAD = 30 * 86400.0
"""Seconds by which the clock of another machine may be ahead."""


def base_of(run: Run) -> str:
    """Return the checkpoint that a run has read, empty if the thread had none.

    Why: ``checkpoint_id`` of the configuration is the newest one that the run has put. Without it
    claims fail with an ``AttributeError``, before anything is issued.
    """
    began = run._initial_checkpoint_config["configurable"].get("checkpoint_id")  # noqa: SLF001
    return str(began or "")


def follow_clock(run: Run) -> None:
    """Have the ids of checkpoints rise from the one that a run has read.

    Why: ids begin with the time, savers find the newest checkpoint by them, and the machine that
    put this one may have a clock that is ahead. Without the variable the steps of the run sort
    before it, and count for nothing until a later run appends them again.

    The variable is that of all threads of the process, so a time that no clock shows by mistake, as
    in a forged checkpoint, is not followed.
    """
    base = base_of(run)
    with contextlib.suppress(ValueError):  # a first run has read none
        number = UUID(base).int
        read = number >> 80 << 12 | number >> 64 & 0xFFF
        newest = getattr(ids, _NEWEST_TIME, None) or 0
        if newest < read < _ticks(time.time() + _FARTHEST_AHEAD):
            setattr(ids, _NEWEST_TIME, read)


def _ticks(seconds: float) -> int:
    """Return a time as UUIDs count it: in units of 100 ns, since October 1582."""
    return int(seconds * 1e7) + 0x01B21DD213814000


def newest_of(run: Run) -> str:
    """Return the newest checkpoint that a run has made."""
    return str(run.checkpoint["id"])


def storing(run: Run) -> Any:
    """Return the future of the newest checkpoint that a run has put, ``None`` without one.

    Why: with durability ``async`` nothing else tells when a checkpoint is stored, or that it could
    not be. Without it the saver is asked again and again, and the error is reported as a time-out.
    """
    return getattr(run, "_put_checkpoint_fut", None)


def storing_of(config: RunnableConfig, namespace: str, checkpoint: str) -> Any:
    """Return the future of storing a checkpoint that a node stands on.

    Args:
        config: Of the node.
        namespace: Of the checkpoint; see :data:`CHECKPOINTS`.
        checkpoint: Its id.

    Returns:
        A future of a thread pool or of any event loop; ``None`` if no run around the node has put
        that checkpoint, as after a resume.
    """
    run = run_of(config)
    while run is not None:
        if namespace_of_run(run) == namespace and newest_of(run) == checkpoint:
            return storing(run)
        run = run_of(run.config)  # of the graph around it
    return None


def storing_error(config: RunnableConfig) -> BaseException | None:
    """Return the error that kept a node's checkpoint, or one of a graph around it, from the store.

    A checkpoint waits for the writes that led to it, and fails with them.

    Args:
        config: Of the node.
    """
    run = run_of(config)
    while run is not None:
        stored = storing(run)
        ended = stored is not None and stored.done() and not stored.cancelled()
        if ended and (error := stored.exception()):
            return error  # type: ignore[no-any-return]
        run = run_of(run.config)  # of the graph around it
    return None


def store_nothing(config: RunnableConfig) -> None:
    """Prevent that a refused run stores its state at its end.

    Why: LangGraph stores at the end of any run whose durability is "exit", refused or not.

    Args:
        config: Of its node.
    """
    run = run_of(config)
    if run is not None and run.durability == "exit":
        run.durability = "async"
