"""Claim of a thread by one run at a time within this process, for any checkpointer.

Runs of several processes are kept apart by the journal's lease, not here.

LangGraph has read the thread and stored the input of a run before it calls the first node. A
refused run therefore restores the head that the thread had before the input. A run that begins at
an input which no node has read yet lets the run of that input go first.
"""

import asyncio

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from asyncguard.adapters.langgraph_internals.keys import saver_of
from asyncguard.adapters.langgraph_internals.run import run_of
from asyncguard.adapters.langgraph_internals.run_checkpoints import follow_clock, store_nothing
from asyncguard.adapters.threads.active_runs import THREADS, Other
from asyncguard.adapters.threads.checkpoint_fence.refused_runs import TAKEN_UP, undo_refused_input
from asyncguard.adapters.threads.checkpoints import (
    COPY_OF,
    fencing_token_of,
    id_of,
    of_thread,
    original_of,
    stored,
)
from asyncguard.adapters.threads.lineage import Lineage
from asyncguard.adapters.threads.run_lock import continued, under_way
from asyncguard.adapters.threads.runnable_config import namespace_of, thread_of
from asyncguard.errors import CallerError, ThreadBusyError
from asyncguard.journal.port import Journal
from asyncguard.runtime.clock import Backoff

# Polls are counted, not seconds: while the whole process stands still (a garbage collection, a
# suspended machine), the other run cannot move either.
_LOOKS_FOR_THE_END = 200
"""Polls, a millisecond apart, within which a run that was cancelled has begun to end."""
_LOOKS_AT_THE_END = 2000
"""Polls within which a run that is ending has stored its last step, and left its thread."""
_LOOKS_FOR_FIRST_NODE = 1000
"""Polls, a millisecond apart, within which a run that has put its input reaches its first node."""
_LOOKS_PER_READ = 10
"""Polls of this process for each listing of the thread's checkpoints."""
_PATIENCE = 2.0
"""Seconds within which the last step of a run is stored, if it is stored at all."""
_FIRST_LOOK, _LONGEST_LOOK = 0.001, 0.05
_FIRST_ID = "0"
"""Sorts before each id: what a run began at that has begun its thread."""


async def claim_thread(
    config: RunnableConfig, journal: Journal | None, *, begins: bool = False
) -> None:
    """Claim the thread for a run, unless another run of this process stands in the way.

    LangGraph has stored the input of a run before its first node; that of a refused run is undone.

    Args:
        config: Of the node that is run.
        journal: Of the agent; see :func:`~active_runs.party_of`.
        begins: True if the node is the one that reads the run's input.

    Raises:
        CallerError: Another run is active on the thread.
        ThreadBusyError: Another run has continued the thread since this one read its state.
    """
    if (run := run_of(config)) is not None:
        follow_clock(run)
    other = await _in_the_way(config, journal, begins=begins)
    if other is None:
        return
    # Refused: neither the stored input nor a checkpoint at the end of the run may stay.
    taken_up = await undo_refused_input(
        config, begins=begins, other=other.checkpoint, over=not other.under_way
    )
    store_nothing(config)
    if taken_up:
        kind = CallerError if other.under_way else ThreadBusyError
        raise kind(f"Another run has continued thread {thread_of(config)!r}. {TAKEN_UP}")
    if other.under_way:
        raise CallerError(under_way(thread_of(config)) + _if_sent(config))
    raise ThreadBusyError(continued(thread_of(config), "read its state") + _if_sent(config))


def _if_sent(config: RunnableConfig) -> str:
    """Return what to do if tasks of a graph run an agent with a thread of its own side by side."""
    if not (agent := namespace_of(config)):
        return ""
    return (
        f" If several tasks of a graph run the agent {agent!r} at once (Send), they share its "
        "thread, and only the input of one is worked on, also when it is run again: build the "
        "agent without checkpointer=True, or let one task run it at a time."
    )


