"""Strict checks of message histories: each provider's demands, and its words when it refuses.

The rules were read from the providers' documentation, error messages and open-source validators;
each rule's file says from which. A rule is one small function, `checker.RULES` the table of the
rules of each provider.

Internal; :mod:`asyncguard` names the public interface.
"""

from asyncguard.testing.history.checker import (
    HistoryError,
    Violation,
    check_history,
    check_history_all,
    history_violations,
)
from asyncguard.testing.history.transcript import Provider

__all__ = [
    "HistoryError",
    "Provider",
    "Violation",
    "check_history",
    "check_history_all",
    "history_violations",
]
