"""The inbox: the only way in for results of external calls.

A delivery names a token that only the external tool was given. Nothing else settles an external call: neither what a
tool prints nor the value with which a parked run is resumed.
"""

import secrets
import threading
from collections.abc import Callable
from typing import Any

from asyncguard.engine.executors.port import Success
from asyncguard.errors import UnknownTokenError


class Inbox:
    """Results of external calls, by token; safe to use from any thread.

    A delivery for a token that was issued is kept until its run collects it, also while the run is parked.
    """

    def __init__(self) -> None:
        """Make an empty inbox."""
        self._lock = threading.Lock()
        self._waiting: dict[str, Callable[[Success], None]] = {}

    def issue(self, receive: Callable[[Success], None]) -> str:
        """Make a token for one call.

        Args:
            receive: Called once with the result, from the delivering thread.
        """
        token = secrets.token_urlsafe(24)
        with self._lock:
            self._waiting[token] = receive
        return token

    def revoke(self, token: str) -> None:
        """Forget a token; a later delivery is refused."""
        with self._lock:
            self._waiting.pop(token, None)

    def deliver(self, token: str, content: Any) -> None:
        """Deliver the result of an external call.

        Args:
            token: The token that the tool received.
            content: The result: text or content blocks.

        Raises:
            UnknownTokenError: The token was never issued, or was used before.
        """
        with self._lock:
            receive = self._waiting.pop(token, None)
        if receive is None:
            raise UnknownTokenError
        receive(Success(content=content))
