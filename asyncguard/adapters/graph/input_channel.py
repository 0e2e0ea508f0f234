"""Channel for a graph's input, which refuses an unreadable one before LangGraph stores anything."""

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.channels import EphemeralValue

from asyncguard.adapters.run_input import read_cancelled, read_tasks
from asyncguard.adapters.state import read_messages
from asyncguard.errors import CallerError


class InputChannel(EphemeralValue[Any]):
    """Channel that checks the input of a run."""

    __slots__ = ()

    def update(self, values: Sequence[Any]) -> bool:
        """Check and store the input.

        Raises:
            CallerError: It cannot be read; the thread keeps its former state.
        """
        return super().update([usable_input(value, self.typ) for value in values])


def usable_input(given: Any, schema: type[Any]) -> dict[str, Any]:
    """Return the parts of an input that the graph reads; a saver may be unable to store others.

    Args:
        given: The input.
        schema: Has the names of the parts.

    Raises:
        CallerError: It is not a mapping, or its tasks, messages or cancelled tasks cannot be read.
    """
    if not isinstance(given, Mapping):
        raise CallerError(
            f"The input of an agent must be a dict, not {type(given).__name__}; write "
            '{"tasks": [...]} or {"messages": [...]}.'
        )
    usable = {name: given[name] for name in schema.__annotations__ if name in given}
    if (tasks := usable.get("tasks")) is not None:
        read_tasks(tasks)
        usable["tasks"] = [
            task
            if isinstance(task, str)
            else {name: task[name] for name in ("id", "goal") if name in task}
            for task in tasks
        ]
    read_cancelled(usable.get("cancel"))
    if "messages" in usable:
        read_messages(usable["messages"])
    return usable
