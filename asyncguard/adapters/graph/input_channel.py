"""The channel in which a graph receives its input: what cannot be read is refused before anything is stored."""

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.channels import EphemeralValue

from asyncguard.adapters.run_input import read_cancelled, read_tasks
from asyncguard.adapters.state import GuardedInput, read_messages
from asyncguard.errors import CallerError


class InputChannel(EphemeralValue[Any]):
    """Takes the input of one run."""

    __slots__ = ()

    def update(self, values: Sequence[Any]) -> bool:
        """Take the input.

        Raises:
            CallerError: It is none; the thread is as it was.
        """
        return super().update([usable_input(value) for value in values])


def usable_input(given: Any) -> dict[str, Any]:
    """The parts of an input that the graph reads; a saver may not be able to store others.

    Raises:
        CallerError: It is no mapping, or its tasks, messages or cancelled tasks are none.
    """
    if not isinstance(given, Mapping):
        raise CallerError(
            f'An agent takes {{"tasks": [...]}} or {{"messages": [...]}}, not {type(given).__name__}; write a dict.'
        )
    usable = {name: given[name] for name in GuardedInput.__annotations__ if name in given}
    if (tasks := usable.get("tasks")) is not None:
        read_tasks(tasks)
        usable["tasks"] = [task if isinstance(task, str) else _named(task) for task in tasks]
    read_cancelled(usable.get("cancel"))
    if "messages" in usable:
        read_messages(usable["messages"])
    return usable


def _named(task: Mapping[str, Any]) -> dict[str, Any]:
    return {name: task[name] for name in ("id", "goal") if name in task}
