"""Checkpoints as LangGraph's savers keep them: listed, read, and put once more as the latest.

A saver is asked by the side that LangGraph asks it by: its connection belongs to the loop that used it first, too.
"""

import asyncio
from collections.abc import AsyncIterable, Iterable, Iterator
from typing import Any
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from asyncguard.runtime.portal import sync_entry

COPY_OF = "asyncguard_copy_of"
"""In the metadata of the copies of :func:`put_last`, which nobody made to go back in time: id of what was copied."""
_CHANNEL = "asyncguard"


def id_of(found: CheckpointTuple) -> str:
    """Id of a checkpoint; ids rise with time."""
    return str(found.config["configurable"]["checkpoint_id"])


def parent_of(found: CheckpointTuple) -> str | None:
    """Id of the checkpoint that one followed on, ``None`` if it is the first."""
    return (
        None
        if found.parent_config is None
        else str(found.parent_config["configurable"]["checkpoint_id"])
    )


def fencing_token_of(found: CheckpointTuple) -> int:
    """Number of the process that had the thread when a checkpoint was stored, 0 if it does not tell."""
    identity = found.checkpoint["channel_values"].get(_CHANNEL)
    return int(identity.get("number", 0)) if isinstance(identity, dict) else 0


def inputs_of(newest: Iterable[CheckpointTuple]) -> set[str | None]:
    """Return the ids of those checkpoints that LangGraph has put for the input of a run."""
    return {id_of(found) for found in newest if found.metadata.get("source") == "input"}


def of_thread(config: RunnableConfig) -> RunnableConfig:
    """Name the thread of a node's run, and its namespace.

    Args:
        config: Of the node.
    """
    configurable = config["configurable"]
    namespace = "|".join(str(configurable.get("checkpoint_ns") or "").split("|")[:-1])
    return RunnableConfig(
        configurable={"thread_id": configurable.get("thread_id"), "checkpoint_ns": namespace}
    )


async def listed(saver: Any, thread: RunnableConfig, limit: int) -> list[CheckpointTuple]:
    """Return the latest checkpoints, the latest first.

    Args:
        saver: The checkpointer.
        thread: Names the thread, and the namespace if only that is meant.
        limit: How many.
    """
    found: list[CheckpointTuple] = await _ask(saver, "list", thread, limit=limit)
    return found


async def stored(saver: Any, place: RunnableConfig) -> CheckpointTuple | None:
    """Return a stored checkpoint, ``None`` if it is not there.

    Args:
        saver: The checkpointer.
        place: Names the checkpoint.
    """
    found: CheckpointTuple | None = await _ask(saver, "get_tuple", place)
    return found


async def put_last(
    saver: Any, found: CheckpointTuple, *, above: CheckpointTuple, number: int = 0
) -> None:
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
    await _ask(saver, "put", parent, again, metadata, fresh)


async def _ask(saver: Any, method: str, *arguments: Any, **options: Any) -> Any:
    """Ask a saver by the async twin of a method; by the method itself, in a thread, where it has no twin of its own.

    Under sync entry the thread that entered asks. What is listed is read to its end by the side that asked.
    """
    entry, twin = sync_entry(), f"a{method}"
    if entry is None and getattr(type(saver), twin) is not getattr(BaseCheckpointSaver, twin):
        try:
            answer = getattr(saver, twin)(*arguments, **options)
            return (
                [each async for each in answer]
                if isinstance(answer, AsyncIterable)
                else await answer
            )
        except (
            NotImplementedError
        ):  # the sync SQLite saver has the twin and refuses to be asked by it
            pass

    def ask() -> Any:
        answer = getattr(saver, method)(*arguments, **options)
        return list(answer) if isinstance(answer, Iterator) else answer

    return await (asyncio.to_thread(ask) if entry is None else entry.call(ask))


def _without_id(config: RunnableConfig) -> RunnableConfig:
    kept = {
        name: value for name, value in config["configurable"].items() if name != "checkpoint_id"
    }
    return RunnableConfig(configurable=kept)
