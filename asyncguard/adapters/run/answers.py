"""Answers of people: about held calls, and the cancellations that come with an answer or alone."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from langchain_core.messages import AnyMessage

from asyncguard.adapters.approvals import cancel_beside, decisions
from asyncguard.adapters.langgraph_internals.keys import channels_of
from asyncguard.adapters.messages.render import text_of
from asyncguard.adapters.run.run import Run
from asyncguard.adapters.run_input import heard_user
from asyncguard.core.calls import CallState
from asyncguard.core.records import CallRecord
from asyncguard.runtime import proposals
from asyncguard.runtime.tasks import cancel_tasks, reopen_tasks


def refuse_held(run: Run) -> None:
    """Reject the held calls of a run that cannot be resumed, so that no person can answer."""
    proposals.reject_held_calls(run.session)


def enter_answer(run: Run, answer: Any, records: Sequence[CallRecord]) -> str:
    """Apply a person's answer about held calls, after the cancellations that came with it.

    Args:
        run: The run.
        answer: See :func:`~asyncguard.adapters.approvals.decisions`.
        records: The calls that the question named.

    Returns:
        The error of a wrong cancellation, which refuses all calls; empty if there is none.
    """
    # First: a call of a cancelled task must not be issued by the approval beside it.
    wrong = cancel_with_answer(run, approving=True)
    _decide_held(run, records, [(False, wrong)] * len(records) if wrong else None, answer)
    return wrong


def repeat_answer(run: Run, answer: Any, records: Sequence[CallRecord]) -> None:
    """Apply a person's answer about held calls that an earlier execution was given.

    Args:
        run: The run.
        answer: As for :func:`enter_answer`.
        records: The calls that the question named.
    """
    _decide_held(run, records, None, answer)


def _decide_held(
    run: Run, records: Sequence[CallRecord], decided: list[tuple[bool, str]] | None, answer: Any
) -> None:
    for record, (approved, reason) in zip(
        records, decided or decisions(answer, records), strict=True
    ):
        if record.state is CallState.HELD:  # a cancellation may have ended it
            proposals.answer_approval(run.session, record, approved=approved, message=reason)


def cancel_with_answer(run: Run, *, approving: bool = False) -> str:
    """Stop the tasks that were cancelled with an answer; return the error, or an empty text.

    Args:
        run: The run.
        approving: True if the answer is about held calls.
    """
    known = [task.task.id for task in run.ledger.tasks()]
    cancel = partial(cancel_tasks, run.session)
    wrong = cancel_beside(run.config, known, cancel, approving=approving)
    read = channels_of(run.config)
    said: Sequence[AnyMessage] = (read("messages") if read is not None else None) or []
    if heard_user(said) and not run.ledger.open_tasks():
        reopen_tasks(run.session, text_of(said[-1].content), cancelled=known)
    return wrong


def cancel_alone(run: Run) -> bool:
    """Stop the tasks that a ``Command`` without an answer cancels; return True if any stops."""
    before = len(run.ledger.open_tasks()), run.ledger.open_count()
    cancel_with_answer(run)
    return (len(run.ledger.open_tasks()), run.ledger.open_count()) != before


def is_cancelling(run: Run) -> bool:
    """Return True if the ``Command`` that resumed the thread cancels tasks."""
    read = channels_of(run.config)
    return read is not None and bool(read("cancel"))


def cancel_at_question(run: Run, asker: CallRecord | None) -> bool:
    """Stop the tasks that a ``Command`` cancels while a tool's own question is open.

    Args:
        run: The run.
        asker: The call whose tool asks.

    Returns:
        True if an answer beside it is not for the tool: its call was stopped, or a task is
        unknown. Then the question comes again, as the name may mean the task that asks.
    """
    wrong = cancel_with_answer(run)
    if asker is None:
        return False
    stopped = not asker.open or asker.key in run.session.live.barred
    return bool(wrong) or stopped
