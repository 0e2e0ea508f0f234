"""Tool calls inside ``create_agent``: each call's wrapper hands its handler to the engine and waits for the next turn.

LangChain sends every call of a message through the middleware at once, and goes on when all wrappers have returned. A
wrapper therefore returns when the model is due a turn: with the result if the call ended, else with a placeholder. What
was deferred keeps its handler here, and the engine calls it later with the arguments and the state of that moment.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.messages import ToolCall
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.errors import GraphInterrupt
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import interrupt

from asyncguard.core import events as ev
from asyncguard.core.calls import CallState
from asyncguard.core.hazards import Symptom
from asyncguard.core.records import CallRecord
from asyncguard.core.turns import Step
from asyncguard.engine.circuits import NOT_HAPPENED
from asyncguard.engine.dispatch import attempt_arguments, issue, issue_again, settle, take_escape, withdraw
from asyncguard.engine.durable import begun_elsewhere, take_up
from asyncguard.engine.executors.port import Failure, Result, Started, Success
from asyncguard.engine.intake import answer_approval, refuse_held, release_ready
from asyncguard.engine.recovering import recover, take_failure
from asyncguard.engine.session import Session
from asyncguard.frontends.approvals import answer_waits, asked, decision, resumable
from asyncguard.frontends.durability import ensure_stored
from asyncguard.frontends.prepared import PreparedTools, needs_injection
from asyncguard.frontends.running import bounded, guarded_run, injected_arguments, is_external
from asyncguard.frontends.turning import parked

Handler = Callable[[ToolCallRequest], Awaitable[Any]]


@dataclass(kw_only=True)
class HeldHandlers:
    """The handlers of one thread's calls, by key."""

    tools: dict[str, BaseTool] = field(default_factory=dict)
    """Tools by name, for sibling tools."""
    prepared: PreparedTools = field(default_factory=PreparedTools)
    """The tools as they are called."""
    _held: dict[str, tuple[ToolCallRequest, Handler]] = field(default_factory=dict)
    state: Any = None
    """The latest state; a deferred call is run with it instead of the one its request was made with."""
    config: RunnableConfig = field(default_factory=lambda: RunnableConfig())
    """The latest configuration of a hook or wrapper."""
    asked: set[str] = field(default_factory=set)
    """Held calls about which a person was asked in this process, and has not answered."""
    after_loss: bool = False
    """Whether calls of a process that is gone may be open; until the model speaks again."""
    orphans: set[str] = field(default_factory=set)
    """Calls of a process that ended, which began before and whose wrappers are gone: the journal answers for them."""
    turn_after: str = ""
    """Id of the message after which the model is due its next turn: all wrappers of its calls answer then. The first of
    them to answer takes the news with it, so nobody could tell from the ledger any more."""

    def keep(self, key: str, request: ToolCallRequest, handler: Handler) -> None:
        """Keep what is needed to run a call."""
        self._held[key] = (request, handler)
        self.orphans.discard(key)

    def drop(self, key: str) -> None:
        """Forget a call that ended."""
        self._held.pop(key, None)
        self.orphans.discard(key)

    def joined_by(self, own: CallRecord | None) -> None:
        """A wrapper begins to wait; no turn is due while its call is not issued: the mark is from another branch."""
        if own is not None and own.state is CallState.QUEUED:
            self.turn_after = ""

    def turn_is_due(self, own: CallRecord | None) -> bool:
        """Whether another call of the same message found that the model is due its turn."""
        return own is not None and self.turn_after == own.call.message_id

    def take_turn_after(self) -> str:
        """The id of the message after which a turn is due, told once."""
        taken, self.turn_after = self.turn_after, ""
        return taken

    def runnable(self, session: Session) -> list[CallRecord]:
        """Admitted calls whose handlers are here, or for which the journal answers."""
        queued = session.ledger.in_state(CallState.QUEUED)
        # What a person wants made again has no wrapper any more, and can be run as soon as the tools are known.
        asked = {record.key for record in queued if record.error == NOT_HAPPENED or record.aim is not ev.Aim.ANSWER}
        again = asked - self._held.keys()
        self.orphans |= again
        later = again if not self.tools else set()
        return [record for record in queued if self.holds(record.key) and record.key not in later]

    def holds(self, key: str) -> bool:
        """Whether the call can be run, or the journal answers for it."""
        return key in self._held or key in self.orphans

    def runner(self, session: Session) -> Callable[[CallRecord], Callable[[], Awaitable[Result]]]:
        """Runs calls through their handlers."""

        def for_call(record: CallRecord) -> Callable[[], Awaitable[Result]]:
            if record.key not in self._held:
                return self._orphan(session, record)
            request, handler = self._held[record.key]
            late = self._request(session, record, request)
            foreground = session.board.in_foreground(record.call.tool)

            async def run() -> Result:
                result = await guarded_run(lambda: handler(late), foreground=foreground)
                if is_external(session, record) and isinstance(result, Success):
                    return Started()
                return bounded(session, record, result)

            return run

        return for_call

    def _orphan(self, session: Session, record: CallRecord) -> Callable[[], Awaitable[Result]]:
        """Runs a call whose wrapper is gone: its tool as it is, without what other middleware would put around it.

        The journal is asked before; this is reached only where it says that the attempt may be made.
        """
        tool = self.tools.get(record.tool)
        arguments = attempt_arguments(session, record) | injected_arguments(session, record)
        call = ToolCall(name=record.tool, args=arguments, id=record.call.call_id, type="tool_call")

        async def run() -> Result:
            if tool is None or needs_injection(tool):
                text = "The process that held the call ended, and here it cannot be run."
                return Failure(symptom=Symptom(error="not_run", message=text, transient=False, started=False))
            result = await guarded_run(lambda: tool.ainvoke(call, self.config), foreground=False)
            if is_external(session, record) and isinstance(result, Success):
                return Started()
            return bounded(session, record, result)

        return run

    def _request(self, session: Session, record: CallRecord, request: ToolCallRequest) -> ToolCallRequest:
        arguments = attempt_arguments(session, record) | injected_arguments(session, record)
        call = ToolCall(name=record.tool, args=arguments, id=record.call.call_id, type="tool_call")
        runtime = request.runtime  # injected state is read from here, not from the request
        if self.state is not request.state:
            runtime = replace(runtime, state=self.state)
        # Never the request's tool under another name: it would have its effect with somebody else's arguments.
        tool = request.tool if record.tool == record.call.tool else self.tools.get(record.tool)
        called = None if tool is None else self.prepared.of(tool)
        return replace(request, tool_call=call, tool=called, state=self.state, runtime=runtime)


