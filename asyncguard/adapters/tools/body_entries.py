"""Entries of a tool's body during one attempt of a call.

Between an admitted call and the code of its tool stand LangChain (which checks arguments and turns some exceptions into
answers), LangGraph's ToolNode (which turns others) and middleware of the user (which may repeat, replace, alter or
swallow anything). None of them can tell whether the code of the tool was entered. So the tool that goes inwards is a
copy with an entrance of ours around its code:

- what is raised before the body began is the caller's error, and what leaves the body never is;
- a body that must not be repeated begins once in an attempt, whatever stands around it;
- what the body raised is kept, so that recovery sees that and not the words of what caught it;
- when the attempt has ended nothing of it begins any more: a wrapper that sleeps in a thread may wake late.
"""

import inspect
import threading
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache, wraps
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool, Tool, ToolException
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest

from asyncguard.adapters.messages.render import text_of
from asyncguard.adapters.tools.declare import declared
from asyncguard.adapters.tools.fast_path import CODE_CALLERS, FROM_LANGCHAIN
from asyncguard.adapters.tools.sync_async import has_sync_side
from asyncguard.adapters.tools.system_exit import CONTAINED_CODE
from asyncguard.core.faults import ErrorCode, Symptom
from asyncguard.core.results import Failure, Interrupted, Result
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.runtime.portal import from_thread

_MARK = "_asyncguard_entrance"
_OUTER = ("invoke", "ainvoke", "run", "arun")
_INNER = frozenset(
    {"langchain_core.tools.base", "langchain_core.tools.simple", "langchain_core.tools.structured"}
)
_NOT_ARGUMENTS = FROM_LANGCHAIN | {"run_manager"}


class RefusedEntryError(GraphBubbleUp):
    """A tool's body may not begin; raised as control flow, which middleware that retries lets pass."""


@dataclass(eq=False, kw_only=True)
class _Entry:
    """One time that a body was begun."""

    arguments: tuple[tuple[Any, ...], dict[str, Any]]
    """What it was called with, but for what LangChain fills in."""
    returned: bool = False
    """Whether it returned."""
    value: Any = None
    """What it returned."""
    error: BaseException | None = None
    """What left it instead."""


def _never(_: Symptom) -> bool:
    return False


