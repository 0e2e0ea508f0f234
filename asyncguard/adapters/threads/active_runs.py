"""Registry of LangGraph's runs in this process: which one is active on each thread.

LangGraph resumes a thread from the newest checkpoint, no matter which run stored it: of two runs
that read a thread at the same time, one is lost. So a run claims its thread here in its first node
and keeps it until LangGraph ends the run in any way: with a result, at an interrupt, by an error,
by cancellation, or because its stream is closed.

LangGraph gives nodes no access to their run; see :func:`~langgraph_internals.run.run_of`. With a
version that keeps it elsewhere there are no runs here, and all checks of this module pass.
"""

import asyncio
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakSet, ref

from langchain_core.runnables import RunnableConfig

from asyncguard.adapters.langgraph_internals.keys import saver_of
from asyncguard.adapters.langgraph_internals.run import Run, goes_back, namespace_of_run, run_of
from asyncguard.adapters.langgraph_internals.run_checkpoints import base_of, newest_of, storing
from asyncguard.adapters.langgraph_internals.run_end import end_abandoned, end_whole, when_over
from asyncguard.journal.port import Journal
from asyncguard.journal.sql.journal import SqlJournal
from asyncguard.runtime.portal import sync_entry

RUN_LOCK = "__asyncguard_run_lock"
"""Key of the lock of a whole run in the configuration of its nodes; see :mod:`run_lock`."""
_KEPT_ENDS = 1024
"""Number of ended runs that are remembered; the oldest is forgotten first."""


# -- one run at a time on a thread --------------------------------------------------

_Thread = tuple[int, int, str, str]
"""Store, party (see :func:`party_of`), thread id and checkpoint namespace."""


def party_of(journal: object) -> int:
    """Return a number; runs exclude each other in this process if they have the same one.

    Runs with two journals of ours do, as the thread is one, and so do those with none. A journal of
    another kind may stand for another process.

    Args:
        journal: Of an agent, or what its caller asked for.
    """
    ours = journal is None or isinstance(journal, bool | str | Path | SqlJournal)
    return 0 if ours else id(journal)


@dataclass(frozen=True, kw_only=True, slots=True)
class Other:
    """Another run of the same thread that excludes the run in question."""

    under_way: bool
    """True if it is active; else it has ended, after the run in question had read the thread."""
    ending: bool
    """True if LangGraph is ending it: its nodes are cancelled, and its last step is stored."""
    checkpoint: str
    """Id of the newest checkpoint that it has made."""
    storing: ref[Any] | None
    """Future of the newest checkpoint that it has put, ``None`` if it has put none.

    Weak, as the future keeps the agent alive; LangGraph itself keeps it until it is done.
    """

    @property
    def stored(self) -> bool:
        """True if its newest checkpoint is stored by now, or cannot be stored."""
        if self.storing is None:
            return False
        storing = self.storing()
        return storing is None or storing.done()


