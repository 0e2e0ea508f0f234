"""Case of an open call: what the caller knows about it, and the facts and reason of a decision."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from asyncguard.core.calls import CallState
from asyncguard.core.records import CallRecord
from asyncguard.core.resume_terms import Facts
from asyncguard.runtime.session.session import Session

HELD_BACK = (CallState.DEFERRED, CallState.HELD)
"""States of calls that have not been admitted."""


class Hands(Protocol):
    """Port to the adapter that runs the calls of a thread."""

    def holds(self, key: str) -> bool:
        """Return True if a call can be run as it was called."""
        ...

    def run_alone(self, key: str) -> None:
        """Run a call without its wrapper from now on."""
        ...


class _AllTools:
    """Hands of ``build_agent``, which runs every call without a wrapper."""

    def holds(self, _: str) -> bool:
        return True

    def run_alone(self, _: str) -> None:
        raise AssertionError("no call of build_agent has a wrapper")


ALL_TOOLS: Hands = _AllTools()


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A message in the history that answers a call and was not written by the guard."""

    content: Any
    """Content as it stands in the message."""
    text: str
    """Text of the content, which is evidence for later arguments."""
    failed: bool
    """True if the message reports an error."""
    decided: bool = False
    """True if a person decided so, and the call was certainly not run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Circumstances:
    """Knowledge of the caller of :func:`resolve` beyond the session."""

    hands: Hands = ALL_TOOLS
    """Runner of calls in this process."""
    answers: Mapping[str, Answer] = field(default_factory=dict)
    """Answers in the history, by key of the call."""
    lost: frozenset[str] | None = None
    """Keys of calls that an ended process may have had under way; ``None`` if not relevant."""
    siblings: bool = False
    """True if fallbacks may have been tried that the state does not record."""
    said: bool = False
    """True if the run begins with something new from the user."""
    edited: bool = False
    """True if the journal knows the attempt as that of another call."""
    failed: tuple[str, ...] = ()
    """Keys of the calls that this one waited for and that gave no usable result."""
    message: str = ""
    """Text for the model, used where the decision has none of its own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One decision with its inputs."""

    session: Session
    record: CallRecord
    facts: Facts
    given: Circumstances
    reason: str
    """Reason of the decision, or the caller's text where the decision has none."""
