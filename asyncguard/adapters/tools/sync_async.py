"""Detection of the sync and async sides of tools and models.

Sync entry calls the sync side, async entry the async one, if there is one.
"""

import dis
import inspect
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool, StructuredTool

from asyncguard.adapters.langchain_internals import (
    calls_func,
    generate_of,
    has_async_body,
    sync_body,
)

_SAYS_SO = frozenset({"NotImplementedError", "name", "type", "__class__", "__name__"})
"""Names that a method which only refuses to be called may look up, for its message."""
_RETURNS = frozenset({"RETURN_VALUE", "RETURN_CONST", "RETURN_GENERATOR", "YIELD_VALUE"})


def runs_sync(tool: BaseTool) -> bool:
    """Return True if a tool has no async code of its own, so that it needs an OS thread."""
    if isinstance(tool, StructuredTool):
        return tool.coroutine is None
    return not has_async_body(type(tool))


def has_sync_side(tool: BaseTool) -> bool:
    """Return True if a tool can be called without an event loop."""
    # Unwrapped, because a contained tool wraps the method.
    run: Any = inspect.unwrap(sync_body(type(tool)))
    if calls_func(run):
        run = getattr(tool, "func", None)
    return run is not None and not _only_refuses(run)


def answers_sync(model: BaseChatModel) -> bool:
    """Return True if a model can be called without an event loop."""
    return not _only_refuses(generate_of(model))


def _only_refuses(function: Any) -> bool:
    """Return True if a function only raises ``NotImplementedError``.

    LangChain requires a sync method of every class, so async ones have such a method. The byte code
    is inspected, because a call could have an effect before the error.
    """
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    if (
        code is None
        or "NotImplementedError" not in code.co_names
        or not _SAYS_SO.issuperset(code.co_names)
    ):
        return False
    return not any(instruction.opname in _RETURNS for instruction in dis.get_instructions(code))
