"""Fence of a thread's checkpoints: the thread resumes from the newest one of the last lease holder.

LangGraph resumes a thread from the checkpoint with the highest id, no matter which process stored
it; a saver has no compare-and-set. A process that was frozen for longer than its lease stores one
step more when it thaws. That stale step sorts after the steps of the process that took the thread
over, and it joins their writes where both processes began at the same checkpoint.

Three rules prevent that a thread resumes from a stale step:

1. A process that acquires the thread from one that may still be alive (a stolen lease) begins at a
   copy of the checkpoint, which the former holder does not write to (:func:`_fork_for_takeover`).
2. Each state holds the fencing token of the process that stored it (:func:`with_fencing_token`).
3. If a checkpoint with a lower token is newer than one with a higher token, the newest one with the
   higher token is appended again, so that it is the head (:func:`_promote_owner_head`).

The input of a refused run is a stale head, too, as LangGraph stores it before the first node. The
head before it is restored (:func:`_undo_refused_input`, :func:`_restore_head_after_stale_input`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from asyncguard.adapters.langgraph_internals import (
    CHECKPOINTS,
    DURABILITY,
    REPLAYED,
    RESUMED,
    saver_of,
)
from asyncguard.adapters.state import Thread
from asyncguard.adapters.threads.checkpoints import (
    COPY_OF,
    fencing_token_of,
    id_of,
    inputs_of,
    listed,
    of_thread,
    parent_of,
    put_last,
)
from asyncguard.adapters.threads.runnable_config import thread_of
from asyncguard.errors import ThreadBusyError
from asyncguard.journal.port import LeaseGrant
from asyncguard.runtime.clock import Backoff
from asyncguard.runtime.dispatcher import inside_a_call
from asyncguard.runtime.session.lease import Lease

_RECENT = 8
"""Number of checkpoints to list when a run begins.

Those that the run has put before its first node are among them, nodes of other middleware included,
and the head before them.
"""
_LATE = 50
"""Number of checkpoints that a stale run may put between two reads of the journal."""
_PATIENCE = 2.0
"""Seconds within which the last step of a run is stored, if it is stored at all."""
_FIRST_LOOK, _LONGEST_LOOK = 0.001, 0.05


async def acquire_thread(
    lease: Lease, config: RunnableConfig, *, known: int, begins: bool = False, again: bool = False
) -> None:
    """Acquire a thread, unless another process has continued it since the run read its state.

    If a stale run appended checkpoints after the owner's, re-append the owner's newest one so that
    the thread resumes from it.

    Args:
        lease: Of the thread.
        config: Of the node that is run.
        known: Fencing token in the state that the run has read.
        begins: True if the node is the one that reads the run's input.
        again: True to ask the journal even if the lease is held: the ledger was folded again.

    Raises:
        ThreadBusyError: Another process holds the thread, or has continued it; or the lease was
            stolen from a process that may still be alive, and the run has to begin at the copy.
        JournalError: The journal cannot be read or written.
    """
    if not lease.wanted(again=again):  # in each node but the first
        return
    async with lease.acquisition(again=again) as wanted:
        if not wanted:
            return
        place = _place(config, begins=begins)
        # If this process was the last holder, no other one can have continued the thread: the
        # state may be an older checkpoint on purpose.
        ours = not lease.acquired and await lease.journal.holds(lease.thread)
        try:
            grant = await lease.acquire(thread_of(config), known=known, again=again)
        except ThreadBusyError:
            if place is not None:
                await _undo_refused_input(place)
            raise
        if grant is None or place is None:
            return
        try:
            await _repair_head(place, grant, known=known, ours=ours)
        except BaseException:
            # Refused or failed: the next run must not find the thread held by a run that never
            # began.
            lease.release()
            raise


async def _repair_head(place: "_Place", grant: LeaseGrant, *, known: int, ours: bool) -> None:
    """Make the newest checkpoint of the last lease holder the head of the thread.

    Raises:
        ThreadBusyError: The run did not begin there, or has to begin at the copy.
    """
    # Only if the former holder has left something to repair, the run waits for its own checkpoint.
    repairs = grant.stolen or grant.final_checkpoint or known < grant.previous_token
    newest = await (place.with_own(_RECENT) if repairs else place.newest(_RECENT))
    final = grant.final_checkpoint
    base = _base(place, newest) if final else None
    if base is not None and final in (id_of(base), base.metadata.get(COPY_OF)):
        # Its last step may still be on its way to the store.
        newest = await place.until(
            lambda now: any(
                found.metadata.get("source") == "loop" and parent_of(found) == final
                for found in now
            ),
            _RECENT,
        )
        ours = False
    carried_on = (
        (not ours and await _restore_head_after_stale_input(place, newest))
        or (known < grant.previous_token and await _promote_owner_head(place, known))
        or await _promote_unseen_successor(place, newest)
    )
    if carried_on:
        raise ThreadBusyError(
            f"Another run has continued thread {place.thread!r} since this one read its state; "
            "run it again."
        )
    # An agent that runs inside a tool cannot be repeated in place: if it is refused, the tool
    # starts it from its beginning under another thread name.
    if (
        grant.stolen
        and not inside_a_call()
        and await _fork_for_takeover(place, newest, grant.fencing_token)
    ):
        raise ThreadBusyError(
            f"The process that held thread {place.thread!r} stopped renewing its lease and may "
            "still be alive: the thread was taken over; run it again."
        )


class Owned:
    """Block after which a run ends if it has lost the lease; what it has stored since is undone.

    The check comes before a step is stored; the journal is asked only if the process may have been
    frozen for long. A block that raises ``ThreadBusyError`` itself is undone in the same way.
    """

    def __init__(self, lease: Lease, config: RunnableConfig) -> None:
        """Make a block.

        Args:
            lease: Of the thread.
            config: Of the node that is run.
        """
        self._lease = lease
        self._config = config

    async def __aenter__(self) -> None:
        """Do nothing: the lease was acquired before."""

    async def __aexit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Check the lease, unless the block has raised: that error has priority.

        Raises:
            ThreadBusyError: Another process has acquired the thread.
        """
        if isinstance(error, ThreadBusyError):
            await self._undo()
        elif error is None:
            try:
                await self._lease.ensure_held()
            except ThreadBusyError:
                await self._undo()
                raise

    async def _undo(self) -> None:
        if self._lease.acquired and (place := _place(self._config)) is not None:
            await _promote_owner_head(place, self._lease.fencing_token)


