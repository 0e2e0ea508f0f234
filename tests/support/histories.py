"""Check of a conversation's next request."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import HumanMessage

from asyncguard.adapters.messages.history_cache import CachedHistory
from asyncguard.testing import check_history_all

NO_NONCE = "no thread has this nonce"


def check_next_request(messages: Sequence[Any]) -> None:
    """Check that every provider accepts a history with a further message of the user.

    The request is adapted to an unknown provider, for which the strictest rules apply.
    """
    history = CachedHistory(NO_NONCE)
    history.read([*messages, HumanMessage(content="And now?")], "unknown")
    check_history_all(history.request())
