"""``AsyncGuardMiddleware``: the same core and runtime inside LangChain's ``create_agent``.

Hooks: ``before_agent`` applies the input, ``wrap_model_call`` waits, shows late results, the tools
and the state of the tasks, and proposes the calls of the answer, ``wrap_tool_call`` issues a call,
``after_agent`` judges the end. The steps that are nodes of the state machine, retry and fallback
among them, run inside the wrappers here. There is no ``before_model`` and no ``after_model``: each
hook of a turn is a super-step, in which LangGraph stores the whole history again.

Each hook has an async method with the logic and a sync method that runs it on the portal's event
loop. A handler that LangChain gives to a sync wrapper must stay on the caller's OS thread, so
``wrap_model_call`` is written twice; what it does around the handler is in ``model_hook``, and what
``wrap_tool_call`` does in ``tool_hook``.
"""

import asyncio
import weakref
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from langchain.agents.middleware import (
    AgentMiddleware,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    hook_config,
)
from langchain_core.messages import RemoveMessage, ToolMessage
from langgraph.config import get_config
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime
from langgraph.types import Command
from pydantic import ValidationError

from asyncguard.adapters.messages.markers import is_withheld
from asyncguard.adapters.messages.parse import unreadable_message
from asyncguard.adapters.messages.run_messages import exhausted
from asyncguard.adapters.messages.tool_updates import joined
from asyncguard.adapters.middleware.handlers import GuardedThreads
from asyncguard.adapters.middleware.known_tools import KnownTools
from asyncguard.adapters.middleware.model_hook import ModelHook
from asyncguard.adapters.middleware.pending_handlers import Handler
from asyncguard.adapters.middleware.placement import GuardName, report_early_place
from asyncguard.adapters.middleware.reconcile import (
    drop_answered,
    ends_with,
    is_judged,
    is_over,
    last_said,
    left_text,
    open_among,
    undone,
    without_wrappers,
)
from asyncguard.adapters.middleware.state_schema import GuardState
from asyncguard.adapters.middleware.stopped_step import (
    stopped_outside,
    with_own_answers,
    without_stand_ins,
)
from asyncguard.adapters.middleware.tool_calls import slots_of
from asyncguard.adapters.middleware.tool_hook import ToolHook
from asyncguard.adapters.middleware.traced_hooks import without_threads
from asyncguard.adapters.refused_input import check_input_of, with_input
from asyncguard.adapters.run.run import Run
from asyncguard.adapters.run.start import begin
from asyncguard.adapters.run.turn import holds_text, judge_end
from asyncguard.adapters.threads.checkpoint_barrier import JournalTarget
from asyncguard.adapters.tools.declare import Tools, as_journal_target, as_tools, by_name
from asyncguard.adapters.ui_events import emit, holding
from asyncguard.config import GuardConfig
from asyncguard.core import events as ev
from asyncguard.core.resume_terms import Why
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.recovery.failure_case import UserDiagnosis
from asyncguard.runtime.engine import Engine, Ports
from asyncguard.runtime.portal import Portal, in_context, off_portal
from asyncguard.validation import check_arguments

ModelHandler = Callable[[ModelRequest[Any]], ModelResponse[Any]]
AsyncModelHandler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]