def stands_on(config: RunnableConfig) -> str:
    """Return the id of the checkpoint that a run stands on, empty if the run stores nothing."""
    place = _place(config)
    return "" if place is None else place.own


def with_fencing_token(identity: Thread, lease: Lease) -> Thread:
    """Return the identity of a thread with this process's fencing token, for the state."""
    if not lease.fencing_token:
        return identity
    return Thread(session=identity["session"], nonce=identity["nonce"], number=lease.fencing_token)


# -- where a run stands --------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class _Place:
    """Position of a run among the checkpoints of its thread."""

    saver: Any
    of_thread: RunnableConfig
    """Configuration that names the thread and the namespace."""
    own: str
    """Id of the checkpoint that the run stands on."""
    resumed: bool
    """True if the run continues from a checkpoint that it has not put itself."""
    begins: bool
    """True if the run is in its first node, after an input of its own."""

    @property
    def thread(self) -> str:
        """The caller's id of the thread."""
        return thread_of(self.of_thread)

    async def newest(self, limit: int) -> list[CheckpointTuple]:
        """Return the newest checkpoints, the newest first; their ids rise with time."""
        return await listed(self.saver, self.of_thread, limit)

    async def with_own(self, limit: int) -> list[CheckpointTuple]:
        """Return the newest checkpoints once the run's own is among them.

        With durability ``async`` a checkpoint is stored while the node after it runs.
        """

        def found_or_passed(newest: list[CheckpointTuple]) -> bool:
            passed = len(newest) == limit and id_of(newest[-1]) > self.own  # too many newer ones
            return passed or any(id_of(found) == self.own for found in newest)

        return await self.until(found_or_passed, limit)

    async def until(
        self, there: Callable[[list[CheckpointTuple]], bool], limit: int
    ) -> list[CheckpointTuple]:
        """Return the newest checkpoints once a condition holds, or after the time limit."""
        backoff = Backoff(first=_FIRST_LOOK, longest=_LONGEST_LOOK, patience=_PATIENCE)
        while True:
            newest = await self.newest(limit)
            if there(newest) or backoff.over:
                return newest
            await backoff.pause()


def _place(config: RunnableConfig, *, begins: bool = False) -> _Place | None:
    """Return the position of a run; ``None`` if no head can be or must be fenced.

    That is a run which stores nothing before its end, or which goes back in time on purpose.
    """
    configurable = config.get("configurable", {})
    saver, places = saver_of(config), configurable.get(CHECKPOINTS)
    if saver is None or not places or configurable.get(REPLAYED) is not None:
        return None
    # Such a run puts a single checkpoint at its end.
    if configurable.get(DURABILITY) == "exit":
        return None
    thread = of_thread(config)
    own = places.get(thread["configurable"]["checkpoint_ns"])
    if own is None:
        return None
    resumed = configurable.get(RESUMED) is True
    return _Place(
        saver=saver, of_thread=thread, own=own, resumed=resumed, begins=begins and not resumed
    )


async def undo_refused_input(config: RunnableConfig, *, begins: bool) -> None:
    """Restore the thread's head after a run of this process was refused with its input stored.

    Args:
        config: Of the node that is run.
        begins: True if the node is the one that reads the run's input.
    """
    if (place := _place(config, begins=begins)) is not None:
        await _undo_refused_input(place)


async def _undo_refused_input(place: _Place) -> None:
    """Append the head before a refused run's input again; no node has read that input."""
    newest = await place.with_own(_RECENT)
    # Another run's checkpoint, or, if none has come, the one that this run began at.
    head = _beside(place, newest) or (_base(place, newest) if place.begins else None)
    if head is not None and id_of(head) < place.own and not await _has_nested(place, head):
        await put_last(place.saver, head, above=newest[0])


