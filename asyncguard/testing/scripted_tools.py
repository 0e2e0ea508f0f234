"""Tools that answer from a script and record when each call began and ended."""

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import Any, TypeAlias

from langchain_core.tools import StructuredTool
from pydantic import BaseModel, PrivateAttr, create_model

from asyncguard.testing.script import ScriptExhaustedError
from asyncguard.testing.script_clock import ScriptTiming, check_seconds


@dataclass(frozen=True, kw_only=True)
class Delayed:
    """An outcome with a latency of its own; made by `after`."""

    seconds: float
    """Seconds that this call takes."""
    outcome: Any
    """Outcome after them: a value, an exception, or a function of the arguments."""


Outcomes: TypeAlias = Sequence[Any] | Callable[[Mapping[str, Any]], Any]
"""Outcomes in order of the calls, or one function that makes every outcome.

The function maps arguments to an outcome.
"""

ToolArguments: TypeAlias = Mapping[str, Any] | type[BaseModel]
"""Parameters of a tool.

Name to type (required) or to `(type, default)`; or a ready pydantic model.
"""


def after(seconds: float, outcome: Any) -> Delayed:
    """Return an outcome with a latency of its own, so that a later call can end earlier."""
    check_seconds("seconds", seconds)
    return Delayed(seconds=seconds, outcome=outcome)


class ToolMode(Enum):
    """Variants that a scripted tool has."""

    SYNC = "sync"
    """A function only; async callers run it in an OS thread, as LangChain does."""
    ASYNC = "async"
    """A coroutine only; sync callers are refused, as LangChain does."""
    BOTH = "both"
    """A function and a coroutine."""


class CallEnd(Enum):
    """End of a call of a scripted tool."""

    RUNNING = "running"
    RETURNED = "returned"
    RAISED = "raised"
    CANCELLED = "cancelled"


@dataclass(frozen=True, kw_only=True)
class ScriptedCall:
    """One call of a scripted tool."""

    number: int
    """Number of the call, counted from 1."""
    args: Mapping[str, Any]
    """Validated arguments."""
    started: float
    """Start, in seconds of the tool's clock."""
    finished: float | None = None
    """End, in seconds of the tool's clock; None while it runs."""
    end: CallEnd = CallEnd.RUNNING
    """Kind of end."""
    result: Any = None
    """Value that it returned, or exception that it raised."""


class _Log:
    """Outcomes and record, shared by every copy of one tool."""

    def __init__(self, name: str, outcomes: Outcomes, latency: float, timing: ScriptTiming) -> None:
        if isinstance(outcomes, str):
            raise TypeError("outcomes are a list or one function; put a single outcome into a list")
        check_seconds("latency", latency)
        self.name = name
        self.outcomes = outcomes if callable(outcomes) else tuple(outcomes)
        self.latency = latency
        self.timing = timing
        self.calls: list[ScriptedCall] = []
        self.lock = threading.Lock()

    def start(self, args: Mapping[str, Any]) -> tuple[int, Delayed]:
        with self.lock:
            number = len(self.calls) + 1
            self.calls.append(
                ScriptedCall(number=number, args=dict(args), started=self.timing.clock())
            )
        if callable(self.outcomes):
            outcome: Any = self.outcomes
        elif number <= len(self.outcomes):
            outcome = self.outcomes[number - 1]
        else:
            outcome = ScriptExhaustedError(
                self.name, len(self.outcomes), f"call {number} with {dict(args)}"
            )
        return number, outcome if isinstance(outcome, Delayed) else after(self.latency, outcome)

    def finish(self, number: int, end: CallEnd, result: Any) -> None:
        with self.lock:
            call = self.calls[number - 1]
            self.calls[number - 1] = replace(
                call, finished=self.timing.clock(), end=end, result=result
            )

    def __deepcopy__(self, memo: dict[int, Any]) -> "_Log":
        return self


class ScriptedTool(StructuredTool):
    """Structured tool with scripted outcomes; made by `scripted_tool`.

    Copies share script and record.
    """

    _log: _Log = PrivateAttr()

    @property
    def calls(self) -> list[ScriptedCall]:
        """Calls so far, in order of their start; a fresh list."""
        with self._log.lock:
            return list(self._log.calls)

    @property
    def running(self) -> int:
        """Calls that have begun and not ended."""
        return sum(call.end is CallEnd.RUNNING for call in self.calls)


