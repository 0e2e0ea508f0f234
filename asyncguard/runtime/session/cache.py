"""Cache of sessions by thread; an idle session may be dropped and is rebuilt from the state."""

from collections import OrderedDict

from asyncguard.runtime.engine import Engine
from asyncguard.runtime.session.session import Session

_KEPT_IDLE = 256
"""Number of sessions above which the idle ones among the least recently used are dropped."""


class Sessions:
    """Sessions of the threads that this process runs."""

    def __init__(self, engine: Engine) -> None:
        """Start empty.

        Args:
            engine: Engine of all sessions.
        """
        self._engine = engine
        # By thread id and namespace, the least recently used first.
        self._sessions: OrderedDict[tuple[str, str], Session] = OrderedDict()

    def of(self, thread: str, namespace: str) -> Session:
        """Return the session of a thread, a new one if there is none.

        Args:
            thread: The thread's minted id.
            namespace: Path of the agent among agents.
        """
        name = (thread, namespace)
        found = self._sessions.get(name)
        if found is None:
            found = self._sessions[name] = Session(self._engine, thread, namespace)
            for old, session in list(self._sessions.items())[:-_KEPT_IDLE]:
                if session.idle:
                    self._drop(old)
        self._sessions.move_to_end(name)
        return found

    def forget(self, session: Session) -> None:
        """Drop a session whose run ended, if it is idle."""
        if session.idle:
            self._drop((session.thread, session.namespace))

    def _drop(self, name: tuple[str, str]) -> None:
        dropped = self._sessions.pop(name, None)
        if dropped is not None:
            dropped.succeed(self._live)

    def _live(self, forgotten: Session) -> Session:
        """Return the session that receives late completions and signals of a dropped one.

        It is the dropped one itself, if the thread has no other by now.
        """
        live = self._sessions.setdefault((forgotten.thread, forgotten.namespace), forgotten)
        if live is forgotten:
            forgotten.revive()
        return live

    def __len__(self) -> int:
        """Return the number of sessions in memory."""
        return len(self._sessions)