class AsyncGuardMiddleware(AgentMiddleware[GuardState, Any, Any]):
    """Guard of an agent made by ``create_agent``.

    The agent accepts several tasks as ``{"tasks": [...]}``, typed as :class:`AgentInput`. Use
    :func:`guard_middleware` to put the guard in the right place among other middleware.
    """

    state_schema = GuardState

    def __init__(
        self,
        *,
        config: GuardConfig | None = None,
        specs: Sequence[ToolSpec] = (),
        tools: Tools | None = None,
        ports: Ports | None = None,
        diagnose: UserDiagnosis | None = None,
        journal: JournalTarget = True,
    ) -> None:
        """Make the middleware.

        Args:
            config: Switches and limits; the default guards everything.
            specs: Declarations for tools that carry none.
            tools: Tools, in the form that ``create_agent`` accepts, to check the declarations
                against now; without them, that happens at the first model call.
            ports: Clock, executor, inbox, observers and ids; the real ones by default.
            diagnose: Rule of the caller that maps a failure case to a diagnosis, or to ``None`` to
                use the built-in table.
            journal: Where calls with effects are recorded before they begin, as in
                :func:`build_agent`.

        Raises:
            CallerError: An argument has another type than its annotation says.
            DeclarationError: A declaration contradicts itself or names a missing tool.
        """
        given = {name: value for name, value in locals().items() if name not in ("self", "journal")}
        check_arguments(AsyncGuardMiddleware.__init__, given, called="AsyncGuardMiddleware")
        super().__init__()
        # Registered before the tools are known: a resumed run may have to decide about calls before
        # the first model call shows the tools.
        known = by_name(specs)
        self.engine = Engine(
            GuardConfig() if config is None else config,
            known,
            Ports() if ports is None else ports,
            diagnose,
        )
        self._tools = KnownTools(self.engine, tuple(known.values()))
        self._threads = GuardedThreads(self.engine, as_journal_target(journal), self._tools.by_name)
        self._model_hook = ModelHook(self.engine, self._tools, self._threads)
        self._tool_hook = ToolHook(self._tools, self._threads)
        self._portal = Portal()
        # Sync tools run here, as the portal's event loop must not be blocked.
        self._pool = ThreadPoolExecutor(
            self.engine.config.limits.max_pending, thread_name_prefix="asyncguard-tool"
        )
        weakref.finalize(self, self._pool.shutdown, wait=False)
        self._name = GuardName(type(self).__name__)
        self._placed = False
        if tools:
            self._tools.learn(as_tools(tools))

    @property
    def name(self) -> str:
        """Name of the class, as of any middleware; see :class:`GuardName`."""
        return self._name

    # -- entering --------------------------------------------------

    def before_agent(self, state: GuardState, runtime: Runtime[Any]) -> Any:
        """See :meth:`abefore_agent`."""
        return self._portal.run(self.abefore_agent(state, runtime))

    async def abefore_agent(self, state: GuardState, runtime: Runtime[Any]) -> Any:
        """Apply the input, and reconcile the calls that an earlier run has left."""
        config = get_config()
        if not self._placed:
            self._placed = True
            report_early_place(config, self._name)
        whole, removed = await without_stand_ins(state, config, keep=self.engine.config.shadow)
        given, restored, shown = await with_own_answers(whole, config)
        outside = await stopped_outside(given, config)
        await check_input_of(given, config, asked=bool(outside), shown=shown)
        run, handlers = await self._threads.joined(
            self._threads.identified(with_input(given, config)), config, begins=True
        )
        # A new input: what an earlier run asked will not be answered any more.
        handlers.question, handlers.turn_after = None, ""
        handlers.give_up_wrappers()
        with run.leaving_on_error():
            async with run.keeping():
                left = left_text(run, given)
                # Answers first: a call that other middleware has answered needs no decision.
                drop_answered(run, handlers)
                stopped = open_among(run, outside)
                # Of this process's own calls it is known that no wrapper was reached.
                left_open = [
                    each
                    for each in without_wrappers(run)
                    if handlers.after_loss or each.key not in stopped
                ]
                run.decide(left_open, Why.RUN_BEGINS, hands=handlers)
                update = await begin(run, overtaken=stopped)
        # Told to a model that gave no answer: they are stored together with their events.
        update["messages"] = [
            *removed,
            *restored,
            *left,
            *update["messages"],
            *handlers.untold(run.messages),
        ]
        told = joined(update, self._threads.take_updates(run))
        return told if isinstance(told, dict) else Command(update=told)

    # -- the model's turn --------------------------------------------------

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: ModelHandler
    ) -> ExtendedModelResponse[Any]:
        """See :meth:`awrap_model_call`."""
        run, handlers = self._portal.run(self._model_hook.due(request))
        if (response := self._model_hook.without_asking(run)) is None:
            prepared, conversation = self._model_hook.prepared(run, request, handlers)
            try:
                with run.leaving_on_error(), run.inside():
                    self._portal.run(run.ensure_written())
                    with (
                        self._model_hook.asking(run, prepared) as asked,
                        holding(hold=holds_text(run)),
                    ):
                        response = handler(prepared)
                        asked.answer = response.result[0]
                    self._portal.run(run.keep())
            except ValidationError as error:
                response = ModelResponse(result=[unreadable_message(error)])
            self._model_hook.identify(run, response, conversation)
        return self._portal.run(self._model_hook.admitted(run, handlers, response))

    @without_threads
    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: AsyncModelHandler
    ) -> ExtendedModelResponse[Any]:
        """Wait until the model is due a turn, ask it, and judge the calls of its message.

        The response holds late results before the message, and the answers to rejected calls after
        it. What was decided is stored with the message, in one step.
        """
        run, handlers = await self._model_hook.due(request)
        if (response := self._model_hook.without_asking(run)) is None:
            prepared, conversation = self._model_hook.prepared(run, request, handlers)
            try:
                with run.leaving_on_error(), run.inside():
                    await run.ensure_written()
                    with (
                        self._model_hook.asking(run, prepared) as asked,
                        holding(hold=holds_text(run)),
                    ):
                        response = await handler(prepared)
                        asked.answer = response.result[0]
                    await run.keep()
            except ValidationError as error:
                response = ModelResponse(result=[unreadable_message(error)])
            self._model_hook.identify(run, response, conversation)
        return await self._model_hook.admitted(run, handlers, response)

    # -- the end --------------------------------------------------

    @hook_config(can_jump_to=["model"])
    def after_agent(self, state: GuardState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """See :meth:`aafter_agent`."""
        return self._portal.run(self.aafter_agent(state, runtime))

    @hook_config(can_jump_to=["model"])
    async def aafter_agent(self, state: GuardState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Judge whether the run may end with the model's message.

        A run that a tool or other middleware ends is not judged.
        """
        if not state.get("asyncguard") or is_over(state):
            return None
        run, handlers = await self._threads.joined(state, get_config())
        newest = run.ledger.last_message
        if not ends_with(state["messages"], newest):
            reason = exhausted(run.board)
            return await self._ended(run, {"report": run.end(reason)}) if reason else None
        said, place, answered = last_said(state["messages"])
        if said.tool_calls or is_judged(state):  # other middleware ends the run
            return None
        if run.ledger.of_message(newest):  # unreadable calls, which were refused
            again, handlers.asked_again = handlers.asked_again == newest, ""
            return {"jump_to": "model"} if again or handlers.after_loss else None
        turn = judge_end(run, said, structured=bool(answered))
        emit(turn.event)
        if is_withheld(said):
            # Also if nothing is open any more, as after a crash: the model is asked for its answer.
            gone = {"messages": [RemoveMessage(id=newest)], "jump_to": "model"}
            return await self._stored(run, gone)
        if turn.verdict is not ev.CompletionVerdict.END:
            update = undone(state["messages"], place, answered, turn.messages)
            return await self._stored(run, update | {"jump_to": "model"})
        update = {"report": run.end("complete", asks=turn.asks)}
        if turn.asks:
            update["messages"] = list(turn.messages)  # the same id: marked in its place
        return await self._ended(run, update)

    async def _ended(self, run: Run, update: dict[str, Any]) -> dict[str, Any]:
        """Complete the last update of a run, and release its thread."""
        stored = await self._stored(run, update)
        self._threads.leave(run)
        return stored

    async def _stored(self, run: Run, update: dict[str, Any]) -> dict[str, Any]:
        """Complete the update of a hook if the lease is held."""
        with run.leaving_on_error():
            await run.keep()
        return update | run.identity_update() | {"ledger": run.drain_events()}

    # -- calls --------------------------------------------------

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        """See :meth:`awrap_tool_call`; the tool runs on an OS thread of the guard's pool."""

        async def in_thread(late: ToolCallRequest) -> ToolMessage | Command[Any]:
            return await asyncio.get_running_loop().run_in_executor(
                self._pool, in_context(partial(handler, late))
            )

        slots = slots_of(get_config(), threads=True)
        return self._portal.run(self._tool_hook.answered(request, in_thread, slots))

    @without_threads
    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Handler
    ) -> ToolMessage | Command[Any]:
        """Issue an admitted call; answer with the result or a placeholder when a turn is due."""

        async def on_a_loop(late: ToolCallRequest) -> Any:
            # Not on the portal: it belongs to the guard, and a sync entry may continue the thread.
            return await off_portal(partial(handler, late))

        slots = slots_of(get_config(), threads=False)
        return await self._tool_hook.answered(request, on_a_loop, slots)
