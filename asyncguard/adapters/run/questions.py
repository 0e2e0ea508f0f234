"""Questions of tools to people: a tool raises an interrupt, and its next attempt is answered.

A question is raised in the execution of a node or wrapper in which the tool has asked; where the
tool has asked earlier, or elsewhere, it asks once more.
"""

from collections.abc import Collection

from langgraph.errors import is_invalid_resume

from asyncguard.adapters.answer_log.questions import asks_here, keep_question, put_back_question
from asyncguard.adapters.run.run import Run
from asyncguard.adapters.ui_events import asking_event, emit
from asyncguard.core.faults import ErrorCode
from asyncguard.core.records import CallRecord
from asyncguard.core.scheduling import dispatchable
from asyncguard.runtime import dispatcher


def take_question(run: Run, key: str) -> BaseException:
    """Return the interrupt that a call's tool has raised, to raise it here.

    The call is queued again, and its next attempt is given the answer. If one does not fit the
    question's schema, LangGraph's error about it is returned, and the question stays.
    """
    refused = is_invalid_resume(run.session.live.interrupts[key].error)
    (put_back_question if refused else keep_question)(run.config, key)
    emit(asking_event([run.ledger.record(key)]))
    return dispatcher.take_interrupt(run.session, key)


def raise_question(run: Run, key: str) -> None:
    """Raise the question of a call's tool if it was asked here; else have it asked again.

    Raises:
        GraphInterrupt: The person has not answered.
        ValidationError: The answer does not fit the question.
    """
    if asks_here(run.config, key):
        raise take_question(run, key)
    repeat_question(run, key)


def repeat_question(run: Run, key: str) -> None:
    """Queue a call again whose tool has asked, so that it asks once more."""
    dispatcher.take_interrupt(run.session, key)


def give_up_questions(run: Run) -> None:
    """End the calls whose tools ask a person, if no wrapper is left to raise the interrupt."""
    dispatcher.give_up_interrupts(run.session)


def next_to_ask(run: Run, absent: Collection[str] = ()) -> CallRecord | None:
    """Return the admitted call whose tool may ask a person next, if there is one."""
    chosen = dispatchable(run.board, absent)
    return next((each for each in chosen if run.board.asks_person(each)), None)


def may_begin_here(run: Run, asker: str) -> bool:
    """Return True if the admitted calls begin where an answer was given, not apart from it.

    A tool that asks does not, but for one that goes on with what it was answered, after the
    journal has told of a later attempt than the state does.

    Args:
        run: The run.
        asker: Key of the call whose tool was answered.
    """
    record = next_to_ask(run)
    return record is None or (record.key == asker and record.error == ErrorCode.INTERRUPT)
