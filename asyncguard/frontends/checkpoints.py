"""Checkpoints as LangGraph's savers keep them: listed, read, and put once more as the latest."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

COPY_OF = "asyncguard_copy_of"
"""In the metadata of the copies of :func:`put_last`, which nobody made to go back in time: id of what was copied."""
_CHANNEL = "asyncguard"


def id_of(found: CheckpointTuple) -> str:
    """Id of a checkpoint; ids rise with time."""
    return str(found.config["configurable"]["checkpoint_id"])


def parent_of(found: CheckpointTuple) -> str | None:
    """Id of the checkpoint that one followed on, ``None`` if it is the first."""
    return None if found.parent_config is None else str(found.parent_config["configurable"]["checkpoint_id"])


def number_of(found: CheckpointTuple) -> int:
    """Number of the process that had the thread when a checkpoint was stored, 0 if it does not tell."""
    identity = found.checkpoint["channel_values"].get(_CHANNEL)
    return int(identity.get("number", 0)) if isinstance(identity, dict) else 0


async def listed(saver: Any, of_thread: RunnableConfig, limit: int) -> AsyncIterator[CheckpointTuple]:
    """The latest checkpoints, the latest first, by the saver's async entry if it has one of its own.

    Args:
        saver: The checkpointer.
        of_thread: Names the thread, and the namespace if only that is meant.
        limit: How many.
    """
    if type(saver).alist is not BaseCheckpointSaver.alist:
        try:
            async for found in saver.alist(of_thread, limit=limit):
                yield found
        except NotImplementedError:  # the sync SQLite saver has the entry and refuses to be asked by it
            pass
        else:
            return
    for found in await asyncio.to_thread(lambda: list(saver.list(of_thread, limit=limit))):
        yield found


async def put_last(saver: Any, found: CheckpointTuple, *, above: CheckpointTuple, number: int = 0) -> None:
    """Store a checkpoint once more, as the latest of its thread, beside the one that it is a copy of.

    Its id follows on that of the latest, so that no clock decides, and what somebody stores meanwhile is behind it.

    Args:
        saver: The checkpointer.
        found: What is copied.
        above: The latest checkpoint of the thread.
        number: What the copy tells as its number, if its state tells one.
    """
    checkpoint = found.checkpoint
    values, versions = checkpoint["channel_values"], checkpoint["channel_versions"]
    fresh: dict[str, Any] = {}
    if number and isinstance(identity := values.get(_CHANNEL), dict):
        fresh = {_CHANNEL: saver.get_next_version(versions.get(_CHANNEL), None)}
        values = {**values, _CHANNEL: {**identity, "number": number}}
    again = checkpoint.copy()
    again["id"] = str(UUID(int=UUID(id_of(above)).int + 1))
    again["channel_values"], again["channel_versions"] = values, {**versions, **fresh}
    metadata: Any = {**found.metadata, "source": "fork", COPY_OF: id_of(found)}
    # The parent is the copied one's: what is still written at that one belongs to whoever goes on from there.
    parent = found.parent_config or _without_id(found.config)
    if type(saver).aput is not BaseCheckpointSaver.aput:
        try:
            await saver.aput(parent, again, metadata, fresh)
        except NotImplementedError:
            pass
        else:
            return
    await asyncio.to_thread(saver.put, parent, again, metadata, fresh)


def _without_id(config: RunnableConfig) -> RunnableConfig:
    kept = {name: value for name, value in config["configurable"].items() if name != "checkpoint_id"}
    return RunnableConfig(configurable=kept)
