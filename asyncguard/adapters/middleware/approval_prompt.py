"""Approval prompt inside ``create_agent``: one wrapper or hook asks about all held calls.

LangGraph accepts one answer per interrupt, and the wrappers of a message run concurrently. So one
of them, the asker, raises the interrupt for all; the others stop without one, or continue with its
answer.
"""

from langgraph.errors import GraphInterrupt

from asyncguard.adapters.approvals import named_in, question, resumable
from asyncguard.adapters.langgraph_internals import asked_before
from asyncguard.adapters.middleware.pending_handlers import PendingHandlers, Question
from asyncguard.adapters.run import Run
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
        together = asked_together(run, handlers)
        comes = all_here and any(not handlers.holds(each.key) for each in _unanswered(run))
        first = next((each for each in together if not each.placeholder), record)
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
    return together if any(not record.placeholder for record in together) else _unanswered(run)[:1]


def take_answer(run: Run, handlers: PendingHandlers, asker: str) -> None:
    """Apply a person's answer before any other event makes a model turn due: it would be lost.

    Args:
        run: Of the wrapper or hook.
        handlers: Holds the question.
        asker: Key of the call whose wrapper this is, empty for a hook.
    """
    asked = handlers.question or _asked_elsewhere(run, asker)
    if asked is None or not (asker == asked.asker or asker in asked.stopped):
        return
    asked.out = False  # the graph is executed again
    asked.stopped.clear()
    held = [
        record for key in asked.keys if (record := run.ledger.record(key)).state is CallState.HELD
    ]
    if held and asker == asked.asker and handlers.answered.waits(run.config):
        ask_person(run, handlers, held, asker=asker)


def _asked_elsewhere(run: Run, asker: str) -> Question | None:
    """Return the question that a wrapper has asked in a process that has ended, if it has one."""
    asked = asked_before(run.config)
    if not asker or not asked:
        return None
    held = named_in(asked[-1].value, run.ledger.in_state(CallState.HELD))
    keys = tuple(record.key for record in held)
    return Question(asker=asker, keys=keys) if keys else None


def ask_person(
    run: Run, handlers: PendingHandlers, records: list[CallRecord], *, asker: str
) -> None:
    """Interrupt the graph for held calls and apply the answer; reject them if no person can answer.

    Args:
        run: Of the wrapper or hook.
        handlers: Where the question is stored.
        records: The held calls.
        asker: Key of the call whose wrapper asks, empty for a hook.

    Raises:
        GraphInterrupt: The person has not answered.
    """
    if not resumable(run.config):
        run.refuse_held()
        return
    handlers.question = Question(asker=asker, keys=tuple(record.key for record in records))
    try:
        answer = handlers.answered.ask(run.config, question(records))
    except GraphInterrupt:
        if run.cancel_alone():
            handlers.question = None
            run.wake()
            return
        handlers.question.out = True
        run.tell_asking(records)
        run.wake()  # so that the other wrappers see the question and stop
        raise
    handlers.question = None
    run.enter_answer(answer, records)
    run.wake()
