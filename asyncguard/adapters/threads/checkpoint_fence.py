"""Which checkpoint a thread goes on from: the last one of the process that took it last.

LangGraph goes on from the checkpoint with the highest id, whoever stored it. A process that was stopped for longer than
the lease stores one step more when it goes on, behind what its heir has done, and it writes that step beside the heir's
where both had begun at the same checkpoint. So whoever takes a thread from a process that may go on begins at a copy of
its checkpoint, where nobody else writes; each state tells the number of the process that stored it; and a checkpoint
with a lower number than an older one is covered by that one, put again as the last.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from asyncguard.adapters.state import Thread
from asyncguard.adapters.threads.active_runs import SAVER
from asyncguard.adapters.threads.checkpoint_barrier import DURABILITY, PLACES
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
from asyncguard.runtime.clock import Backoff
from asyncguard.runtime.dispatcher import inside_a_call
from asyncguard.runtime.session.lease import Lease

_REPLAYED = "__pregel_replay_state"
_RESUMED = "__pregel_resuming"
_RECENT = 8
"""Checkpoints that a run has put when its first node begins, nodes of other middleware included, and those before."""
_LATE = 50
"""Checkpoints that a late run may have put between two looks at the journal, with room for other middleware."""
_PATIENCE = 2.0
"""Seconds within which the last step of a run is stored, if it is stored at all."""
_FIRST_LOOK, _LONGEST_LOOK = 0.001, 0.05


async def acquire_thread(
    lease: Lease, config: RunnableConfig, *, known: int, begins: bool = False, again: bool = False
) -> None:
    """Take a thread for this process, unless another one has carried it on since the run read its state.

    Where a late run has put checkpoints of its own behind the other's, the other's last one is put there once more, so
    that the thread goes on from what was done.

    Args:
        lease: Of the thread.
        config: Of the node that is run.
        known: Number in the state that the run has read.
        begins: Whether the node is the one that takes the input of a run in.
        again: Whether to ask the journal where the thread is held already: its ledger was folded anew.

    Raises:
        ThreadBusyError: Another process is at work on the thread, or has been since; or it was taken from a process
            that may go on, and the run has to begin at the copy.
        JournalError: The journal cannot be read or written.
    """
    async with lease.acquisition(again=again) as wanted:
        if wanted:
            await _acquire(lease, config, _place(config, begins=begins), known=known, again=again)


async def _acquire(
    lease: Lease, config: RunnableConfig, place: "_Place | None", *, known: int, again: bool
) -> None:
    # Nobody else can have carried on what this process had last; the checkpoint may be an older one on purpose.
    ours = not lease.acquired and await lease.journal.holds(lease.thread)
    try:
        tenure = await lease.acquire(thread_of(config), known=known, again=again)
    except ThreadBusyError:
        if place is not None:
            await _undo_refused_input(place)
        raise
    if tenure is None or place is None:
        return
    try:
        repairs = tenure.stolen or tenure.final_checkpoint or known < tenure.previous_token
        newest = await (place.with_own(_RECENT) if repairs else place.newest(_RECENT))
        if tenure.final_checkpoint and _starts_at(place, newest, tenure.final_checkpoint):
            newest, ours = (
                await place.until(lambda now: _follows(tenure.final_checkpoint, now), _RECENT),
                False,
            )
        carried_on = (
            (not ours and await _restore_head_after_stale_input(place, newest))
            or (known < tenure.previous_token and await _promote_owner_head(place, known))
            or await _promote_unseen_successor(place, newest)
        )
        if carried_on:
            raise ThreadBusyError(
                "Another run has carried the thread on since this one read its state; run it again."
            )
        # An agent that is a tool is not run again where it was: refused, it would begin anew under another name.
        if (
            tenure.stolen
            and not inside_a_call()
            and await _fork_for_takeover(place, newest, tenure.fencing_token)
        ):
            raise ThreadBusyError(
                "The process that had the thread gave no sign of life, and it may go on: the thread was taken from "
                "it; run it again."
            )
    except BaseException:
        lease.release()
        raise


@asynccontextmanager
async def owned(lease: Lease, config: RunnableConfig) -> AsyncIterator[None]:
    """End a run after the block whose thread another process has taken meanwhile, and undo what it has stored since.

    Asked before a step is stored, and of the journal only if the process may have been stopped for long. A block that
    finds out itself is undone in the same way.

    Args:
        lease: Of the thread.
        config: Of the node that is run.

    Raises:
        ThreadBusyError: Another process carries the thread on.
    """
    try:
        yield
        await lease.ensure_held()
    except ThreadBusyError:
        if lease.acquired and (place := _place(config)) is not None:
            await _promote_owner_head(place, lease.fencing_token)
        raise


def stands_on(config: RunnableConfig) -> str:
    """Id of the checkpoint that a run stands on, empty if it stores nothing."""
    place = _place(config)
    return "" if place is None else place.own


def with_fencing_token(identity: Thread, lease: Lease) -> Thread:
    """Return the identity of a thread with the number of this process, for the state."""
    if not lease.fencing_token:
        return identity
    return Thread(session=identity["session"], nonce=identity["nonce"], number=lease.fencing_token)


# -- where a run stands --------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class _Place:
    """Where a run stands among the checkpoints of its thread."""

    saver: Any
    of_thread: RunnableConfig
    """Thread and namespace."""
    own: str
    """Id of the checkpoint that the run stands on."""
    resumed: bool
    """Whether the run goes on from a checkpoint that it has not put itself."""
    begins: bool
    """Whether the run stands in its first node behind an input of its own."""

    async def newest(self, limit: int) -> list[CheckpointTuple]:
        """The latest checkpoints, the latest first; their ids rise with time."""
        return await listed(self.saver, self.of_thread, limit)

    async def with_own(self, limit: int) -> list[CheckpointTuple]:
        """The same, once the run's own is among them: with durability ``async`` it is stored while its node runs."""

        def there(newest: list[CheckpointTuple]) -> bool:
            behind = (
                len(newest) == limit and id_of(newest[-1]) > self.own
            )  # too many have come since
            return behind or any(id_of(found) == self.own for found in newest)

        return await self.until(there, limit)

    async def until(
        self, there: Callable[[list[CheckpointTuple]], bool], limit: int
    ) -> list[CheckpointTuple]:
        """The latest checkpoints, once something is among them; or as they are, if that is never stored."""
        backoff = Backoff(first=_FIRST_LOOK, longest=_LONGEST_LOOK, patience=_PATIENCE)
        while True:
            newest = await self.newest(limit)
            if there(newest) or backoff.over:
                return newest
            await backoff.pause()


