"""Async tools prepared for being called often."""

import inspect
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool
from typing_extensions import override

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


def parameters_of_code(tool: BaseTool) -> set[str]:
    """Names of the parameters that the code of a tool takes; the async code, if it has both."""
    code = getattr(tool, "coroutine", None) or getattr(tool, "func", None) or tool._run  # noqa: SLF001 - its signature
    parameters = inspect.signature(code).parameters.values()
    return {item.name for item in parameters if item.kind not in (item.VAR_KEYWORD, item.VAR_POSITIONAL)}


def prepared(tool: BaseTool) -> BaseTool:
    """The tool as it is called directly: the same, for the caller and for callbacks, at less cost where that can be.

    Args:
        tool: A tool that takes nothing from the graph.
    """
    if type(tool) is not StructuredTool or tool.coroutine is None or parameters_of_code(tool) & FROM_LANGCHAIN:
        return tool
    return _PreparedTool.model_construct(**dict(tool))
