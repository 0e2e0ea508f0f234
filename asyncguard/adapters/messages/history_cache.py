"""A thread's history between turns: what each turn needs of it, so that only what is new is looked at."""

import operator
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from asyncguard.adapters.messages.provider_rules import append_adapted


class HistoryCache:
    """The conversations of an agent's threads; one is forgotten with whom it belongs to."""

    def __init__(self) -> None:
        """Start empty."""
        self._found: WeakKeyDictionary[object, CachedHistory] = WeakKeyDictionary()

    def of(self, owner: object, nonce: str) -> "CachedHistory":
        """Return the conversation of a thread.

        Args:
            owner: Lives as long as the thread is in memory.
            nonce: The thread's secret part of the delimiters.
        """
        found = self._found.get(owner)
        if found is None:
            found = self._found[owner] = CachedHistory(nonce)
        return found


class CachedHistory:
    """What is known of one stored history; forgotten and made anew when the history is not the one it was."""

    def __init__(self, nonce: str) -> None:
        """Know nothing yet.

        Args:
            nonce: The thread's secret part of the delimiters.
        """
        self._nonce = nonce
        self._provider = ""
        self._forget()

    def _forget(self) -> None:
        self._stored: list[AnyMessage] = []
        self._sent: list[AnyMessage] = []
        self.ids: set[str] = set()

    def read(self, messages: Sequence[AnyMessage], provider: str) -> None:
        """Take in the stored history.

        Args:
            messages: All of it; usually what was there before and a little more.
            provider: Who gets it.
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
            if isinstance(message, AIMessage):
                calls = (*message.tool_calls, *message.invalid_tool_calls)
                self.ids.update(str(call["id"]) for call in calls)

    def request(self, view: HumanMessage | None = None) -> list[AnyMessage]:
        """The messages to send, with the task-state view at the end."""
        sent = list(self._sent)
        if view is not None:
            append_adapted(sent, view, provider=self._provider, nonce=self._nonce)
        return sent
