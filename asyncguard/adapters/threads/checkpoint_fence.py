"""Fence of a thread's checkpoints: a thread continues from the last step of its last lease holder.

LangGraph resumes a thread from the checkpoint with the highest id, no matter which process stored
it; a saver has no compare-and-set. Two kinds of runs put a checkpoint over that last step:

* A refused run: LangGraph stores its input before the first node. It appends the head before its
  input again (:func:`_undo_refused_input`), and may cover a step that was on its way to the store.
* A stale run: its process was frozen for longer than its lease, and stores one step more when it
  thaws. That step also joins the writes of its heir where both began at the same checkpoint.

So the journal keeps on which checkpoint a run acquired and released the thread. From there the
steps lead to the true head (:func:`_true_head`). A run that acquires the thread and began elsewhere
is refused, after it has appended the true head again (:func:`_check_head`). Two rules more keep a
stale step off that line:

1. A process that acquires the thread from one that may still be alive (a stolen lease) begins at a
   copy of the checkpoint, which the former holder does not write to (:func:`_fork_for_takeover`).
2. Each state holds the fencing token of the process that stored it (:func:`with_fencing_token`); a
   step with a lower token than the one before it is not on the line. So do events: those of the
   higher token count where both have the same number.

A process whose end is not certain may store the step that its heir resumes with. A saver keeps the
writes that come first, so the heir looks for them before it stores its own (:class:`Owned`).
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from asyncguard.adapters.langgraph_internals.checkpoints import has_written
from asyncguard.adapters.langgraph_internals.keys import (
    CHECKPOINTS,
    DURABILITY,
    REPLAYED,
    RESUMED,
    saver_of,
)
from asyncguard.adapters.langgraph_internals.run import goes_back, namespace_of_run, run_of
from asyncguard.adapters.langgraph_internals.run_checkpoints import base_of, newest_of
from asyncguard.adapters.langgraph_internals.run_end import before_over, when_over
from asyncguard.adapters.state import Thread
from asyncguard.adapters.threads.active_runs import THREADS
from asyncguard.adapters.threads.checkpoints import (
    COPY_OF,
    fencing_token_of,
    id_of,
    listed,
    of_thread,
    put_last,
    stored,
)
from asyncguard.adapters.threads.lineage import (
    LEDGER,
    Lineage,
    changed_by_caller,
    is_input,
    rank,
    same,
)
from asyncguard.adapters.threads.run_lock import continued
from asyncguard.adapters.threads.runnable_config import thread_of
from asyncguard.errors import CallerError, ThreadBusyError
from asyncguard.journal.port import LeaseGrant
from asyncguard.runtime.clock import Backoff
from asyncguard.runtime.dispatcher import inside_a_call
from asyncguard.runtime.session.lease import Lease

_NESTED = 50
"""Number of checkpoints to list where nested agents are looked for; one of theirs is enough."""
_PATIENCE = 5.0
"""Seconds within which a checkpoint on its way is stored, if it is stored at all."""
_FIRST_LOOK, _LONGEST_LOOK = 0.001, 0.05
TAKEN_UP = (
    "That run has taken up the input of this one, which must not be given again: when it has "
    "ended, run the thread with None to get its outcome."
)
"""Advice to a run whose input another one has read."""


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
    place = _place(config, begins=begins)
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


async def _check_head(
    place: "_Place", lease: Lease, grant: LeaseGrant, *, known: int, left: str
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
        stale = known < grant.previous_token and await _promote_owner_head(place, known)
    else:
        lease.stand_on(id_of(head))
        if stale := not await _continues(place, base, head):
            await _append_again(place, head)
    if stale and place.named and base is not None and line.steps_after(base):
        raise CallerError(
            f"Thread {place.thread!r} has gone on after checkpoint {place.base}, so a question "
            "that was open there was answered before; leave checkpoint_id out to continue the "
            "thread where it is now, or invoke the agent with None at that checkpoint to begin "
            "a new branch there."
        )
    if stale and place.begins and await _is_taken_up(place):
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
        and (copy := await _fork_for_takeover(place, base, grant.fencing_token))
    ):
        lease.stand_on(copy)
        raise ThreadBusyError(
            f"The process that held thread {place.thread!r} stopped renewing its lease and may "
            "still be alive: the thread was taken over; run it again."
        )


async def _true_head(place: "_Place", grant: LeaseGrant) -> CheckpointTuple | None:
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


async def _continues(place: "_Place", base: CheckpointTuple | None, head: CheckpointTuple) -> bool:
    """Return True if a run that began at one checkpoint continues the thread's true head.

    Also if nothing shows that it does not, as where checkpoints were deleted, and if the caller has
    changed the state since, or gone back in time.
    """
    if base is None:
        return bool(place.base)  # else it has begun the thread, as another run did
    if same(base, head):
        return True
    line = place.lineage
    if not place.resumed and await line.is_unread_input(base) and await _put_by_others(place, base):
        return False  # that input was refused, or its run has read it: there is a checkpoint more
    parted = await line.since_parting(base, head)
    if parted is None:
        return True
    since, missed = parted
    return bool(since and not missed) or changed_by_caller(since)


async def _put_by_others(place: "_Place", since: CheckpointTuple | None) -> list[CheckpointTuple]:
    """Return the checkpoints after a given one that other runs have put, without unread inputs."""
    line = place.lineage
    oldest = "" if since is None else id_of(since)
    own = {place.own}
    at = line.at(place.own)
    while at is not None and id_of(at) > oldest:
        own.add(id_of(at))
        at = await line.before(at)
    return [found for found in await line.read_since(oldest) if id_of(found) not in own]


class Owned:
    """Block after which a run ends if it has lost the lease; what it has stored since is undone.

    The check comes before a step is stored; the journal is asked only if the process may have been
    frozen for long. A run also ends if the process that held the thread before, and may not have
    ended, has stored its first step. A block that raises ``ThreadBusyError`` itself is undone in
    the same way.
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
            ThreadBusyError: Another process has acquired the thread, or has stored the step.
        """
        if isinstance(error, ThreadBusyError):
            await self._undo()
        elif error is None:
            try:
                await self._lease.ensure_held()
                await self._ensure_unwritten()
            except ThreadBusyError:
                await self._undo()
                raise

    async def _ensure_unwritten(self) -> None:
        config, shared = self._config, self._lease.shared_step
        if not shared or shared != stands_on(config):
            return
        place = of_thread(config)
        place["configurable"]["checkpoint_id"] = shared
        found = await stored(saver_of(config), place)
        if found is not None and has_written(config, found, LEDGER):
            raise ThreadBusyError(continued(thread_of(config), "read its state"))

    async def _undo(self) -> None:
        if self._lease.acquired and (place := _place(self._config)) is not None:
            await _promote_owner_head(place, self._lease.fencing_token)


def stands_on(config: RunnableConfig) -> str:
    """Return the id of the checkpoint that a run stands on, empty if no head is to be fenced.

    That is a run which stores nothing before its end, or which goes back in time on purpose.
    """
    configurable = config.get("configurable", {})
    places = configurable.get(CHECKPOINTS)
    if saver_of(config) is None or not places or configurable.get(REPLAYED) is not None:
        return ""
    # Such a run puts a single checkpoint at its end.
    if configurable.get(DURABILITY) == "exit":
        return ""
    namespace = str(configurable.get("checkpoint_ns") or "").rpartition("|")[0]
    return str(places.get(namespace) or "")


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
    base: str
    """Id of the checkpoint that it began at: where it was resumed, or the head before its input."""
    resumed: bool
    """True if the run continues from a checkpoint that it has not put itself."""
    begins: bool
    """True if the run is in its first node, after an input of its own."""
    named: bool = False
    """True if the caller has named the checkpoint to begin at."""
    lineage: Lineage
    """Checkpoints of the thread."""

    @property
    def thread(self) -> str:
        """The caller's id of the thread."""
        return thread_of(self.of_thread)

    async def with_own(self) -> None:
        """Read the newest checkpoints once the run's own is among them.

        With durability ``async`` a checkpoint is stored while the node after it runs.
        """
        await self.lineage.read()
        if not await self.lineage.reach(self.own):
            await self.until(lambda: self.lineage.at(self.own) is not None)

    async def until(self, there: Callable[[], bool]) -> None:
        """Read the newest checkpoints again until a condition holds, or the time limit is over."""
        backoff = Backoff(first=_FIRST_LOOK, longest=_LONGEST_LOOK, patience=_PATIENCE)
        while not there() and not backoff.over:
            await backoff.pause()
            await self.lineage.read()


