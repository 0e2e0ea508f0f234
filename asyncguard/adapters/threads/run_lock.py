"""Lock of a thread for a whole run of ``build_agent``, taken before LangGraph reads the thread.

A run that is refused here has read and stored nothing. What cannot be refused here is refused by
the run's first node (:mod:`claims`): a hook of ``create_agent`` and an agent inside a graph begin
when the input is stored.
"""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from weakref import WeakValueDictionary

from langgraph.errors import GraphInterrupt

from asyncguard.adapters.langgraph_internals.run import Run
from asyncguard.adapters.langgraph_internals.run_end import when_over_with
from asyncguard.adapters.threads.active_runs import THREADS, party_of
from asyncguard.errors import CallerError, ThreadBusyError

_PAUSES = (*[0.001] * 20, *[0.01] * 18)
"""Seconds between the looks within which a run that was cancelled has begun to end.

Counted and not timed: while the whole process stands still, the other run cannot end either.
"""
_PAUSES_AT_THE_END = (0.01,) * 180
"""Further ones for a run that is ending: its last step is stored."""


@dataclass
class _Course:
    """State of the run that has a lock, kept apart: runs that wait must not keep the lock alive."""

    loop: asyncio.AbstractEventLoop | None = None
    """That runs it; None under sync entry."""
    completed: bool = False

    @property
    def dead(self) -> bool:
        """Return True if nothing can end the run any more: its loop is closed."""
        return self.loop is not None and self.loop.is_closed()


class RunLock:
    """Lock of a run; it is free when the run ends, or when nothing refers to this object.

    LangGraph's run ends before its stream does, whose last parts a caller may read much later.
    """

    def __init__(self, saver: object, journal: object, thread_id: str) -> None:
        """Name the lock; nothing is taken yet.

        Args:
            saver: Where the thread is stored.
            journal: What the caller asked for; see :func:`~active_runs.party_of`.
            thread_id: Name of the thread.
        """
        store = THREADS.store_of(saver)
        self._key = (store, party_of(journal), thread_id)
        self._thread_id, self._store = thread_id, store
        self.course = _Course()
        self._run_known = self._completed = False
        self._kept = (saver, journal)  # so that their addresses stay theirs

    def pauses(self, loop: asyncio.AbstractEventLoop | None = None) -> Iterator[float]:
        """Take the lock; yield the seconds to wait before each further look.

        Args:
            loop: That runs the run; None under sync entry.

        Raises:
            CallerError: Another run is active on the thread.
            ThreadBusyError: Another run that was active has come to its end.
        """
        self.course.loop = loop
        pauses = iter((*_PAUSES, None, *_PAUSES_AT_THE_END))
        while (other := self._take()) is not None:
            pause = next(pauses, None)
            if pause is None and THREADS.is_ending(self._store, self._thread_id):
                pause = next(pauses, None)
            if pause is None:
                raise CallerError(under_way(self._thread_id))
            yield pause
            if other.completed:
                raise ThreadBusyError(continued(self._thread_id, "was begun"))

    def follow(self, run: Run) -> bool:
        """Note how LangGraph's run ends.

        Args:
            run: The first that is given is the lock's; those inside it are given the lock, too.

        Returns:
            True if the lock has to be released at the end of the run.
        """
        if self._run_known:
            return False
        self._run_known = True
        when_over_with(run, self._note_end)
        return True

    def _note_end(self, error: BaseException | None) -> None:
        # Told with the release: until then the last steps are on their way to the store.
        self._completed = error is None or isinstance(error, GraphInterrupt)

    def release(self, *, completed: bool = False) -> None:
        """Give the lock up, if it was taken.

        Args:
            completed: True if the run has come to its own end; those that wait are refused then.
        """
        with _LOCK:
            if _HELD.get(self._key) is self:
                self.course.completed = completed or self._completed
                del _HELD[self._key]

    def _take(self) -> _Course | None:
        """Take the lock, or return how the run that holds it goes."""
        with _LOCK:
            other = _HELD.get(self._key)
            if other is not None and not other.course.dead:
                return other.course
            _HELD[self._key] = self
            return None


# Runs of several event loops and OS threads share these. A garbage collection may end a run within
# any statement, so also where the lock is held.
_LOCK = threading.RLock()
_HELD: WeakValueDictionary[tuple[int, int, str], RunLock] = WeakValueDictionary()


def under_way(thread_id: str) -> str:
    """Return the refusal of a run while another one is active."""
    return (
        f"Another run of thread {thread_id!r} is under way in this process; "
        "wait for it, or cancel it first."
    )


def continued(thread_id: str, since: str) -> str:
    """Return the refusal of a run after another one has ended.

    Args:
        thread_id: Name of the thread.
        since: What the refused run did before.
    """
    return f"Another run has continued thread {thread_id!r} since this one {since}; run it again."