def _place(config: RunnableConfig, *, begins: bool = False) -> _Place | None:
    """Where a run stands; ``None`` if it stores nothing before its end, or goes back in time on purpose."""
    configurable = config.get("configurable", {})
    saver, places = configurable.get(SAVER), configurable.get(PLACES)
    if (
        not isinstance(saver, BaseCheckpointSaver)
        or not places
        or configurable.get(_REPLAYED) is not None
    ):
        return None
    if configurable.get(DURABILITY) == "exit":
        return None
    thread = of_thread(config)
    own = places.get(thread["configurable"]["checkpoint_ns"])
    if own is None:
        return None
    resumed = configurable.get(_RESUMED) is True
    return _Place(
        saver=saver, of_thread=thread, own=own, resumed=resumed, begins=begins and not resumed
    )


def _follows(checkpoint: str, newest: Sequence[CheckpointTuple]) -> bool:
    """Whether a step behind a checkpoint is stored."""
    return any(
        found.metadata.get("source") == "loop" and parent_of(found) == checkpoint
        for found in newest
    )


def _starts_at(place: _Place, newest: Sequence[CheckpointTuple], checkpoint: str) -> bool:
    """Whether a run began with a checkpoint, or with a copy of it."""
    base = _base(place, newest)
    return base is not None and checkpoint in (id_of(base), base.metadata.get(COPY_OF))


async def undo_refused_input(config: RunnableConfig, *, begins: bool) -> None:
    """Put the thread's head back behind the input of a run that another one of this process is in the way of.

    Args:
        config: Of the node that is run.
        begins: Whether the node is the one that takes the input of a run in.
    """
    if (place := _place(config, begins=begins)) is not None:
        await _undo_refused_input(place)