class _Threads:
    """Threads of this process that have an active run, and how the last runs left theirs."""

    def __init__(self) -> None:
        # Runs of several event loops and OS threads share the process-wide instance; a garbage
        # collection may end a run within any statement.
        self._lock = threading.RLock()
        # The loop is kept because a closed one can never end its run; None under sync entry.
        self._at_work: dict[_Thread, tuple[Run, asyncio.AbstractEventLoop | None]] = {}
        # Runs that hold their thread, so that later nodes of a run return at once.
        self._holders: WeakSet[Run] = WeakSet()
        # Runs that LangGraph is ending.
        self._ending: WeakSet[Run] = WeakSet()
        # Runs that left nothing: their input was undone.
        self._refused: WeakSet[Run] = WeakSet()
        # How the last run of a thread ended, the newest last; see _KEPT_ENDS.
        self._left: OrderedDict[_Thread, Other] = OrderedDict()
        # Live savers by the address of their store; an address without one can be reused.
        self._savers: dict[int, list[ref[Any]]] = {}

    def held_by(self, config: RunnableConfig) -> bool:
        """Return True if the run of a node has its thread, or none that others share."""
        run = run_of(config)
        return run is None or run in self._holders or saver_of(config) is None

    def take(
        self, config: RunnableConfig, journal: Journal | None, began: str = ""
    ) -> Other | None:
        """Claim the thread of a run; do nothing if the run holds it already.

        Args:
            config: Of a node.
            journal: Of the agent.
            began: Checkpoint that the run began at a copy of, empty if it did not.

        Returns:
            The other run that excludes this one, ``None`` if the thread is claimed.
        """
        run = run_of(config)
        if run is None or run in self._holders:  # the latter in each node but the first
            return None
        thread = self._thread_of(run, config, journal)
        if thread is None:
            return None
        with self._lock:
            if (other := self._other(thread, run, began)) is not None:
                return other
            self._holders.add(run)
            self._at_work[thread] = (
                run,
                None if sync_entry() is not None else asyncio.get_running_loop(),
            )
            # LangGraph closes the stack however the run ends, so no thread stays claimed.
            when_over(run, self._ending.add, run)
            lock = config.get("configurable", {}).get(RUN_LOCK)
            own = lock if lock is not None and lock.follow(run) else None
            end_whole(run, self._leave, thread, run, own)
            return None

    async def end_abandoned(self, config: RunnableConfig, journal: Journal | None) -> bool:
        """End the run that holds the thread of another one if nothing can end it any more.

        Args:
            config: Of a node of the other run.
            journal: Of the agent.

        Returns:
            True if it is ending now.
        """
        run = run_of(config)
        thread = self._thread_of(run, config, journal)
        if run is None or thread is None:
            return False
        with self._lock:
            holder, loop = self._at_work.get(thread, (None, None))
        return (
            holder is not None
            and loop is asyncio.get_running_loop()
            and await asyncio.create_task(end_abandoned(holder, living=run))
        )

    def refused(self, config: RunnableConfig) -> None:
        """Note that a run is refused: however it ends, the thread was left by the run before it."""
        if (run := run_of(config)) is not None:
            self._refused.add(run)

    def refuses(self, config: RunnableConfig, journal: Journal | None) -> bool:
        """Return True if a run could not claim its thread now.

        Args:
            config: Of a node.
            journal: Of the agent.
        """
        run = run_of(config)
        thread = self._thread_of(run, config, journal)
        if run is None or thread is None:
            return False
        with self._lock:
            return self._other(thread, run) is not None

    def _other(self, thread: _Thread, run: Run, began: str = "") -> Other | None:
        holder, loop = self._at_work.get(thread, (None, None))
        if holder is not None and not (loop is not None and loop.is_closed()):
            return _other(holder, under_way=True, ending=holder in self._ending)
        left = self._left.get(thread)
        # A run with a checkpoint id goes back in time on purpose and continues no other run.
        if left is None or goes_back(run):
            return None
        return left if (began or base_of(run)) < left.checkpoint else None

    def began_at(self, config: RunnableConfig, journal: Journal | None) -> tuple[str, str]:
        """Return the checkpoints at which a run began and at which the last run here ended.

        Args:
            config: Of a node.
            journal: Of the agent.

        Returns:
            The second is empty if none has ended here; both are if the run continues no other one.
        """
        run = run_of(config)
        thread = self._thread_of(run, config, journal)
        if run is None or thread is None or goes_back(run):
            return "", ""
        with self._lock:
            left = self._left.get(thread)
        return base_of(run), "" if left is None else left.checkpoint

    def _thread_of(
        self, run: Run | None, config: RunnableConfig, journal: Journal | None
    ) -> _Thread | None:
        saver = saver_of(config)
        if run is None or saver is None:
            return None
        store = self.store_of(saver)
        thread_id = config.get("configurable", {}).get("thread_id")
        return store, party_of(journal), str(thread_id), namespace_of_run(run)

    def store_of(self, saver: Any) -> int:
        """Return the name of the store of a saver while one of its savers lives."""
        # The connection or storage: with strict msgpack each graph has its own copy of the saver.
        places = (getattr(saver, name, None) for name in ("conn", "storage"))
        store = id(next((place for place in places if place is not None), saver))
        with self._lock:
            savers = [found for found in self._savers.get(store, ()) if found() is not None]
            if not savers:
                # A new store may have got the address of a deleted one: forget the runs of that.
                for thread in [thread for thread in self._left if thread[0] == store]:
                    del self._left[thread]
                # Addresses of other deleted stores go with it, so that the table does not grow.
                self._savers = {
                    address: known
                    for address, known in self._savers.items()
                    if any(found() is not None for found in known)
                }
            if not any(found() is saver for found in savers):
                self._savers[store] = [*savers, ref(saver)]
        return store

    def is_ending(self, store: int, thread_id: str) -> bool:
        """Return True if LangGraph is ending a run of a thread, by any agent and not inside one."""
        with self._lock:
            return any(
                (name[0], name[2], name[3]) == (store, thread_id, "") and run in self._ending
                for name, (run, _) in list(self._at_work.items())
            )

    def _leave(self, thread: _Thread, run: Run, lock: Any) -> None:
        self._forget(thread, run)
        if lock is not None:
            lock.release()

    def _forget(self, thread: _Thread, run: Run) -> None:
        with self._lock:
            if self._at_work.get(thread, (None,))[0] is run:
                del self._at_work[thread]
                if run in self._refused:
                    return
                self._left[thread] = _other(run, under_way=False)
                self._left.move_to_end(thread)
                if len(self._left) > _KEPT_ENDS:
                    self._left.popitem(last=False)

    def forget(self, other: Other) -> None:
        """Forget an ended run that left nothing: its thread was deleted, or was never stored."""
        with self._lock:
            for thread in [thread for thread, left in self._left.items() if left is other]:
                del self._left[thread]


THREADS = _Threads()
"""Registry of the whole process: agents that share a saver share its threads."""


def _other(run: Run, *, under_way: bool, ending: bool = False) -> Other:
    put = storing(run)
    return Other(
        under_way=under_way,
        ending=ending,
        checkpoint=newest_of(run),
        storing=None if put is None else ref(put),
    )
