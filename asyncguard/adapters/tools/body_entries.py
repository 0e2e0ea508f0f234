"""Entries of a tool's body during one attempt of a call.

Between an admitted call and the code of its tool are LangChain (which checks arguments and turns
some exceptions into answers), LangGraph's ToolNode (which turns others) and middleware of the user
(which may repeat, replace, alter or swallow anything). None of them shows whether the code of the
tool was entered. So they are given a copy of the tool with an entrance around its code:

- an error before the body began is the caller's; an error that leaves the body never is;
- a body that must not be repeated begins once in an attempt, whatever middleware does;
- the error of the body is kept, so that recovery sees it and not the text of its catcher;
- after the end of the attempt no body begins: a wrapper that sleeps on an OS thread may wake late.
"""

import inspect
import threading
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool, Tool, ToolException
from langgraph.errors import GraphBubbleUp

from asyncguard.adapters.langchain_internals import (
    async_body,
    sync_body,
)
from asyncguard.adapters.messages.render import text_of
from asyncguard.adapters.tools.declare import declared
from asyncguard.adapters.tools.fast_path import CODE_CALLERS, FROM_LANGCHAIN
from asyncguard.adapters.tools.system_exit import CONTAINED_CODE
from asyncguard.core.faults import ErrorCode, Symptom
from asyncguard.core.results import Failure, Interrupted, Result
from asyncguard.core.tool_spec import ToolSpec


class RefusedEntryError(GraphBubbleUp):
    """Refusal to begin a tool's body; a control-flow error, which retrying middleware lets pass."""


@dataclass(eq=False, kw_only=True)
class _Entry:
    """One entry of a tool's body."""

    arguments: tuple[tuple[Any, ...], dict[str, Any]]
    """Arguments of the body, without those that LangChain fills in."""
    returned: bool = False
    """True if the body returned."""
    value: Any = None
    """Returned value."""
    error: BaseException | None = None
    """Exception that left the body instead."""


