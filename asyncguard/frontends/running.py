"""Running tools: LangGraph's ToolNode injects and calls, this module turns what comes back into values."""

import asyncio
import contextvars
import hashlib
import math
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Executor as ThreadPool
from functools import partial
from typing import Any

from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolInvocationError
from langgraph.types import Command
from pydantic import ValidationError

from asyncguard.config import Limits
from asyncguard.core.calls import canonical_json
from asyncguard.core.hazards import Symptom
from asyncguard.core.records import CallRecord
from asyncguard.core.toolspec import Mode, ToolSpec
from asyncguard.engine.dispatch import Runner, attempt_arguments
from asyncguard.engine.executors.port import Completion, Escape, Failure, Result, Started, Success
from asyncguard.engine.journal.port import Mail, MailKind
from asyncguard.engine.session import Session
from asyncguard.errors import ToolFault
from asyncguard.frontends.plain import problem_with
from asyncguard.frontends.prepared import needs_injection, prepared
from asyncguard.frontends.writing import text_of


class ToolRunner:
    """Runs the tools of one agent."""

    def __init__(self, tools: Sequence[BaseTool], specs: Mapping[str, ToolSpec], pool: ThreadPool) -> None:
        """Make a runner.

        Args:
            tools: The tools.
            specs: Their declarations.
            pool: Where sync tools run; LangChain's own pool is too small for many slow tools.
        """
        self._node = ToolNode(list(tools))
        self._direct = {tool.name: prepared(tool) for tool in tools if not needs_injection(tool)}
        self._specs = specs
        self._pool = pool
        self._sync = {tool.name for tool in tools if runs_sync(tool)}

    def bind(self, session: Session, config: RunnableConfig) -> Runner:
        """The runner for one session within one graph node.

        Args:
            session: The thread.
            config: The node's config; carries callbacks, runtime, store and state for injected arguments.
        """

        def for_call(record: CallRecord) -> Callable[[], Awaitable[Result]]:
            call = self._call(session, record)
            foreground = session.board.in_foreground(record.call.tool)

            async def run() -> Result:
                # That work was started is no result of it.
                unheard = is_external(session, record)
                late = _nobody_hears if unheard else partial(_take_late, session, record.key, record.attempts)
                invoke = partial(self._invoke, record.tool, call, config, late)
                result = await guarded_run(invoke, foreground=foreground)
                if is_external(session, record) and isinstance(result, Success):
                    return Started()
                return bounded(session, record, result)

            return run

        return for_call

    async def _invoke(self, tool: str, call: ToolCall, config: RunnableConfig, late: Callable[[Any], None]) -> Any:
        """Call a tool: through ToolNode where something of the graph has to be injected, directly where not.

        A thread cannot be stopped: what it answers after it was given up goes to ``late``.
        """
        direct = self._direct.get(tool)
        if tool not in self._sync:
            if direct is None:
                return await self._node.ainvoke([call], config)
            try:
                return await direct.ainvoke(call, config)
            except ValidationError as error:
                return refused_input(direct, call, error)
        invoke = partial(self._node.invoke, [call], config) if direct is None else partial(_run, direct, call, config)
        context = contextvars.copy_context()
        work = _Work(partial(context.run, invoke), late)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work.run)
        except asyncio.CancelledError:
            work.give_up()
            raise

    def _call(self, session: Session, record: CallRecord) -> ToolCall:
        arguments = attempt_arguments(session, record) | injected_arguments(session, record)
        return ToolCall(name=record.tool, args=arguments, id=record.call.call_id, type="tool_call")


def injected_arguments(session: Session, record: CallRecord) -> dict[str, str]:
    """The idempotency key and the delivery token, for tools that ask for them."""
    spec = session.board.spec(record.tool)
    injected: dict[str, str] = {}
    if spec.key_argument is not None:
        injected[spec.key_argument] = record.key
    if spec.mode is Mode.EXTERNAL:
        token = _token(session, record)
        if spec.token_argument is not None:
            injected[spec.token_argument] = token
    return injected


class _Work:
    """Work in a thread, which cannot be stopped: what it answers after it was given up is told all the same."""

    def __init__(self, work: Callable[[], Any], late: Callable[[Any], None]) -> None:
        self._work = work
        self._late = late
        self._lock = threading.Lock()
        self._given_up = False
        self._answers: list[Any] = []

    def run(self) -> Any:
        answer = self._work()
        with self._lock:
            self._answers.append(answer)
            given_up = self._given_up
        if given_up:
            self._late(answer)
        return answer

    def give_up(self) -> None:
        with self._lock:
            self._given_up = True
            answers = list(self._answers)
        for answer in answers:  # it came while its waiter was being cancelled
            self._late(answer)


def _take_late(session: Session, key: str, attempt: int, raw: Any) -> None:
    """Take the answer of an attempt that was given up; it settles the doubt about its effect."""
    result = result_of(raw)
    session.completed(Completion(key=key, attempt=attempt, result=result))
    if session.engine.journal is not None:
        session.engine.journal.end_soon(key, attempt, result)


def _nobody_hears(_: Any) -> None:
    """Takes what a thread answers after it was given up."""


def is_external(session: Session, record: CallRecord) -> bool:
    """Whether the current attempt only starts work whose result comes through the inbox."""
    return session.board.spec(record.tool).mode is Mode.EXTERNAL


def _token(session: Session, record: CallRecord) -> str:
    key, attempt = record.key, record.attempts

    def receive(result: Success) -> None:
        session.receive(Mail(kind=MailKind.DELIVERY, key=key, attempt=attempt, content=result.content))

    # With a journal the token stands in the intent, and the delivery comes as mail, to whoever holds the thread.
    token = session.engine.inbox.issue(None if session.engine.journal is not None else receive)
    session.tokens[key] = token
    return token


