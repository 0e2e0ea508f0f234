"""Which sides a tool or a model has: sync entry calls the sync one, async entry the async one, if there is one."""

import dis
import inspect
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool, StructuredTool, Tool

_SAYS_SO = frozenset({"NotImplementedError", "name", "type", "__class__", "__name__"})
"""What a method that only refuses to be called may look up, for its message."""
_RETURNS = frozenset({"RETURN_VALUE", "RETURN_CONST", "RETURN_GENERATOR", "YIELD_VALUE"})


def runs_sync(tool: BaseTool) -> bool:
    """Whether a tool has no async code of its own, so that it needs a thread."""
    if isinstance(tool, StructuredTool):
        return tool.coroutine is None
    return type(tool)._arun is BaseTool._arun  # noqa: SLF001 - whether it is overridden is told nowhere else


def has_sync_side(tool: BaseTool) -> bool:
    """Whether a tool can be called without a loop."""
    run: Any = inspect.unwrap(type(tool)._run)  # noqa: SLF001 - the same; a contained tool wraps it
    if run in (StructuredTool._run, Tool._run):  # noqa: SLF001
        run = getattr(tool, "func", None)
    return run is not None and not _only_refuses(run)


def answers_sync(model: BaseChatModel) -> bool:
    """Whether a model can be asked without a loop."""
    return not _only_refuses(getattr(type(model), "_generate", None))


def _only_refuses(function: Any) -> bool:
    """Whether a function does nothing but raise ``NotImplementedError``: LangChain demands a sync method of everything.

    Its code tells. Calling it would tell the same, but not whether something was done first.
    """
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    if (
        code is None
        or "NotImplementedError" not in code.co_names
        or not _SAYS_SO.issuperset(code.co_names)
    ):
        return False
    return not any(instruction.opname in _RETURNS for instruction in dis.get_instructions(code))
