"""What recovery can decide about a call: a further attempt, or its end."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from asyncguard.core.events import Aim, Outcome, RecoveryAction


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """A further attempt of a call."""

    aim: Aim = Aim.ANSWER
    """What for."""
    tool: str
    """Which tool."""
    arguments: Mapping[str, Any] | None = None
    """With which arguments; ``None`` for the call's own, or a sibling's translation of them."""
    delay: float = 0.0
    """Back-off in seconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class End:
    """The end of a call."""

    outcome: Outcome
    """How it ends."""
    content: Any = None
    """Result or error."""
    error: str | None = None
    """Class of the failure, ``None`` for a result."""
    mark: str = ""
    """What the model is told beside the content."""
    doubtful: bool = False
    """Whether the content may be wrong: the model may judge it, the runtime never uses it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Recovery:
    """What to do about a failed attempt or a strange answer."""

    action: RecoveryAction
    """The action."""
    reason: str
    """Why, for the log."""
    then: Attempt | End
    """What comes of it."""
    changes: tuple[str, ...] = ()
    """What it changes in arguments or answer, without values."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Spent:
    """Retries so far."""

    run: int
    """Of all calls of the run, decided ones included."""
    task: int
    """Of the call's task."""