def _place(config: RunnableConfig, *, begins: bool = False) -> _Place | None:
    """Return the position of a run; ``None`` if no head is to be fenced, see :func:`stands_on`."""
    own, run = stands_on(config), run_of(config)
    if not own:
        return None
    resumed = config["configurable"].get(RESUMED) is True
    begins = begins and not resumed
    saver, thread = saver_of(config), of_thread(config)
    return _Place(
        saver=saver,
        of_thread=thread,
        own=own,
        base=base_of(run) if begins and run is not None else own,
        resumed=resumed,
        begins=begins,
        named=run is not None and goes_back(run) and not namespace_of_run(run),
        lineage=Lineage(saver, thread),
    )


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
    elif (place := _place(config, begins=begins)) is not None:
        await _undo_refused_input(place, other, over=over)
        return place.begins and await _is_taken_up(place)
    return False


async def _is_taken_up(place: _Place) -> bool:
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
    for step in await _put_by_others(place, given):
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
    place = _Place(
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
    if mine and head is not None and id_of(head) < own and not await _has_nested(place, head):
        await _append_again(place, head)


async def _undo_refused_input(place: _Place, other: str, *, over: bool) -> None:
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
    steps = await _put_by_others(place, base)
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
    if id_of(head) < place.own and not await _has_nested(place, head):
        await _append_again(place, head)


async def _append_again(place: _Place, head: CheckpointTuple) -> None:
    """Append a copy of a checkpoint, unless one is the newest already."""
    newest = place.lineage.newest[0]
    if not same(newest, head):
        await put_last(place.saver, head, above=newest)


async def _promote_owner_head(place: _Place, number: int) -> bool:
    """Append the head of a later lease holder again if this process has covered it.

    Args:
        place: Position of the run.
        number: Fencing token of the process that stored the covering checkpoint.

    Returns:
        True if there was such a head.
    """
    line = place.lineage
    await place.with_own()
    read = await line.read_since("")
    later = next((found for found in read if fencing_token_of(found) > number), None)
    if later is None or id_of(later) > place.own:
        return False
    passed: list[CheckpointTuple] = []
    at = line.at(place.own)  # from this run's checkpoint back to the later holder's
    while at is not None and id_of(at) > id_of(later):
        passed.append(at)
        at = await line.before(at)
    if changed_by_caller(passed):
        return False
    await _append_again(place, line.end_of(later))
    return True


async def _fork_for_takeover(place: _Place, base: CheckpointTuple | None, number: int) -> str:
    """Append a copy of the checkpoint that a run began at, as the head of this process's own line.

    Args:
        place: Position of the run.
        base: That checkpoint; without one the run began the thread itself, and shares no checkpoint
            with another process.
        number: Fencing token of this process, for the copy.

    Returns:
        Id of the copy, empty if none was put.
    """
    if base is None or await _has_nested(place, base):
        return ""
    await place.with_own()
    return await put_last(place.saver, base, above=place.lineage.newest[0], number=number)


async def _has_nested(place: _Place, found: CheckpointTuple) -> bool:
    """Return True if nested agents are active in the step of a checkpoint.

    After a copy they would start from their beginning: LangGraph derives the names of their threads
    from the id of the checkpoint.
    """
    whole = RunnableConfig(configurable={"thread_id": place.of_thread["configurable"]["thread_id"]})
    own = place.of_thread["configurable"]["checkpoint_ns"]
    parents = {**found.metadata.get("parents", {}), own: id_of(found)}
    # Filtered by the store: in a long thread, or one that many clients want, the newest checkpoints
    # may all be the agent's own. SQLite's filter does not find names beyond ASCII.
    for options in ({"filter": {"parents": parents}}, {}):
        for other in await listed(place.saver, whole, _NESTED, **options):
            if other.config["configurable"].get("checkpoint_ns", "") == own:
                continue
            if other.metadata.get("parents", {}).get(own) == id_of(found):
                return True
    return False
