"""Registry of LangGraph's runs in this process: which one is active on each thread.

LangGraph resumes a thread from the newest checkpoint, no matter which run stored it: of two runs
that read a thread at the same time, one is lost. So a run claims its thread here in its first node
and keeps it until LangGraph ends the run in any way: with a result, at an interrupt, by an error,
by cancellation, or because its stream is closed.

LangGraph gives nodes no access to their run. But tasks that a node starts go through the run's
loop, and the node's configuration holds a bound method of it (:func:`run_of`). A version of
LangGraph that keeps it elsewhere has no runs here, and all checks of this module pass.
"""

import asyncio
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet, ref

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.pregel._loop import PregelLoop

from asyncguard.journal.port import Journal
from asyncguard.runtime.portal import sync_entry

SAVER = "__pregel_checkpointer"
"""Key under which LangGraph keeps the saver of a run."""
_CALL = "__pregel_call"
_KEPT_ENDS = 1024
"""Number of ended runs that are remembered; the oldest is forgotten first."""


def run_of(config: RunnableConfig) -> PregelLoop | None:
    """Return the run that a node belongs to.

    Args:
        config: Of the node.
    """
    call = config.get("configurable", {}).get(_CALL)
    run = getattr(getattr(call, "keywords", {}).get("schedule_task"), "__self__", None)
    return run if isinstance(run, PregelLoop) else None


def input_of(config: RunnableConfig) -> Any:
    """Return the input of a run as the caller wrote it; ``None`` if it is not known.

    Args:
        config: Of its node.
    """
    return getattr(run_of(config), "input", None)


def storing_error(config: RunnableConfig) -> BaseException | None:
    """Return the error that kept a node's checkpoint, or one of a graph around it, from the store.

    A checkpoint waits for the writes that led to it, and fails with them.

    Args:
        config: Of the node.
    """
    run = run_of(config)
    while run is not None:
        stored = _storing(run)
        ended = stored is not None and stored.done() and not stored.cancelled()
        if ended and (error := stored.exception()):
            return error  # type: ignore[no-any-return]
        run = run_of(run.config)  # of the graph around it
    return None


def _storing(run: PregelLoop) -> Any:
    """Return the future of the newest checkpoint that a run has put, ``None`` without one."""
    return getattr(run, "_put_checkpoint_fut", None)


# -- one run at a time on a thread --------------------------------------------------

_Thread = tuple[int, int, str, str]
"""Store, journal, thread id and checkpoint namespace.

The journal is part of the key because runs with two journals are kept apart as two processes are.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Other:
    """Another run of the same thread that excludes the run in question."""

    under_way: bool
    """True if it is active; else it has ended, after the run in question had read the thread."""
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
        # Runs of several event loops and OS threads share the process-wide instance.
        self._lock = threading.Lock()
        # The loop is kept because a closed one can never end its run; None under sync entry.
        self._at_work: dict[_Thread, tuple[PregelLoop, asyncio.AbstractEventLoop | None]] = {}
        # Runs that hold their thread, so that later nodes of a run return at once.
        self._holders: WeakSet[PregelLoop] = WeakSet()
        # How the last run of a thread ended, the newest last; see _KEPT_ENDS.
        self._left: OrderedDict[_Thread, Other] = OrderedDict()
        # Live savers by the address of their store; an address without one can be reused.
        self._savers: dict[int, list[ref[Any]]] = {}

    def take(self, config: RunnableConfig, journal: Journal | None) -> Other | None:
        """Claim the thread of a run; do nothing if the run holds it already.

        Args:
            config: Of a node.
            journal: Of the agent.

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
            if (other := self._other(thread, run)) is not None:
                return other
            self._holders.add(run)
            self._at_work[thread] = (
                run,
                None if sync_entry() is not None else asyncio.get_running_loop(),
            )
            # LangGraph closes the stack however the run ends, so no thread stays claimed.
            run.stack.callback(self._leave, thread, run)  # type: ignore[attr-defined]
            return None

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

    def _other(self, thread: _Thread, run: PregelLoop) -> Other | None:
        holder, loop = self._at_work.get(thread, (None, None))
        if holder is not None and not (loop is not None and loop.is_closed()):
            return _other(holder, under_way=True)
        left = self._left.get(thread)
        # A run with a checkpoint id goes back in time on purpose and continues no other run.
        if left is None or run.config["configurable"].get("checkpoint_id"):
            return None
        return left if _base_of(run) < left.checkpoint else None

    def began_at(self, config: RunnableConfig, journal: Journal | None) -> str | None:
        """Return the checkpoint that a run began at, ``None`` if the last run ended there.

        Args:
            config: Of a node.
            journal: Of the agent.
        """
        run = run_of(config)
        thread = self._thread_of(run, config, journal)
        if run is None or thread is None or run.config["configurable"].get("checkpoint_id"):
            return None
        with self._lock:
            left, base = self._left.get(thread), _base_of(run)
        return None if not base or (left is not None and left.checkpoint == base) else base

    def _thread_of(
        self, run: PregelLoop | None, config: RunnableConfig, journal: Journal | None
    ) -> _Thread | None:
        configurable = config.get("configurable", {})
        saver = configurable.get(SAVER)
        if run is None or not isinstance(saver, BaseCheckpointSaver):
            return None
        # The connection or storage: with strict msgpack each graph has its own copy of the saver.
        places = (getattr(saver, name, None) for name in ("conn", "storage"))
        # An address names the store while one of its savers lives.
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
        return store, id(journal), str(configurable.get("thread_id")), "|".join(run.checkpoint_ns)

    def _leave(self, thread: _Thread, run: PregelLoop) -> None:
        with self._lock:
            if self._at_work.get(thread, (None,))[0] is run:
                del self._at_work[thread]
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


def store_nothing(config: RunnableConfig) -> None:
    """Prevent that a refused run stores its state at its end.

    Args:
        config: Of its node.
    """
    run = run_of(config)
    if run is not None and run.durability == "exit":
        run.durability = "async"  # LangGraph stores at the end only if the durability is "exit"


def _other(run: PregelLoop, *, under_way: bool) -> Other:
    storing = _storing(run)
    latest = str(run.checkpoint["id"])
    return Other(
        under_way=under_way, checkpoint=latest, storing=None if storing is None else ref(storing)
    )


def _base_of(run: PregelLoop) -> str:
    """Return the checkpoint that a run has read, empty if the thread had none."""
    # A private attribute: LangGraph has no public one for it.
    began = run._initial_checkpoint_config["configurable"].get("checkpoint_id")  # noqa: SLF001
    return str(began or "")
