"""Asking a person inside ``create_agent``: one wrapper or hook asks about all held calls.

LangGraph takes one answer for one question, and the wrappers of a message are executed beside each other.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphInterrupt

from asyncguard.core.calls import CallState
from asyncguard.core.records import CallRecord
from asyncguard.engine.intake import refuse_held
from asyncguard.engine.session import Session
from asyncguard.frontends.approvals import enter_answer, question, resumable

if TYPE_CHECKING:
    from asyncguard.frontends.middleware_calls import HeldHandlers

_ARRIVAL = 1.0
"""Seconds that the wrapper of a held call waits for the one that asks for it."""


@dataclass(kw_only=True)
class Question:
    """A question to a person about held calls, which one wrapper or hook asks for all of them."""

    asker: str
    """Key of the call whose wrapper asks, empty for a hook: an answer comes to whoever asked."""
    keys: tuple[str, ...]
    """The calls."""
    out: bool = False
    """Whether it stops this execution of the graph, so that other wrappers stop, too."""
    stopped: set[str] = field(default_factory=set)
    """Calls whose wrappers have stopped; one that is back tells that the graph is executed again."""


async def leads(session: Session, handlers: "HeldHandlers", record: CallRecord, config: RunnableConfig) -> bool:
    """Whether this wrapper asks the person: the first one of a message does, for all calls that are held.

    LangGraph takes one answer for one question. The others stop without one and are run again with its answer; or go on
    with it here, if it is there.

    Raises:
        GraphInterrupt: The question is out.
    """
    if not resumable(config):
        return True
    all_here = True
    while record.state is CallState.HELD:
        if (asked := handlers.question) is not None and asked.out:
            asked.stopped.add(record.key)
            raise GraphInterrupt
        together = asked_together(session, handlers)
        comes = all_here and any(not handlers.holds(each.key) for each in _unanswered(session))
        if not comes and record is next((each for each in together if not each.placeholder), record):
            return True
        # Some wrappers never come: other middleware can answer a call itself.
        all_here = await session.wait_changed(_ARRIVAL) and all_here
    return False


def _unanswered(session: Session) -> list[CallRecord]:
    """Held calls whose wrappers have not returned."""
    return [record for record in session.ledger.in_state(CallState.HELD) if not record.placeholder]


def asked_together(session: Session, handlers: "HeldHandlers") -> list[CallRecord]:
    """The held calls about which a wrapper asks, in program order.

    A call whose tool asks a person itself is asked about alone, by its own wrapper: answers are matched to questions by
    their order within a node.
    """
    held = [record for record in session.ledger.in_state(CallState.HELD) if handlers.holds(record.key)]
    held.sort(key=lambda record: record.call.sequence)
    together = [record for record in held if record.placeholder or not session.board.asks_person(record)]
    return together if any(not record.placeholder for record in together) else _unanswered(session)[:1]


def take_answer(session: Session, handlers: "HeldHandlers", asker: str, config: RunnableConfig) -> None:
    """Enter what a person has answered before anything that came meanwhile lets the model speak: it would be lost.

    Args:
        session: The thread.
        handlers: Knows what was asked.
        asker: Key of the call whose wrapper this is, empty for a hook.
        config: Of the wrapper or hook.
    """
    asked = handlers.question
    if asked is None or not (asker == asked.asker or asker in asked.stopped):
        return
    asked.out = False  # the graph is executed again
    asked.stopped.clear()
    held = [record for key in asked.keys if (record := session.ledger.record(key)).state is CallState.HELD]
    if held and asker == asked.asker and handlers.answered.waits(config):
        ask_person(session, handlers, held, config, asker=asker)


def ask_person(
    session: Session, handlers: "HeldHandlers", records: list[CallRecord], config: RunnableConfig, *, asker: str
) -> None:
    """Interrupt the graph for calls that are held, and enter the answer; refuse them where nobody can be asked.

    Args:
        session: The thread.
        handlers: Where the question is noted.
        records: The calls.
        config: Of the wrapper or hook.
        asker: Key of the call whose wrapper asks, empty for a hook.

    Raises:
        GraphInterrupt: The person has not answered.
    """
    if not resumable(config):
        refuse_held(session)
        return
    handlers.question = Question(asker=asker, keys=tuple(record.key for record in records))
    try:
        answer = handlers.answered.ask(config, question(records))
    except GraphInterrupt:
        handlers.question.out = True
        session.wake()
        raise
    handlers.question = None
    enter_answer(session, config, answer, records)
    session.wake()
