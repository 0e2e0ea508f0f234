"""Decisions of recovery about a call: a further attempt, or its end."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from asyncguard.core.events import Aim, Outcome, RecoveryAction


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """A further attempt of a call."""

    aim: Aim = Aim.ANSWER
    """Purpose of the attempt."""
    tool: str
    """Name of the tool that is called."""
    arguments: Mapping[str, Any] | None = None
    """Arguments; ``None`` for the call's own, or a sibling's translation of them."""
    delay: float = 0.0
    """Back-off in seconds."""
    complaint: str = ""
    """Sentence for the log if a strategy of the tool's author failed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stopped:
    """The retries of a call have ended; a later row of the table decides."""

    complaint: str = ""
    """Sentence for the log if a strategy of the tool's author failed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class End:
    """The end of a call."""

    outcome: Outcome
    """Outcome of the call."""
    content: Any = None
    """Result or error."""
    error: str | None = None
    """Class of the failure; ``None`` for a result."""
    mark: str = ""
    """Remark that the model is shown beside the content."""
    doubtful: bool = False
    """True if the content may be wrong: the model may judge it, the runtime never uses it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Recovery:
    """Decision about a failed attempt or a strange answer."""

    action: RecoveryAction
    """Action that is taken."""
    reason: str
    """Reason, for the log."""
    then: Attempt | End
    """Attempt or end that follows."""
    changes: tuple[str, ...] = ()
    """Changes to arguments or answer, in words, without values."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Spent:
    """Number of retries so far."""

    run: int
    """Retries of all calls of the run, ended calls included."""
    task: int
    """Retries of the calls of one task."""