def scripted_tool(
    name: str,
    outcomes: Outcomes,
    *,
    args: ToolArguments | None = None,
    latency: float = 0.0,
    mode: ToolMode = ToolMode.BOTH,
    timing: ScriptTiming | None = None,
) -> ScriptedTool:
    """Return a tool that answers from a script.

    An outcome is a value to return, an exception to raise, a function of the arguments (async ones
    are awaited) that returns such an outcome, or `after(seconds, outcome)`. A call more than the
    list has outcomes raises `ScriptExhaustedError`. A single function makes the outcome of every
    call.

    Args:
        name: Name of the tool; its description says that it is scripted.
        outcomes: Outcomes in order of the calls, or one function.
        args: Parameters, such as `{"city": str, "days": (int, 3)}`; none if left out.
        latency: Seconds each call takes that has no `after` of its own.
        mode: Which variants the tool has.
        timing: Clock of the record and sleep of the sync variant.

    Raises:
        TypeError: The outcomes are a single text, or the latency is not a number.
        ValueError: The latency is negative.
    """
    log = _Log(name, outcomes, latency, timing or ScriptTiming())
    sync, coroutine = _variants(log)
    if not isinstance(args, type):
        fields: dict[str, Any] = {
            key: kind if isinstance(kind, tuple) else (kind, ...)
            for key, kind in (args or {}).items()
        }
        args = _model(f"{name}_arguments", fields)
    tool = ScriptedTool(
        name=name,
        description=f"Scripted tool {name}.",
        args_schema=args,
        func=None if mode is ToolMode.ASYNC else sync,
        coroutine=None if mode is ToolMode.SYNC else coroutine,
    )
    tool._log = log  # noqa: SLF001 (pydantic sets private attributes only after construction)
    return tool


def _model(name: str, fields: dict[str, Any]) -> type[BaseModel]:
    """Return the model of a tool's parameters, one for equal ones, as it takes milliseconds."""
    key = tuple((each, kind, default, type(default)) for each, (kind, default) in fields.items())
    try:
        return _made(name, key)
    except TypeError:  # a default that has no hash
        return create_model(name, **fields)


@lru_cache(maxsize=256)
def _made(name: str, fields: tuple[tuple[str, Any, Any, type], ...]) -> type[BaseModel]:
    given: dict[str, Any] = {each: (kind, default) for each, kind, default, _ in fields}
    return create_model(name, **given)


def _variants(log: _Log) -> tuple[Callable[..., Any], Callable[..., Awaitable[Any]]]:
    def run(**kwargs: Any) -> Any:
        number, delayed = log.start(kwargs)
        try:
            log.timing.sleep(delayed.seconds)
            outcome = _deliver(delayed.outcome, kwargs)
            if inspect.iscoroutine(outcome):
                outcome.close()  # Python would warn that it was never awaited
                raise TypeError(
                    f"the outcome of {log.name!r} is a coroutine, but the tool was called sync"
                )
        except BaseException as error:  # whatever it was, the record must not stay RUNNING
            log.finish(number, CallEnd.RAISED, error)
            raise
        log.finish(number, CallEnd.RETURNED, outcome)
        return outcome

    async def arun(**kwargs: Any) -> Any:
        number, delayed = log.start(kwargs)
        try:
            await asyncio.sleep(delayed.seconds)
            outcome = _deliver(delayed.outcome, kwargs)
            if inspect.isawaitable(outcome):
                outcome = _deliver(await outcome, kwargs)
        except asyncio.CancelledError as error:
            log.finish(number, CallEnd.CANCELLED, error)
            raise
        except BaseException as error:
            log.finish(number, CallEnd.RAISED, error)
            raise
        log.finish(number, CallEnd.RETURNED, outcome)
        return outcome

    return run, arun


def _deliver(outcome: Any, args: Mapping[str, Any]) -> Any:
    while callable(outcome):
        outcome = outcome(args)
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome
