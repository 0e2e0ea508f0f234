"""Execution of a task: what is known of its answers while it lasts."""

from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary


@dataclass
class Execution:
    """Facts about a task's answers during one execution; they are not stored."""

    new: int | None = None
    """Place of the answer that has come with this execution, until a question gets it."""
    before: list[Any] = field(default_factory=list)
    """The answers as they were before it; empty if none has come."""
    lent: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Newest attempt in this execution and its number of answers, by key of its call."""
    own: set[str] = field(default_factory=set)
    """Keys of the calls whose newest attempt has asked itself, not a graph within it."""


EXECUTIONS: WeakKeyDictionary[Any, Execution] = WeakKeyDictionary()
"""By the function with which an execution takes the answer that a run was resumed with."""


def execution_of(notes: Any) -> Execution | None:
    """Return the facts about a task's present execution, ``None`` before :func:`take_answer`."""
    return None if notes is None else EXECUTIONS.get(notes.get_null_resume)