@dataclass(eq=False, kw_only=True)
class Watch:
    """Watch over the tool of one attempt; every copy of the tool that it hands out reports here."""

    spec: ToolSpec
    """Declaration of the attempt's tool."""
    symptom_of: Callable[[Exception], Symptom]
    """Function that returns the symptom of an exception."""
    recovers: Callable[[Symptom], bool] = lambda _: False
    """Predicate: the runtime itself recovers from such a failure, so middleware need not."""
    injected: Mapping[str, str] = field(default_factory=dict)
    """Arguments that the runtime fills in; restored if middleware has dropped or changed them."""
    specs: Mapping[str, ToolSpec] = field(default_factory=dict)
    """Declarations of other tools, by name: middleware may replace the tool of the call."""
    place: RunnableConfig | None = None
    """Configuration of the node that asks the tool's questions, if it is not the caller's."""
    call_id: str = ""
    """The provider's id of the call."""
    early: Exception | None = None
    """Exception that the tool raised before its body began."""
    answer: Any = None
    """Last answer of the tool as a whole, after LangChain has put it into a message."""
    _late: Callable[[Any], None] | None = None
    """Receiver of an answer that comes after the wait for it was given up."""
    stops: list[Callable[[], object]] = field(default_factory=list)
    """Functions that cancel the coroutines for which OS threads wait."""
    _entries: list[_Entry] = field(default_factory=list)
    """Entries of bodies in this attempt, oldest first."""
    _refusal: str = ""
    """Reason of the last refused entry."""
    _closed: bool = False
    """True after the end of the attempt."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    """Guard of the private fields: the tool may run on OS threads, and several times at once."""

    def placed(self, config: RunnableConfig | None) -> RunnableConfig | None:
        """Return the configuration for the tool: the caller's, with the node that asks in it.

        Args:
            config: The caller's.
        """
        if self.place is None:
            return config
        given = config or {}
        asks = {**given.get("configurable", {}), **self.place.get("configurable", {})}
        return {**given, "configurable": asks}

    @property
    def begun(self) -> bool:
        """True if the body of a tool was entered."""
        return bool(self._entries)

    def close(self) -> None:
        """End the attempt: no body begins any more, and repeatable coroutines are cancelled."""
        with self._lock:
            self._closed = True
        for stop in self.stops if self.spec.effect.repeatable else ():
            stop()

    def give_up(self, late: Callable[[Any], None]) -> None:
        """Stop the wait for the attempt; an OS thread cannot be stopped, so its end is reported.

        Args:
            late: Receives the answer or exception of the tool; called from that OS thread.
        """
        with self._lock:
            self._late = late
            answer = self.answer
        if answer is not None:  # it came while its waiter was being cancelled
            late(answer)

    def answered(self, answer: Any) -> None:
        """Store an answer from an OS thread, and report it if the wait for it was given up."""
        with self._lock:
            self.answer = answer
            late = self._late
        if late is not None:
            late(answer)

    def raised(self, error: Exception) -> None:
        """Store an exception from an OS thread, and report it as :meth:`answered` does."""
        end: BaseException | None = error
        with self._lock:
            self.early = error
            late = self._late
            if isinstance(error, RefusedEntryError):  # the body may still run, or ended before
                end = self._entries[-1].error if self._entries else None
        if late is not None and isinstance(end, Exception):
            late(end)

    # -- entering --------------------------------------------------

    def _enter(self, tool: BaseTool, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> _Entry:
        """Begin a body, or return the earlier entry whose answer is repeated.

        Raises:
            RefusedEntryError: The body may not begin.
        """
        given = {name: value for name, value in kwargs.items() if name not in FROM_LANGCHAIN}
        arguments = (args, given)
        with self._lock:
            last = self._entries[-1] if self._entries else None
            refusal = self._why_not(tool, last)
            repeats = last is not None and last.returned and not self._closed
            if refusal and last is not None and repeats and _equal(last, arguments):
                return last  # a wrapper that calls twice gets the same answer twice
            if refusal:
                self._refusal = refusal
                raise RefusedEntryError(refusal)
            entry = _Entry(arguments=arguments)
            self._entries.append(entry)
            return entry

    def _raised(self, entry: _Entry, tool: BaseTool, error: BaseException) -> None:
        """Record an exception that left a body; one that Python could not call has not begun."""
        with self._lock:
            entry.error = error
            if _could_not_be_called(tool, error):
                self._entries.remove(entry)

    def _why_not(self, tool: BaseTool, last: _Entry | None) -> str:
        """Return the reason why a body may not begin, empty if it may."""
        own = tool.name == self.spec.name
        spec = self.spec if own else self.specs.get(tool.name) or declared(tool)
        if self._closed:
            return "The attempt has ended; nothing of it begins any more."
        if self.spec.effect.repeatable and not spec.effect.repeatable:
            return (
                f"Middleware runs {tool.name!r} for a call of {self.spec.name!r}, which may be "
                f"repeated while {tool.name!r} may not: declare the effect of {tool.name!r}, or "
                "let the model call it."
            )
        if last is None:
            return ""
        seen = self.symptom_of(last.error) if isinstance(last.error, Exception) else None
        harmless = self.spec.effect.repeatable or (seen is not None and not seen.started)
        if harmless and seen is not None and self.recovers(seen):
            return "asyncguard itself tries the call again."
        if harmless:
            return ""
        return f"{tool.name!r} has begun, and its effect must not be repeated."

    def run_body(
        self,
        tool: BaseTool,
        code: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Run a body, or return the answer of the earlier entry that it repeats.

        Args:
            tool: The tool whose body it is.
            code: The body.
            args: Positional arguments of the body.
            kwargs: Its other arguments.

        Raises:
            RefusedEntryError: The body may not begin.
        """
        entry = self._enter(tool, args, kwargs)
        if not entry.returned:
            try:
                entry.value = code(*args, **kwargs)
            except BaseException as error:
                self._raised(entry, tool, error)
                raise
            entry.returned = True
        return entry.value

    async def arun_body(
        self,
        tool: BaseTool,
        code: Callable[..., Awaitable[Any]],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """See :meth:`run_body`."""
        entry = self._enter(tool, args, kwargs)
        if not entry.returned:
            try:
                entry.value = await code(*args, **kwargs)
            except BaseException as error:
                self._raised(entry, tool, error)
                raise
            entry.returned = True
        return entry.value

    # -- judging --------------------------------------------------

    def judged(self, result: Result) -> Result:
        """Return the result of the attempt, corrected by the entries of the tool's body.

        Args:
            result: Result as LangGraph and middleware have passed it on.
        """
        if isinstance(result, Interrupted):
            return result
        if not self.begun:
            return self._not_begun(result)
        # One answer decides, even if a repetition failed: the effect has happened.
        if any(entry.returned for entry in self._entries):
            return self._after_answer(result)
        error = self._entries[-1].error
        if isinstance(error, GraphBubbleUp):
            return result
        if isinstance(error, Exception):
            return self._after_error(result, error)
        # The body is still running, or ended by cancellation: only an answer would be wrong.
        if isinstance(result, Failure) and not result.symptom.answered:
            return result
        text = (
            "The tool was given up before it answered, by middleware that stands between "
            "asyncguard and the tool."
        )
        return self._doubted(
            result, Symptom(error=ErrorCode.UNANSWERED, message=text, transient=False)
        )

    def _not_begun(self, result: Result) -> Result:
        if self._refusal:
            text = self._refusal
            return Failure(
                symptom=Symptom(
                    error=ErrorCode.NOT_RUN, message=text, transient=False, started=False
                )
            )
        if self.early is None or not isinstance(result, Failure) or result.symptom.answered:
            return result
        return Failure(symptom=replace(result.symptom, started=False))

    def _after_answer(self, result: Result) -> Result:
        if self._refusal and not self.spec.effect.repeatable:
            text = (
                f"Middleware called the tool a second time after it had answered. {self._refusal}"
            )
            return self._doubted(
                result, Symptom(error=ErrorCode.REPEATED, message=text, transient=False)
            )
        if (
            not isinstance(result, Failure)
            or not result.symptom.answered
            or _says_error(self.answer)
        ):
            return result
        return self._doubted(result, replace(result.symptom, answered=False))

    def _after_error(self, result: Result, error: Exception) -> Result:
        """Judge an exception that left the body: it is never an answer, even if rendered as one."""
        symptom = self.symptom_of(error)
        if _says_error(self.answer):  # the tool's error handler has written a text for the model
            text = text_of(self.answer.content)
            # The tool reports its failure on purpose and does not pass on another error.
            if (
                isinstance(error, ToolException)
                and error.__cause__ is None
                and error.__context__ is None
            ):
                symptom = Symptom(
                    error=ErrorCode.TOOL_ERROR, message=text, transient=False, answered=True
                )
                return self._doubted(result, symptom)
            symptom = replace(symptom, message=text)
        if self.recovers(symptom):
            return Failure(symptom=symptom)
        return self._doubted(result, symptom)

    def _doubted(self, result: Result, symptom: Symptom) -> Result:
        """Return the symptom as a failure for a non-renewable effect, else the result unchanged.

        For an effect that a new call may have again, a wrong result of middleware does no harm.
        """
        return result if self.spec.effect.renewable else Failure(symptom=symptom)


def _says_error(answer: Any) -> bool:
    return getattr(answer, "status", "") == "error"


def _could_not_be_called(tool: BaseTool, error: BaseException) -> bool:
    """Return True if a tool's function was not called.

    It does not accept the arguments, or there is none for a sync call. Then the last frame is that
    of its caller, and none is the function's own: it may have called another tool that could not be
    called. Code that is not Python's has no frame, so it counts as called.
    """
    if not isinstance(error, TypeError | NotImplementedError):
        return False
    frames = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
    if frames[-1] not in _CALLERS:
        return False
    if isinstance(tool, StructuredTool | Tool):
        code: list[Any] = [tool.func, tool.coroutine]
    else:
        code = [sync_body(tool), async_body(tool)]
    return all(
        (inspect.isfunction(item) or inspect.ismethod(item)) and item.__code__ not in frames
        for item in code
        if item is not None
    )


def _equal(entry: _Entry, arguments: tuple[tuple[Any, ...], dict[str, Any]]) -> bool:
    try:
        return bool(entry.arguments == arguments)
    except Exception:  # noqa: BLE001 - the comparison of a user's values may raise anything
        return False


_CALLERS = CODE_CALLERS | CONTAINED_CODE | {Watch.run_body.__code__, Watch.arun_body.__code__}
"""Code objects whose frame is the last one if a tool's function could not be called."""
