"""Joining the ledger with a history that others write, too: in ``create_agent`` anybody may answer a call."""

from collections.abc import Collection, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, RemoveMessage, ToolMessage

from asyncguard.core import events as ev
from asyncguard.core.calls import CallState
from asyncguard.core.error_codes import ErrorCode
from asyncguard.core.footprints import EffectClass
from asyncguard.core.records import CallRecord
from asyncguard.engine.dispatch import may_be_repeated, put_in_doubt, withdraw
from asyncguard.engine.durable import begun_elsewhere, take_up
from asyncguard.engine.journal.port import AttemptState
from asyncguard.engine.session import Session
from asyncguard.frontends.middleware_calls import HeldHandlers
from asyncguard.frontends.writing import is_ours, text_of

_GONE = "the process that held it ended"


def drop_answered(session: Session, messages: Sequence[AnyMessage]) -> None:
    """Cancel admitted calls that somebody else answered: a person who refused, a limit, an emulator."""
    waiting = {
        record.call.call_id: record for record in session.ledger.unanswered() if record.state is CallState.QUEUED
    }
    if not waiting:
        return
    for message in _behind(messages, next(iter(waiting.values())).call.message_id):
        if not isinstance(message, ToolMessage) or is_ours(message):
            continue
        if (record := waiting.get(message.tool_call_id)) is not None:
            session.record.cancelled(record.key, reason="answered by other middleware")
            session.record.delivered([record.key])
            session.board.taint_by_end(record)


def _behind(messages: Sequence[AnyMessage], message_id: str) -> Sequence[AnyMessage]:
    """What stands behind a model message, all its answers included; everything where it stands there no more."""
    place = next((place for place in range(len(messages) - 1, -1, -1) if messages[place].id == message_id), -1)
    return messages[place + 1 :]


def take_answers(session: Session, messages: Sequence[AnyMessage]) -> None:
    """Enter answers that stand in the history and of which the ledger does not know.

    A wrapper's answer and its event are not stored together: the event goes with the next write of a hook, and is lost
    if the run is cancelled before. A call that is taken for unanswered would be news for ever that nobody tells.
    """
    waiting = {record.call.call_id: record for record in session.ledger.unanswered()}
    if not waiting:
        return
    for message in messages:
        if isinstance(message, ToolMessage) and (record := waiting.get(message.tool_call_id)) is not None:
            _take_answer(session, record, message)


def _take_answer(session: Session, record: CallRecord, answer: ToolMessage) -> None:
    if is_ours(answer):
        session.record.delivered((), placeholders=[record.key])
        return
    if record.state is CallState.QUEUED and _was_run(session, record):
        session.record.assumed_started(record.key)
    if record.state is CallState.PENDING:
        _retire_as_answered(session, record, answer)
    if not record.open:
        session.record.delivered([record.key])
        session.board.evidence.add(record.call.task, text_of(answer.content))
        session.board.taint_by_output(record)


def _was_run(session: Session, record: CallRecord) -> bool:
    """Return True if a call that the state has as queued was run by a process that has ended.

    The journal tells it of effects. Of a pure call only its answer is left, and to call that a result does no harm.
    """
    return begun_elsewhere(session, record) or session.board.spec(record.tool).effect is EffectClass.PURE


def waiting_for_tools(session: Session, handlers: HeldHandlers, *, said: bool) -> frozenset[str]:
    """Keys of a lost process's open calls about which nothing can be decided before this process has met the tools.

    It meets them when the model is asked. Nothing is in doubt before its declaration is known, and what may be repeated
    or asked about needs the tool itself.

    Args:
        session: The thread.
        handlers: What can be run without.
        said: Whether the user has said something new, so that what was held back and has an effect is withdrawn now.
    """
    if session.engine.all_met:
        return frozenset()
    return frozenset(
        record.key
        for state in (CallState.PENDING, CallState.QUEUED, CallState.DEFERRED, CallState.HELD)
        for record in session.ledger.in_state(state)
        if not handlers.holds(record.key) and _needs_its_tool(session, record, said=said)
    )