async def run_until_due(session: Session, handlers: HeldHandlers, record: CallRecord, config: RunnableConfig) -> None:
    """Issue a wrapper's call, if it is admitted, and run the engine until the model is due a turn.

    Args:
        session: The thread.
        handlers: What can be run.
        record: The wrapper's call.
        config: Of the wrapper.
    """
    pass_answered(record)
    take_answer(session, handlers, [record], config)
    await ensure_stored(session, config, [record])
    if record.state is CallState.QUEUED:
        issue(session, handlers.runner(session), [record])
    session.wake()
    while True:
        with session.inside():
            step = await wait_for_turn(session, handlers, record)
        if step is not Step.APPROVE or record.state is not CallState.HELD:
            return
        ask_person(session, handlers, [record], config)


async def rest(session: Session, handlers: HeldHandlers, config: RunnableConfig) -> None:
    """Wait until the model is due a turn; ask a person and park the run on the way.

    Args:
        session: The thread.
        handlers: What can be run.
        config: Of the hook.
    """
    take_answer(session, handlers, session.ledger.in_state(CallState.HELD), config)
    while True:
        match await wait_for_turn(session, handlers):
            case Step.APPROVE:
                ask_person(session, handlers, session.ledger.in_state(CallState.HELD), config)
            case Step.PARK if not resumable(config):
                await session.wait_changed(None)
            case Step.PARK if not session.has_completions:
                _park(session)
            case Step.PARK:
                continue
            case _:
                return


def _park(session: Session) -> None:
    """Rest until somebody resumes the run; what it was resumed with before is passed over, for it only wakes."""
    try:
        interrupt(parked(session))
    except GraphInterrupt:
        pending = session.ledger.in_state(CallState.PENDING)
        session.note(ev.RunParked, keys=tuple(record.key for record in pending))
        raise


async def wait_for_turn(session: Session, handlers: HeldHandlers, own: CallRecord | None = None) -> Step:
    """Run the engine until the model is due a turn, or a person or an external result is needed.

    Args:
        session: The thread.
        handlers: What can be run.
        own: The call whose wrapper waits; its interrupts are raised here.

    Returns:
        ``MODEL``, ``APPROVE`` or ``PARK``.
    """
    fresh = own is not None
    handlers.joined_by(own)
    issue_again(session, handlers.runner(session))
    while True:
        step = await settle(session, fresh=fresh, due=lambda: handlers.turn_is_due(own))
        fresh = False
        match step:
            case Step.RELEASE:
                release_ready(session)
            case Step.DISPATCH:
                await ensure_stored(session, handlers.config, handlers.runnable(session))
                fresh = issue(session, handlers.runner(session), handlers.runnable(session)) > 0
                if not fresh and not await _arrival(session, handlers, own):
                    return Step.MODEL
            case Step.RECOVER:
                for action in ev.RecoveryAction:
                    recover(session, action)
            case Step.ESCAPE:
                if not await _past_escape(session, handlers, own):
                    return Step.MODEL
            case _:
                if step is Step.MODEL:
                    handlers.turn_after = own.call.message_id if own is not None else ""
                    session.wake()
                return step


async def _past_escape(session: Session, handlers: HeldHandlers, own: CallRecord | None) -> bool:
    """Raise an interrupt of one's own tool, or wait while another wrapper raises its; whether to go on waiting."""
    if own is not None and own.key in session.escapes:
        handlers.drop(own.key)  # the answer will come with the handler of the wrapper's next run
        raise take_escape(session, own.key)
    if own is None:
        return _give_up_questions(session)
    if own.state is not CallState.PENDING:
        return False
    await session.wait_changed(None)
    return True


def _give_up_questions(session: Session) -> bool:
    """End calls that ask a person where no wrapper is left to ask for them; they stopped at the question.

    The call was deferred, and its wrapper has returned, or its run was cancelled. Made anew, it gets a wrapper.
    """
    for key in list(session.escapes):
        del session.escapes[key]
        text = "It has to ask a person first, and could not from here; nothing was done. Call it again to have it ask."
        symptom = Symptom(error="cancelled", message=text, transient=False, started=False)
        take_failure(session, session.ledger.record(key), symptom)
    return True


async def _arrival(session: Session, handlers: HeldHandlers, own: CallRecord | None) -> bool:
    """Wait for the wrapper of an admitted call that has not come yet; whether to go on waiting for the turn.

    It may never come: middleware outside the guard can answer a call itself, or ask a person first. Nobody waits for it
    longer than the grace window, except for a result of one's own.
    """
    if await session.wait_changed(session.engine.config.timing.grace):
        return True
    if handlers.after_loss and _adopt_left(session, handlers):
        return True
    # A held or deferred call is answered by its placeholder: it may wait for the very wrapper that never comes.
    if own is None or own.state not in (CallState.QUEUED, CallState.PENDING) or is_external(session, own):
        return False
    await session.wait_changed(None)
    return True


def _adopt_left(session: Session, handlers: HeldHandlers) -> bool:
    """After a loss: decide about admitted calls whose wrappers had returned, so that LangGraph does not run them again.

    Their answers are stored, but do not stand in the messages yet, and nobody here can see them. What the journal knows
    is taken from there, what may be repeated is, and the rest, which nobody has begun, is withdrawn.

    Returns:
        Whether there was such a call.
    """
    left = [record for record in session.ledger.in_state(CallState.QUEUED) if not handlers.holds(record.key)]
    for record in left:
        begun = begun_elsewhere(session, record)
        if begun:
            take_up(session, record)
        if begun or (handlers.tools and session.board.spec(record.tool).effect.repeatable):
            handlers.orphans.add(record.key)
        else:
            withdraw(session, record, "the process that held it ended")
    return bool(left)


def take_answer(session: Session, handlers: HeldHandlers, records: list[CallRecord], config: RunnableConfig) -> None:
    """Enter what a person has answered before anything that came meanwhile lets the model speak: it would be lost."""
    held = [record for record in records if record.state is CallState.HELD]
    if held and all(record.key in handlers.asked for record in held) and answer_waits(config):
        ask_person(session, handlers, held, config)


def ask_person(session: Session, handlers: HeldHandlers, records: list[CallRecord], config: RunnableConfig) -> None:
    """Interrupt the graph for calls that are held, and enter the answer; refuse them where nobody can be asked."""
    if not resumable(config):
        refuse_held(session)
        return
    keys = {record.key for record in records}
    handlers.asked |= keys
    answer = interrupt({"type": "approval", "calls": [asked(record) for record in records]})
    handlers.asked -= keys
    for record in records:
        approved, told = decision(answer, record)
        answer_approval(session, record, approved=approved, told=told)


def pass_answered(record: CallRecord) -> None:
    """Take the answer to a wrapper's approval once more when the wrapper is run again.

    Answers are matched to questions by their order within a node: left out, the tool's own first question would get it.
    """
    if record.approved:
        interrupt({"type": "approval", "calls": [asked(record)]})
