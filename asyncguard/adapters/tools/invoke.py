"""Invocation of tools through LangGraph's ToolNode; answers and errors become values."""

import asyncio
import hashlib
import logging
import traceback
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor as ThreadPool
from contextvars import ContextVar
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp, is_invalid_resume
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import (
    INVALID_TOOL_NAME_ERROR_TEMPLATE,
    ToolCallRequest,
    ToolInvocationError,
)
from langgraph.types import Command
from pydantic import ValidationError

from asyncguard.adapters.answer_log.questions import asking
from asyncguard.adapters.langgraph_internals.nodes import INJECTION
from asyncguard.adapters.messages.hand_over import kept_hand_over
from asyncguard.adapters.messages.render import text_of
from asyncguard.adapters.messages.sanitize import json_problem, limited, plain_text
from asyncguard.adapters.tools.body_entries import RefusedEntryError, Watch
from asyncguard.adapters.tools.exceptions import read
from asyncguard.adapters.tools.fast_path import needs_injection, prepared
from asyncguard.adapters.tools.sync_async import has_sync_side, runs_sync
from asyncguard.adapters.tools.system_exit import ToolExitError, contained
from asyncguard.adapters.tools.watched_tools import WatchedRequest, watched_tool
from asyncguard.config import Limits
from asyncguard.core.calls import canonical_json
from asyncguard.core.faults import ErrorCode, Symptom
from asyncguard.core.results import Failure, Interrupted, Result, Started, Success
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.errors import ToolFault
from asyncguard.recovery.symptoms import is_transient, refused
from asyncguard.runtime.attempts import Attempt
from asyncguard.runtime.dispatcher import Runner
from asyncguard.runtime.portal import in_context, off_portal, sync_entry

_log = logging.getLogger("asyncguard")

_WATCH: ContextVar[Watch] = ContextVar("asyncguard_watch")
"""Watch of the attempt for which LangGraph's ToolNode runs a tool."""


def call_of(attempt: Attempt) -> ToolCall:
    """Make LangChain's call of an attempt, with the arguments that the runtime fills in."""
    arguments = {**attempt.arguments, **attempt.injected}
    return ToolCall(name=attempt.tool, args=arguments, id=attempt.call_id, type="tool_call")


def watch_of(attempt: Attempt, place: RunnableConfig | None = None) -> Watch:
    """Make the watch over an attempt's tool; each attempt has one.

    Args:
        attempt: The attempt.
        place: Configuration of the node that asks the tool's questions, if it is not the caller's.
    """
    config = attempt.config

    def recovers(symptom: Symptom) -> bool:
        if refused(symptom):
            return config.refresh or config.retry
        return config.retry and is_transient(symptom)

    return Watch(
        spec=attempt.spec,
        symptom_of=symptom_of,
        recovers=recovers,
        injected=attempt.injected,
        specs=attempt.specs,
        place=place,
        call_id=attempt.call_id,
    )


async def run_attempt(
    attempt: Attempt,
    watch: Watch,
    invoke: Callable[[], Awaitable[Any]],
    *,
    foreground: bool,
) -> Result:
    """Run an attempt, once.

    Args:
        attempt: The attempt.
        watch: Made for it.
        invoke: Calls the tool.
        foreground: True if the graph waits for it, so that an interrupt can be raised there.

    Returns:
        The result within the limit of what is stored; ``Started`` for external work.
    """
    try:
        result = await run_capturing_errors(invoke, foreground=foreground, watch=watch)
    except asyncio.CancelledError:

        def late(end: Any) -> None:
            raised = isinstance(end, Exception)
            result = Failure(symptom=symptom_of(end)) if raised else result_of(end, attempt.call_id)
            if attempt.external and isinstance(result, Success):
                result = Started()  # the answer only says that work was started
            attempt.take_late(_concealed(result, watch.injected.values()))

        watch.give_up(late)
        raise
    if not isinstance(result, Success):
        return result
    if attempt.external:
        return Started()
    if not attempt.config.capacity or attempt.config.shadow:
        return result
    return truncate(result, attempt.label, attempt.config.limits)