def _run(tool: BaseTool, call: ToolCall, config: RunnableConfig) -> Any:
    try:
        return tool.invoke(call, config)
    except ValidationError as error:
        return refused_input(tool, call, error)


def refused_input(tool: BaseTool, call: ToolCall, error: ValidationError) -> ToolMessage:
    """What ToolNode tells the model about input that the tool's schema refuses; the tool has not begun.

    Raises:
        ValidationError: It comes from the tool's own code, which had begun.
    """
    schema = tool.args_schema
    if not (isinstance(schema, type) and error.title == schema.__name__):
        raise error
    refused = ToolInvocationError(call["name"], error, call["args"], filtered_errors=error.errors())
    return ToolMessage(content=refused.message, tool_call_id=str(call["id"]), name=call["name"], status="error")


def runs_sync(tool: BaseTool) -> bool:
    """Whether a tool has no async code of its own, so that it needs a thread."""
    if isinstance(tool, StructuredTool):
        return tool.coroutine is None
    return type(tool)._arun is BaseTool._arun  # noqa: SLF001 - whether it is overridden is told nowhere else


async def guarded_run(invoke: Callable[[], Awaitable[Any]], *, foreground: bool) -> Result:
    """Run a tool once; whatever it raises becomes a value, but for cancellation.

    Args:
        invoke: Calls the tool.
        foreground: Whether the graph waits for it, so that an interrupt can be raised where it belongs.
    """
    try:
        return result_of(await invoke())
    except GraphBubbleUp as error:
        if foreground:
            return Escape(error=error)
        text = "The tool asked a person in the background. Declare it with interrupts=True to run it in the foreground."
        return Failure(symptom=Symptom(error="undeclared_interrupt", message=text, transient=False))
    except Exception as error:  # noqa: BLE001 - a tool may raise anything, and none of it may end another task
        return Failure(symptom=symptom_of(error))


def result_of(raw: Any) -> Result:
    """A tool's raw answer (ToolMessage, Command, or a list of them) as a value."""
    parts = _parts(raw)
    for item in parts:
        if isinstance(item, ToolMessage):
            return _from_message(item, parts)
        if isinstance(item, Command) and isinstance(item.update, dict):
            messages = [m for m in item.update.get("messages", []) if isinstance(m, ToolMessage)]
            content = messages[0].content if messages else ""
            return Success(content=content, raw=parts, update=_lasting(item.update))
    return Success(content=text_of(raw), raw=parts)


def _lasting(update: Mapping[str, Any]) -> dict[str, Any] | None:
    """What of a state update can be written down: all but its messages, if that is plain JSON."""
    kept = {name: value for name, value in update.items() if name != "messages"}
    return kept if kept and not problem_with(kept) else None


def bounded(session: Session, record: CallRecord, result: Result) -> Result:
    """The result, or its beginning where it is larger than what is stored; the effect has happened either way."""
    config = session.engine.config
    if not isinstance(result, Success) or not config.capacity or config.shadow:
        return result
    return cut(result, record.call.label, config.limits)


def cut(result: Success, label: str, limits: Limits) -> Success:
    """The result, or its beginning and a word about the rest where it is larger than what is stored.

    Args:
        result: The result.
        label: How the call is named.
        limits: What is stored, and what is kept of a larger one.
    """
    text = result.content if isinstance(result.content, str) else canonical_json(result.content)
    if len(text) <= limits.max_stored_bytes // 4:  # four bytes a character at most
        return result
    data = text.encode("utf-8", "replace")
    if len(data) <= limits.max_stored_bytes:
        return result
    digest = hashlib.sha256(data).hexdigest()
    note = f"[{label}: truncated; {len(data)} bytes, sha256 {digest}; only the beginning was kept]"
    room = max(0, limits.max_output_bytes - len(note) - 1)
    kept = data[:room].decode("utf-8", "ignore")
    return Success(content=f"{kept}\n{note}", update=result.update)


def _parts(raw: Any) -> list[Any]:
    """What ToolNode and tool wrappers return (a message, a command, lists and state updates of them), flat."""
    if isinstance(raw, dict):
        return list(raw.get("messages", []))
    if isinstance(raw, list):
        return [part for item in raw for part in _parts(item)]
    return [raw]


def _from_message(message: ToolMessage, parts: list[Any]) -> Result:
    if message.status != "error":
        return Success(content=message.content, raw=parts)
    # The tool handled its own error and says so: its outcome is known, and repeating it will not help.
    symptom = Symptom(error="tool_error", message=text_of(message.content), transient=False, answered=True)
    return Failure(symptom=symptom)


def symptom_of(error: Exception) -> Symptom:
    """What can be seen of an exception; never more than that."""
    mro = tuple(f"{cls.__module__}.{cls.__qualname__}" for cls in type(error).__mro__)
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, ToolFault):
        return Symptom(
            error=type(error).__name__,
            message=text,
            mro=mro,
            status=error.status,
            retry_after=error.retry_after,
            transient=error.transient,
            started=error.started,
        )
    response = getattr(error, "response", None)
    status = getattr(error, "status_code", None) or getattr(response, "status_code", None)
    return Symptom(
        error="timeout" if isinstance(error, TimeoutError) else type(error).__name__,
        message=text,
        mro=mro,
        status=status if isinstance(status, int) else None,
        retry_after=_retry_after(response),
    )


def _retry_after(response: Any) -> float | None:
    headers: Any = getattr(response, "headers", None)
    value = headers.get("retry-after") if hasattr(headers, "get") else None
    try:
        seconds = float(value) if value is not None else math.nan
    except (TypeError, ValueError):
        return None  # a date: the back-off decides
    return seconds if math.isfinite(seconds) else None
