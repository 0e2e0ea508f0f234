"""Refused runs: LangGraph has stored their input, or their copy, over the head of the thread."""

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from asyncguard.adapters.langgraph_internals.keys import saver_of
from asyncguard.adapters.langgraph_internals.run import goes_back, namespace_of_run, run_of
from asyncguard.adapters.langgraph_internals.run_checkpoints import base_of, newest_of
from asyncguard.adapters.threads.active_runs import THREADS
from asyncguard.adapters.threads.checkpoint_fence.heads import append_again, has_nested
from asyncguard.adapters.threads.checkpoint_fence.place import Place, place_of
from asyncguard.adapters.threads.checkpoints import COPY_OF, id_of, of_thread
from asyncguard.adapters.threads.lineage import Lineage, is_input, rank

TAKEN_UP = (
    "That run has taken up the input of this one, which must not be given again: when it has "
    "ended, run the thread with None to get its outcome."
)
"""Advice to a run whose input another one has read."""


async def undo_refused_input(
    config: RunnableConfig, *, begins: bool, other: str = "", over: bool = False
) -> bool:
    """Restore the thread's head after a run of this process was refused with its input stored.

    Args:
        config: Of the node that is run.
        begins: True if the node is the one that reads the run's input.
        other: Newest checkpoint of the run in its way, if one of this process is.
        over: True if that run has ended.

    Returns:
        True if another run has read the input, which then stays.
    """
    THREADS.refused(config)
    run = run_of(config)
    if run is not None and goes_back(run) and not namespace_of_run(run):
        await _undo_refused_fork(config, newest_of(run), base_of(run))
    elif (place := place_of(config, begins=begins)) is not None:
        await _undo_refused_input(place, other, over=over)
        return place.begins and await is_taken_up(place)
    return False


async def is_taken_up(place: Place) -> bool:
    """Return True if another run has read the input of this one, as a run without an input may.

    It waits for the run of that input, which may be dead, and not for ever.
    """
    line = place.lineage
    await place.with_own()
    given = line.at(place.own)
    while given is not None and not is_input(given):
        given = await line.before(given)
    if given is None or (place.base and id_of(given) <= place.base):
        return False
    for step in await place.put_by_others(given):
        at: CheckpointTuple | None = step
        while at is not None and id_of(at) > id_of(given) and not is_input(at):
            at = await line.before(at)
        if at is not None and id_of(at) == id_of(given):
            return True
    return False


async def _undo_refused_fork(config: RunnableConfig, own: str, since: str) -> None:
    """Append the head before a refused run that goes back in time again.

    LangGraph has put a copy of the checkpoint that the run was to begin at, which would be the head
    from now on: an answer to the run that goes on would be given to that copy.

    Args:
        config: Of the node that is run.
        own: Newest checkpoint of the run.
        since: Checkpoint that it was to begin at.
    """
    saver, thread = saver_of(config), of_thread(config)
    if saver is None or not since:
        return
    place = Place(
        saver=saver,
        of_thread=thread,
        own=own,
        base=since,
        resumed=True,
        begins=False,
        lineage=Lineage(saver, thread),
    )
    line = place.lineage
    await place.with_own()
    await line.reach(since)
    mine: set[str] = set()
    at = line.at(own)
    while at is not None and id_of(at) > since:
        mine.add(id_of(at))
        at = await line.before(at)
    head = next((found for found in line.newest if id_of(found) not in mine), None)
    if mine and head is not None and id_of(head) < own and not await has_nested(place, head):
        await append_again(place, head)


async def _undo_refused_input(place: Place, other: str, *, over: bool) -> None:
    """Append the head before a refused run's input again; no node has read that input."""
    if not place.begins and not (place.resumed and over):
        return
    line = place.lineage
    await place.with_own()
    base = line.at(place.base) if await line.reach(place.base) else None
    while base is not None and await line.is_unread_input(base):  # that of another run
        base = await line.before(base)
    # The run that goes on may have begun at the same checkpoint, with an input of its own, or have
    # begun the thread.
    steps = await place.put_by_others(base)
    real = [step for step in steps if COPY_OF not in step.metadata]
    # That run's steps count more than what this one has read, which may be a copy that covers them.
    last = line.at(other) if await line.reach(other) else None
    if last is not None and not await line.is_unread_input(last):
        real.append(last)
    elif base is not None:
        real.append(base)
    found = max(real, key=rank, default=None)
    if found is None:
        return
    head = line.end_of(found)
    if id_of(head) < place.own and not await has_nested(place, head):
        await append_again(place, head)