class ToolRunner:
    """Runner of the tools of one agent."""

    def __init__(
        self, tools: Sequence[BaseTool], specs: Mapping[str, ToolSpec], pool: ThreadPool
    ) -> None:
        """Prepare the tools.

        Args:
            tools: The tools.
            specs: Their declarations.
            pool: Runs sync tools; LangChain's own pool is too small for many slow tools.
        """
        injected = {tool.name for tool in tools if needs_injection(tool)}
        self.reads_state = bool(injected)
        """True if a tool is given values of the graph, which are those of the last super-step."""
        self._node = ToolNode(
            [contained(tool) for tool in tools if tool.name in injected],
            wrap_tool_call=lambda request, handler: handler(_watched(request)),
            awrap_tool_call=lambda request, handler: handler(_watched(request)),
        )
        # Tools that need no injection skip ToolNode, which costs more than a small tool.
        self._direct = {
            tool.name: contained(prepared(tool)) for tool in tools if tool.name not in injected
        }
        self._names = [tool.name for tool in tools]
        self._specs = specs
        self._pool = pool
        # Names of tools that run on an OS thread: under async entry, and under sync entry.
        self._sync_only = {tool.name for tool in tools if runs_sync(tool)}
        self._sync = {tool.name for tool in tools if has_sync_side(tool)}

    def bind(self, config: RunnableConfig) -> Runner:
        """Return the runner within one graph node.

        Args:
            config: The node's config, with callbacks, runtime, store and state for injected
                arguments.
        """

        def for_attempt(attempt: Attempt) -> Callable[[], Awaitable[Result]]:
            watch = watch_of(attempt)
            given = asking(config, attempt, together=True)
            invoke = partial(self._invoke, watch, call_of(attempt), given)
            return partial(
                run_attempt,
                attempt,
                watch,
                invoke,
                foreground=attempt.foreground,
            )

        return for_attempt

    async def _invoke(self, watch: Watch, call: ToolCall, config: RunnableConfig) -> Any:
        """Call a tool: through ToolNode if it needs an injection from the graph, else directly.

        Sync entry calls the sync side of a tool that has one, on an OS thread.
        """
        direct = self._direct.get(call["name"])
        if call["name"] not in self._names:  # an earlier version of the agent admitted the call
            return _unknown(call, self._names)
        _WATCH.set(watch)
        given: Any = [call] if direct is None else call
        runnable: Any = self._node if direct is None else watched_tool(direct, watch)
        on_thread = call["name"] in (self._sync_only if sync_entry() is None else self._sync)
        try:
            if not on_thread:
                return await off_portal(partial(runnable.ainvoke, given, config))
            work = in_context(partial(runnable.invoke, given, config))
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        except ValidationError as error:
            if direct is None:  # ToolNode has answered for refused input itself
                raise
            return refused_input(watch, call, error)


def _unknown(call: ToolCall, names: Sequence[str]) -> ToolMessage:
    """Return ToolNode's answer to a call of no tool; ours knows only those that need injection."""
    text = INVALID_TOOL_NAME_ERROR_TEMPLATE.format(
        requested_tool=call["name"], available_tools=", ".join(names)
    )
    return ToolMessage(text, name=call["name"], tool_call_id=call["id"], status="error")


def _watched(request: ToolCallRequest) -> ToolCallRequest:
    return WatchedRequest(
        tool_call=request.tool_call,
        tool=request.tool,
        state=request.state,
        runtime=request.runtime,
        watch=_WATCH.get(),
    )


async def called_alone(watch: Watch, tool: BaseTool, call: ToolCall, config: RunnableConfig) -> Any:
    """Call a tool from the caller's side, without a runner; a sync one on the loop's own threads.

    Args:
        watch: Of the attempt.
        tool: A tool that takes nothing from the graph.
        call: The call.
        config: Of the node or hook that runs it.
    """
    entered = watched_tool(contained(tool), watch)
    try:
        if sync_entry() is not None and has_sync_side(tool):
            return await asyncio.to_thread(in_context(partial(entered.invoke, call, config)))
        return await off_portal(partial(entered.ainvoke, call, config))
    except ValidationError as error:
        return refused_input(watch, call, error)


