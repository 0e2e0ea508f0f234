"""Tool calls inside ``create_agent``: wrappers give their handlers to the engine and await a turn.

LangChain sends every call of a message through the middleware at once, and continues when all
wrappers have returned. A wrapper therefore returns when the model is due a turn: with the result if
the call has ended, else with a placeholder. A deferred call keeps its handler here, and the engine
calls that later with the arguments and the state of that moment.

The wrappers of one message share one engine session. Each of them drives it in
:func:`wait_for_turn`; the first that finds a turn due marks that in ``PendingHandlers.turn_after``,
so that all of them return.
"""

import math
import os
from collections.abc import Mapping

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphInterrupt

from asyncguard.adapters.answer_log.index import PARKED
from asyncguard.adapters.answer_log.new_answer import store_taken_answer, void_new_answer
from asyncguard.adapters.answer_log.questions import ask, asks_here
from asyncguard.adapters.answered_calls import answers_of_others
from asyncguard.adapters.approvals import resumable
from asyncguard.adapters.langgraph_internals.run import written_before
from asyncguard.adapters.messages.run_messages import parked
from asyncguard.adapters.middleware.approval_prompt import (
    ARRIVAL,
    ask_person,
    asked_together,
    leads,
    take_answer,
)
from asyncguard.adapters.middleware.pending_handlers import PendingHandlers
from asyncguard.adapters.run.answers import (
    cancel_alone,
    cancel_at_question,
    cancel_with_answer,
    is_cancelling,
)
from asyncguard.adapters.run.hand_over import hands_over
from asyncguard.adapters.run.questions import (
    give_up_questions,
    next_to_ask,
    repeat_question,
    take_question,
)
from asyncguard.adapters.run.run import Run
from asyncguard.core import events as ev
from asyncguard.core.calls import CallState
from asyncguard.core.records import CallRecord
from asyncguard.core.resume_terms import Why
from asyncguard.core.scheduling import Step, dispatchable
from asyncguard.runtime.resume.case import Answer


def slots_of(config: RunnableConfig, *, threads: bool) -> float:
    """Return the number of wrappers that LangGraph executes at once.

    Args:
        config: Of a wrapper.
        threads: True if the run executes them on the threads of a ``ThreadPoolExecutor``.
    """
    if chosen := config.get("max_concurrency"):
        return chosen
    if not threads:
        return math.inf
    cores = getattr(os, "process_cpu_count", os.cpu_count)() or 1  # the former is of Python 3.13
    return min(32, cores + 4)


_WAITING = frozenset({CallState.HELD, CallState.DEFERRED})


async def run_until_due(run: Run, handlers: PendingHandlers, record: CallRecord) -> None:
    """Issue a wrapper's call, if it is admitted, and run the engine until the model is due a turn.

    Args:
        run: Of the wrapper.
        handlers: What can be run.
        record: The wrapper's call.
    """
    await run.ensure_stored([record])
    if record in dispatchable(run.board, handlers.absent):
        run.issue(handlers.runner(), [record])
    run.wake()  # other wrappers of the message may wait for this one
    while True:
        with run.inside():
            step = await wait_for_turn(run, handlers, record)
            ends_run = step is Step.APPROVE and hands_over(run, record)
            if ends_run and await _decided_before_handing_over(run, handlers, record):
                continue  # what was approved meanwhile is issued, and may end at once
            if step is not Step.APPROVE or record.state is not CallState.HELD:
                return
            if handlers.full and handlers.answer_comes(run.ledger, record):
                return  # a hook asks about this call, if the answer is not about it
            first = await leads(run, handlers, record)

        if first:
            ask_person(run, handlers, asked_together(run, handlers), asker=record.key)


async def _decided_before_handing_over(
    run: Run, handlers: PendingHandlers, record: CallRecord
) -> bool:
    """Stop a wrapper whose tool hands over to another agent until a person has been asked.

    Its command ends the run, and with it the questions about other calls of the message.

    Returns:
        True if no call is held any more; False if no person is going to be asked.

    Raises:
        GraphInterrupt: The question is out; the wrapper is executed again with the answer.
    """
    while resumable(run.config) and run.ledger.count(CallState.HELD):
        if (asked := handlers.question) is not None and asked.out:
            asked.stopped.add(record.key)
            raise GraphInterrupt
        if not await run.wait_changed(ARRIVAL):
            return False  # the wrappers of the held calls never start
    return not run.ledger.count(CallState.HELD)


