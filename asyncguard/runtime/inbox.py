"""The inbox: the only way in for results of external calls.

A delivery names a token that only the external tool was given. Nothing else settles an external call: neither what a
tool prints nor the value with which a parked run is resumed.
"""

import contextlib
import secrets
import threading
from collections.abc import Callable
from typing import Any

from asyncguard.core.results import Success
from asyncguard.errors import CallerError, UnknownTokenError
from asyncguard.journal.codec import as_content
from asyncguard.journal.port import Journal


class Inbox:
    """Results of external calls, by token; safe to use from any thread.

    A delivery for a token that was issued is kept until its run collects it, also while the run is parked.
    """

    def __init__(self) -> None:
        """Make an empty inbox."""
        self._lock = threading.Lock()
        self._waiting: dict[str, Callable[[Success], None]] = {}
        self._journals: list[Journal] = []

    def forward_to(self, journal: Journal) -> None:
        """Hand deliveries on to a journal, which keeps them until their thread comes for them, in any process."""
        if journal not in self._journals:
            self._journals.append(journal)

    def issue(self, receive: Callable[[Success], None] | None) -> str:
        """Make a token for one call.

        Args:
            receive: Called once with the result, from the delivering thread; ``None`` where a journal takes it.
        """
        token = secrets.token_urlsafe(24)
        if receive is not None:
            with self._lock:
                self._waiting[token] = receive
        return token

    def revoke(self, token: str) -> None:
        """Forget a token; a later delivery is refused."""
        with self._lock:
            self._waiting.pop(token, None)

    def deliver(self, token: str, content: Any) -> None:
        """Deliver the result of an external call; with a journal it is on disk when this returns.

        Args:
            token: The token that the tool received.
            content: The result: text, content blocks, or any JSON value, which the model is shown as JSON text.

        Raises:
            UnknownTokenError: The token was never issued, or was used before.
            CallerError: The token is no text, or the content no JSON; nothing was delivered.
            JournalError: The journal cannot be written; nothing was delivered.
        """
        if not isinstance(token, str):
            raise CallerError(
                f"A token is the text that the external tool received, not {type(token).__name__}."
            )
        told = as_content(content)
        with self._lock:
            receive = self._waiting.pop(token, None)
        if receive is not None:
            receive(Success(content=told))
        else:
            self._forward(token, told)

    def _forward(self, token: str, content: Any) -> None:
        for journal in self._journals:
            with contextlib.suppress(UnknownTokenError):
                journal.deliver(token, content)
                return
        raise UnknownTokenError
