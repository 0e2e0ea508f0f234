"""Handlers of the calls of one thread inside ``create_agent``, kept until their turn comes."""

import math
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from weakref import ref

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tools import BaseTool
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.prebuilt.tool_node import ToolCallRequest

from asyncguard.adapters.answer_log.questions import asking
from asyncguard.adapters.langgraph_internals.answers import writes_of
from asyncguard.adapters.langgraph_internals.run import calls_without_answer
from asyncguard.adapters.messages.history import put_in_place
from asyncguard.adapters.messages.render import Delivery
from asyncguard.adapters.messages.tool_updates import Write
from asyncguard.adapters.run.run import Run
from asyncguard.adapters.state import fold_messages
from asyncguard.adapters.tools.fast_path import PreparedTools, needs_injection
from asyncguard.adapters.tools.invoke import call_of, called_alone, run_attempt, watch_of
from asyncguard.adapters.tools.watched_tools import WatchedRequest
from asyncguard.core import events as ev
from asyncguard.core.calls import CallState
from asyncguard.core.faults import ErrorCode, Symptom
from asyncguard.core.footprints import EffectClass
from asyncguard.core.ledger import Ledger
from asyncguard.core.records import CallRecord
from asyncguard.core.results import Failure, Result
from asyncguard.core.scheduling import dispatchable
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.runtime.attempts import Attempt
from asyncguard.runtime.dispatcher import Runner

Handler = Callable[[ToolCallRequest], Awaitable[Any]]


@dataclass(kw_only=True)
class Question:
    """Question to a person, which one wrapper or hook asks."""

    asker: str
    """Key of the call whose wrapper asks and receives the answer, empty for a hook."""
    keys: tuple[str, ...]
    """Keys of the held calls in question; empty for the question of a tool."""
    out: bool = False
    """True if it stops this execution of the graph, so that other wrappers stop, too."""
    stopped: set[str] = field(default_factory=set)
    """Keys of the calls whose wrappers have stopped in this execution, the asker's among them."""


@dataclass(kw_only=True)
class PendingHandlers:
    """Handlers of one thread's calls, by key, and what its hooks and wrappers share."""

    tools: dict[str, BaseTool] = field(default_factory=dict)
    """Tools by name, for sibling tools."""
    prepared: PreparedTools = field(default_factory=PreparedTools)
    """Prepared forms of the tools, which are called instead of them."""
    _held: dict[str, tuple[ToolCallRequest, Handler]] = field(default_factory=dict)
    """Request and handler of each call whose wrapper has run in this process."""
    _stopped: dict[str, tuple[ToolCallRequest, Handler]] = field(default_factory=dict)
    """The same of each call whose wrapper has stopped at a question, until it is executed again."""
    _for_hook: set[str] = field(default_factory=set)
    """Keys of calls without wrappers whose tools have asked: a hook asks for them."""
    hook: RunnableConfig | None = None
    """Configuration of the hook that runs the engine, ``None`` while wrappers do.

    No wrapper is left then, so that the hook asks the questions of all tools.
    """
    state: Any = None
    """Newest state; a deferred call runs with it instead of the one in its request."""
    config: RunnableConfig = field(default_factory=lambda: RunnableConfig())
    """Newest configuration of a hook or wrapper."""
    question: Question | None = None
    """Question to a person that was asked in this process and is not answered."""
    after_loss: bool = False
    """True from the loss of a process, whose calls may be open, until the model's next message."""
    asked_again: str = ""
    """Id of a message whose calls are all unreadable, after which the model is asked once more."""
    news: list[AnyMessage] = field(default_factory=list)
    """Late results of the coming turn; they are written with the model's message."""
    updates: list[Write] = field(default_factory=list)
    """State updates of tools that came with them, for the next update of a hook."""
    orphans: set[str] = field(default_factory=set)
    """Keys of calls of a lost process whose wrappers are gone: the journal knows their outcome."""
    late: set[str] = field(default_factory=set)
    """Keys of calls that ask a person and whose wrappers have not come in time."""
    turn_after: str = ""
    """Id of the message after which a turn is due, so that all wrappers of its calls return.

    The first wrapper that returns delivers the news, so the ledger does not show any more that the
    turn is due.
    """

    slots: float = math.inf
    """Number of wrappers that LangGraph executes at once in the present run."""
    _executing: set[str] = field(default_factory=set)
    """Keys of the calls whose wrappers are being executed."""
    _execution: Callable[[], Any] = field(default=lambda: None)
    """Weak reference to LangGraph's execution of the graph that hooks and wrappers are part of."""

    def enter_execution(self, execution: object) -> None:
        """Note the execution of the graph that a hook or wrapper is part of.

        A question stops one execution. The next one executes the wrappers that it stopped again, in
        any order and under ``max_concurrency`` perhaps the asker as the last one, so the question
        must not stop a wrapper once more.

        Args:
            execution: LangGraph's; ``None`` if it is not known.
        """
        if execution is None or execution is self._execution():
            return
        self._execution = ref(execution)
        if self.question is not None:
            self.question.out = False
            self.question.stopped.clear()

    @contextmanager
    def executing(self, key: str, slots: float) -> Iterator[None]:
        """Note that the wrapper of a call is executed inside the block.

        Args:
            key: Of the call.
            slots: Number of wrappers that LangGraph executes at once.
        """
        self.slots = slots
        self._executing.add(key)
        try:
            yield
        finally:
            self._executing.discard(key)

    @property
    def full(self) -> bool:
        """Return True if no other wrapper can start before one of those that wait returns."""
        return len(self._executing) >= self.slots

    def comes(self, record: CallRecord) -> bool:
        """Return True if LangGraph executes the wrapper of a call in this super-step."""
        return record.call.call_id in calls_without_answer(self.config)

    def may_come(self, record: CallRecord) -> bool:
        """Return True if the wrapper of a call is here, or can start while the others wait."""
        key, asked = record.key, self.question
        if key in self._executing:
            return True
        stopped = asked is not None and key in asked.stopped
        return not (stopped or self.full) and self.comes(record)

    def answer_comes(self, ledger: Ledger, own: CallRecord) -> bool:
        """Return True if the wrapper that may have a person's answer has not started yet.

        Args:
            ledger: Of the thread.
            own: The call whose wrapper asks this.
        """
        asked = self.question
        asker = None if asked is None or asked.out else ledger.find(asked.asker)
        if asker is None or asker is own or asker.key in self._executing:
            return False
        return self.comes(asker)

    def ask(self, asker: str, keys: tuple[str, ...] = ()) -> None:
        """Note that a question stops this execution of the graph, perhaps as the second one.

        Args:
            asker: See :class:`Question`.
            keys: See there.
        """
        before = self.question
        stopped = set() if before is None else before.stopped
        self.question = Question(asker=asker, keys=keys, out=True, stopped={*stopped, asker})

    def keep(self, key: str, request: ToolCallRequest, handler: Handler) -> None:
        """Keep the request and handler of a call."""
        self.drop(key)
        self.late.discard(key)
        self._held[key] = (request, handler)

    def drop(self, key: str) -> None:
        """Forget a call that ended."""
        for known in (self._held, self._stopped):
            known.pop(key, None)
        self._for_hook.discard(key)
        self.orphans.discard(key)

    def stop(self, key: str) -> None:
        """Leave a call alone until its wrapper is executed again, or a new input comes instead."""
        if key in self._held:
            self._stopped[key] = self._held.pop(key)

    def give_up_wrappers(self) -> None:
        """Note that a new input has come: no wrapper that stopped at a question comes again."""
        self._held |= self._stopped
        self._stopped.clear()

    @contextmanager
    def asking_in(self, hook: RunnableConfig) -> Iterator[None]:
        """Have the questions of tools asked by a hook inside the block.

        Args:
            hook: Its configuration.
        """
        self.hook = hook
        try:
            yield
        finally:
            self.hook = None

    def _asker_of(self, key: str) -> RunnableConfig:
        """Return the configuration of the task that asks the questions of a call's tool."""
        if self.hook is not None:
            return self.hook
        if key not in self._held:  # whichever wrapper runs it, no answer there is for it
            return self.config
        config: RunnableConfig = self._held[key][0].runtime.config
        return config

    def joined_by(self, own: CallRecord | None) -> None:
        """Clear the mark of a due turn if a wrapper with a call to issue begins to wait.

        No turn is due before the call is issued, so the mark is from another branch.
        """
        if own is not None and own.state is CallState.QUEUED:
            self.turn_after = ""

    def turn_is_due(self, own: CallRecord | None) -> bool:
        """Return True if another wrapper of the same message has found a turn due."""
        return own is not None and self.turn_after == own.call.message_id

    def turn_is_decided(self, ledger: Ledger) -> bool:
        """Return True if a turn was found due after the newest message."""
        return bool(self.turn_after) and self.turn_after == ledger.last_message

    def add_news(
        self, board: Scoreboard, history: Sequence[AnyMessage], delivery: Delivery
    ) -> None:
        """Add late results, which are written after a history and with the model's message.

        The news is the whole history in order, if a message stands between calls and answers.
        """
        known = fold_messages(history, [self.news]) if self.news else history
        put_in_place(board, known, delivery)
        if not delivery.messages and not delivery.updates:
            return
        if delivery.messages and delivery.messages[0].id == REMOVE_ALL_MESSAGES:
            self.news, known = [delivery.messages.pop(0)], []
        written: list[Any] = []
        for command in delivery.updates:
            if command.graph is not None:
                continue  # the run has gone on, and hands over to no other agent any more
            # Messages of a tool's command come before the notifications.
            for name, value in writes_of(command):
                if name == "messages":
                    written += value
                else:
                    self.updates.append((name, value))
        # With the ids that the state will give them: what is read of them now is not read again.
        self.news += fold_messages(known, [[*written, *delivery.messages]])[len(known) :]

    def with_news(self, history: Sequence[AnyMessage]) -> list[AnyMessage]:
        """Return a history with the late results that the model is shown with it."""
        if self.news and self.news[0].id == REMOVE_ALL_MESSAGES:
            return self.news[1:]
        return [*history, *self.news]

    def untold(self, history: Sequence[AnyMessage]) -> list[AnyMessage]:
        """Return the late results that a history does not hold."""
        known = {message.id for message in history} if self.news else set()
        return [
            message
            for message in self.news
            if message.id not in known and message.id != REMOVE_ALL_MESSAGES
        ]

    def runnable(self, run: Run) -> list[CallRecord]:
        """Return the admitted calls whose handlers are here, or whose outcome the journal knows."""
        queued = dispatchable(run.board, self.absent)
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

    @property
    def absent(self) -> Collection[str]:
        """Keys of calls that ask a person, cannot run for now, and hold up no other one."""
        late = {key for key in self.late if not self.holds(key)}
        return late if self.hook is not None else late | self._for_hook

    def leave_to_hook(self, record: CallRecord) -> bool:
        """Return True if a call that has asked has no wrapper left, and leave it to the hook."""
        if record.key in self._held and not record.placeholder:
            return False
        self._for_hook.add(record.key)
        return True

    def run_alone(self, key: str) -> None:
        """Run a call without its wrapper from now on; the journal is asked first."""
        self.orphans.add(key)

    def runner(self) -> Runner:
        """Return the runner that calls tools through their handlers."""

        def for_attempt(attempt: Attempt) -> Callable[[], Awaitable[Result]]:
            if attempt.key not in self._held:
                return self._orphan(attempt)
            request, handler = self._held[attempt.key]
            asker = self._asker_of(attempt.key)
            runtime = request.runtime  # LangChain injects the state from here
            if self.state is not request.state:
                runtime = replace(runtime, state=self.state)
            # Never the request's tool for an attempt at another one: it would have its effect with
            # arguments meant for the other tool.
            own = attempt.tool == attempt.called_tool
            tool = request.tool if own else self.tools.get(attempt.tool)
            state = self.state

            async def run() -> Result:
                # Only an attempt that is run is lent answers: where the journal knows its outcome,
                # a new answer is for the attempt that follows.
                place = asking(asker, attempt)
                watch = watch_of(attempt, place)
                watched = WatchedRequest(
                    tool_call=call_of(attempt),
                    tool=None if tool is None else self.prepared.of(tool),
                    state=state,
                    runtime=runtime,
                    watch=watch,
                )

                async def invoke() -> Any:
                    # For middleware inside the guard that asks; each attempt has its own context.
                    var_child_runnable_config.set(place)
                    return await handler(watched)

                return await run_attempt(attempt, watch, invoke, foreground=attempt.foreground)

            return run

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
            place = asking(self._asker_of(attempt.key), attempt)
            watch = watch_of(attempt, place)
            invoke = partial(called_alone, watch, tool, call_of(attempt), place)
            return await run_attempt(attempt, watch, invoke, foreground=attempt.foreground)

        return run
