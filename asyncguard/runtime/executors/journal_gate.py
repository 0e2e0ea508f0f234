"""The journal gate: asks the journal before an attempt begins; the same for every executor."""

import logging
from dataclasses import replace

from asyncguard.core.faults import ErrorCode, Symptom
from asyncguard.core.results import Failure, Result
from asyncguard.errors import JournalError
from asyncguard.journal.port import Fresh, Journal, Known, Lost, Refused, Running
from asyncguard.runtime.clock import Backoff, Clock
from asyncguard.runtime.executors.port import Job

_log = logging.getLogger("asyncguard.journal")
_FIRST_LOOK, _LONGEST_LOOK = 0.05, 0.5
"""Seconds between two polls of an attempt that runs elsewhere."""
_LOST = "The process that ran the call ended before it answered."
_OTHER = (
    "A process that ended had begun the call with other arguments, and its outcome is not known."
)


async def begin_in(journal: Journal, job: Job, clock: Clock) -> Result | Fresh:
    """Ask the journal to let a job begin, and wait while the attempt runs in another process.

    Args:
        journal: The journal to ask.
        job: A job with an intent.
        clock: Times the polls.

    Returns:
        The journal's permission if the job may begin, otherwise its result.
    """
    assert job.intent is not None  # the executor asks about such jobs only
    backoff = Backoff(first=_FIRST_LOOK, longest=_LONGEST_LOOK, clock=clock)
    while True:
        try:
            verdict = await journal.begin(job.intent)
        except JournalError as error:
            _log.warning(
                "attempt %d of call %s in thread %r did not begin, because the journal failed: %s",
                job.intent.attempt,
                job.intent.key,
                job.intent.thread_id or job.intent.session,
                error,
            )
            reason = error.data.get("reason", "its journal failed, and the log says why")
            return _failure(
                ErrorCode.JOURNAL_UNAVAILABLE,
                f"The call could not be written down, so it was not begun: {reason}.",
            )
        match verdict:
            case Fresh():
                return verdict
            case Known(result=result):
                return result
            case Lost(other=other):
                return Failure(
                    symptom=Symptom(
                        error=ErrorCode.PROCESS_LOST,
                        message=_OTHER if other else _LOST,
                        transient=not other,
                    )
                )
            case Refused(reason=reason, fenced=fenced):
                return _failure(
                    ErrorCode.TAKEN_OVER if fenced else ErrorCode.JOURNAL_REFUSED, reason
                )
            case Running():
                await backoff.pause()


def told_of(permission: Fresh, result: Result) -> Result:
    """Return the result of an attempt that the journal permitted.

    A failure that says that nothing began says so of this begin only, not of an earlier one.
    """
    if permission.again and isinstance(result, Failure):
        return replace(result, symptom=result.symptom.of_repetition())
    return result


def _failure(error: ErrorCode, message: str) -> Failure:
    return Failure(symptom=Symptom(error=error, message=message, transient=False, started=False))
