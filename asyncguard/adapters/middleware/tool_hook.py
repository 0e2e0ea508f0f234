"""Hook of a tool call in ``create_agent``: what its wrapper does, and what it returns."""

from typing import Any, cast

from langchain_core.messages import ToolMessage
from langgraph.config import get_config
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from asyncguard.adapters.messages.markers import mark
from asyncguard.adapters.messages.run_messages import ends_directly
from asyncguard.adapters.middleware.handlers import GuardedThreads
from asyncguard.adapters.middleware.known_tools import KnownTools
from asyncguard.adapters.middleware.pending_handlers import Handler, PendingHandlers
from asyncguard.adapters.middleware.reconcile import (
    WITHOUT_WRAPPERS,
    as_changed,
    changed_outside,
    drop_answered,
    drop_rewritten,
    last_said,
    refusal_of_change,
    restore_judged,
    with_answer,
    written_by_reviewer,
)
from asyncguard.adapters.middleware.tool_calls import run_until_due, take_given
from asyncguard.adapters.run.hand_over import complete_hand_over
from asyncguard.adapters.run.run import Run
from asyncguard.adapters.run.turn import edit_call
from asyncguard.core.calls import CallState
from asyncguard.core.records import CallRecord


class ToolHook:
    """Wrappers of tool calls, in all threads of one agent."""

    def __init__(self, tools: KnownTools, threads: GuardedThreads) -> None:
        """Make the hook.

        Args:
            tools: Tools of the agent.
            threads: Threads of the agent.
        """
        self._tools = tools
        self._threads = threads

    async def answered(
        self, request: ToolCallRequest, handler: Handler, slots: float
    ) -> ToolMessage | Command[Any]:
        """Issue an admitted call; answer with the result or a placeholder when a turn is due.

        Args:
            request: Of the wrapper.
            handler: Runs the tool, now or after the wrapper has returned.
            slots: Number of wrappers that LangGraph executes at once.
        """
        self._tools.meet(request)
        run, handlers = await self._threads.joined(request.state, get_config())
        drop_answered(run, handlers)
        drop_rewritten(run, handlers, self._tools.task_argument)
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
