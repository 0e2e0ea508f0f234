"""Cache of what each turn needs of a thread's history, so that only new messages are examined."""

import operator
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage

from asyncguard.adapters.messages.history import calls_of
from asyncguard.adapters.messages.provider_rules import append_adapted, part_turns


class HistoryCache:
    """Caches of an agent's threads; each lives as long as the owner it belongs to."""

    def __init__(self) -> None:
        """Start empty."""
        # Weak keys: a session that is dropped takes its cache with it.
        self._found: WeakKeyDictionary[object, CachedHistory] = WeakKeyDictionary()

    def of(self, owner: object, nonce: str) -> "CachedHistory":
        """Return the cache of a thread.

        Args:
            owner: Object that lives as long as the thread is in memory.
            nonce: Secret part of the thread's delimiters.
        """
        found = self._found.get(owner)
        if found is None:
            found = self._found[owner] = CachedHistory(nonce)
        return found


class CachedHistory:
    """Cached facts about one stored history; rebuilt if the history is not a continuation."""

    def __init__(self, nonce: str) -> None:
        """Start empty.

        Args:
            nonce: Secret part of the thread's delimiters.
        """
        self._nonce = nonce
        self._provider = ""  # the cached requests are adapted to this provider
        self._forget()

    def _forget(self) -> None:
        self._stored: list[AnyMessage] = []  # the history that was read, compared by identity
        self._sent: list[AnyMessage] = []  # the same, adapted to the provider
        self.ids: set[str] = set()
        """Ids of all messages and calls of the history."""

    def read(self, messages: Sequence[AnyMessage], provider: str) -> None:
        """Update the cache from the stored history.

        Args:
            messages: The whole history; usually the cached one and a few more.
            provider: Name of the provider that the history is sent to.
        """
        known = len(self._stored)
        same = len(messages) >= known and all(map(operator.is_, self._stored, messages))
        if not same or provider != self._provider:
            self._forget()
            self._provider, known = provider, 0
        for message in messages[known:]:
            self._stored.append(message)
            append_adapted(self._sent, message, provider=provider, nonce=self._nonce)
            self.ids.add(str(message.id))
            self.ids.update(str(call["id"]) for call in calls_of(message))
            if isinstance(message, ToolMessage):  # its call may have been removed by others
                self.ids.add(message.tool_call_id)

    def request(self, view: HumanMessage | None = None) -> list[AnyMessage]:
        """Return the messages to send, with the task-state view at the end."""
        sent = list(self._sent)
        if view is not None:
            append_adapted(sent, view, provider=self._provider, nonce=self._nonce)
        part_turns(sent)
        return sent
