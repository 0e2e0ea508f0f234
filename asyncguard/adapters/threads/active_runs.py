"""LangGraph's runs in this process: which one is at work on a thread, and whether one can store what it stands on.

LangGraph goes on from whatever checkpoint is the last, whoever stored it: of two runs that read a thread at the same
time one is lost. A run takes the thread here in its first node and has it until LangGraph ends the run, in whatever
way: with a result, at a question, by an error, cancelled, or because its stream is closed.

LangGraph tells nodes nothing of their run. What a node may start of its own, though, goes through the run's loop, and
that stands in the node's configuration. A version that keeps it elsewhere has no run here, and nothing is asked of it.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet, ref

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.pregel._loop import PregelLoop

from asyncguard.journal.port import Journal
from asyncguard.runtime.portal import sync_entry

SAVER = "__pregel_checkpointer"
"""Where LangGraph keeps the saver of a run."""
_CALL = "__pregel_call"
_KEPT_ENDS = 1024


def run_of(config: RunnableConfig) -> PregelLoop | None:
    """Return the run that a node belongs to.

    Args:
        config: Of the node.
    """
    call = config.get("configurable", {}).get(_CALL)
    run = getattr(getattr(call, "keywords", {}).get("schedule_task"), "__self__", None)
    return run if isinstance(run, PregelLoop) else None


def input_of(config: RunnableConfig) -> Any:
    """Return what a run was called with, as the caller wrote it; ``None`` where that is not known.

    Args:
        config: Of its node.
    """
    return getattr(run_of(config), "input", None)


def storing_error(config: RunnableConfig) -> BaseException | None:
    """Return why the checkpoint that a node stands on, or one of a graph around it, cannot be stored.

    A checkpoint waits for the writes that led to it, and fails with them.

    Args:
        config: Of the node.
    """
    for run in _with_outer(run_of(config)):
        stored = _storing(run)
        if (
            stored is not None
            and stored.done()
            and not stored.cancelled()
            and (error := stored.exception())
        ):
            return error  # type: ignore[no-any-return]
    return None


def _with_outer(run: PregelLoop | None) -> Iterator[PregelLoop]:
    while run is not None:
        yield run
        run = run_of(run.config)


def _storing(run: PregelLoop) -> Any:
    """Return the future of the latest checkpoint that a run has put, ``None`` if it has put none."""
    return getattr(run, "_put_checkpoint_fut", None)


# -- one run at a time on a thread -----------------------------------------------------------------------------------

_Thread = tuple[int, int, str, str]
"""Store, journal, thread id and checkpoint namespace. Two journals tell their runs apart as two processes do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Other:
    """Another run of a thread that stands in the way of one."""

    under_way: bool
    """Whether it is at work; otherwise it has ended, after the run in question had read the thread."""
    checkpoint: str
    """The latest that it has made."""
    storing: ref[Any] | None
    """The future of the latest that it has put, ``None`` if it has put none. It would keep the agent alive: LangGraph
    keeps it as long as it is not done."""

    @property
    def stored(self) -> bool:
        """Whether what it has put is in the store by now, or cannot be stored."""
        if self.storing is None:
            return False
        storing = self.storing()
        return storing is None or storing.done()


class _Threads:
    """The threads of this process that runs are at work on, and how the latest runs left theirs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._at_work: dict[_Thread, tuple[PregelLoop, asyncio.AbstractEventLoop | None]] = {}
        self._holders: WeakSet[PregelLoop] = WeakSet()
        self._left: OrderedDict[_Thread, Other] = OrderedDict()
        self._savers: dict[int, list[ref[Any]]] = {}

    def take(self, config: RunnableConfig, journal: Journal | None) -> Other | None:
        """Take the thread of a run, or have it still.

        Args:
            config: Of a node.
            journal: Of the agent.

        Returns:
            The other run that stands in the way.
        """
        run = run_of(config)
        if run is None or run in self._holders:  # in each node but the first
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
            run.stack.callback(self._leave, thread, run)  # type: ignore[attr-defined]
            return None

    def refuses(self, config: RunnableConfig, journal: Journal | None) -> bool:
        """Return whether a run could not take its thread now.

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
        return left if left is not None and _begun_before(run, left.checkpoint) else None

    def began_at(self, config: RunnableConfig, journal: Journal | None) -> str | None:
        """Return the checkpoint that a run began at, ``None`` if it is where the latest run left the thread.

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
        with self._lock:
            store = self._address_of(saver)
        return store, id(journal), str(configurable.get("thread_id")), "|".join(run.checkpoint_ns)

    def _address_of(self, saver: Any) -> int:
        """Return the address of what a saver keeps its checkpoints in, which names it while one of its savers lives.

        A store of a new saver may get the address of one that is gone; how the runs of that one ended is forgotten.
        """
        store = id(_store_of(saver))
        savers = [found for found in self._savers.get(store, ()) if found() is not None]
        if not savers:
            for thread in [thread for thread in self._left if thread[0] == store]:
                del self._left[thread]
            for gone in [
                at for at, known in self._savers.items() if all(found() is None for found in known)
            ]:
                del self._savers[gone]
        if not any(found() is saver for found in savers):
            self._savers[store] = [*savers, ref(saver)]
        return store

    def _leave(self, thread: _Thread, run: PregelLoop) -> None:
        with self._lock:
            if self._at_work.get(thread, (None,))[0] is run:
                del self._at_work[thread]
                self._left[thread] = _other(run, under_way=False)
                self._left.move_to_end(thread)
                if len(self._left) > _KEPT_ENDS:
                    self._left.popitem(last=False)

    def forget(self, other: Other) -> None:
        """Forget a run that has ended and left nothing: its thread was deleted, or could not be stored."""
        with self._lock:
            for thread in [thread for thread, left in self._left.items() if left is other]:
                del self._left[thread]


THREADS = _Threads()
"""Of the whole process: agents that share a saver share its threads."""


def store_nothing(config: RunnableConfig) -> None:
    """Have a run that is refused end without a trace, if it would store what it has at its end.

    Args:
        config: Of its node.
    """
    run = run_of(config)
    if run is not None and run.durability == "exit":
        run.durability = "async"  # what comes before the end it would have stored by now


def _other(run: PregelLoop, *, under_way: bool) -> Other:
    storing = _storing(run)
    latest = str(run.checkpoint["id"])
    return Other(
        under_way=under_way, checkpoint=latest, storing=None if storing is None else ref(storing)
    )


def _base_of(run: PregelLoop) -> str:
    """Return the checkpoint that a run has read, empty if the thread had none."""
    began = run._initial_checkpoint_config["configurable"].get("checkpoint_id")  # noqa: SLF001 - told nowhere else
    return str(began or "")


def _begun_before(run: PregelLoop, checkpoint: str) -> bool:
    """Whether a run has read its thread before a checkpoint was put; what goes back in time does so on purpose."""
    return not run.config["configurable"].get("checkpoint_id") and _base_of(run) < checkpoint


def _store_of(saver: Any) -> Any:
    """Return what a saver keeps its checkpoints in: with strict msgpack each graph has a copy of the saver."""
    return next(
        (held for name in ("conn", "storage") if (held := getattr(saver, name, None)) is not None),
        saver,
    )
