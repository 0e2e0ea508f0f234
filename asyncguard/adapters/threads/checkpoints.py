"""Access to the checkpoints of LangGraph's savers: list, read, and re-append as the newest.

A saver is called from the side (sync or async) that LangGraph calls it from, because its connection
belongs to the event loop that used it first.
"""

import asyncio
from collections.abc import AsyncIterable, Iterator
from typing import Any
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from asyncguard.runtime.portal import sync_entry

COPY_OF = "asyncguard_copy_of"
"""Metadata key of the copies of :func:`put_last`: id of the original, also in a copy of a copy.

It distinguishes such a copy from a fork that the caller made to go back in time.
"""
_CHANNEL = "asyncguard"
_STEPS = 2**46
"""Range of the distance of a copy's id from that of the newest checkpoint: the random part of an id
has 48 bits. The original's time repeats in it after five days."""


def id_of(found: CheckpointTuple) -> str:
    """Return the id of a checkpoint; ids rise with time."""
    return str(found.config["configurable"]["checkpoint_id"])


def parent_of(found: CheckpointTuple) -> str | None:
    """Return the id of a checkpoint's parent, ``None`` for the first of a thread."""
    return (
        None
        if found.parent_config is None
        else str(found.parent_config["configurable"]["checkpoint_id"])
    )


def fencing_token_of(found: CheckpointTuple) -> int:
    """Return the fencing token in a checkpoint's state, 0 if it holds none."""
    identity = found.checkpoint["channel_values"].get(_CHANNEL)
    return int(identity.get("number", 0)) if isinstance(identity, dict) else 0


def original_of(found: CheckpointTuple) -> str:
    """Return the id of the checkpoint that this one is a copy of, its own if it is none."""
    return str(found.metadata.get(COPY_OF) or id_of(found))


def of_thread(config: RunnableConfig) -> RunnableConfig:
    """Return the configuration that names the thread of a node's run, and its namespace.

    Args:
        config: Of the node.
    """
    configurable = config["configurable"]
    namespace = "|".join(str(configurable.get("checkpoint_ns") or "").split("|")[:-1])
    return RunnableConfig(
        configurable={"thread_id": configurable.get("thread_id"), "checkpoint_ns": namespace}
    )


async def listed(
    saver: Any, thread: RunnableConfig, limit: int, **options: Any
) -> list[CheckpointTuple]:
    """Return the newest checkpoints, the newest first.

    Args:
        saver: The checkpointer.
        thread: Names the thread, and the namespace if only that one is meant.
        limit: Greatest number of checkpoints.
        **options: ``filter``, what their metadata holds.
    """
    found: list[CheckpointTuple] = await _ask(saver, "list", thread, limit=limit, **options)
    return found


async def stored(saver: Any, place: RunnableConfig) -> CheckpointTuple | None:
    """Return a stored checkpoint, ``None`` if it is not there.

    Args:
        saver: The checkpointer.
        place: Names the checkpoint.
    """
    found: CheckpointTuple | None = await _ask(saver, "get_tuple", place)
    return found


async def put_writes(saver: Any, place: RunnableConfig, *writes: Any) -> None:
    """Store writes at a checkpoint.

    Args:
        saver: The checkpointer.
        place: Names the checkpoint.
        *writes: The writes, and the id of their task.
    """
    await _ask(saver, "put_writes", place, *writes)


async def put_last(
    saver: Any, found: CheckpointTuple, *, above: CheckpointTuple, number: int = 0
) -> str:
    """Store a copy of a checkpoint as the newest of its thread; return the id of the copy.

    Its id follows the newest one, so the order does not depend on a clock, and what another process
    writes at the same time sorts after it. Of two copies that are put above one checkpoint at the
    same time, that of the newer original sorts last, and neither overwrites the other.

    Args:
        saver: The checkpointer.
        found: The checkpoint to copy.
        above: The newest checkpoint of the thread.
        number: Fencing token for the copy's state, if that state holds one; 0 keeps the old one.
    """
    checkpoint = found.checkpoint
    values, versions = checkpoint["channel_values"], checkpoint["channel_versions"]
    fresh: dict[str, Any] = {}
    if number and isinstance(identity := values.get(_CHANNEL), dict):
        # A new version, as savers store only the channels whose version has changed.
        fresh = {_CHANNEL: saver.get_next_version(versions.get(_CHANNEL), None)}
        values = {**values, _CHANNEL: {**identity, "number": number}}
    copy = checkpoint.copy()
    made = (UUID(original_of(found)).int >> 64) % _STEPS
    copy["id"] = str(UUID(int=UUID(id_of(above)).int + 1 + made))
    copy["channel_values"], copy["channel_versions"] = values, {**versions, **fresh}
    metadata: Any = {**found.metadata, "source": "fork", COPY_OF: original_of(found)}
    # The parent is that of the original: a delta channel is read by folding the writes along the
    # line of parents, and the writes at the original are those of the step after it.
    parent = found.parent_config
    if parent is None:  # the first of its thread: the thread is named, but no checkpoint
        named = dict(found.config["configurable"])
        del named["checkpoint_id"]
        parent = RunnableConfig(configurable=named)
    await _ask(saver, "put", parent, copy, metadata, fresh)
    return str(copy["id"])


async def _ask(saver: Any, method: str, *arguments: Any, **options: Any) -> Any:
    """Call a method of a saver: its async twin, or the method itself on an OS thread.

    Under sync entry the OS thread that entered makes the call. A listing is read to its end by the
    side that asked for it.
    """
    entry, twin = sync_entry(), f"a{method}"
    # The base class defines the twin as an error, so only an override counts.
    if entry is None and getattr(type(saver), twin) is not getattr(BaseCheckpointSaver, twin):
        try:
            answer = getattr(saver, twin)(*arguments, **options)
            return (
                [each async for each in answer]
                if isinstance(answer, AsyncIterable)
                else await answer
            )
        except NotImplementedError:
            pass  # the sync SQLite saver defines the twin, but raises from it

    def ask() -> Any:
        answer = getattr(saver, method)(*arguments, **options)
        # Read to its end here, as the cursor of a database belongs to this OS thread.
        return list(answer) if isinstance(answer, Iterator) else answer

    return await (asyncio.to_thread(ask) if entry is None else entry.call(ask))
