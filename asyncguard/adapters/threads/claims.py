"""Claim of a thread by one run at a time within this process, for any checkpointer.

Runs of several processes are kept apart by the journal's lease, not here.

LangGraph has read the thread and stored the input of a run before it calls the first node. A
refused run therefore restores the head that the thread had before the input. A run that begins at
an input which no node has read yet lets the run of that input go first.
"""

import asyncio

from langchain_core.runnables import RunnableConfig

from asyncguard.adapters.langgraph_internals import saver_of, store_nothing
from asyncguard.adapters.threads.active_runs import THREADS, Other
from asyncguard.adapters.threads.checkpoint_fence import undo_refused_input
from asyncguard.adapters.threads.checkpoints import id_of, inputs_of, listed, of_thread, parent_of
from asyncguard.adapters.threads.runnable_config import thread_of
from asyncguard.errors import CallerError, ThreadBusyError
from asyncguard.journal.port import Journal
from asyncguard.runtime.clock import Backoff

_RECENT = 8
"""Number of checkpoints to list; those that two runs put at the same time are among them."""
# Polls are counted, not seconds: while the whole process stands still (a garbage collection, a
# suspended machine), the other run cannot move either.
_LOOKS_FOR_THE_END = 200
"""Polls, a millisecond apart, within which a cancelled or ending run has left its thread."""
_LOOKS_FOR_FIRST_NODE = 1000
"""Polls, a millisecond apart, within which a run that has put its input reaches its first node."""
_PATIENCE = 2.0
"""Seconds within which the last step of a run is stored, if it is stored at all."""
_FIRST_LOOK, _LONGEST_LOOK = 0.001, 0.05


async def claim_thread(
    config: RunnableConfig, journal: Journal | None, *, begins: bool = False
) -> None:
    """Claim the thread for a run, unless another run of this process stands in the way.

    LangGraph has stored the input of a run before its first node; that of a refused run is undone.

    Args:
        config: Of the node that is run.
        journal: Of the agent; runs with different journals do not exclude each other.
        begins: True if the node is the one that reads the run's input.

    Raises:
        CallerError: Another run is active on the thread.
        ThreadBusyError: Another run has continued the thread since this one read its state.
    """
    if (
        begins
        and (base := THREADS.began_at(config, journal)) is not None
        and await _untaken(config, base)
    ):
        # That run goes first; the wait has a limit, as it may be dead.
        for _ in range(_LOOKS_FOR_FIRST_NODE):
            if THREADS.refuses(config, journal):
                break
            await asyncio.sleep(_FIRST_LOOK)
    other = await _in_the_way(config, journal)
    if other is None:
        return
    # Refused: neither the stored input nor a checkpoint at the end of the run may stay.
    await undo_refused_input(config, begins=begins)
    store_nothing(config)
    if other.under_way:
        raise CallerError(
            f"Another run of thread {thread_of(config)!r} is under way in this process; "
            "wait for it, or cancel it first."
        )
    raise ThreadBusyError(
        f"Another run has continued thread {thread_of(config)!r} since this one read its state; "
        "run it again."
    )


async def _in_the_way(config: RunnableConfig, journal: Journal | None) -> Other | None:
    """Return the run that has the thread, or had it while the run in question read its state."""
    other = THREADS.take(config, journal)
    # Polled, as the other run may end on another event loop or OS thread.
    for _ in range(_LOOKS_FOR_THE_END):
        if other is None or not other.under_way:
            break
        await asyncio.sleep(_FIRST_LOOK)
        other = THREADS.take(config, journal)
    if other is None:
        return None
    saver, thread = saver_of(config), of_thread(config)
    backoff = Backoff(first=_FIRST_LOOK, longest=_LONGEST_LOOK, patience=_PATIENCE)
    while True:
        done = other.stored  # read before the list, so that a missing checkpoint is final
        if any(id_of(found) == other.checkpoint for found in await listed(saver, thread, _RECENT)):
            return other
        if done or backoff.over:
            break
        await backoff.pause()
    if other.under_way:
        return other
    # It left nothing: the thread was deleted, or its last step was never stored.
    THREADS.forget(other)
    return THREADS.take(config, journal)


async def _untaken(config: RunnableConfig, checkpoint: str) -> bool:
    """Return True if a checkpoint holds an input that no node has read yet."""
    newest = await listed(saver_of(config), of_thread(config), _RECENT)
    inputs = inputs_of(newest)
    # LangGraph puts an input as one checkpoint and its own first step after it as a second one.
    return any(
        id_of(found) == checkpoint and not {checkpoint, parent_of(found)}.isdisjoint(inputs)
        for found in newest
    )