async def _in_the_way(
    config: RunnableConfig, journal: Journal | None, *, begins: bool
) -> Other | None:
    """Return the run that has the thread, or had it while the run in question read its state."""
    began = await _began(config, journal, begins=begins)
    other = _taken(config, journal, began)
    # Polled, as the other run may end on another event loop or OS thread.
    looks = 0
    while other is not None and other.under_way:
        over = looks >= (_LOOKS_AT_THE_END if other.ending else _LOOKS_FOR_THE_END)
        first = looks == _LOOKS_FOR_THE_END
        if over and not (first and await THREADS.end_abandoned(config, journal)):
            break
        await asyncio.sleep(_FIRST_LOOK)
        looks += 1
        if begins and not THREADS.refuses(config, journal):
            # While the other run was under way, the run of an unread input waited here, too.
            began = await _began(config, journal, begins=begins)
        other = _taken(config, journal, began)
    if other is None or began is None:
        return other
    saver = saver_of(config)
    configurable = {**of_thread(config)["configurable"], "checkpoint_id": other.checkpoint}
    place = RunnableConfig(configurable=configurable)
    backoff = Backoff(first=_FIRST_LOOK, longest=_LONGEST_LOOK, patience=_PATIENCE)
    while True:
        done = other.stored  # read before the store, so that a missing checkpoint is final
        # Asked for by its id: inputs of any number of refused runs may be newer.
        if await stored(saver, place) is not None:
            return other
        if done or backoff.over:
            break
        await backoff.pause()
    if other.under_way:
        return other
    # It left nothing: the thread was deleted, or its last step was never stored.
    THREADS.forget(other)
    return THREADS.take(config, journal, began)


def _taken(config: RunnableConfig, journal: Journal | None, began: str | None) -> Other | None:
    if began is None:
        return Other(under_way=False, ending=False, checkpoint="", storing=None)
    return THREADS.take(config, journal, began)


async def _began(config: RunnableConfig, journal: Journal | None, *, begins: bool) -> str | None:
    """Return what a run began at before copies and unread inputs; let the run of such go first.

    Args:
        config: Of the node that is run.
        journal: Of the agent.
        begins: True if the node is the one that reads the run's input.

    Returns:
        Empty if it began at no copy or unread input, or at one of a checkpoint that is not older
        than the end of the last run, or of one that another process has put since; ``None`` if it
        began at an input that was undone.
    """
    base, ended = THREADS.began_at(config, journal)
    if base in ("", ended):
        return ""
    line = Lineage(saver_of(config), of_thread(config))
    await line.read()
    if not await line.reach(base) or (found := line.at(base)) is None:
        return ""
    if begins and await line.is_unread_input(found):
        await _let_go_first(config, journal, line, found)
        await line.read()
        if _undone(line, found):
            return None
    last = line.at(ended) if await line.reach(ended) else None
    # The run of an unread input may have read the thread before its last step, and have gone before
    # its own first node could tell.
    read: CheckpointTuple | None = found
    while read is not None and await line.is_unread_input(read):
        read = await line.before(read)
    if read is found and COPY_OF not in found.metadata:
        return ""
    if THREADS.began_at(config, journal) != (base, ended):  # a run has ended meanwhile
        return await _began(config, journal, begins=begins)
    original = _FIRST_ID if read is None else original_of(read)
    if last is None:
        return original
    # Another process has held the thread since, and the run that ended here has not noticed.
    overtaken = read is not None and fencing_token_of(read) > fencing_token_of(last)
    # A run that was refused has ended at its input, which counts for nothing.
    if overtaken or original >= original_of(last) or await line.is_unread_input(last):
        return ""
    return original


def _undone(line: Lineage, unread: CheckpointTuple) -> bool:
    """Return True if the head before an input was appended again after it.

    Its run was refused, and is made again; or that of a later input was, and this one may wait.
    """
    at = id_of(unread)
    return any(
        COPY_OF in each.metadata and id_of(each) > at > original_of(each) for each in line.newest
    )


async def _let_go_first(
    config: RunnableConfig, journal: Journal | None, line: Lineage, unread: CheckpointTuple
) -> None:
    """Wait until the run of an input reads it, ends, or is refused; it may be dead: not for ever.

    A run of another process is seen by the checkpoint that it puts then.
    """
    for looks in range(1, _LOOKS_FOR_FIRST_NODE + 1):
        _, ended = THREADS.began_at(config, journal)
        if ended == id_of(unread) or THREADS.refuses(config, journal):
            return
        await asyncio.sleep(_FIRST_LOOK)
        if looks % _LOOKS_PER_READ:
            continue
        await line.read()
        if await line.read_since(id_of(unread)):
            return