async def _restore_head_after_stale_input(place: _Place, newest: Sequence[CheckpointTuple]) -> bool:
    """Restore another run's head if the input of this one was put after it.

    Returns:
        True if the run is stale: another one has continued the thread.
    """
    beside = _beside(place, newest)
    if beside is not None and id_of(beside) < place.own:
        await put_last(place.saver, beside, above=newest[0])
    return beside is not None


def _beside(place: _Place, newest: Sequence[CheckpointTuple]) -> CheckpointTuple | None:
    """Return the newest checkpoint of another run after this one's, or among those it began with.

    Walks from the newest checkpoint down the line of parents that this run has put. A checkpoint
    that is not on that line was put by another run.
    """
    expected: str | None = place.own
    before_input = place.begins
    inputs = inputs_of(newest)
    for found in newest:
        began = id_of(found) in inputs
        if id_of(found) != expected:
            if began or parent_of(found) in inputs:
                continue  # an input that no node has read, with its first step: that run is refused
            return found if found is not newest[0] or id_of(found) > place.own else None
        # The line of this run ends at its input; a resumed run has put nothing before its own.
        if place.resumed or not (began or before_input or expected == place.own):
            return None
        before_input = before_input and not began
        expected = parent_of(found)
    return None


async def _promote_owner_head(place: _Place, number: int) -> bool:
    """Append the newest checkpoint of a later lease holder again if this process has covered it.

    Args:
        place: Position of the run.
        number: Fencing token of the process that stored the covering checkpoint.

    Returns:
        True if there was such a checkpoint.
    """
    newest = await place.with_own(_LATE)
    later = next((found for found in newest if fencing_token_of(found) > number), None)
    if later is None or id_of(later) > place.own:
        return False
    by_id = {id_of(found): found for found in newest}
    at: str | None = place.own  # from this run's checkpoint back to the later holder's
    while at is not None and at > id_of(later) and (found := by_id.get(at)) is not None:
        if found.metadata.get("source") in ("update", "fork") and COPY_OF not in found.metadata:
            # The caller went back in time, or changed the state, after the later holder: intended.
            return False
        at = parent_of(found)
    await put_last(place.saver, later, above=newest[0])
    return True


async def _promote_unseen_successor(place: _Place, newest: Sequence[CheckpointTuple]) -> bool:
    """Append the successors of a checkpoint again if the run began at a copy of that checkpoint.

    The process of the original was about to store them when another run was refused the thread and
    put the copy.

    Returns:
        True if there was a successor.
    """
    base = _base(place, newest)
    original = None if base is None else base.metadata.get(COPY_OF)
    if base is None or original is None:
        return False
    more, last = await place.newest(_LATE), None
    # The oldest first, so that each successor is found after its parent.
    for found in reversed(more):
        is_step = found.metadata.get("source") == "loop"
        fresh = fencing_token_of(found) >= fencing_token_of(base)
        if is_step and fresh and parent_of(found) == original:
            last, original = found, id_of(found)
    if last is None:
        return False
    await put_last(place.saver, last, above=more[0])
    return True


async def _fork_for_takeover(place: _Place, newest: Sequence[CheckpointTuple], number: int) -> bool:
    """Append a copy of the checkpoint that a run began at, as the head of this process's own line.

    Args:
        place: Position of the run.
        newest: The newest checkpoints.
        number: Fencing token of this process, for the copy.

    Returns:
        True if a copy was put.
    """
    base = _base(place, newest)
    # Without a base the run began the thread itself and shares no checkpoint with another process.
    if base is None or await _has_nested(place, base):
        return False
    await put_last(place.saver, base, above=newest[0], number=number)
    return True


async def _has_nested(place: _Place, found: CheckpointTuple) -> bool:
    """Return True if nested agents are active in the step of a checkpoint.

    After a copy they would start from their beginning: LangGraph derives the names of their threads
    from the id of the checkpoint.
    """
    whole = RunnableConfig(configurable={"thread_id": place.of_thread["configurable"]["thread_id"]})
    own = place.of_thread["configurable"]["checkpoint_ns"]
    for other in await listed(place.saver, whole, _LATE):
        if other.config["configurable"].get("checkpoint_ns", "") == own:
            continue
        if other.metadata.get("parents", {}).get(own) == id_of(found):
            return True
    return False


def _base(place: _Place, newest: Sequence[CheckpointTuple]) -> CheckpointTuple | None:
    """Return the checkpoint that a run began at, ``None`` if it began the thread."""
    by_id = {id_of(found): found for found in newest}
    own = by_id.get(place.own)
    if own is None or not place.begins:
        return own  # resumed there, or after a step whose writes had all been stored
    at: CheckpointTuple | None = own
    # Nodes of other middleware may have run between the input and the first node of the guard.
    while at is not None and at.metadata.get("source") == "loop":
        at = by_id.get(parent_of(at) or "")
    if at is None or at.metadata.get("source") != "input":
        return own
    return by_id.get(parent_of(at) or "")
