"""Asking the journal before an attempt begins; the same for every executor."""

import logging

from asyncguard.core.hazards import Symptom
from asyncguard.engine.backoff import Backoff
from asyncguard.engine.clock import Clock
from asyncguard.engine.executors.port import Failure, Job, Result
from asyncguard.engine.journal.port import Fresh, Journal, Known, Lost, Refused, Running
from asyncguard.errors import JournalError

PROCESS_LOST = "process_lost"
"""The failure of an attempt whose process ended, of which nothing else is known."""
REFUSED = "journal_refused"
"""The failure of an attempt that the journal did not let begin."""
FENCED = "taken_over"
"""The same, where the process may begin nothing any more: its run ends."""
UNAVAILABLE = "journal_unavailable"
"""The failure of an attempt that could not be written down, and therefore did not begin."""

_log = logging.getLogger("asyncguard.journal")
_FIRST_LOOK, _LONGEST_LOOK = 0.05, 0.5
"""Seconds between two looks at an attempt that runs elsewhere."""
_LOST = "The process that ran the call ended before it answered."
_OTHER = "A process that ended had begun the call with other arguments, and nobody knows what came of it."


async def begin_in(journal: Journal, job: Job, clock: Clock) -> Result | None:
    """Ask whether a job may begin; its result if it is known already, ``None`` if it may.

    An attempt that runs in another process is waited for.

    Args:
        journal: Who is asked.
        job: With an intent.
        clock: Times the looks.
    """
    assert job.intent is not None  # only such jobs are asked about
    backoff = Backoff(first=_FIRST_LOOK, longest=_LONGEST_LOOK, clock=clock)
    while True:
        try:
            verdict = await journal.begin(job.intent)
        except JournalError as error:
            _log.warning("attempt %d of call %s was not begun: %s", job.intent.attempt, job.intent.key, error)
            reason = error.data.get("reason", "its journal failed, and the log says why")
            return _failure(UNAVAILABLE, f"The call could not be written down, so it was not begun: {reason}.")
        match verdict:
            case Fresh():
                return None
            case Known(result=result):
                return result
            case Lost(other=other):
                return Failure(
                    symptom=Symptom(error=PROCESS_LOST, message=_OTHER if other else _LOST, transient=not other)
                )
            case Refused(reason=reason, fenced=fenced):
                return _failure(FENCED if fenced else REFUSED, reason)
            case Running():
                await backoff.pause()


def _failure(error: str, message: str) -> Failure:
    return Failure(symptom=Symptom(error=error, message=message, transient=False, started=False))
