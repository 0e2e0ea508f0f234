"""Tasks: user goals with a state of their own."""

from dataclasses import dataclass
from enum import StrEnum


class TaskState(StrEnum):
    """Where a task stands; the legal moves are the table in :mod:`asyncguard.core.lifecycle`."""

    OPEN = "open"
    """Given by the user, work may be outstanding."""
    STOPPED = "stopped"
    """Ended by a limit; further calls are refused and the report says so."""
    CLOSED = "closed"
    """The run ended with nothing outstanding for it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """One user goal."""

    id: str
    """Short name, unique in the thread; the model uses it to say which task a call is for."""
    goal: str
    """What the user wants, in the user's words."""


SOLE_TASK = "main"
"""Id of the single task of a plain conversation; never shown to the model."""
