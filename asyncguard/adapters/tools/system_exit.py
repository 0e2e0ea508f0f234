"""Containment of tools that raise ``SystemExit`` or ``KeyboardInterrupt``.

The exception becomes a failure of the tool. Both leave an event loop at once, no matter which task
raised them, and LangChain runs a tool in a task of its own. So they are caught where the tool's
code is called. Ctrl-C reaches only the main
thread: a ``KeyboardInterrupt`` on another OS thread comes from the tool, one on the main thread
from the user.
"""

import functools
import threading
import types
from functools import cache
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool

from asyncguard.adapters.langchain_internals import async_body, has_async_body, sync_body


class ToolExitError(Exception):
    """A tool raised an exception that would have ended the interpreter; it is the cause."""


def _as_failure(error: BaseException) -> ToolExitError:
    """Return the exception to raise instead of one that ends the interpreter.

    Raises:
        KeyboardInterrupt: The user has pressed Ctrl-C.
    """
    if (
        isinstance(error, KeyboardInterrupt)
        and threading.current_thread() is threading.main_thread()
    ):
        raise error
    return ToolExitError(f"{type(error).__name__}: {error}")


_EXITS = (SystemExit, KeyboardInterrupt)
"""Exceptions that leave an event loop.

``GeneratorExit`` does not, and Python itself throws it into coroutines that it closes.
"""


def contained(tool: BaseTool) -> BaseTool:
    """Return a copy of a tool whose attempts to end the interpreter become its failures.

    Args:
        tool: Any tool; it is not changed.
    """
    kind = _containing(type(tool))
    kept = kind.__new__(kind)
    # The copy shares all state with the tool, which may count its own calls.
    for name in (
        "__dict__",
        "__pydantic_fields_set__",
        "__pydantic_extra__",
        "__pydantic_private__",
    ):
        object.__setattr__(kept, name, getattr(tool, name))
    return kept


@cache
def _containing(kind: type[BaseTool]) -> type[BaseTool]:
    # LangChain calls these methods, and inspects their signatures for the arguments to pass.
    run, arun = sync_body(kind), async_body(kind)

    @functools.wraps(run)
    def contained_run(self: BaseTool, *args: Any, **kwargs: Any) -> Any:
        try:
            return run(self, *args, **kwargs)
        except _EXITS as error:
            raise _as_failure(error) from error

    @functools.wraps(arun)
    async def contained_arun(self: BaseTool, *args: Any, **kwargs: Any) -> Any:
        try:
            return await arun(self, *args, **kwargs)
        except _EXITS as error:
            raise _as_failure(error) from error

    body = {"__module__": kind.__module__, "_run": contained_run}
    # The inherited _arun calls _run, and LangChain makes the same comparison.
    if has_async_body(kind):
        body["_arun"] = contained_arun
    # Not by a class statement: Pydantic would read the functions as fields of a new model.
    made: type[BaseTool] = types.new_class(
        kind.__name__, (kind,), {}, lambda names: names.update(body)
    )
    return made


CONTAINED_CODE = frozenset(
    getattr(_containing(StructuredTool), name).__code__ for name in ("_run", "_arun")
)
"""Code objects between LangChain and the code of a contained tool."""
