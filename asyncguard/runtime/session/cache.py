"""Cache of sessions by thread; an idle session may be dropped and is rebuilt from the state."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from asyncguard.runtime.engine import Engine
from asyncguard.runtime.session.session import Session

_KEPT_IDLE = 256
"""Number of sessions above which the idle ones among the least recently used are dropped.

They are looked for once for as many new ones: a search among thousands of runs costs as much as a
turn.
"""


class Sessions:
    """Sessions of the threads that this process runs."""

    def __init__(
        self,
        engine: Engine,
        *,
        when_over: Callable[[Any, Callable[[], None]], object] = lambda _run, _act: None,
        dropped: Callable[[tuple[str, str]], object] = lambda _: None,
    ) -> None:
        """Start empty.

        Args:
            engine: Engine of all sessions.
            when_over: Has a function called at the end of a run.
            dropped: Called with the thread and the namespace of a session that is dropped.
        """
        self._engine = engine
        self._when_over = when_over
        self._dropped = dropped
        # Runs of several OS threads share the sessions; a session that one of them has found must
        # not be dropped by another before it counts as used. Reentrant: garbage collection may
        # bring a completion.
        self._lock = threading.RLock()
        # By thread id and namespace, the least recently used first.
        self._sessions: OrderedDict[tuple[str, str], Session] = OrderedDict()
        # Number of sessions from which on idle ones are looked for.
        self._most = _KEPT_IDLE

    def of(self, thread: str, namespace: str, run: Any = None) -> Session:
        """Return the session of a thread, a new one if there is none.

        Args:
            thread: The thread's minted id.
            namespace: Path of the agent among agents.
            run: LangGraph's run that uses the session from now on, ``None`` if it is not known.
        """
        name = (thread, namespace)
        with self._lock:
            found = self._sessions.get(name)
            if found is None:
                found = self._sessions[name] = Session(self._engine, thread, namespace)
                if len(self._sessions) > self._most:
                    self._drop_idle()
            self._sessions.move_to_end(name)
            if run is not None and (ended := found.use_in(run)) is not None:
                self._when_over(run, ended)
        return found

    def _drop_idle(self) -> None:
        """Drop the idle sessions among all but the most recently used ones."""
        for old, session in list(self._sessions.items())[:-_KEPT_IDLE]:
            # A run that waits for its model looks idle, but what its node begins then is not in
            # the state: another session would take it for that of a lost process.
            if session.idle and not session.in_use:
                self._drop(old)
        left = len(self._sessions)
        self._most = _KEPT_IDLE if left <= _KEPT_IDLE else left + _KEPT_IDLE

    def forget(self, session: Session) -> None:
        """Drop a session whose run ended, if it is idle."""
        if not session.idle:
            return
        with self._lock:
            self._drop((session.thread, session.namespace))
            self._most = max(_KEPT_IDLE, min(self._most, len(self._sessions) + _KEPT_IDLE))

    def _drop(self, name: tuple[str, str]) -> None:
        dropped = self._sessions.pop(name, None)
        if dropped is not None:
            dropped.succeed(self._live)
            self._dropped(name)

    def _live(self, forgotten: Session) -> Session:
        """Return the session that receives late completions and signals of a dropped one.

        It is the dropped one itself, if the thread has no other by now.
        """
        with self._lock:
            live = self._sessions.setdefault((forgotten.thread, forgotten.namespace), forgotten)
            if live is forgotten:
                forgotten.revive()
        return live

    def __len__(self) -> int:
        """Return the number of sessions in memory."""
        return len(self._sessions)
