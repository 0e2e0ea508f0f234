"""Sessions by thread: the live ones, and only those; an idle session is folded anew from the state when needed."""

from collections import OrderedDict

from asyncguard.runtime.engine import Engine
from asyncguard.runtime.session.session import Session

_KEPT_IDLE = 256


class Sessions:
    """Finds the session of a thread, or makes one."""

    def __init__(self, engine: Engine) -> None:
        """Know no session yet.

        Args:
            engine: What the sessions share.
        """
        self._engine = engine
        self._sessions: OrderedDict[tuple[str, str], Session] = OrderedDict()

    def of(self, thread: str, namespace: str) -> Session:
        """Return the session of a thread, a new one where there is none.

        Args:
            thread: The thread's minted id.
            namespace: Path of the agent among agents.
        """
        name = (thread, namespace)
        found = self._sessions.get(name)
        if found is None:
            found = self._sessions[name] = Session(self._engine, thread, namespace)
            self._shrink()
        self._sessions.move_to_end(name)
        return found

    def forget(self, session: Session) -> None:
        """Drop a session whose run ended, if nothing of it is alive."""
        if session.idle:
            self._drop((session.thread, session.namespace))

    def _drop(self, name: tuple[str, str]) -> None:
        dropped = self._sessions.pop(name, None)
        if dropped is not None:
            dropped.succeed(self._live)

    def _live(self, forgotten: Session) -> Session:
        """The session for what comes late for a forgotten one: that one again, if the thread has no other."""
        live = self._sessions.setdefault((forgotten.thread, forgotten.namespace), forgotten)
        if live is forgotten:
            forgotten.revive()
        return live

    def __len__(self) -> int:
        """Number of sessions in memory."""
        return len(self._sessions)

    def _shrink(self) -> None:
        if len(self._sessions) > _KEPT_IDLE:
            for name, session in list(self._sessions.items())[:-_KEPT_IDLE]:
                if session.idle:
                    self._drop(name)
