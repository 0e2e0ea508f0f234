"""The outbox: events that no graph state holds yet, and the position of the state they follow."""

from collections.abc import Mapping, Sequence
from typing import Any

from asyncguard.core import events as ev
from asyncguard.core.event_codec import to_json
from asyncguard.core.ledger import Ledger

TOKEN = "token"
"""Key of the writer's fencing token in a stored event, absent without a journal."""


class Outbox:
    """Events of one thread that wait to be written into its state."""

    def __init__(self) -> None:
        """Make an empty outbox; the state is expected to be empty, too."""
        self._events: list[ev.Event] = []
        # Position of the state that the events follow, see _position_of.
        self._stored: Mapping[str, Any] = {}

    @property
    def events(self) -> Sequence[ev.Event]:
        """Events since the last :meth:`take`."""
        return self._events

    def add(self, event: ev.Event) -> None:
        """Add an event that the ledger has folded in."""
        self._events.append(event)

    def take(self, ledger: Ledger, token: int = 0) -> list[dict[str, Any]]:
        """Take the events as plain JSON, without the contents that messages of the state hold.

        Args:
            ledger: The ledger that has folded them in.
            token: Fencing token of this process, 0 if it has none.
        """
        if not self._events:
            return []
        taken = [to_json(event) for event in self._events]
        news = {record.key for record in ledger.news()}  # the end of a doubt that was delivered
        for event, data in zip(self._events, taken, strict=True):
            if token:
                data[TOKEN] = token
            if type(event) is not ev.CallRetired or event.key in news:
                continue
            if ledger.record(event.key).delivered:
                data["content"] = None
        self._stored = _position_of(taken)
        self._events.clear()
        return taken

    def follows(self, stored: Sequence[Mapping[str, Any]]) -> bool:
        """Return True if the events here follow those of a state."""
        return _position_of(stored) == self._stored

    def clear(self) -> None:
        """Drop the events, as their ledger is replaced."""
        self._events.clear()

    def begin_after(self, stored: Sequence[Mapping[str, Any]]) -> None:
        """Expect further events to follow those of a state, which the ledger has folded in."""
        self._stored = _position_of(stored)


def _position_of(stored: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the position of a state: its last event without the content, which it may leave out.

    Number and kind of the event do not suffice: two branches of a thread may have the same sequence
    of kinds, and differ in their calls.
    """
    return {**stored[-1], "content": None} if stored else {}


class StoredCheckpoints:
    """The last checkpoint of each namespace that is known to be on disk."""

    def __init__(self) -> None:
        """Start with no known checkpoint."""
        self._last: dict[str, str] = {}

    def covers(self, namespace: str, checkpoint: str) -> bool:
        """Return True if a checkpoint is the last one known to be on disk.

        Args:
            namespace: Namespace of the checkpoint.
            checkpoint: Id of the checkpoint.
        """
        return self._last.get(namespace) == checkpoint

    def note(self, namespace: str, checkpoint: str) -> None:
        """Note that a checkpoint is on disk.

        Args:
            namespace: Namespace of the checkpoint.
            checkpoint: Id of the checkpoint.
        """
        self._last[namespace] = checkpoint
