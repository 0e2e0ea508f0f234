"""Results of attempts: how one attempt of a call ended, as the executor or the journal reports it."""

from dataclasses import dataclass
from typing import Any

from asyncguard.core.faults import Symptom

CANCELLED_BEFORE_START = "The call was cancelled before it began."
"""Message of the failure of a job whose tool was not reached."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Success:
    """An attempt that returned."""

    content: Any
    """What the model is shown: text or content blocks."""
    raw: Any = None
    """What the front end needs to hand the result on, as it came from the tool."""
    update: Any = None
    """What of ``raw`` is plain JSON and outlives the process: state updates that came with the content."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """An attempt that did not return."""

    symptom: Symptom
    """What was seen."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Interrupted:
    """An attempt that raised what belongs to the front end, such as an interrupt."""

    error: BaseException
    """To be raised where the front end can use it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Started:
    """The work of an external call was started; its result comes through the inbox."""


Result = Success | Failure | Interrupted | Started
