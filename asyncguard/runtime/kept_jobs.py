"""Jobs that an earlier process has sent away and that have not begun, such as orders in a queue.

The journal knows what has begun. A job that waits elsewhere has not, and may begin at any moment:
also after this process has told its call as not run, and the model has made the call again. So who
acquires a thread takes such jobs back first. A call that goes on is sent again.
"""

from asyncguard.core.calls import OPEN_STATES
from asyncguard.errors import JournalError
from asyncguard.runtime.clock import Backoff
from asyncguard.runtime.executors.port import KeepingExecutor
from asyncguard.runtime.session.session import Session

_FIRST_LOOK, _LONGEST_LOOK, _PATIENCE = 0.05, 0.5, 30.0
"""Seconds: a worker that has taken a job asks the journal at once, but may wait for it."""


async def take_back(session: Session, name: str) -> None:
    """Take back the jobs of a thread's open calls that have not begun.

    Args:
        session: The thread, which this process has acquired.
        name: The caller's thread id, empty if there is none.

    Raises:
        JournalError: The journal cannot be read or written, the executor does not answer, or a
            worker that is about to begin a call does not begin it.
    """
    executor = session.engine.executor
    if session.engine.journal is None or not isinstance(executor, KeepingExecutor):
        return
    here = set(executor.pending())
    keys = [
        record.key
        for record in session.ledger.calls()
        if record.state in OPEN_STATES
        and record.key not in here
        and session.board.spec(record.tool).written_down
    ]
    backoff = Backoff(
        first=_FIRST_LOOK,
        longest=_LONGEST_LOOK,
        patience=_PATIENCE,
        clock=session.engine.clock,
    )
    while keys:
        taken = await executor.take_back(keys)
        # Also if none is left: one may have begun, and even ended, since the journal was asked.
        await session.lease.ask_again(name)
        known = session.lease.begun_before
        keys = [
            key for key, attempt in taken.items() if key not in known or known[key].number < attempt
        ]
        if keys and backoff.over:
            raise JournalError(
                f"A worker has taken a call of thread {name!r} and has not begun it; "
                "see whether it runs and reaches the journal, and run the thread again."
            )
        if keys:
            await backoff.pause()
