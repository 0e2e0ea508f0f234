"""The inbox: the only way in for results of external calls.

A delivery names a token that only the external tool received. Nothing else ends an external call:
neither the tool's output nor the value with which a parked run is resumed.
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

_NO_JOURNAL = (
    "No pending external call of this process has this token; deliver with the token that the tool "
    "received. An inbox knows its agent's journal from the agent's first run in a process, or if "
    "the agent was given one by journal=open_journal(...). Without an agent, journal.deliver and "
    "asyncguard deliver do the same."
)


class Inbox:
    """Results of external calls, by token; safe to use from any OS thread.

    A delivery for an issued token is kept until its run collects it, also while the run is parked.
    """

    def __init__(self) -> None:
        """Make an empty inbox."""
        # Guards the mapping; receivers are called without it.
        self._lock = threading.Lock()
        # Callbacks of the issued tokens that were not used yet.
        self._waiting: dict[str, Callable[[Success], None]] = {}
        # Journals that are asked about a token without a callback, in this order.
        self._journals: list[Journal] = []

    def forward_to(self, journal: Journal) -> None:
        """Forward deliveries to a journal, which stores them until a process runs their thread."""
        if journal not in self._journals:
            self._journals.append(journal)

    def issue(self, receive: Callable[[Success], None] | None) -> str:
        """Make a token for one call.

        Args:
            receive: Called once with the result, in the delivering OS thread; ``None`` if a journal
                stores the delivery.
        """
        # A command line would take a token with a dash in front for an option.
        while (token := secrets.token_urlsafe(24)).startswith("-"):
            pass
        if receive is not None:
            with self._lock:
                self._waiting[token] = receive
        return token

    def deliver(self, token: str, content: Any) -> None:
        """Deliver the result of an external call; a journal has it on disk when this returns.

        Args:
            token: The token that the tool received.
            content: The result: text, content blocks, or any JSON value, which the model is shown
                as JSON text.

        Raises:
            UnknownTokenError: The token was never issued, or was used before.
            CallerError: The token is not a string, the content not JSON, or a journal has the call
                as resolved or ended; nothing was delivered.
            JournalError: The journal cannot be written; nothing was delivered.
        """
        if not isinstance(token, str):
            raise CallerError(
                f"token must be a str, not {type(token).__name__}; "
                "pass the token that the external tool received."
            )
        stored = as_content(content)
        with self._lock:
            receive = self._waiting.pop(token, None)  # of two deliveries at once, one finds it
        if receive is not None:
            receive(Success(content=stored))
            return
        for journal in self._journals:
            with contextlib.suppress(UnknownTokenError):
                journal.deliver(token, stored)
                return
        raise UnknownTokenError(None if self._journals else _NO_JOURNAL)