def _needs_its_tool(session: Session, record: CallRecord, *, said: bool) -> bool:
    board, held_back = session.board, record.state in (CallState.DEFERRED, CallState.HELD)
    spec, called = board.spec(record.tool), board.spec(record.call.tool)
    if not (board.declares(record.tool) and board.declares(record.call.tool)):
        return not (held_back and said)
    begun = session.lease.begun_before.get(record.key)
    if begun is not None and begun.state is AttemptState.STARTED:
        return False  # the work outside goes on, and its result comes by mail
    if held_back:
        return spec.effect.repeatable
    if record.aim is not ev.Aim.ANSWER or record.error == ErrorCode.NOT_HAPPENED:
        return True
    return spec.effect is not EffectClass.AT_MOST_ONCE or bool(called.asks or called.fallbacks)


def squash_without_handlers(
    session: Session, handlers: HeldHandlers | None, messages: Sequence[AnyMessage], waiting: Collection[str] = ()
) -> None:
    """After a restart: take results that stand in the history as ended, and report what can no longer be run.

    A deferred call's handler lives in memory only. A pure call is run without it; any other is squashed and the model
    is told, never dropped silently. The state does not say whether it was released before; an effect that must not
    happen twice is in doubt.
    """
    answers = {message.tool_call_id: message for message in messages if isinstance(message, ToolMessage)}
    for state in (CallState.QUEUED, CallState.DEFERRED, CallState.HELD):
        for record in session.ledger.in_state(state):
            if handlers is not None and handlers.holds(record.key):
                continue
            answer = answers.get(record.call.call_id)
            theirs = answer is not None and not is_ours(answer)
            if record.key in waiting and not theirs:
                continue
            if (
                theirs
                or handlers is None
                or not _left_to_others(session, handlers, record, answered=answer is not None)
            ):
                _decide_without_handler(session, record, answer)


def _decide_without_handler(session: Session, record: CallRecord, answer: ToolMessage | None) -> None:
    if answer is None:
        if record.state is CallState.DEFERRED and not may_be_repeated(session, record):
            put_in_doubt(session, record)  # its wrapper may have released it while it waited
    elif record.state is CallState.QUEUED and is_ours(answer):
        pass  # announced as running, so it may have begun: its effect class decides
    elif record.state is CallState.QUEUED or not is_ours(answer):
        _take_as_done(session, record, answer)
    elif may_be_repeated(session, record):
        session.record.squashed(record.key, reason=_GONE)
    else:
        put_in_doubt(session, record)


def _left_to_others(session: Session, handlers: HeldHandlers, record: CallRecord, *, answered: bool) -> bool:
    """Whether the journal says what became of a call that was begun, or the call is run without its wrapper.

    What was begun is issued again, and answered from the journal.

    Args:
        session: The thread.
        handlers: Where calls of a lost process are noted.
        record: A call whose wrapper is not here.
        answered: Whether its wrapper has returned; one that has not is run again, and asks the journal itself.
    """
    begun = begun_elsewhere(session, record)
    if begun and answered:
        _adopt(session, handlers, record)
    elif answered and _may_go_on(session, record):
        handlers.orphans.add(record.key)
        return True
    return begun


def _adopt(session: Session, handlers: HeldHandlers, record: CallRecord) -> None:
    take_up(session, record)
    handlers.orphans.add(record.key)


def settle_left(session: Session, handlers: HeldHandlers) -> None:
    """Decide about calls of a process that ended, when the user sends a new message, so that no wrapper is run again.

    What the journal knows to have begun is answered from there; a held call of which nobody knows is in doubt, for its
    wrapper may have been answered and may have begun.
    """
    for state in (CallState.QUEUED, CallState.DEFERRED, CallState.HELD):
        for record in session.ledger.in_state(state):
            if begun_elsewhere(session, record):
                _adopt(session, handlers, record)
            elif handlers.holds(record.key):
                continue
            elif state is CallState.HELD and not (record.placeholder or may_be_repeated(session, record)):
                put_in_doubt(session, record)