async def _undo_refused_input(place: _Place) -> None:
    """Put the thread's head back behind the input of a run that was refused: nobody has taken it in."""
    newest = await place.with_own(_RECENT)
    head = _beside(place, newest) or (_base(place, newest) if place.begins else None)
    if head is not None and id_of(head) < place.own and not await _has_nested(place, head):
        await put_last(place.saver, head, above=newest[0])


async def _restore_head_after_stale_input(place: _Place, newest: Sequence[CheckpointTuple]) -> bool:
    """Put the thread's head back where a run that has just begun has covered it; whether the run is late."""
    beside = _beside(place, newest)
    if beside is not None and id_of(beside) < place.own:
        await put_last(place.saver, beside, above=newest[0])
    return beside is not None


def _beside(place: _Place, newest: Sequence[CheckpointTuple]) -> CheckpointTuple | None:
    """The latest checkpoint that somebody else has put behind a run's, or among those that it began with."""
    expected: str | None = place.own
    before_input = place.begins
    inputs = inputs_of(newest)
    for found in newest:
        began = id_of(found) in inputs
        if id_of(found) != expected:
            if began or parent_of(found) in inputs:
                continue  # LangGraph's own first steps: no node has taken that input in, and its run will be refused
            return found if found is not newest[0] or id_of(found) > place.own else None
        if place.resumed or not (began or before_input or expected == place.own):
            return None
        before_input = before_input and not began
        expected = parent_of(found)
    return None


async def _promote_owner_head(place: _Place, number: int) -> bool:
    """Put the last checkpoint of a later process last, where one of an earlier process covers it; whether there is one.

    Args:
        place: Where the run stands.
        number: Of the process that stored that checkpoint.
    """
    newest = await place.with_own(_LATE)
    later = next((found for found in newest if fencing_token_of(found) > number), None)
    if later is None or id_of(later) > place.own:
        return False
    by_id = {id_of(found): found for found in newest}
    at: str | None = place.own
    while at is not None and at > id_of(later) and (found := by_id.get(at)) is not None:
        if found.metadata.get("source") in ("update", "fork") and COPY_OF not in found.metadata:
            return (
                False  # somebody went back in time, or changed the state, behind the later process
            )
        at = parent_of(found)
    await put_last(place.saver, later, above=newest[0])
    return True


async def _promote_unseen_successor(place: _Place, newest: Sequence[CheckpointTuple]) -> bool:
    """Put what followed on a checkpoint last, where a run began with a copy of it; whether there is something.

    Its process was about to store it when somebody else was refused the thread and put the copy.
    """
    base = _base(place, newest)
    original = None if base is None else base.metadata.get(COPY_OF)
    if base is None or original is None:
        return False
    more, last = await place.newest(_LATE), None
    for found in reversed(more):
        own = found.metadata.get("source") == "loop" and fencing_token_of(
            found
        ) >= fencing_token_of(base)
        if own and parent_of(found) == original:
            last, original = found, id_of(found)
    if last is None:
        return False
    await put_last(place.saver, last, above=more[0])
    return True


async def _fork_for_takeover(place: _Place, newest: Sequence[CheckpointTuple], number: int) -> bool:
    """Put a copy of the checkpoint that a run began with last; whether there is one.

    Args:
        place: Where the run stands.
        newest: The latest checkpoints.
        number: Of this process, for the copy.
    """
    base = _base(place, newest)
    if base is None or await _has_nested(place, base):
        return False  # the run began the thread itself and shares no checkpoint with anybody; or see there
    await put_last(place.saver, base, above=newest[0], number=number)
    return True


async def _has_nested(place: _Place, found: CheckpointTuple) -> bool:
    """Whether agents inside of this one are at work in a checkpoint's step: of a copy, they would begin anew.

    LangGraph makes the names of their threads of the checkpoint's id.
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
    """The checkpoint that a run began with, ``None`` if it began the thread."""
    by_id = {id_of(found): found for found in newest}
    own = by_id.get(place.own)
    if own is None or not place.begins:
        return own  # resumed there, or behind a step whose writes had all been stored
    at: CheckpointTuple | None = own
    while (
        at is not None and at.metadata.get("source") == "loop"
    ):  # nodes of other middleware come first
        at = by_id.get(parent_of(at) or "")
    if at is None or at.metadata.get("source") != "input":
        return own
    return by_id.get(parent_of(at) or "")