async def take_given(run: Run, handlers: PendingHandlers, asker: str) -> None:
    """Take a person's answer, and stop the tasks that a ``Command`` cancels beside it or alone.

    Args:
        run: Of the wrapper or hook.
        handlers: What can be run, but the wrapper's own call: the answer is stored before it is.
        asker: Key of the call whose wrapper this is, empty for a hook.
    """
    taken = await take_answer(run, handlers, asker)
    if taken == (PARKED, True):  # the value of the resume is not used
        cancel_with_answer(run)
        return
    out = run.ledger.find(taken.asker)
    if is_cancelling(run):
        if out is not None and cancel_at_question(run, out):
            void_new_answer(run.config)
        await store_taken_answer(run.config)


async def rest(run: Run, handlers: PendingHandlers) -> None:
    """Wait until the model is due a turn; ask a person or park the run if one of them is needed.

    Args:
        run: Of the hook.
        handlers: What can be run.
    """
    with handlers.asking_in(run.config):
        await _rest(run, handlers)


async def _rest(run: Run, handlers: PendingHandlers) -> None:
    await take_given(run, handlers, "")
    while True:
        match await wait_for_turn(run, handlers):
            case Step.APPROVE:
                ask_person(run, handlers, run.ledger.in_state(CallState.HELD), asker="")
            case Step.PARK if not resumable(run.config):
                await run.wait_changed()
            case Step.PARK if not run.has_news:
                if not cancel_alone(run):
                    run.park()
                    ask(run.config, PARKED, parked(run.board))
            case Step.PARK:
                continue
            case _:
                return


async def wait_for_turn(run: Run, handlers: PendingHandlers, own: CallRecord | None = None) -> Step:
    """Run the engine until the model is due a turn, or a person or an external result is needed.

    Args:
        run: Of the wrapper or hook.
        handlers: Handlers of the calls that can run.
        own: The call whose wrapper waits; its interrupts are raised here.

    Returns:
        ``MODEL``, ``APPROVE`` or ``PARK``.
    """
    fresh = own is not None
    handlers.joined_by(own)
    # Calls of a lost process keep their attempt numbers: the journal may know their outcomes.
    run.issue_again(handlers.runner())
    while True:
        step = await run.advance(fresh=fresh, due=lambda: handlers.turn_is_due(own))
        fresh = False
        match step:
            case Step.RELEASE:
                run.release()
            case Step.DISPATCH:
                if (due := await _issued(run, handlers, own)) is not None:
                    return due
                fresh = True  # issued here, or by the wrapper that came
            case Step.RECOVER:
                for action in ev.RecoveryAction:
                    run.recover(action)
            case Step.INTERRUPT:
                if not await _past_question(run, handlers, own):
                    return Step.MODEL
            case _:
                if step is Step.MODEL:
                    # Recorded before the others wake, so that they return for the same turn.
                    handlers.turn_after = (
                        run.ledger.last_message if own is None else own.call.message_id
                    )
                    run.wake()
                return step


async def _issued(run: Run, handlers: PendingHandlers, own: CallRecord | None) -> Step | None:
    """Issue what can be issued, or wait for its wrappers.

    Returns:
        ``None`` to continue to wait, else what is due.

    Raises:
        GraphInterrupt: Another tool's question is out, and the own one may ask next, or a person
            has to approve the own call: its wrapper is executed again with the answer.
    """
    # Asked twice, as other wrappers may come or return during the wait.
    await run.ensure_stored(handlers.runnable(run))
    if run.issue(handlers.runner(), handlers.runnable(run)):
        return None
    asked = handlers.question
    if own is None or asked is None or not asked.out or asked.keys:
        return await _arrival(run, handlers, own)
    # A tool's question is out: its call has no wrapper until it is executed again.
    _stop_at_question(run, handlers, own)
    outside = run.board.runs_outside(own)
    if own.state is not CallState.PENDING or (outside and own.key not in run.board.starting):
        return Step.MODEL
    await run.wait_changed()
    return None


