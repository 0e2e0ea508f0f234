"""Async tools prepared for being called often."""

import inspect
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool, Tool
from typing_extensions import override

from asyncguard.adapters.tools.system_exit import contained

FROM_LANGCHAIN = frozenset({"config", "callbacks", "run_manager"})
"""Parameters that LangChain fills in by itself whenever a tool is called."""


class _PreparedTool(StructuredTool):
    """A tool whose code takes its arguments and nothing else.

    LangChain finds that out at each call, from signature and annotations of the code and of the method around it, which
    is a third of what calling a small tool costs. Here it is known, and the method has little to look at.
    """

    @override
    async def _arun(self, *args: Any, **kwargs: Any) -> Any:
        assert self.coroutine is not None  # prepared() sees to it
        return await self.coroutine(*args, **kwargs)


# The frames to look for are those of LangChain's private methods; there is no public name for them.
CODE_CALLERS = frozenset(
    method.__code__
    for method in (
        StructuredTool._run,  # noqa: SLF001
        StructuredTool._arun,  # noqa: SLF001
        Tool._run,  # noqa: SLF001
        Tool._arun,  # noqa: SLF001
        _PreparedTool._arun,  # noqa: SLF001
    )
)
"""The code of LangChain and of ours from which the function of a tool is called."""


def parameters_of_code(tool: BaseTool) -> set[str]:
    """Names of the parameters that the code of a tool takes, on either side."""
    sides = [
        code for name in ("coroutine", "func") if (code := getattr(tool, name, None)) is not None
    ]
    taken = [
        item
        for code in sides or [tool._run]  # noqa: SLF001 - its signature
        for item in inspect.signature(code).parameters.values()
    ]
    return {item.name for item in taken if item.kind not in (item.VAR_KEYWORD, item.VAR_POSITIONAL)}


def prepared(tool: BaseTool) -> BaseTool:
    """The tool as it is called directly: the same, for the caller and for callbacks, at less cost where that can be.

    Args:
        tool: A tool that takes nothing from the graph.
    """
    if (
        type(tool) is not StructuredTool
        or tool.coroutine is None
        or parameters_of_code(tool) & FROM_LANGCHAIN
    ):
        return tool
    return _PreparedTool.model_construct(**dict(tool))


def needs_injection(tool: BaseTool) -> bool:
    """Whether a tool takes something from the graph: state, store, runtime, or an argument hidden from the model."""
    schema: Any = tool.tool_call_schema
    shown = (
        set(schema.get("properties", {})) if isinstance(schema, dict) else set(schema.model_fields)
    )
    return not parameters_of_code(tool) - {"self"} <= shown | FROM_LANGCHAIN


class PreparedTools:
    """The tools of one agent as they are called, each prepared when it is called first."""

    def __init__(self) -> None:
        """Know no tool yet."""
        self._known: dict[str, tuple[BaseTool, BaseTool]] = {}

    def of(self, tool: BaseTool) -> BaseTool:
        """What to call instead of a tool: itself, where it takes something from the graph.

        Args:
            tool: A tool; another one of the same name takes its place.
        """
        known = self._known.get(tool.name)
        if known is None or known[0] is not tool:
            called = tool if needs_injection(tool) else prepared(tool)
            known = self._known[tool.name] = (tool, contained(called))
        return known[1]
