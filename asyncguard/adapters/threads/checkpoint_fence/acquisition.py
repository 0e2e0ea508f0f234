"""Acquisition of a thread by a run that began at its true head, and release when the run ends."""

from collections.abc import Awaitable, Callable

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from asyncguard.adapters.langgraph_internals.run import run_of
from asyncguard.adapters.langgraph_internals.run_checkpoints import newest_of
from asyncguard.adapters.langgraph_internals.run_end import before_over, when_over
from asyncguard.adapters.threads.active_runs import THREADS
from asyncguard.adapters.threads.checkpoint_fence.heads import (
    append_again,
    fork_for_takeover,
    promote_owner_head,
)
from asyncguard.adapters.threads.checkpoint_fence.place import Place, place_of, stands_on
from asyncguard.adapters.threads.checkpoint_fence.refused_runs import (
    TAKEN_UP,
    is_taken_up,
    undo_refused_input,
)
from asyncguard.adapters.threads.checkpoints import id_of
from asyncguard.adapters.threads.lineage import changed_by_caller, same
from asyncguard.adapters.threads.run_lock import continued
from asyncguard.adapters.threads.runnable_config import thread_of
from asyncguard.errors import CallerError, ThreadBusyError
from asyncguard.journal.port import LeaseGrant
from asyncguard.runtime.dispatcher import inside_a_call
from asyncguard.runtime.session.lease import Lease