@dataclass(eq=False, kw_only=True)
class Watch:
    """What one attempt of a call does with its tool; every copy of the tool that it hands out reports here."""

    spec: ToolSpec
    """The declaration of the attempt's tool."""
    symptom_of: Callable[[Exception], Symptom]
    """What can be seen of an exception."""
    recovers: Callable[[Symptom], bool] = _never
    """Whether the runtime itself does something about such a failure, so that nothing inside has to."""
    injected: Mapping[str, str] = field(default_factory=dict)
    """Arguments that the runtime fills in; put back where middleware has dropped or changed them."""
    specs: Mapping[str, ToolSpec] = field(default_factory=dict)
    """Declarations of other tools, by name: middleware may put another tool in place of the call's."""
    early: Exception | None = None
    """What the tool raised before its body began."""
    answer: Any = None
    """What the tool as a whole answered last, after LangChain put it into a message."""
    _late: Callable[[Any], None] | None = None
    stops: list[Callable[[], object]] = field(default_factory=list)
    """Cancel the coroutines that threads wait for."""
    _entries: list[_Entry] = field(default_factory=list)
    _refusal: str = ""
    _closed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def begun(self) -> bool:
        """Whether the body of a tool was entered."""
        return bool(self._entries)

    def close(self) -> None:
        """End the attempt: no body begins any more, and a coroutine that may be made again ends."""
        with self._lock:
            self._closed = True
        for stop in self.stops if self.spec.effect.repeatable else ():
            stop()

    def give_up(self, late: Callable[[Any], None]) -> None:
        """Stop waiting for the attempt; a thread cannot be stopped, and what the tool answers in one is told.

        Args:
            late: Takes the answer; called from that thread.
        """
        with self._lock:
            self._late = late
            answer = self.answer
        if answer is not None:  # it came while its waiter was being cancelled
            late(answer)

    def answered(self, answer: Any) -> None:
        """Take what the tool answered in a thread, and pass it on if nothing waits for it any more."""
        with self._lock:
            self.answer = answer
            late = self._late
        if late is not None:
            late(answer)

    def tool(self, tool: BaseTool) -> BaseTool:
        """The tool as this attempt may use it: the same to everybody, with an entrance around its code.

        Args:
            tool: The tool, or a copy of it that another attempt was given.
        """
        known: _Entrance | None = tool.__dict__.get(_MARK)
        if known is not None and known.watch is self:
            return tool
        original = tool if known is None else known.tool
        kind = _watched_class(type(original))
        made = kind.__new__(kind)
        object.__setattr__(
            made, "__dict__", {**original.__dict__, _MARK: _Entrance(self, original)}
        )
        for slot in ("__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__"):
            object.__setattr__(made, slot, getattr(original, slot, None))
        return made

    # -- entering --------------------------------------------------

    def enter(self, tool: BaseTool, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> _Entry:
        """Begin a body, or find the entry that answers for it.

        Raises:
            RefusedEntryError: It may not begin.
        """
        arguments = (
            args,
            {name: value for name, value in kwargs.items() if name not in _NOT_ARGUMENTS},
        )
        with self._lock:
            last = self._entries[-1] if self._entries else None
            refusal = self._why_not(tool, last)
            if (
                refusal
                and last is not None
                and last.returned
                and not self._closed
                and _equal(last, arguments)
            ):
                return last  # a wrapper that asks twice is given the answer twice
            if refusal:
                self._refusal = refusal
                raise RefusedEntryError(refusal)
            entry = _Entry(arguments=arguments)
            self._entries.append(entry)
            return entry

    @contextmanager
    def leaving(self, entry: _Entry, tool: BaseTool) -> Iterator[None]:
        """Keep how a body ends; one that Python could not call with these arguments has not begun."""
        try:
            yield
        except BaseException as error:
            with self._lock:
                entry.error = error
                if _could_not_be_called(tool, error):
                    self._entries.remove(entry)
            raise
        entry.returned = True

    def _why_not(self, tool: BaseTool, last: _Entry | None) -> str:
        spec = self._spec_of(tool)
        if self._closed:
            return "The attempt has ended; nothing of it begins any more."
        if self.spec.effect.repeatable and not spec.effect.repeatable:
            return (
                f"Middleware runs {tool.name!r} for a call of {self.spec.name!r}, which may be repeated while "
                f"{tool.name!r} may not: declare the effect of {tool.name!r}, or let the model call it."
            )
        if last is None:
            return ""
        seen = self.symptom_of(last.error) if isinstance(last.error, Exception) else None
        if (
            seen is not None
            and self.recovers(seen)
            and (self.spec.effect.repeatable or not seen.started)
        ):
            return "asyncguard itself tries the call again."
        if self.spec.effect.repeatable or (seen is not None and not seen.started):
            return ""
        return f"{tool.name!r} has begun, and its effect must not be repeated."

    def _spec_of(self, tool: BaseTool) -> ToolSpec:
        if tool.name == self.spec.name:
            return self.spec
        return self.specs.get(tool.name) or declared(tool)

    # -- judging --------------------------------------------------

    def judged(self, result: Result) -> Result:
        """The end of the attempt, in the light of what happened at the tool.

        Args:
            result: What came out of everything that stands around the tool.
        """
        if isinstance(result, Interrupted):
            return result
        if not self.begun:
            return self._not_begun(result)
        if any(entry.returned for entry in self._entries):
            return self._after_answer(result)
        error = self._entries[-1].error
        if isinstance(error, GraphBubbleUp):
            return result
        if _says_error(self.answer) and _in_own_words(error):
            text = text_of(self.answer.content)
            return self._doubted(
                result,
                Symptom(error=ErrorCode.TOOL_ERROR, message=text, transient=False, answered=True),
            )
        if isinstance(error, Exception):
            return self._after_error(result, error)
        if isinstance(result, Failure) and not result.symptom.answered:
            return result
        text = "The tool was given up before it answered, by middleware that stands between asyncguard and the tool."
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
        """An exception that left the body is not an answer, whoever has put it into words."""
        symptom = self.symptom_of(error)
        if _says_error(
            self.answer
        ):  # LangChain has put it into the words that the tool wants the model to read
            symptom = replace(symptom, message=text_of(self.answer.content))
        if self.recovers(symptom):
            return Failure(symptom=symptom)
        return self._doubted(result, symptom)

    def _doubted(self, result: Result, symptom: Symptom) -> Result:
        """The symptom, for an effect that no new call may have again; elsewhere what middleware says does no harm."""
        return result if self.spec.effect.renewable else Failure(symptom=symptom)


def _says_error(answer: Any) -> bool:
    return getattr(answer, "status", "") == "error"


def _in_own_words(error: BaseException | None) -> bool:
    """Whether a tool says on purpose that it failed, as LangChain's tools do; not where it passes on another error."""
    return (
        isinstance(error, ToolException) and error.__cause__ is None and error.__context__ is None
    )


def _could_not_be_called(tool: BaseTool, error: BaseException) -> bool:
    """Whether a tool's function was not called: it does not take the arguments, or there is none for a sync call.

    Then what calls it was the last to run, and not the function. Code that is not Python's has no frame of its own, so
    that nothing is known of it.
    """
    if not isinstance(error, TypeError | NotImplementedError):
        return False
    last = [frame for frame, _ in traceback.walk_tb(error.__traceback__)][-1]
    if last.f_code not in _CALLERS:
        return False
    names = ("func", "coroutine") if isinstance(tool, StructuredTool | Tool) else ("_run", "_arun")
    code = [getattr(tool, name) for name in names]
    return all(
        inspect.isfunction(item) or inspect.ismethod(item) for item in code if item is not None
    )


def _equal(entry: _Entry, arguments: tuple[tuple[Any, ...], dict[str, Any]]) -> bool:
    try:
        return bool(entry.arguments == arguments)
    except Exception:  # noqa: BLE001 - values of the user, whose comparison may raise anything
        return False


class _Entrance:
    """The way into one tool for one attempt."""

    def __init__(self, watch: Watch, tool: BaseTool) -> None:
        self.watch = watch
        self.tool = tool

    def completed(self, given: Any) -> Any:
        """A tool call with what the runtime fills in."""
        injected = self.watch.injected
        if (
            not injected
            or self.tool.name != self.watch.spec.name
            or not isinstance(given, dict)
            or "args" not in given
        ):
            return given
        return {**given, "args": {**given["args"], **injected}}

    def inside(
        self, code: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        entry = self.watch.enter(self.tool, args, kwargs)
        if not entry.returned:
            with self.watch.leaving(entry, self.tool):
                entry.value = code(*args, **kwargs)
        return entry.value

    async def ainside(
        self, code: Callable[..., Awaitable[Any]], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        entry = self.watch.enter(self.tool, args, kwargs)
        if not entry.returned:
            with self.watch.leaving(entry, self.tool):
                entry.value = await code(*args, **kwargs)
        return entry.value


_CALLERS = CODE_CALLERS | CONTAINED_CODE | {_Entrance.inside.__code__, _Entrance.ainside.__code__}


@lru_cache(maxsize=1024)
def _watched_class(kind: type[BaseTool]) -> type[BaseTool]:
    """A class of tools that differs in nothing from another but for the entrance; made once for each."""
    methods: dict[str, Any] = {
        name: getattr(kind, name) for name in ("__module__", "__qualname__", "__doc__")
    }
    if all(getattr(kind, name).__module__ in _INNER for name in _OUTER):
        methods |= {"invoke": _invoke(kind), "ainvoke": _ainvoke(kind), "_run": _body(kind._run)}  # noqa: SLF001 - LangChain's way to say what a tool does
        if kind._arun is not BaseTool._arun:  # noqa: SLF001 - which calls _run, and LangChain asks for the same
            methods["_arun"] = _abody(kind._arun)  # noqa: SLF001 - see above
    else:  # its code may be anywhere in there
        methods |= {"invoke": _whole, "ainvoke": _awhole}
    made: type[BaseTool] = type(kind.__name__, (kind,), methods)
    return made


def _entrance(tool: BaseTool) -> _Entrance:
    found: _Entrance = tool.__dict__[_MARK]
    return found


def _invoke(kind: type[BaseTool]) -> Callable[..., Any]:
    def invoke(self: BaseTool, input: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: A002 - LangChain's name
        entrance = _entrance(self)
        try:
            answer = kind.invoke(self, entrance.completed(input), config, **kwargs)
        except Exception as error:
            entrance.watch.early = error
            raise
        entrance.watch.answered(answer)
        return answer

    return invoke


def _ainvoke(kind: type[BaseTool]) -> Callable[..., Any]:
    async def ainvoke(self: BaseTool, input: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: A002 - LangChain's name
        entrance = _entrance(self)
        try:
            entrance.watch.answer = answer = await kind.ainvoke(
                self, entrance.completed(input), config, **kwargs
            )
        except Exception as error:
            entrance.watch.early = error
            raise
        return answer

    return ainvoke


def _body(code: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(code)
    def _run(self: BaseTool, *args: Any, **kwargs: Any) -> Any:
        entrance = _entrance(self)
        own = entrance.tool._run if has_sync_side(entrance.tool) else _waiting(entrance)  # noqa: SLF001 - the tool's own code
        return entrance.inside(own, args, kwargs)

    return _run


def _waiting(entrance: _Entrance) -> Callable[..., Any]:
    """The async code of a tool without a sync side, for ``create_agent``'s sync entry, which calls the sync one."""
    code = entrance.tool._arun  # noqa: SLF001 - the tool's own code
    takes = inspect.signature(code).parameters

    def wait(*args: Any, **kwargs: Any) -> Any:
        given = {
            name: value
            for name, value in kwargs.items()
            if name not in _NOT_ARGUMENTS or name in takes
        }
        return from_thread(lambda: code(*args, **given), entrance.watch.stops.append)

    return wait


def _abody(code: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(code)
    async def _arun(self: BaseTool, *args: Any, **kwargs: Any) -> Any:
        entrance = _entrance(self)
        return await entrance.ainside(entrance.tool._arun, args, kwargs)  # noqa: SLF001 - the tool's own code

    return _arun


def _whole(self: BaseTool, *args: Any, **kwargs: Any) -> Any:
    entrance = _entrance(self)
    answer = entrance.inside(entrance.tool.invoke, args, kwargs)
    entrance.watch.answered(answer)
    return answer


async def _awhole(self: BaseTool, *args: Any, **kwargs: Any) -> Any:
    entrance = _entrance(self)
    entrance.watch.answer = answer = await entrance.ainside(entrance.tool.ainvoke, args, kwargs)
    return answer


@dataclass
class WatchedRequest(ToolCallRequest):
    """A request that gives its tool, and any tool that middleware puts in its place, an entrance."""

    watch: Watch

    def __post_init__(self) -> None:
        """Take the tool as the attempt may use it; ``override`` makes a new request, and comes here, too."""
        if self.tool is not None:
            object.__setattr__(self, "tool", self.watch.tool(self.tool))
