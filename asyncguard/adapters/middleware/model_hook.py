"""Hook of a model call in ``create_agent``: what is done before and after the model is asked."""

from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from langchain.agents.middleware import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain.agents.structured_output import ToolStrategy
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langgraph.config import get_config
from langgraph.types import Command

from asyncguard.adapters.answered_calls import note_answers, note_removed
from asyncguard.adapters.followed import Asked
from asyncguard.adapters.langchain_internals import provider_of
from asyncguard.adapters.langgraph_internals.nodes import tools_of
from asyncguard.adapters.messages.history_cache import CachedHistory
from asyncguard.adapters.messages.parse import all_with_usable_ids
from asyncguard.adapters.messages.run_messages import closing_message, exhausted, view_message
from asyncguard.adapters.messages.tool_updates import joined
from asyncguard.adapters.middleware.handlers import GuardedThreads
from asyncguard.adapters.middleware.known_tools import KnownTools
from asyncguard.adapters.middleware.pending_handlers import PendingHandlers
from asyncguard.adapters.middleware.reconcile import (
    drop_answered,
    drop_rewritten,
    drop_skipped,
    last_said,
    refuse_early_answer,
    take_answers,
    unjudged,
    withhold_end,
    without_wrappers,
)
from asyncguard.adapters.middleware.tool_calls import rest
from asyncguard.adapters.run.run import Run
from asyncguard.adapters.run.turn import holds_text, propose
from asyncguard.adapters.run_input import only_cancelled
from asyncguard.core.calls import CallState
from asyncguard.core.resume_terms import Why
from asyncguard.runtime.engine import Engine


class ModelHook:
    """Turns of the model, in all threads of one agent."""

    def __init__(self, engine: Engine, tools: KnownTools, threads: GuardedThreads) -> None:
        """Make the hook.

        Args:
            engine: Clock, executor, journal and configuration that all sessions share.
            tools: Tools of the agent; each turn adds to them those that it shows.
            threads: Threads of the agent.
        """
        self._engine = engine
        self._tools = tools
        self._threads = threads
        # The last model and its provider; a strong reference, so that its id is not reused.
        self._provider: tuple[BaseChatModel | None, str] = (None, "")

    async def due(self, request: ModelRequest[Any]) -> tuple[Run, PendingHandlers]:
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
        drop_rewritten(run, handlers, self._tools.task_argument)
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

    def without_asking(self, run: Run) -> ModelResponse[Any] | None:
        """Return the response if the model is not asked, ``None`` if it is."""
        if reason := exhausted(run.board):
            return ModelResponse(result=[closing_message(run.board, reason)])
        left = unjudged(run)
        return None if left is None else ModelResponse(result=[left])

    def asking(self, run: Run, request: ModelRequest[Any]) -> AbstractContextManager[Asked]:
        """Tell observers of the request that is made inside the block."""
        sent = [request.system_message] if request.system_message else []
        return run.asking(request.model, self._provider[1], [*sent, *request.messages])

    def prepared(
        self, run: Run, request: ModelRequest[Any], handlers: PendingHandlers
    ) -> tuple[ModelRequest[Any], CachedHistory]:
        """Return the request that the model is shown, and the cached facts about its history."""
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

    def identify(self, run: Run, response: ModelResponse[Any], conversation: CachedHistory) -> None:
        """Give the messages of a response usable ids; take out what comes too early to be used."""
        refuse_early_answer(response)
        engine = self._engine
        said = all_with_usable_ids(
            response.result, engine.ports.new_id, conversation.ids, engine.specs
        )
        response.result = [*said]
        if holds_text(run):
            withhold_end(response)

    async def admitted(
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
        whole = joined(update, self._threads.take_updates(run))
        return ExtendedModelResponse(model_response=response, command=Command(update=whole))
