"""Errors, one class for each party at fault.

The class docstring is the default message and says what to do; data sits in attributes. A verdict
of a guard is never an exception: exceptions mean that code, configuration or an external service
has to be changed.
"""

import logging
from typing import Any

_log = logging.getLogger("asyncguard")


class AsyncguardError(Exception):
    """Something went wrong inside asyncguard; report it with the structured log of the run."""

    def __init__(self, message: str | None = None, **data: Any) -> None:
        """Build the error.

        Args:
            message: What happened and what to do; the first line of the class docstring by default.
            **data: Facts about the failure, kept in ``self.data``.
        """
        self.data: dict[str, Any] = data
        doc = (type(self).__doc__ or "").strip().splitlines()
        super().__init__(
            message if message is not None else (doc[0] if doc else type(self).__name__)
        )


class CallerError(AsyncguardError):
    """The code that calls asyncguard passed something unusable; correct the arguments."""


class DeclarationError(CallerError):
    """A tool is declared in a way that cannot work; correct its ToolSpec."""


class UnknownTokenError(CallerError):
    """No pending external call has this token; deliver with the token that the tool received."""


class ToolFault(AsyncguardError):
    """A tool failed; raise this from a tool to say how.

    Attributes:
        transient: True if trying again may help.
        started: True if the effect may have begun. ``False`` allows a retry of any effect class.
        retry_after: Seconds to wait before the next attempt, if the tool's server said so.
        status: HTTP status, if the tool's server gave one; 4xx says that the call was refused as it
            stands.
    """

    def __init__(
        self,
        message: str | None = None,
        *,
        transient: bool = False,
        started: bool = True,
        retry_after: float | None = None,
        status: int | None = None,
    ) -> None:
        """Build the fault; see the class attributes.

        A value of another type is logged and counts as not given: an error that is being raised
        must not be replaced by another.
        """
        for name, value, kind, needed in (
            ("transient", transient, bool, "True or False"),
            ("started", started, bool, "True or False"),
            ("retry_after", retry_after, int | float | None, "a number of seconds or None"),
            ("status", status, int | None, "an integer or None"),
        ):
            if not _fits(value, kind):
                # Without the value, which may come from an answer of the tool's server.
                given = type(value).__name__
                _log.warning(
                    "ToolFault: %s must be %s, not %s; it counts as not given.", name, needed, given
                )
        transient, started = transient is True, started is not False
        status = status if _fits(status, int) else None
        retry_after = retry_after if _fits(retry_after, int | float) else None
        super().__init__(
            message, transient=transient, started=started, retry_after=retry_after, status=status
        )
        self.status = status
        self.transient = transient
        self.started = started
        self.retry_after = retry_after


def _fits(value: object, kind: Any) -> bool:
    # A bool is an int in Python, and NaN a float that is unequal to itself.
    exact = isinstance(value, bool) is (kind is bool)
    return exact and isinstance(value, kind) and (kind is bool or value == value)


class IllegalTransitionError(AsyncguardError):
    """An event arrived that the lifecycle table does not allow; nothing was changed."""


class UnknownCallError(AsyncguardError):
    """An event names a call that the ledger does not know; nothing was changed."""


class JournalError(AsyncguardError):
    """The journal cannot be read or written; nothing began. Check disk, server and file version.

    The message names the journal, for people; ``data["reason"]``, if known, says the same to a
    model.
    """


class JournalLockedError(JournalError):
    """Another process, perhaps a frozen one, locks the journal; let it continue, or stop it."""


class ThreadBusyError(CallerError):
    """Another process is at work on the thread; wait until its run ends, or stop it."""