async def acquire_thread(
    lease: Lease,
    config: RunnableConfig,
    *,
    known: int,
    begins: bool = False,
    again: bool = False,
    then: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Acquire a thread, unless the run began at another checkpoint than the thread's true head.

    Args:
        lease: Of the thread.
        config: Of the node that is run.
        known: Fencing token in the state that the run has read.
        begins: True if the node is the one that reads the run's input.
        again: True to ask the journal even if the lease is held: the ledger was folded again.
        then: Called once the thread is acquired; the other calls of a message, which start
            together, wait for its end.

    Raises:
        CallerError: The run was to answer a question that was answered before.
        ThreadBusyError: Another process holds the thread, or another run has continued it; or the
            lease was stolen from a process that may still be alive, and the run has to begin at the
            copy.
        JournalError: The journal cannot be read or written.
    """
    if not lease.wanted(again=again):  # in each node but the first
        if lease.acquired and not begins:
            lease.stand_on(stands_on(config))
        return
    async with lease.acquisition(again=again) as wanted:
        if wanted:
            await _acquire(lease, config, known=known, begins=begins, again=again)
            if then is not None:
                await then()


async def _acquire(
    lease: Lease, config: RunnableConfig, *, known: int, begins: bool, again: bool
) -> None:
    place = place_of(config, begins=begins)
    own = "" if place is None else place.own
    try:
        grant = await lease.acquire(thread_of(config), known=known, stands_on=own, again=again)
    except ThreadBusyError as error:
        if await undo_refused_input(config, begins=begins):
            raise ThreadBusyError(f"{error} {TAKEN_UP}") from error
        raise
    # A run that fails in its first node leaves the thread where it was.
    left = own if place is None or not begins else place.base
    if grant is None or place is None or not grant.previous_token:
        lease.stand_on(left)
        return
    try:
        await _check_head(place, lease, grant, known=known, left=left)
        lease.share_step(own if place.resumed and grant.acquired_on else "")
    except BaseException:
        # Refused or failed: the next run must not find the thread held by a run that never began.
        THREADS.refused(config)
        lease.release()
        await lease.written()
        raise


async def _check_head(
    place: Place, lease: Lease, grant: LeaseGrant, *, known: int, left: str
) -> None:
    """Refuse a run that began at another checkpoint than the thread's true head.

    Args:
        place: Position of the run.
        lease: Of the thread.
        grant: The journal's answer.
        known: Fencing token in the state that the run has read.
        left: Checkpoint on which the run leaves the thread if no head is known.

    Raises:
        CallerError: It was given that checkpoint by the caller, and others follow it.
        ThreadBusyError: It did, or has to begin at the copy.
    """
    line = place.lineage
    await line.read()
    head = await _true_head(place, grant)
    base = line.at(place.base) if await line.reach(place.base) else None
    if head is None:
        stale = known < grant.previous_token and await promote_owner_head(place, known)
    else:
        lease.stand_on(id_of(head))
        if stale := not await _continues(place, base, head):
            await append_again(place, head)
    if stale and place.named and base is not None and line.is_followed(base):
        raise CallerError(
            f"Thread {place.thread!r} has gone on after checkpoint {place.base}, so a question "
            "that was open there was answered or withdrawn before; leave checkpoint_id out to "
            "continue the thread where it is now, or invoke the agent with None at that checkpoint "
            "to begin a new branch there."
        )
    if stale and place.begins and await is_taken_up(place):
        raise ThreadBusyError(f"Another run has continued thread {place.thread!r}. {TAKEN_UP}")
    if stale:
        raise ThreadBusyError(continued(place.thread, "read its state"))
    if place.resumed or head is None:
        lease.stand_on(place.own if place.resumed else left)
    # An agent that runs inside a tool cannot be repeated in place: if it is refused, the tool
    # starts it from its beginning under another thread name.
    if (
        grant.stolen
        and not inside_a_call()
        and (copy := await fork_for_takeover(place, base, grant.fencing_token))
    ):
        lease.stand_on(copy)
        raise ThreadBusyError(
            f"The process that held thread {place.thread!r} stopped renewing its lease and may "
            "still be alive: the thread was taken over; run it again."
        )


async def _true_head(place: Place, grant: LeaseGrant) -> CheckpointTuple | None:
    """Return the last step of the runs that have held the thread, ``None`` if it is not known."""
    line = place.lineage
    # A run that was killed before it released the thread; without a step it never ended its first
    # node, and may have begun at a stale head itself.
    if await line.reach(grant.acquired_on):
        began = line.at(grant.acquired_on)
        if began is not None and line.steps_after(began):
            return line.end_of(began)
    if not await line.reach(grant.released_on):
        return None
    if grant.ends:  # its last step may still be on its way to the store
        await place.until(
            lambda: (at := line.at(grant.released_on)) is None or bool(line.steps_after(at))
        )
    released = line.at(grant.released_on)
    return None if released is None else line.end_of(released)


async def _continues(place: Place, base: CheckpointTuple | None, head: CheckpointTuple) -> bool:
    """Return True if a run that began at one checkpoint continues the thread's true head.

    Also if nothing shows that it does not, as where checkpoints were deleted, and if the caller has
    changed the state since, or gone back in time.
    """
    if base is None:
        return bool(place.base)  # else it has begun the thread, as another run did
    if same(base, head):
        return True
    line = place.lineage
    if not place.resumed and await line.is_unread_input(base) and await place.put_by_others(base):
        return False  # that input was refused, or its run has read it: there is a checkpoint more
    parted = await line.since_parting(base, head)
    if parted is None:
        return True
    since, missed = parted
    return bool(since and not missed) or changed_by_caller(since)


def release_when_over(
    lease: Lease, config: RunnableConfig, *, calls_run: Callable[[], bool]
) -> None:
    """Have a thread released when its run ends outside of our nodes, if none of its calls runs.

    So ends a run that stops between nodes, for a question of other middleware, a breakpoint or the
    recursion limit, or that another node fails.

    Args:
        lease: Of the thread; nothing is done unless it is held.
        config: Of the node that is run.
        calls_run: Returns True while this process runs a call of the thread.
    """
    if not lease.acquired:
        return
    run = run_of(config)
    if run is None or lease.watched == id(run):
        return
    # The number and not the run, which the lease would keep alive; it is forgotten at the end.
    lease.watch(id(run))
    before_over(run, lease.written)

    def ended() -> None:
        lease.watch(0)
        if lease.acquired and not calls_run():
            lease.release(ends=newest_of(run) != lease.stands_on)

    when_over(run, ended)
