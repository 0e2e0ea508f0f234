"""Tool calls inside ``create_agent``: wrappers give their handlers to the engine and await a turn.

LangChain sends every call of a message through the middleware at once, and continues when all
wrappers have returned. A wrapper therefore returns when the model is due a turn: with the result if
the call has ended, else with a placeholder. A deferred call keeps its handler here, and the engine
calls that later with the arguments and the state of that moment.

The wrappers of one message share one engine session. Each of them drives it in
:func:`wait_for_turn`; the first that finds a turn due marks that in ``PendingHandlers.turn_after``,
so that all of them return.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.errors import GraphInterrupt
from langgraph.prebuilt.tool_node import ToolCallRequest

from asyncguard.adapters.approvals import Answered, question, resumable
from asyncguard.adapters.messages.run_messages import parked
from asyncguard.adapters.middleware.approval_prompt import (
    ARRIVAL,
    Question,
    ask_person,
    asked_together,
    leads,
    take_answer,
)
from asyncguard.adapters.run import Run, Runner
from asyncguard.adapters.tools.body_entries import Watch, WatchedRequest
from asyncguard.adapters.tools.fast_path import PreparedTools, needs_injection
from asyncguard.adapters.tools.invoke import call_of, called_alone, run_attempt, watch_of
from asyncguard.core import events as ev
from asyncguard.core.calls import CallState
from asyncguard.core.faults import ErrorCode, Symptom
from asyncguard.core.footprints import EffectClass
from asyncguard.core.records import CallRecord
from asyncguard.core.results import Failure, Result
from asyncguard.core.resume_policy import Why
from asyncguard.core.scheduling import Step
from asyncguard.core.tool_spec import Mode
from asyncguard.runtime.attempts import Attempt

Handler = Callable[[ToolCallRequest], Awaitable[Any]]


@dataclass(kw_only=True)
class PendingHandlers:
    """Handlers of one thread's calls, by key, and what its hooks and wrappers share."""

    tools: dict[str, BaseTool] = field(default_factory=dict)
    """Tools by name, for sibling tools."""
    prepared: PreparedTools = field(default_factory=PreparedTools)
    """Prepared forms of the tools, which are called instead of them."""
    _held: dict[str, tuple[ToolCallRequest, Handler]] = field(default_factory=dict)
    """Request and handler of each call whose wrapper has run in this process."""
    state: Any = None
    """Newest state; a deferred call runs with it instead of the one in its request."""
    config: RunnableConfig = field(default_factory=lambda: RunnableConfig())
    """Newest configuration of a hook or wrapper."""
    question: Question | None = None
    """Question to a person that was asked in this process and is not answered."""
    answered: Answered = field(default_factory=Answered)
    """Number of answers that each hook and wrapper has received."""
    after_loss: bool = False
    """True from the loss of a process, whose calls may be open, until the model's next message."""
    rests: bool = False
    """True if calls of a lost process wait, undecided, until this process knows the tools."""
    postponed: bool = False
    """True if the wait before the model's turn was put off for that until the model call."""
    news: list[AnyMessage] = field(default_factory=list)
    """Messages of that wait; they are written with the model's message, even if it is retried."""
    updates: dict[str, Any] = field(default_factory=dict)
    """State updates of tools that came with them, for the next update of a hook."""
    orphans: set[str] = field(default_factory=set)
    """Keys of calls of a lost process whose wrappers are gone: the journal knows their outcome."""
    turn_after: str = ""
    """Id of the message after which a turn is due, so that all wrappers of its calls return.

    The first wrapper that returns delivers the news, so the ledger does not show any more that the
    turn is due.
    """

    def keep(self, key: str, request: ToolCallRequest, handler: Handler) -> None:
        """Keep the request and handler of a call."""
        self._held[key] = (request, handler)
        self.orphans.discard(key)

    def drop(self, key: str) -> None:
        """Forget a call that ended."""
        self._held.pop(key, None)
        self.orphans.discard(key)

    def joined_by(self, own: CallRecord | None) -> None:
        """Clear the mark of a due turn if a wrapper with a call to issue begins to wait.

        No turn is due before the call is issued, so the mark is from another branch.
        """
        if own is not None and own.state is CallState.QUEUED:
            self.turn_after = ""

    def turn_is_due(self, own: CallRecord | None) -> bool:
        """Return True if another wrapper of the same message has found a turn due."""
        return own is not None and self.turn_after == own.call.message_id

    def take_turn_after(self) -> str:
        """Return and forget the id of the message after which a turn is due."""
        taken, self.turn_after = self.turn_after, ""
        return taken

    def runnable(self, run: Run) -> list[CallRecord]:
        """Return the admitted calls whose handlers are here, or whose outcome the journal knows."""
        queued = run.ledger.in_state(CallState.QUEUED)
        # A call that a person has released for another attempt has no wrapper any more, nor has a
        # side query. They can run as soon as the tools are known.
        asked = {
            record.key
            for record in queued
            if record.error == ErrorCode.NOT_HAPPENED or record.aim is not ev.Aim.ANSWER
        }
        again = asked - self._held.keys()
        self.orphans |= again
        later = again if not self.tools else set()  # until a model call shows the tools
        return [record for record in queued if self.holds(record.key) and record.key not in later]

    def holds(self, key: str) -> bool:
        """Return True if the call can run, or the journal knows its outcome."""
        return key in self._held or key in self.orphans

    def run_alone(self, key: str) -> None:
        """Run a call without its wrapper from now on; the journal is asked first."""
        self.orphans.add(key)

    def runner(self) -> Runner:
        """Return the runner that calls tools through their handlers."""

        def for_attempt(attempt: Attempt) -> Callable[[], Awaitable[Result]]:
            if attempt.key not in self._held:
                return self._orphan(attempt)
            request, handler = self._held[attempt.key]
            watch = watch_of(attempt)
            invoke = partial(handler, self._request(attempt, request, watch))
            return partial(run_attempt, attempt, watch, invoke, foreground=attempt.foreground)

        return for_attempt

    def _orphan(self, attempt: Attempt) -> Callable[[], Awaitable[Result]]:
        """Return the function that runs a call whose wrapper is gone.

        It calls the tool alone, without the wrappers of other middleware. It is reached only if the
        journal permits the attempt.
        """
        tool = self.tools.get(attempt.tool)

        async def run() -> Result:
            if tool is None or needs_injection(tool):
                text = "The process that held the call ended, and here it cannot be run."
                # An effect may have happened in the attempt of the lost process; otherwise none
                # did.
                if attempt.begun_before and attempt.spec.effect is not EffectClass.PURE:
                    return Failure(
                        symptom=Symptom(error=ErrorCode.PROCESS_LOST, message=text, transient=True)
                    )
                return Failure(
                    symptom=Symptom(
                        error=ErrorCode.NOT_RUN, message=text, transient=False, started=False
                    )
                )
            watch = watch_of(attempt)
            invoke = partial(called_alone, watch, tool, call_of(attempt), self.config)
            return await run_attempt(attempt, watch, invoke, foreground=False)

        return run

    def _request(self, attempt: Attempt, request: ToolCallRequest, watch: Watch) -> ToolCallRequest:
        runtime = request.runtime  # LangChain injects the state from here, not from the request
        if self.state is not request.state:
            runtime = replace(runtime, state=self.state)
        # Never the request's tool for an attempt at another one: it would have its effect with
        # arguments meant for the other tool.
        tool = request.tool if attempt.tool == attempt.called_tool else self.tools.get(attempt.tool)
        called = None if tool is None else self.prepared.of(tool)
        return WatchedRequest(
            tool_call=call_of(attempt), tool=called, state=self.state, runtime=runtime, watch=watch
        )