def withdraw_announced(session: Session, handlers: HeldHandlers | None, waiting: Collection[str] = ()) -> None:
    """After a restart: decide about admitted calls that were announced as running and whose wrappers are gone.

    A run that goes on behind ``before_model`` would wait in vain as soon as another call is deferred behind one.
    """
    for record in session.ledger.in_state(CallState.QUEUED):
        held = handlers is not None and handlers.holds(record.key)
        if record.placeholder and not held and record.key not in waiting:
            _adopt_or_withdraw(session, handlers, record)


def withdraw_unrunnable(session: Session, handlers: HeldHandlers) -> None:
    """Decide about open calls that nobody here can run, once all wrappers have returned and none will bring a handler.

    Such calls are left by a process that ended; kept open, they would be waited for in vain. What the journal knows to
    have begun is answered from there.
    """
    for state in (CallState.QUEUED, CallState.DEFERRED, CallState.HELD):
        for record in session.ledger.in_state(state):
            if not handlers.holds(record.key):
                _adopt_or_withdraw(session, handlers, record)


def _adopt_or_withdraw(session: Session, handlers: HeldHandlers | None, record: CallRecord) -> None:
    if handlers is not None and begun_elsewhere(session, record):
        _adopt(session, handlers, record)
    elif handlers is not None and (
        record.error == ErrorCode.NOT_HAPPENED or record.aim is not ev.Aim.ANSWER or _may_go_on(session, record)
    ):
        handlers.orphans.add(record.key)  # somebody who looked wants it made again, or a probe is to be asked
    elif record.state is CallState.QUEUED:
        withdraw(session, record, _GONE)
    else:
        session.record.squashed(record.key, reason=_GONE)


def _may_go_on(session: Session, record: CallRecord) -> bool:
    """Whether a call is run without its wrapper: a pure one, or one that may have begun and may be repeated."""
    if record.tool not in session.engine.specs:
        return False
    effect = session.board.spec(record.tool).effect
    begun = record.tries > 0 or record.key in session.live.replays
    return effect is EffectClass.PURE or (effect.repeatable and begun)


def _take_as_done(session: Session, record: CallRecord, answer: ToolMessage) -> None:
    if record.state is not CallState.QUEUED:
        session.record.admitted(record.key, released=True)
    session.record.assumed_started(record.key)
    _retire_as_answered(session, record, answer)
    session.record.delivered([record.key])


def _retire_as_answered(session: Session, record: CallRecord, answer: ToolMessage) -> None:
    failed = answer.status == "error"
    session.record.retired(
        record.key,
        outcome=ev.Outcome.FAILED if failed else ev.Outcome.DONE,
        content=answer.content,
        error=ErrorCode.TOOL_ERROR if failed else None,
    )


def last_said(messages: Sequence[AnyMessage]) -> tuple[AIMessage, int, set[str]]:
    """The model's last message with the calls that nobody has answered, its place, and the ids of the answered ones."""
    place = next(index for index in range(len(messages) - 1, -1, -1) if isinstance(messages[index], AIMessage))
    answered = {message.tool_call_id for message in messages[place + 1 :] if isinstance(message, ToolMessage)}
    said = cast(AIMessage, messages[place])
    if answered:
        said = said.model_copy(update={"tool_calls": [call for call in said.tool_calls if call["id"] not in answered]})
    return said, place, answered


def undone(
    messages: Sequence[AnyMessage], place: int, answered: set[str], replacement: Sequence[AnyMessage] = ()
) -> dict[str, Any]:
    """The update that takes back a premature end: a structured answer goes with its ToolMessage, text is replaced."""
    if not answered:
        return {"messages": list(replacement)}
    gone = [RemoveMessage(id=str(message.id)) for message in messages[place + 1 :]]
    if not replacement:
        gone.insert(0, RemoveMessage(id=str(messages[place].id)))
    return {"messages": [*gone, *replacement], "structured_response": None}
