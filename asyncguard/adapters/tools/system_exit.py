"""Tools that want to end the interpreter: what they raise is their failure, and no more.

``SystemExit`` and ``KeyboardInterrupt`` leave an event loop at once, whatever task raised them, and LangChain runs a
tool in a task of its own. So they are caught where the tool's code is called. Ctrl-C goes to the main thread alone: an
interrupt that another thread raises is the tool's, one of the main thread is the user's.
"""

import functools
import threading
import types
from functools import cache
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool


class ToolExitError(Exception):
    """A tool raised what would have ended the interpreter; the cause is that."""


def _as_failure(error: BaseException) -> ToolExitError:
    """Return what to raise instead of something that ends programs.

    Raises:
        KeyboardInterrupt: It is the user's.
    """
    if (
        isinstance(error, KeyboardInterrupt)
        and threading.current_thread() is threading.main_thread()
    ):
        raise error
    return ToolExitError(f"{type(error).__name__}: {error}")


_EXITS = (SystemExit, KeyboardInterrupt)
"""What leaves an event loop; ``GeneratorExit`` does not, and Python itself throws it into coroutines that it closes."""


def contained(tool: BaseTool) -> BaseTool:
    """Return the tool with what it raises to end the interpreter turned into a failure of it.

    Args:
        tool: Any tool; it stays as it is.
    """
    kind = _containing(type(tool))
    kept = kind.__new__(kind)
    for name in (
        "__dict__",
        "__pydantic_fields_set__",
        "__pydantic_extra__",
        "__pydantic_private__",
    ):
        object.__setattr__(
            kept, name, getattr(tool, name)
        )  # one state: a tool may count its own calls
    return kept


@cache
def _containing(kind: type[BaseTool]) -> type[BaseTool]:
    run, arun = kind._run, kind._arun  # noqa: SLF001 - what LangChain calls, and looks at for what it takes

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
    if arun is not BaseTool._arun:  # noqa: SLF001 - which calls _run, and LangChain asks for the same
        body["_arun"] = contained_arun
    # Not by a class statement: pydantic would take the functions for fields of a new model.
    made: type[BaseTool] = types.new_class(
        kind.__name__, (kind,), {}, lambda names: names.update(body)
    )
    return made


CONTAINED_CODE = frozenset(
    getattr(_containing(StructuredTool), name).__code__ for name in ("_run", "_arun")
)
"""What stands between LangChain and the code of a contained tool."""
