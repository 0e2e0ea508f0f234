"""Approval prompt inside ``create_agent``: one wrapper or hook asks about all held calls.

LangGraph accepts one answer per interrupt, and the wrappers of a message run concurrently. So one
of them, the asker, raises the interrupt for all; the others stop without one, or continue with its
answer.
"""

from typing import Any

from langgraph.errors import GraphInterrupt

from asyncguard.adapters.answer_log.index import PARKED, approval_of, approvals, is_approval
from asyncguard.adapters.answer_log.new_answer import Taken, replace_new_answer, store_taken_answer
from asyncguard.adapters.answer_log.new_answer import take_answer as take_from_log
from asyncguard.adapters.answer_log.questions import ask
from asyncguard.adapters.approvals import named_in, question, resumable
from asyncguard.adapters.middleware.pending_handlers import PendingHandlers
from asyncguard.adapters.run.answers import (
    cancel_alone,
    enter_answer,
    is_cancelling,
    refuse_held,
    repeat_answer,
)
from asyncguard.adapters.run.run import Run
from asyncguard.adapters.ui_events import asking_event, emit
from asyncguard.core.calls import CallState
from asyncguard.core.records import CallRecord
from asyncguard.core.scheduling import Step, next_step

ARRIVAL = 1.0
"""Seconds that a wrapper waits for another one of its message.

Wrappers start at once unless other middleware delays them or answers their call itself.
"""


async def leads(run: Run, handlers: PendingHandlers, record: CallRecord) -> bool:
    """Return True if this wrapper asks the person; the first of a message asks for all held calls.

    The other wrappers stop without an interrupt and are executed again with the answer; or they
    continue here, if the answer is there.

    Raises:
        GraphInterrupt: The question is out.
    """
    if not resumable(run.config):
        return True
    all_here = True  # no wait has timed out yet
    while record.state is CallState.HELD:
        if (asked := handlers.question) is not None and asked.out:
            # Without a value of its own: LangGraph would show the person a second question.
            asked.stopped.add(record.key)
            raise GraphInterrupt
        answer_comes = handlers.answer_comes(run.ledger, record)
        if answer_comes and handlers.full:
            return False
        together = asked_together(run, handlers)
        comes = all_here and (
            answer_comes
            or any(
                handlers.may_come(each) and not handlers.holds(each.key)
                for each in _unanswered(run)
            )
        )
        waiting = (each for each in together if handlers.may_come(each))
        first = next((each for each in waiting if not each.placeholder), record)
        if not comes and record is first:
            return True
        # Some wrappers never start, because other middleware answered their calls: wait only once.
        all_here = await run.wait_changed(ARRIVAL) and all_here
        if next_step(run.board) is not Step.APPROVE:  # an approved call runs, and may ask itself
            return False
    return False


def _unanswered(run: Run) -> list[CallRecord]:
    """Return the held calls whose wrappers have not returned."""
    return [record for record in run.ledger.in_state(CallState.HELD) if not record.placeholder]


def asked_together(run: Run, handlers: PendingHandlers) -> list[CallRecord]:
    """Return the held calls about which a wrapper asks, in program order.

    A call whose tool asks a person itself is asked about alone, by its own wrapper: LangGraph
    matches answers to interrupts by their order within a node.
    """
    held = [record for record in run.ledger.in_state(CallState.HELD) if handlers.holds(record.key)]
    held.sort(key=lambda record: record.call.sequence)
    together = [
        record for record in held if record.placeholder or not run.board.asks_person(record)
    ]
    if any(not record.placeholder for record in together):
        return together
    # After an update of the state LangGraph also executes wrappers that had returned again.
    return (_unanswered(run) or held)[:1]


async def take_answer(run: Run, handlers: PendingHandlers, asker: str) -> Taken:
    """Take the answer to the question that was out, and apply it if it is about held calls.

    Before any other event makes a model turn due: the answer would be lost.

    Args:
        run: Of the wrapper or hook.
        handlers: Holds the question.
        asker: Key of the call whose wrapper this is, empty for a hook.

    Returns:
        The question, as :func:`~asyncguard.adapters.answer_log.new_answer.take_answer` says.
    """

    def asker_of(value: Any) -> str:
        held = named_in(value, run.ledger.in_state(CallState.HELD))
        return approval_of([record.key for record in held]) if held else ""

    taken = await take_from_log(run.config, asker, asker_of=asker_of)
    if taken.asker != PARKED and not is_cancelling(run):  # else it may refuse what is approved
        await store_taken_answer(run.config)
    given = approvals(run.config)
    for number, (keys, answer) in enumerate(given):
        records = [record for key in keys if (record := run.ledger.find(key)) is not None]
        if number < len(given) - 1 or not (taken.answered and is_approval(taken.asker)):
            repeat_answer(run, answer, records)  # changes nothing in the process that was given it
            continue
        handlers.question = None
        if wrong := enter_answer(run, answer, records):
            replace_new_answer(run.config, {"approve": False, "reason": wrong})
        run.wake()
    return taken


def ask_person(
    run: Run, handlers: PendingHandlers, records: list[CallRecord], *, asker: str
) -> None:
    """Interrupt the graph for held calls; reject them if no person can answer.

    Args:
        run: Of the wrapper or hook.
        handlers: Where the question is stored.
        records: The held calls.
        asker: Key of the call whose wrapper asks, empty for a hook.

    Raises:
        GraphInterrupt: The question is out.
    """
    if not resumable(run.config):
        refuse_held(run)
        return
    if cancel_alone(run):
        handlers.question = None
        run.wake()
        return
    keys = tuple(record.key for record in records)
    handlers.ask(asker, keys)
    emit(asking_event(records))
    run.wake()  # so that the other wrappers see the question and stop
    ask(run.config, approval_of(keys), question(records))
