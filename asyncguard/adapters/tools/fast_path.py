"""Prepared forms of async tools, which cost less per call."""

import inspect
from collections.abc import Callable, Collection
from types import FunctionType
from typing import Any, TypeVar, no_type_check

from langchain_core.tools import BaseTool, StructuredTool
from typing_extensions import override

from asyncguard.adapters.langchain_internals import FUNCTION_CALLERS, sync_body
from asyncguard.adapters.tools.system_exit import contained

_Method = TypeVar("_Method", bound=Callable[..., Any])

FROM_LANGCHAIN = frozenset({"config", "callbacks", "run_manager"})
"""Parameters that LangChain fills in by itself whenever a tool is called."""


_PLAIN = frozenset({"__no_type_check__"})
"""Attributes of a function that say nothing of its signature."""

_UNTOLD = FROM_LANGCHAIN - {"config"}
"""Names that LangChain keeps from handlers among the arguments of any call."""


def _known(method: _Method) -> _Method:
    """Keep the signature of a method with it, and say that its annotations tell nothing."""
    kept: Any = no_type_check(method)
    kept.__signature__ = inspect.signature(method)
    return kept  # type: ignore[no-any-return]


class _PreparedTool(StructuredTool):
    """Tool whose code takes its own arguments and none of LangChain's.

    LangChain determines that at each call, from signature and annotations of the code, of the
    method around it and of the schema, which is half of the cost of a small tool. Here it has none
    to look at.
    """

    @override
    def _filter_injected_args(self, tool_input: dict[str, Any]) -> dict[str, Any]:
        # Arguments as handlers are told them. Should LangChain rename the method, each call looks
        # them up again, and nothing else changes.
        return {name: tool_input[name] for name in tool_input if name not in _UNTOLD}

    @override
    @_known
    async def _arun(self, *args: Any, **kwargs: Any) -> Any:
        assert self.coroutine is not None  # prepared() makes no other ones
        return await self.coroutine(*args, **kwargs)


CODE_CALLERS = FUNCTION_CALLERS | {_PreparedTool._arun.__code__}  # noqa: SLF001 - our own class
"""Code objects, LangChain's and ours, from which the function of a tool is called."""


def parameters_of_code(tool: BaseTool) -> set[str]:
    """Return the names of the parameters of a tool's code, sync and async sides together."""
    sides = [
        code for name in ("coroutine", "func") if (code := getattr(tool, name, None)) is not None
    ]
    return set().union(*map(_parameters, sides or [sync_body(tool)]))


def _parameters(code: Callable[..., Any]) -> Collection[str]:
    if type(code) is FunctionType and code.__dict__.keys() <= _PLAIN:  # it wraps none
        own = code.__code__
        return own.co_varnames[: own.co_argcount + own.co_kwonlyargcount]
    return {
        item.name
        for item in inspect.signature(code).parameters.values()
        if item.kind not in (item.VAR_KEYWORD, item.VAR_POSITIONAL)
    }


def prepared(tool: BaseTool) -> BaseTool:
    """Return the prepared form of a tool, or the tool itself if it has none.

    For callers and callbacks it is the same tool.

    Args:
        tool: A tool that takes nothing from the graph.
    """
    if (
        type(tool) is not StructuredTool
        or tool.coroutine is None
        or parameters_of_code(tool) & FROM_LANGCHAIN
    ):
        return tool
    # Without validation: the fields have been validated when the tool was made.
    return _PreparedTool.model_construct(**dict(tool))


def needs_injection(tool: BaseTool) -> bool:
    """Return True if a tool takes a value from the graph.

    That is the state, the store, the runtime, or another argument that the model is not shown.
    """
    schema: Any = tool.tool_call_schema
    shown = (
        set(schema.get("properties", {})) if isinstance(schema, dict) else set(schema.model_fields)
    )
    # A parameter that neither the model nor LangChain fills in can only come from the graph.
    return not parameters_of_code(tool) - {"self"} <= shown | FROM_LANGCHAIN


class PreparedTools:
    """Prepared forms of one agent's tools, each made at the tool's first call."""

    def __init__(self) -> None:
        """Start empty."""
        # Tool and prepared form, by name.
        self._known: dict[str, tuple[BaseTool, BaseTool]] = {}

    def of(self, tool: BaseTool) -> BaseTool:
        """Return the form of a tool to call; only a tool without injected values is prepared.

        Args:
            tool: A tool; a known one with the same name is replaced.
        """
        known = self._known.get(tool.name)
        if known is None or known[0] is not tool:
            called = tool if needs_injection(tool) else prepared(tool)
            known = self._known[tool.name] = (tool, contained(called))
        return known[1]
