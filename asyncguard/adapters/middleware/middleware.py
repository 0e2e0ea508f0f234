"""``AsyncGuardMiddleware``: the same core and runtime inside LangChain's ``create_agent``.

Hooks: ``before_agent`` applies the input, ``wrap_model_call`` waits, shows late results, the tools
and the state of the tasks, and proposes the calls of the answer, ``wrap_tool_call`` issues a call,
``after_agent`` judges the end. The steps that are nodes of the state machine, retry and fallback
among them, run inside the wrappers here. There is no ``before_model`` and no ``after_model``: each
hook of a turn is a super-step, in which LangGraph stores the whole history again.

Each hook has an async method with the logic and a sync method that runs it on the portal's event
loop. A handler that LangChain gives to a sync wrapper must stay on the caller's OS thread, so
``wrap_model_call`` is written twice.
"""

import asyncio
import weakref
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, cast

from langchain.agents.middleware import (
    AgentMiddleware,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    hook_config,
)
from langchain.agents.structured_output import ToolStrategy
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import RemoveMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.config import get_config
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime
from langgraph.types import Command
from pydantic import ValidationError

from asyncguard.adapters.answered_calls import note_answers, note_removed
from asyncguard.adapters.followed import Asked
from asyncguard.adapters.langchain_internals import provider_of
from asyncguard.adapters.langgraph_internals.nodes import tools_of
from asyncguard.adapters.messages.history_cache import CachedHistory
from asyncguard.adapters.messages.markers import is_withheld, mark
from asyncguard.adapters.messages.parse import all_with_usable_ids, unreadable_message
from asyncguard.adapters.messages.run_messages import (
    closing_message,
    ends_directly,
    exhausted,
    view_message,
)
from asyncguard.adapters.middleware.handlers import GuardedThreads
from asyncguard.adapters.middleware.known_tools import KnownTools
from asyncguard.adapters.middleware.pending_handlers import Handler, PendingHandlers
from asyncguard.adapters.middleware.placement import GuardName, report_early_place
from asyncguard.adapters.middleware.reconcile import (
    WITHOUT_WRAPPERS,
    as_changed,
    changed_outside,
    drop_answered,
    drop_skipped,
    ends_with,
    is_judged,
    is_over,
    last_said,
    left_text,
    open_among,
    refusal_of_change,
    refuse_early_answer,
    restore_judged,
    take_answers,
    undone,
    unjudged,
    with_answer,
    withhold_end,
    without_wrappers,
    written_by_reviewer,
)
from asyncguard.adapters.middleware.state_schema import GuardState
from asyncguard.adapters.middleware.stopped_step import (
    stopped_outside,
    with_own_answers,
    without_stand_ins,
)
from asyncguard.adapters.middleware.tool_calls import rest, run_until_due, slots_of, take_given
from asyncguard.adapters.middleware.traced_hooks import without_threads
from asyncguard.adapters.refused_input import check_input_of, with_input
from asyncguard.adapters.run.hand_over import complete_hand_over
from asyncguard.adapters.run.run import Run
from asyncguard.adapters.run.start import begin
from asyncguard.adapters.run.turn import edit_call, holds_text, judge_end, propose
from asyncguard.adapters.run_input import only_cancelled
from asyncguard.adapters.threads.checkpoint_barrier import JournalTarget
from asyncguard.adapters.tools.declare import (
    Tools,
    as_journal_target,
    as_tools,
    by_name,
)
from asyncguard.adapters.ui_events import emit, holding
from asyncguard.config import GuardConfig
from asyncguard.core import events as ev
from asyncguard.core.calls import CallState
from asyncguard.core.records import CallRecord
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
        # The last model and its provider; a strong reference, so that its id is not reused.
        self._provider: tuple[BaseChatModel | None, str] = (None, "")
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

    def before_agent(self, state: GuardState, runtime: Runtime[Any]) -> dict[str, Any]:
        """See :meth:`abefore_agent`."""
        return self._portal.run(self.abefore_agent(state, runtime))

    async def abefore_agent(self, state: GuardState, runtime: Runtime[Any]) -> dict[str, Any]:
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
        return update | self._threads.take_updates(run)

    # -- the model's turn --------------------------------------------------

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: ModelHandler
    ) -> ExtendedModelResponse[Any]:
        """See :meth:`awrap_model_call`."""
        run, handlers = self._portal.run(self._due(request))
        if (response := self._without_asking(run)) is None:
            prepared, conversation = self._prepared(run, request, handlers)
            try:
                with run.leaving_on_error(), run.inside():
                    self._portal.run(run.ensure_written())
                    with self._asking(run, prepared) as asked, holding(hold=holds_text(run)):
                        response = handler(prepared)
                        asked.answer = response.result[0]
                    self._portal.run(run.keep())
            except ValidationError as error:
                response = ModelResponse(result=[unreadable_message(error)])
            self._identify(run, response, conversation)
        return self._portal.run(self._admitted(run, handlers, response))

    @without_threads
    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: AsyncModelHandler
    ) -> ExtendedModelResponse[Any]:
        """Wait until the model is due a turn, ask it, and judge the calls of its message.

        The response holds late results before the message, and the answers to rejected calls after
        it. What was decided is stored with the message, in one step.
        """
        run, handlers = await self._due(request)
        if (response := self._without_asking(run)) is None:
            prepared, conversation = self._prepared(run, request, handlers)
            try:
                with run.leaving_on_error(), run.inside():
                    await run.ensure_written()
                    with self._asking(run, prepared) as asked, holding(hold=holds_text(run)):
                        response = await handler(prepared)
                        asked.answer = response.result[0]
                    await run.keep()
            except ValidationError as error:
                response = ModelResponse(result=[unreadable_message(error)])
            self._identify(run, response, conversation)
        return await self._admitted(run, handlers, response)

    async def _due(self, request: ModelRequest[Any]) -> tuple[Run, PendingHandlers]:
        """Register the tools, wait until the model is due a turn, and render the late results.

        They stay with the handlers until the model has answered: a call of it that fails is
        repeated with them.
        """
        config = get_config()
        shown = [tool for tool in request.tools if isinstance(tool, BaseTool)]
        self._tools.learn(shown, partial(tools_of, config))
        state: Any = request.state
        run, handlers = await self._threads.joined(state, config)
        # Only here does LangChain show the prompt.
        run.read_prompt(request.system_message)
        drop_answered(run, handlers)
        take_answers(run)
        note_answers(run)
        if not handlers.after_loss:
            drop_skipped(run, handlers)
        note_removed(run)
        if unjudged(run) is not None:
            return run, handlers
        await self._rest(run, handlers)
        handlers.add_news(run.board, run.messages, run.teller.news())
        return run, handlers

    async def _rest(self, run: Run, handlers: PendingHandlers) -> None:
        """Wait until the model is due a turn, unless that is decided already."""
        run.decide(without_wrappers(run), Why.WRAPPERS_RETURNED, hands=handlers)
        # Before the first turn of a run only what has arrived or is known elsewhere is applied.
        due = (
            run.ledger.turns
            or run.has_news
            or only_cancelled(run.messages)
            or await run.outcome_due()
        )
        if due and run.ledger.ended is None and not handlers.turn_is_decided(run.ledger):
            with run.leaving_on_error(), run.inside():
                async with run.keeping():
                    await rest(run, handlers)

    def _without_asking(self, run: Run) -> ModelResponse[Any] | None:
        """Return the response if the model is not asked, ``None`` if it is."""
        if reason := exhausted(run.board):
            return ModelResponse(result=[closing_message(run.board, reason)])
        left = unjudged(run)
        return None if left is None else ModelResponse(result=[left])

    def _asking(self, run: Run, request: ModelRequest[Any]) -> AbstractContextManager[Asked]:
        sent = [request.system_message] if request.system_message else []
        return run.asking(request.model, self._provider[1], [*sent, *request.messages])

    def _prepared(
        self, run: Run, request: ModelRequest[Any], handlers: PendingHandlers
    ) -> tuple[ModelRequest[Any], CachedHistory]:
        known, provider = self._provider
        if known is not request.model:  # the detection reads many attributes of the model
            provider = provider_of(request.model)
            self._provider = (request.model, provider)
        conversation = run.conversation
        conversation.read(handlers.with_news(request.messages), provider)
        messages = conversation.request(view_message(run.board, run.messages))
        tasks = [task.task.id for task in run.ledger.tasks()]
        form = request.response_format
        tools = self._tools.shown(
            request.tools,
            tasks,
            strict=request.model_settings.get("strict"),
            # A schema alone may become the provider's form, which create_agent decides later.
            provider_answers=form is not None and not isinstance(form, ToolStrategy),
        )
        if messages == request.messages and tools == request.tools:
            # The common case with one task; a copy costs more than the comparison.
            return request, conversation
        return request.override(messages=messages, tools=tools), conversation

    def _identify(
        self, run: Run, response: ModelResponse[Any], conversation: CachedHistory
    ) -> None:
        """Give the messages of a response usable ids; take out what comes too early to be used."""
        refuse_early_answer(response)
        said = all_with_usable_ids(response.result, self.engine.ports.new_id, conversation.ids)
        response.result = [*said]
        if holds_text(run):
            withhold_end(response)

    async def _admitted(
        self, run: Run, handlers: PendingHandlers, response: ModelResponse[Any]
    ) -> ExtendedModelResponse[Any]:
        """Judge the calls of the model's message, and return it with all that is stored with it.

        The message and the decisions are in one checkpoint, so before any call is issued.
        """
        update: dict[str, Any] = {}
        if not exhausted(run.board):
            said, _, _ = last_said(response.result)
            made = propose(run, said, self._tools.task_argument)
            # The model has spoken since the loss.
            heard_before, handlers.after_loss = handlers.after_loss, False
            if heard_before:
                await run.ask_journal_again()
            # create_agent would treat a message with unreadable calls only as the final answer.
            handlers.asked_again = str(said.id) if made and not said.tool_calls else ""
            rejected = [
                record for record in run.ledger.unanswered() if record.state is CallState.REJECTED
            ]
            if rejected:
                update["messages"] = [run.teller.answer(record)[0] for record in rejected]
        response.result = [*handlers.news, *response.result]
        update |= run.identity_update() | {"ledger": run.drain_events()}
        update |= self._threads.take_updates(run)
        return ExtendedModelResponse(model_response=response, command=Command(update=update))

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
        return self._portal.run(self._answered(request, in_thread, slots))

    @without_threads
    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Handler
    ) -> ToolMessage | Command[Any]:
        """Issue an admitted call; answer with the result or a placeholder when a turn is due."""

        async def on_a_loop(late: ToolCallRequest) -> Any:
            # Not on the portal: it belongs to the guard, and a sync entry may continue the thread.
            return await off_portal(partial(handler, late))

        slots = slots_of(get_config(), threads=False)
        return await self._answered(request, on_a_loop, slots)

    async def _answered(
        self, request: ToolCallRequest, handler: Handler, slots: float
    ) -> ToolMessage | Command[Any]:
        self._tools.meet(request)
        run, handlers = await self._threads.joined(request.state, get_config())
        drop_answered(run, handlers)
        record = _record_of(run, request)
        if record is None:
            text = (
                "This call was not seen by the guard; middleware between model and guard may have "
                "made it."
            )
            return _error(request, text)
        task_argument = self._tools.task_argument
        if record.state in WITHOUT_WRAPPERS and changed_outside(request, record, task_argument):
            if not written_by_reviewer(request, run.config):
                return await self._changed(run, record, request, handler)
            now = request.tool_call
            edit_call(run, record, now["name"], now["args"], task_argument)
        run.board.ends_runs(
            name for name, tool in self._tools.by_name.items() if tool.return_direct
        )
        with run.leaving_on_error(), handlers.executing(record.key, slots):
            async with run.keeping():
                await take_given(run, handlers, record.key)
                # Until the call ends: a deferred call runs after this wrapper has returned.
                handlers.keep(record.key, request, handler)
                await run_until_due(run, handlers, record)
                await run.ensure_written()
        return self._answer(run, handlers, record)

    async def _changed(
        self, run: Run, record: CallRecord, request: ToolCallRequest, handler: Handler
    ) -> ToolMessage | Command[Any]:
        """Refuse a call that other middleware has changed since the guard judged it."""
        task_argument = self._tools.task_argument
        if run.board.config.shadow and record.state is CallState.QUEUED:
            # As without the guard; for the ledger it is a call that others have answered.
            answer: ToolMessage | Command[Any] = await handler(as_changed(request, task_argument))
            return answer
        refusal = _error(
            request,
            refusal_of_change(request),
            additional_kwargs=mark("not_executed", state=CallState.CANCELLED.value),
        )
        restore_judged(request, record, task_argument)
        return refusal

    def _answer(
        self, run: Run, handlers: PendingHandlers, record: CallRecord
    ) -> ToolMessage | Command[Any]:
        """Return what a call's wrapper returns: result or placeholder, and the tool's update."""
        message, command = run.teller.answer(record)
        if not record.open:
            handlers.drop(record.key)
        if command is not None and command.graph is not None:
            return cast(Command[Any], complete_hand_over(run, command))
        ending = self._direct_end(run)
        if command is None and not ending and not record.edited:
            return message
        rest: Any = Command(update={}) if command is None else command
        messages = with_answer(message, rest.update.get("messages", []))
        update: Any = {**rest.update, "messages": messages, **ending}
        if record.edited and not record.succeeded:
            # As pairs: to a mapping LangChain adds that the edited call was executed.
            update = list(update.items())
        return Command(update=update, goto=rest.goto, graph=rest.graph)

    def _direct_end(self, run: Run) -> dict[str, Any]:
        """Return the final update if ``create_agent`` ends the run with these results, else empty.

        After results that are returned directly it calls no other hook.
        """
        # Of the state before these results, so its last message is the one that made the calls.
        said, _, _ = last_said(run.messages)
        if not ends_directly(
            run.board, [self._tools.by_name.get(call["name"]) for call in said.tool_calls]
        ):
            return {}
        ending = {"report": run.end("direct_return"), "ledger": run.drain_events()}
        self._threads.leave(run)
        return ending


def _record_of(run: Run, request: ToolCallRequest) -> CallRecord | None:
    records, call_id = run.ledger.of_message(run.ledger.last_message), str(request.tool_call["id"])
    return next((each for each in records if each.call.call_id == call_id), None)


def _error(request: ToolCallRequest, text: str, **more: Any) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(
        content=text, tool_call_id=str(call["id"]), name=call["name"], status="error", **more
    )