def refused_input(watch: Watch, call: ToolCall, error: ValidationError) -> ToolMessage:
    """Return ToolNode's answer to input that the tool's schema refuses; the tool has not begun.

    Raises:
        ValidationError: The same error, if it comes from the tool's own code, which had begun.
    """
    if watch.begun:
        raise error
    refusal = ToolInvocationError(call["name"], error, call["args"], filtered_errors=error.errors())
    return ToolMessage(
        content=refusal.message, tool_call_id=str(call["id"]), name=call["name"], status="error"
    )


async def run_capturing_errors(
    invoke: Callable[[], Awaitable[Any]], *, foreground: bool, watch: Watch
) -> Result:
    """Run a tool once and turn any error, except cancellation, into a value.

    Args:
        invoke: Calls the tool.
        foreground: True if the graph waits for it, so that an interrupt can be raised there.
        watch: Records the entries of the tool's body.
    """
    try:
        result = result_of(await invoke(), watch.call_id)
    except RefusedEntryError as error:
        result = Failure(
            symptom=Symptom(error=ErrorCode.NOT_RUN, message=str(error), transient=False)
        )
    except GraphBubbleUp as error:
        if foreground:
            return Interrupted(error=error)
        _warn_of_interrupt(watch.spec.name)
        text = (
            "The tool asked a person in the background. Declare it with interrupts=True to run it "
            "in the foreground."
        )
        return Failure(
            symptom=Symptom(error=ErrorCode.UNDECLARED_INTERRUPT, message=text, transient=False)
        )
    except Exception as error:  # noqa: BLE001 - no error of a tool may end another task
        if foreground and is_invalid_resume(error):
            return Interrupted(error=error)
        frames = traceback.walk_tb(error.__traceback__)
        if any(frame.f_code is INJECTION for frame, _ in frames):
            watch.early = error  # LangGraph could not inject a value: the tool was not called
        result = Failure(symptom=symptom_of(error))
    finally:
        watch.close()
    return _concealed(watch.judged(result), watch.injected.values())


@lru_cache(maxsize=1024)
def _warn_of_interrupt(tool: str) -> None:
    """Tell the developer, once a tool, that its question reaches no person."""
    _log.warning(
        "%s called interrupt() in the background, where no person can be asked, so the call has "
        "failed or is in doubt; declare it with @guarded(interrupts=True), or in specs by "
        "ToolSpec(name=%r, interrupts=True).",
        tool,
        tool,
    )


def _concealed(result: Result, secrets: Collection[str]) -> Result:
    """Return a result whose error shows no token or key: pydantic and clients quote arguments."""
    if not isinstance(result, Failure) or not secrets:
        return result
    message = result.symptom.message
    for secret in secrets:
        message = message.replace(secret, "[hidden]")
    return replace(result, symptom=replace(result.symptom, message=message))


def result_of(raw: Any, call_id: str) -> Result:
    """Convert a tool's raw answer to a value.

    Args:
        raw: ToolMessage, Command, or a list of them.
        call_id: The provider's id of the call: a command that hands over holds other answers, too.
    """
    parts = _joined(_parts(raw))
    for item in parts:
        if isinstance(item, ToolMessage):
            if item.status != "error":
                return Success(content=item.content, raw=parts)
            # The tool handled its own error: its outcome is known, and a repetition will not help.
            text = text_of(item.content)
            return Failure(
                symptom=Symptom(
                    error=ErrorCode.TOOL_ERROR, message=text, transient=False, answered=True
                ),
                raw=[item],
            )
        if isinstance(item, Command) and isinstance(item.update, dict):
            messages = [m for m in item.update.get("messages", []) if isinstance(m, ToolMessage)]
            own = (each for each in messages if each.tool_call_id == call_id)
            content = next(own, messages[0]).content if messages else ""
            # The journal keeps the rest of the update, but only plain JSON can be stored there.
            update = {name: value for name, value in item.update.items() if name != "messages"}
            lasting = update if update and not json_problem(update) else None
            if item.graph is not None:
                lasting = kept_hand_over(item, call_id)
            return Success(content=content, raw=parts, update=lasting)
        if isinstance(item, Command) and item.graph is not None:  # it hands over without a word
            return Success(content="", raw=parts)
    return Success(content=text_of(raw), raw=parts)


