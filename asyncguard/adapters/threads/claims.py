"""One run at a time on a thread of this process, whatever keeps the checkpoints; processes are told apart by a journal.

LangGraph has read the thread and stored the input of a run before its first node is asked. So a run that is refused
puts back what was the head before it, and one that begins at an input which no node has taken in lets that one's run
go first.
"""

import asyncio

from langchain_core.runnables import RunnableConfig

from asyncguard.adapters.threads.active_runs import SAVER, THREADS, Other, store_nothing
from asyncguard.adapters.threads.checkpoint_fence import undo_refused_input
from asyncguard.adapters.threads.checkpoints import id_of, inputs_of, listed, of_thread, parent_of
from asyncguard.adapters.threads.runnable_config import thread_of
from asyncguard.errors import CallerError, ThreadBusyError
from asyncguard.journal.port import Journal
from asyncguard.runtime.clock import Backoff

_RECENT = 8
"""Checkpoints in which what two runs have put at the same time is found."""
# Looks are counted, not seconds: while the whole process stands still (a garbage collection, a suspended machine), the
# other run cannot move either.
_LOOKS_FOR_THE_END = 200
"""Looks, a millisecond apart, within which a run that was cancelled, or is about to end, has left its thread."""
_LOOKS_FOR_FIRST_NODE = 1000
"""Looks, a millisecond apart, within which a run that has put its input reaches its first node."""
_PATIENCE = 2.0
"""Seconds within which the last step of a run is stored, if it is stored at all."""
_FIRST_LOOK, _LONGEST_LOOK = 0.001, 0.05


async def claim_thread(
    config: RunnableConfig, journal: Journal | None, *, begins: bool = False
) -> None:
    """Begin a run on its thread, or go on with it, unless another run of this process is in the way.

    LangGraph has stored the input of a run before its first node is asked; of one that is refused nothing stays.

    Args:
        config: Of the node that is run.
        journal: Of the agent; runs of two journals are told apart by these.
        begins: Whether the node is the one that takes the input of a run in.

    Raises:
        CallerError: Another run is at work on the thread.
        ThreadBusyError: Another run has carried the thread on since this one read its state.
    """
    if (
        begins
        and (base := THREADS.began_at(config, journal)) is not None
        and await _untaken(config, base)
    ):
        await _let_begin(config, journal)
    other = await _in_the_way(config, journal)
    if other is None:
        return
    await undo_refused_input(config, begins=begins)
    store_nothing(config)
    if other.under_way:
        raise CallerError(
            f"Another run of thread {thread_of(config)!r} is under way in this process; "
            "wait for it, or cancel it first."
        )
    raise ThreadBusyError(
        f"Another run has carried thread {thread_of(config)!r} on since this one read its state; run it again."
    )


async def _let_begin(config: RunnableConfig, journal: Journal | None) -> None:
    """Let the run whose input is the head of a thread go first; it may have died, too."""
    for _ in range(_LOOKS_FOR_FIRST_NODE):
        if THREADS.refuses(config, journal):
            return
        await asyncio.sleep(_FIRST_LOOK)


async def _in_the_way(config: RunnableConfig, journal: Journal | None) -> Other | None:
    """The run that has the thread of another one, or had it while that one read what it was."""
    other = THREADS.take(config, journal)
    for _ in range(_LOOKS_FOR_THE_END):  # LangGraph ends it, and there is no event of that
        if other is None or not other.under_way:
            break
        await asyncio.sleep(_FIRST_LOOK)
        other = THREADS.take(config, journal)
    if other is None or await _arrived(config, other) or other.under_way:
        return other
    THREADS.forget(other)
    return THREADS.take(config, journal)


async def _untaken(config: RunnableConfig, checkpoint: str) -> bool:
    """Whether a checkpoint holds an input that no node has taken in."""
    newest = await listed(config["configurable"][SAVER], of_thread(config), _RECENT)
    inputs = inputs_of(newest)
    return any(
        id_of(found) == checkpoint and not {checkpoint, parent_of(found)}.isdisjoint(inputs)
        for found in newest
    )


async def _arrived(config: RunnableConfig, other: Other) -> bool:
    """Whether the latest checkpoint of a run is in the store, as soon as that can be told."""
    saver, thread = config["configurable"][SAVER], of_thread(config)
    backoff = Backoff(first=_FIRST_LOOK, longest=_LONGEST_LOOK, patience=_PATIENCE)
    while True:
        done = other.stored
        if any(id_of(found) == other.checkpoint for found in await listed(saver, thread, _RECENT)):
            return True
        if done or backoff.over:
            return False
        await backoff.pause()