def _stop_at_question(run: Run, handlers: PendingHandlers, own: CallRecord) -> None:
    """Stop a wrapper whose call waits for a person or another call, or may ask, at a question.

    Were the wrapper of a held or deferred call to return, an answer in another process would find
    none. Were one that hands over to return, its command would end the run, and with it the
    question.

    Raises:
        GraphInterrupt: It is executed again with the answer.
    """
    asked = handlers.question
    if asked is None or not asked.out:
        return
    asks = own.open and own.state is not CallState.PENDING and run.board.asks_person(own)
    if own.state in _WAITING or asks or hands_over(run, own):
        asked.stopped.add(own.key)
        if asks:
            handlers.stop(own.key)  # no other wrapper runs it: its question would find none
        raise GraphInterrupt  # without a value: LangGraph would show the person a second question


async def _past_question(run: Run, handlers: PendingHandlers, own: CallRecord | None) -> bool:
    """Raise the interrupt of this wrapper's own tool, or wait until another wrapper has raised its.

    Returns:
        True to continue to wait for the turn.
    """
    if own is not None and own.key in run.questions:
        if not asks_here(run.config, own.key):
            repeat_question(run, own.key)
            return True
        handlers.stop(own.key)  # the answer comes with the handler of the wrapper's next execution
        handlers.ask(own.key)
        stopping = take_question(run, own.key)
        run.wake()  # so that the wrappers whose tools would ask next stop, too
        raise stopping
    if own is None:
        _ask_in_hook(run, handlers)
        return True
    for key in tuple(run.questions):
        if handlers.leave_to_hook(run.ledger.record(key)):
            repeat_question(run, key)
            return True
    _stop_at_question(run, handlers, own)
    asking = [run.ledger.record(key) for key in run.questions]
    comes = any(handlers.may_come(each) and not each.placeholder for each in asking)
    concerned = own.state in _WAITING or run.board.asks_person(own) or hands_over(run, own)
    if own.state is not CallState.PENDING and not (comes and concerned):
        return False
    await run.wait_changed()
    return True


def _ask_in_hook(run: Run, handlers: PendingHandlers) -> None:
    """Raise the question of a tool whose wrapper is gone; have it asked here if it was not.

    Raises:
        GraphInterrupt: The person has not answered.
    """
    for key in tuple(run.questions) if resumable(run.config) else ():
        if not asks_here(run.config, key):
            if handlers.holds(key) and run.board.asks_person(run.ledger.record(key)):
                repeat_question(run, key)
        else:
            handlers.ask("")
            raise take_question(run, key)
    give_up_questions(run)


def _stored_answers(run: Run) -> Mapping[str, Answer]:
    written = [
        each
        for value in written_before(run.config, "messages")
        for each in (value if isinstance(value, list) else [value])
    ]
    return answers_of_others(run, among=written)


async def _arrival(run: Run, handlers: PendingHandlers, own: CallRecord | None) -> Step | None:
    """Wait for the wrapper of an admitted call that has not started yet.

    It may never start: middleware outside the guard can answer a call itself, or ask a person
    first. So the wait is limited, except for the result of this wrapper's own call. The grace
    window is too short a limit, as LangGraph starts the wrappers in any order and the window may be
    zero. It is long enough where LangGraph starts no other wrapper before one of those that wait
    has returned.

    Returns:
        ``None`` to continue to wait, else what is due.
    """
    full = handlers.full
    if full and own is not None and not own.open and not run.ledger.count(CallState.PENDING):
        return Step.MODEL  # nothing can change before this wrapper returns
    if handlers.after_loss:
        # Their wrappers had returned before the loss. LangGraph does not execute them again: their
        # answers are stored, but not yet in the messages.
        left = [
            record
            for record in run.ledger.in_state(CallState.QUEUED)
            if not handlers.holds(record.key) and not handlers.comes(record)
        ]
        run.decide(left, Why.WRAPPER_MISSING, hands=handlers, answers=_stored_answers(run))
        if left:
            return None
    if await run.wait_changed(max(run.board.config.timing.grace, 0.0 if full else ARRIVAL)):
        return None
    first = next_to_ask(run, handlers.absent)
    if first is not None and first is not own and not handlers.holds(first.key):
        handlers.late.add(first.key)  # the tool that would ask next does not wait for it
        return None
    if own is not None and own.state is CallState.HELD:
        return Step.APPROVE  # were its wrapper to return, a yes in another process would find none
    # A deferred call gets its placeholder: it may depend on the wrapper that never starts.
    if (
        own is None
        or own.state not in (CallState.QUEUED, CallState.PENDING)
        or run.board.runs_outside(own)
    ):
        return Step.MODEL
    if not run.questions:  # another wrapper may have met one meanwhile, for this one to raise
        await run.wait_changed()
    return None