def _joined(parts: list[Any]) -> list[Any]:
    """Join the messages and commands of a list to one command: a call has one answer.

    A list with an error among its messages is left as it is: its call has failed.
    """
    commands = [item for item in parts if isinstance(item, Command)]
    if not commands or len(parts) < 2:
        return parts
    messages: list[Any] = []
    update: dict[str, Any] = {}
    goto: list[Any] = []
    for item in parts:
        match item:
            case ToolMessage(status="success"):
                messages.append(item)
            case Command(update=dict() | None as given, graph=None, goto=places):
                for name, value in (given or {}).items():
                    if name == "messages":
                        messages += value if isinstance(value, list) else [value]
                    elif isinstance(value, list) and isinstance(update.get(name), list):
                        update[name] = [*update[name], *value]
                    else:
                        update[name] = value
                goto += places if isinstance(places, list | tuple) else [places]
            case _:
                return parts
    return [Command(update={**update, "messages": messages}, goto=goto)]


def truncate(result: Success, label: str, limits: Limits) -> Success:
    """Return the result; one larger than the limit is cut to its beginning and a note.

    Args:
        result: The result.
        label: Name of the call, for the note.
        limits: Sizes of what is stored, and of what is kept of a larger result.
    """
    text = result.content if isinstance(result.content, str) else canonical_json(result.content)
    if len(text) <= limits.max_stored_bytes // 4:  # UTF-8 has at most four bytes a character
        return result
    data = plain_text(text).encode()
    if len(data) <= limits.max_stored_bytes:
        return result
    # The digest identifies the whole result.
    digest = hashlib.sha256(data).hexdigest()
    note = f"[{label}: truncated; {len(data)} bytes, sha256 {digest}; only the beginning was kept]"
    room = max(0, limits.max_output_bytes - len(note) - 1)
    content: Any = f"{data[:room].decode('utf-8', 'ignore')}\n{note}"
    if isinstance(result.content, list):
        kept = limited(result.content, room, label)
        texts_only = all(isinstance(block, str) for block in kept)
        content = [*kept, note if texts_only else {"type": "text", "text": note}]
    return replace(result, content=content, raw=_retold(result.raw, result.content, content))


def _retold(raw: Any, told: Any, content: Any) -> Any:
    """Return a tool's raw answer with other content; artifact, status and state updates stay."""
    parts = list(raw) if isinstance(raw, list) else []
    for place, item in enumerate(parts):
        if isinstance(item, ToolMessage) and item.content == told:
            parts[place] = item.model_copy(update={"content": content})
            return parts
        if isinstance(item, Command) and isinstance(item.update, dict):
            messages = _retold(list(item.update.get("messages", [])), told, content)
            update = {**item.update, "messages": messages} if messages else item.update
            parts[place] = Command(update=update, goto=item.goto, graph=item.graph)
            return parts
    return raw


def _parts(raw: Any) -> list[Any]:
    """Return the answer of ToolNode or a wrapper as a flat list.

    It can be a message, a command, or lists and state updates of them.
    """
    if isinstance(raw, dict):
        return list(raw.get("messages", []))
    if isinstance(raw, list):
        return [part for item in raw for part in _parts(item)]
    return [raw]


def symptom_of(error: BaseException) -> Symptom:
    """Return the symptom of an exception: only observable facts, without a diagnosis."""
    if isinstance(error, ToolExitError) and error.__cause__ is not None:
        error = error.__cause__
    seen = read(error)
    # The tasks of a client wrap what one of them raised; the model has to read what that was.
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, ToolFault):
        return Symptom(
            error=type(error).__name__,
            message=text,
            mro=seen.mro,
            status=error.status if error.status is not None or seen.implied else seen.status,
            retry_after=error.retry_after if error.retry_after is not None else seen.retry_after,
            transient=error.transient,
            started=error.started,
        )
    return Symptom(
        error=ErrorCode.TIMEOUT if isinstance(error, TimeoutError) else type(error).__name__,
        message=text,
        mro=seen.mro,
        status=seen.status,
        retry_after=seen.retry_after,
        implied=seen.implied,
    )
