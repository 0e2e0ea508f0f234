"""Codes of the failures that the runtime itself reports, in one place.

:attr:`~asyncguard.core.faults.Symptom.error` holds one of them, or the name of the exception class that a tool raised.
The values stand in checkpoints, journals, traces and queued orders: none may change, and a code that is no longer
given stays, so that older files can be read.
"""

from enum import StrEnum


class ErrorCode(StrEnum):
    """Name a failure that is not an exception of the tool."""

    # How an attempt ended that was begun, or was about to be.
    TIMEOUT = "timeout"
    """The tool gave no answer within its time."""
    CANCELLED = "cancelled"
    """The attempt was cancelled."""
    TOOL_ERROR = "tool_error"
    """The tool handled its own error and answered with it."""
    ANOMALY = "anomaly"
    """An answer came without an error, and something is wrong with it."""
    INTERRUPT = "interrupt"
    """The attempt ended with a question to a person; another attempt follows the answer."""
    UNDECLARED_INTERRUPT = "undeclared_interrupt"
    """The tool asked a person and was not declared as one that does."""
    CIRCUIT_OPEN = "circuit_open"
    """The breaker of the tool did not let the call through."""
    USER_SPOKE = "user_spoke"
    """A message of the user stopped the attempt before it began."""
    NOT_HAPPENED = "not_happened"
    """A person or a probe found that the attempt did not happen."""
    PROCESS_LOST = "process_lost"
    """The process of the attempt ended, and nothing else is known of it."""

    # What the journal said before an attempt began.
    JOURNAL_REFUSED = "journal_refused"
    """The journal did not let the attempt begin."""
    TAKEN_OVER = "taken_over"
    """The same, because another process holds the thread: the run of this process ends."""
    JOURNAL_UNAVAILABLE = "journal_unavailable"
    """The attempt could not be written down and therefore did not begin."""

    # What other middleware of an agent did with a call.
    NOT_RUN = "not_run"
    """The call ended before its tool was reached."""
    UNANSWERED = "unanswered"
    """The tool was run, and other middleware kept its answer."""
    REPEATED = "repeated"
    """Other middleware ran the tool more than once for one call."""

    # What became of an order that was sent to a worker.
    NOT_FOR_WORKERS = "not_for_workers"
    """The call cannot be sent: it holds what only this process can use."""
    REFUSED_BY_WORKER = "refused_by_worker"
    """The worker does not take orders of this kind."""
    UNREADABLE_ORDER = "unreadable_order"
    """The worker could not read the order."""
    CONFLICTING_ORDER = "conflicting_order"
    """The answer belongs to another call that was sent under the same key."""
    ORDER_REFUSED = "order_refused"
    """The queue did not accept the order."""
    ORDER_LOST = "order_lost"
    """The queue no longer holds the order, and no answer to it."""
    UNREADABLE_ANSWER = "unreadable_answer"
    """The answer of the worker could not be read."""
    WORKERS_GAVE_UP = "workers_gave_up"
    """The workers took the order as often as they may, and none answered."""
