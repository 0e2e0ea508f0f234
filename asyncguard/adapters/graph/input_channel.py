"""Channel for a graph's input, which refuses an unreadable one before LangGraph stores anything."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langgraph.channels import EphemeralValue
from langgraph.types import Command

from asyncguard.adapters.run_input import NO_RUN, read_cancelled, read_tasks
from asyncguard.adapters.state import read_messages
from asyncguard.errors import CallerError


class InputChannel(EphemeralValue[Any]):
    """Channel that checks the input of a run; its type is the schema of the input."""

    __slots__ = ()

    def update(self, values: Sequence[Any]) -> bool:
        """Check and store the input.

        Raises:
            CallerError: It cannot be read; the thread keeps its former state.
        """
        names = self.typ.__annotations__
        return super().update([_usable(value, names) for value in values])


def _usable(given: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return the parts of an input that the graph reads; a saver may be unable to store others.

    Args:
        given: The input.
        names: Names of these parts.

    Raises:
        CallerError: It is not a mapping, or its tasks, messages or cancelled tasks cannot be read.
    """
    if isinstance(given, Command):  # LangGraph applies it otherwise, if the thread has a checkpoint
        raise CallerError(NO_RUN)
    if not isinstance(given, Mapping):
        raise CallerError(
            f"The input of an agent must be a dict, not {type(given).__name__}; write "
            '{"tasks": [...]} or {"messages": [...]}.'
        )
    usable = {name: given[name] for name in names if name in given}
    if (tasks := usable.get("tasks")) is not None:
        read_tasks(tasks)
        usable["tasks"] = [task if isinstance(task, str) else dict(task) for task in tasks]
    read_cancelled(usable.get("cancel"))
    if "messages" in usable:
        read_messages(usable["messages"])
    return usable
