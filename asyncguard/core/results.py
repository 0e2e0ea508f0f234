"""Results of attempts, as the executor or the journal reports them."""

from dataclasses import dataclass
from typing import Any

from asyncguard.core.faults import Symptom

CANCELLED_BEFORE_START = "The call was cancelled before it began."
"""Text of the failure of a job that was cancelled before its tool was called."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Success:
    """An attempt that returned."""

    content: Any
    """Text or content blocks for the model."""
    raw: Any = None
    """Result as it came from the tool, for the adapter."""
    update: Any = None
    """Part of ``raw`` that is plain JSON and can be journaled: state updates beside the content."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """An attempt that did not return."""

    symptom: Symptom
    """Observed failure."""
    raw: Any = None
    """Error that the tool answered with itself, as it came, for the adapter."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Interrupted:
    """An attempt that raised an exception for the adapter, such as an interrupt."""

    error: BaseException
    """Exception that the adapter raises again in its own frame."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Started:
    """An attempt that started the work of an external call; its result comes through the inbox."""


Result = Success | Failure | Interrupted | Started
