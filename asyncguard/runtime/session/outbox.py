"""Events that no graph state holds yet, and where the state stands that holds the others."""

from collections.abc import Mapping, Sequence
from typing import Any

from asyncguard.core import events as ev
from asyncguard.core.event_codec import to_json
from asyncguard.core.ledger import Ledger


class Outbox:
    """Keeps the events of one thread until they are taken for its state."""

    def __init__(self) -> None:
        """Make an empty outbox; the state is expected to be empty, too."""
        self._events: list[ev.Event] = []
        self._stored: Mapping[str, Any] = {}

    @property
    def events(self) -> Sequence[ev.Event]:
        """The events since the last :meth:`take`."""
        return self._events

    def add(self, event: ev.Event) -> None:
        """Keep an event that the ledger has folded in."""
        self._events.append(event)

    def take(self, ledger: Ledger) -> list[dict[str, Any]]:
        """Take the events as plain JSON; contents that stand in messages are left out.

        Args:
            ledger: Has folded them in.
        """
        if not self._events:
            return []
        taken = [to_json(event) for event in self._events]
        for event, data in zip(self._events, taken, strict=True):
            if type(event) is ev.CallRetired and ledger.record(event.key).delivered:
                data["content"] = None
        self._stored = _mark_of(taken)
        self._events.clear()
        return taken

    def follows(self, stored: Sequence[Mapping[str, Any]]) -> bool:
        """Return True if the events of a state end with the one after which the events here come."""
        return _mark_of(stored) == self._stored

    def clear(self) -> None:
        """Drop the events: the ledger that knows them is given up."""
        self._events.clear()

    def begin_after(self, stored: Sequence[Mapping[str, Any]]) -> None:
        """Expect further events to follow those of a state, which the ledger has folded in."""
        self._stored = _mark_of(stored)


def _mark_of(stored: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return what tells where a state is: its last event, but for the content, which the state may leave out.

    Number and kind are not enough. Two branches of a thread may be of one shape, and differ in their calls.
    """
    return {**stored[-1], "content": None} if stored else {}


class StoredCheckpoints:
    """The last checkpoint of each namespace that is known to be on disk."""

    def __init__(self) -> None:
        """Know of no checkpoint."""
        self._last: dict[str, str] = {}

    def covers(self, namespace: str, checkpoint: str) -> bool:
        """Return whether a checkpoint is the last one known to be on disk.

        Args:
            namespace: Of the checkpoint.
            checkpoint: Its id.
        """
        return self._last.get(namespace) == checkpoint

    def note(self, namespace: str, checkpoint: str) -> None:
        """Note that a checkpoint is on disk.

        Args:
            namespace: Of the checkpoint.
            checkpoint: Its id.
        """
        self._last[namespace] = checkpoint
