"""Copies of tools with an entrance around their code, which reports to the watch of an attempt."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import Any

from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest

from asyncguard.adapters.langchain_internals import (
    OUTER_MODULES,
    async_body,
    find_injected,
    has_async_body,
    sync_body,
)
from asyncguard.adapters.tools.body_entries import Watch
from asyncguard.adapters.tools.fast_path import FROM_LANGCHAIN
from asyncguard.adapters.tools.sync_async import has_sync_side
from asyncguard.runtime.portal import from_thread

_MARK = "_asyncguard_entrance"
"""Attribute in which a copy of a tool holds its entrance."""
_OUTER = ("invoke", "ainvoke", "run", "arun")
"""Modules of LangChain's own outer methods; a class with others may have its code anywhere."""


class _Entrance:
    """Entrance to one tool for one attempt."""

    def __init__(self, watch: Watch, tool: BaseTool) -> None:
        self.watch = watch
        self.tool = tool

    def completed(self, given: Any) -> Any:
        """Return a tool call with the arguments that the runtime fills in."""
        injected = self.watch.injected
        # Not for another tool in the place of the call's: it has no such arguments.
        own = injected and self.tool.name == self.watch.spec.name
        if own and isinstance(given, dict) and "args" in given:
            return {**given, "args": {**given["args"], **injected}}
        return given


def watched_tool(tool: BaseTool, watch: Watch) -> BaseTool:
    """Return a copy of a tool that looks the same and has an entrance around its code.

    Args:
        tool: The tool, or the copy that another attempt was given.
        watch: Receives the entries of the tool's body.
    """
    known: _Entrance | None = tool.__dict__.get(_MARK)
    if known is not None and known.watch is watch:
        return tool
    original = tool if known is None else known.tool
    kind = _watched_class(type(original))
    find_injected(original)  # else each copy would
    # Without __init__, which would validate the fields again and lose private state.
    made = kind.__new__(kind)
    object.__setattr__(made, "__dict__", {**original.__dict__, _MARK: _Entrance(watch, original)})
    for slot in ("__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__"):
        object.__setattr__(made, slot, getattr(original, slot, None))
    return made


@lru_cache(maxsize=1024)
def _watched_class(kind: type[BaseTool]) -> type[BaseTool]:
    """Return a subclass of a tool class that differs only by the entrance; made once for each."""
    methods: dict[str, Any] = {
        name: getattr(kind, name) for name in ("__module__", "__qualname__", "__doc__")
    }
    if all(getattr(kind, name).__module__ in OUTER_MODULES for name in _OUTER):
        # _run and _arun are LangChain's documented place for the code of a tool. The inherited
        # _arun calls _run, and LangChain makes the same comparison.
        run = _body(sync_body(kind))
        methods |= {"invoke": _invoke(kind), "ainvoke": _ainvoke(kind), "_run": run}
        if has_async_body(kind):
            methods["_arun"] = _abody(async_body(kind))
    else:  # the class overrides an outer method, and its code may be anywhere in there
        methods |= {"invoke": _whole, "ainvoke": _awhole}
    made: type[BaseTool] = type(kind.__name__, (kind,), methods)
    return made


def _entrance(tool: BaseTool) -> _Entrance:
    found: _Entrance = tool.__dict__[_MARK]
    return found


def _invoke(kind: type[BaseTool]) -> Callable[..., Any]:
    def invoke(
        self: BaseTool,
        input: Any,  # noqa: A002 - LangChain's name
        config: Any = None,
        **kwargs: Any,
    ) -> Any:
        entrance = _entrance(self)
        try:
            placed = entrance.watch.placed(config)
            answer = kind.invoke(self, entrance.completed(input), placed, **kwargs)
        except Exception as error:
            entrance.watch.raised(error)
            raise
        entrance.watch.answered(answer)
        return answer

    return invoke


def _ainvoke(kind: type[BaseTool]) -> Callable[..., Any]:
    async def ainvoke(
        self: BaseTool,
        input: Any,  # noqa: A002 - LangChain's name
        config: Any = None,
        **kwargs: Any,
    ) -> Any:
        entrance = _entrance(self)
        try:
            placed = entrance.watch.placed(config)
            entrance.watch.answer = answer = await kind.ainvoke(
                self, entrance.completed(input), placed, **kwargs
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
        tool, watch = entrance.tool, entrance.watch
        if has_sync_side(tool):
            return watch.run_body(tool, sync_body(tool), args, kwargs)
        # create_agent's sync entry calls the sync side of every tool, even of one without: wait
        # here for its async code.
        own = async_body(tool)
        takes = inspect.signature(own).parameters

        def wait(*args: Any, **kwargs: Any) -> Any:
            # LangChain fills in its own arguments for the signature of _run; _arun may lack some.
            given = {
                name: value
                for name, value in kwargs.items()
                if name not in FROM_LANGCHAIN or name in takes
            }
            return from_thread(lambda: own(*args, **given), watch.stops.append)

        return watch.run_body(tool, wait, args, kwargs)

    return _run


def _abody(code: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(code)
    async def _arun(self: BaseTool, *args: Any, **kwargs: Any) -> Any:
        entrance = _entrance(self)
        tool = entrance.tool
        return await entrance.watch.arun_body(tool, async_body(tool), args, kwargs)

    return _arun


def _whole(self: BaseTool, input: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: A002
    entrance = _entrance(self)
    tool = entrance.tool
    given = input, entrance.watch.placed(config)
    try:
        answer = entrance.watch.run_body(tool, tool.invoke, given, kwargs)
    except Exception as error:
        entrance.watch.raised(error)
        raise
    entrance.watch.answered(answer)
    return answer


async def _awhole(self: BaseTool, input: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: A002
    entrance = _entrance(self)
    tool = entrance.tool
    given = input, entrance.watch.placed(config)
    answer = await entrance.watch.arun_body(tool, tool.ainvoke, given, kwargs)
    entrance.watch.answer = answer
    return answer


@dataclass
class WatchedRequest(ToolCallRequest):
    """Request that gives an entrance to its tool, and to any tool that replaces it."""

    watch: Watch

    def __post_init__(self) -> None:
        """Replace the tool by its watched copy; a request of ``override`` does so, too."""
        if self.tool is not None:
            object.__setattr__(self, "tool", watched_tool(self.tool, self.watch))