async def run_until_due(run: Run, handlers: PendingHandlers, record: CallRecord) -> None:
    """Issue a wrapper's call, if it is admitted, and run the engine until the model is due a turn.

    Args:
        run: Of the wrapper.
        handlers: What can be run.
        record: The wrapper's call.
    """
    # Without this, the tool's own first interrupt would get the answer to its approval.
    handlers.answered.pass_over(run.config, question([record]))
    take_answer(run, handlers, record.key)
    await run.ensure_stored([record])
    if record.state is CallState.QUEUED:
        run.issue(handlers.runner(), [record])
    run.wake()  # other wrappers of the message may wait for this one
    while True:
        with run.inside():
            step = await wait_for_turn(run, handlers, record)
            if step is not Step.APPROVE or record.state is not CallState.HELD:
                return
            first = await leads(run, handlers, record)

        if first:
            ask_person(run, handlers, asked_together(run, handlers), asker=record.key)


async def rest(run: Run, handlers: PendingHandlers) -> None:
    """Wait until the model is due a turn; ask a person or park the run if one of them is needed.

    Args:
        run: Of the hook.
        handlers: What can be run.
    """
    take_answer(run, handlers, "")
    while True:
        match await wait_for_turn(run, handlers):
            case Step.APPROVE:
                ask_person(run, handlers, run.ledger.in_state(CallState.HELD), asker="")
            case Step.PARK if not resumable(run.config):
                await run.wait_changed()
            case Step.PARK if not run.has_news:
                _park(run, handlers)
            case Step.PARK:
                continue
            case _:
                return


def _park(run: Run, handlers: PendingHandlers) -> None:
    """Interrupt the graph until the run is resumed; the value of the resume is not used."""
    try:
        handlers.answered.ask(run.config, parked(run.board))
        run.cancel_beside()
    except GraphInterrupt:
        run.park()
        raise


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
                # Asked twice, as other wrappers may come or return during the wait.
                await run.ensure_stored(handlers.runnable(run))
                issued = run.issue(handlers.runner(), handlers.runnable(run))
                if not issued and not await _arrival(run, handlers, own):
                    return Step.MODEL
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
                    handlers.turn_after = own.call.message_id if own is not None else ""
                    run.wake()
                return step


async def _past_question(run: Run, handlers: PendingHandlers, own: CallRecord | None) -> bool:
    """Raise the interrupt of this wrapper's own tool, or wait until another wrapper has raised its.

    Returns:
        True to continue to wait for the turn.
    """
    if own is not None and own.key in run.questions:
        handlers.drop(own.key)  # the answer comes with the handler of the wrapper's next execution
        raise run.take_question(own.key)
    if own is None:
        run.give_up_questions()
        return True
    if own.state is not CallState.PENDING:
        return False
    await run.wait_changed()
    return True


async def _arrival(run: Run, handlers: PendingHandlers, own: CallRecord | None) -> bool:
    """Wait for the wrapper of an admitted call that has not started yet.

    It may never start: middleware outside the guard can answer a call itself, or ask a person
    first. So the wait is limited, except for the result of this wrapper's own call. The grace
    window is too short a limit, as LangGraph starts the wrappers in any order and the window may be
    zero. It is long enough after a loss, because most wrappers have returned before.

    Returns:
        True to continue to wait for the turn.
    """
    grace = run.board.config.timing.grace
    if await run.wait_changed(grace if handlers.after_loss else max(grace, ARRIVAL)):
        return True
    if handlers.after_loss and _adopt_left(run, handlers):
        return True
    # A held or deferred call gets its placeholder: it may depend on the wrapper that never starts.
    if (
        own is None
        or own.state not in (CallState.QUEUED, CallState.PENDING)
        or run.board.spec(own.tool).mode is Mode.EXTERNAL
    ):
        return False
    await run.wait_changed()
    return True


def _adopt_left(run: Run, handlers: PendingHandlers) -> bool:
    """Decide about admitted calls whose wrappers had returned before a loss.

    LangGraph does not execute those wrappers again: their answers are stored, but not yet in the
    messages.

    Returns:
        True if there was such a call.
    """
    left = [
        record for record in run.ledger.in_state(CallState.QUEUED) if not handlers.holds(record.key)
    ]
    run.decide(left, Why.WRAPPER_MISSING, hands=handlers)
    return bool(left)
