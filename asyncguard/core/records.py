"""What the ledger knows about one call and one task: the fold of their events."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from asyncguard.core.calls import OPEN_STATES, SUCCESS_STATES, Call, CallState
from asyncguard.core.events import Aim, CallEvent, RecoveryAction
from asyncguard.core.lifecycle import Task, TaskState


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that was learnt for a call without ending it."""

    aim: Aim
    """What was asked for; ``ANSWER`` for a strange answer of the call itself."""
    tool: str
    """Who answered."""
    content: Any
    """The answer, ``None`` if there was none."""
    error: str | None = None
    """Class of the failure."""
    tries: int = 0
    """How many attempts had been made for the call's own result: what a probe said is about the last of them."""


@dataclass(kw_only=True, slots=True)
class CallRecord:
    """One call and what became of it. Only the ledger writes to it."""

    call: Call
    """As proposed."""
    said: int = 0
    """How often the user had spoken in the thread when the call was made."""
    state: CallState = CallState.PROPOSED
    """Where it stands."""
    arguments: Mapping[str, Any] | None = None
    """With operands substituted; ``None`` while they are the call's own."""
    tool: str = ""
    """Tool of the current attempt."""
    answer_tool: str = ""
    """Tool of the latest attempt that was made for the call's own result."""
    attempts: int = 0
    """Attempts handed to an executor."""
    answer_attempts: int = 0
    """Attempts that were made for the call's own result."""
    last_answer_attempt: int = 0
    """Number of the latest attempt that was made for the call's own result."""
    aim: Aim = Aim.ANSWER
    """What the current attempt is for."""
    attempt_arguments: Mapping[str, Any] | None = None
    """Arguments of the current attempt, where recovery gave it its own."""
    answer_arguments: Mapping[str, Any] | None = None
    """The same of the latest attempt that was made for the call's own result."""
    recoveries: tuple[RecoveryAction, ...] = ()
    """What recovery did for it, in order."""
    findings: tuple[Finding, ...] = ()
    """What was learnt on the way."""
    delay: float = 0.0
    """Seconds that the next attempt has to wait."""
    begun_by: str = ""
    """Process of the current attempt."""
    blocked_by: tuple[str, ...] = ()
    """Calls that it waits for (deferred) or that the model should wait for (rejected)."""
    guard: str = ""
    """The guard that spoke last."""
    reason: str = ""
    """What it said, or why the call was squashed."""
    content: Any = None
    """Result or error text, as long as it is held."""
    error: str | None = None
    """Class of the failure."""
    mark: str = ""
    """What the model is told beside the content."""
    doubtful: bool = False
    """Whether the content may be wrong."""
    placeholder: bool = False
    """The model was told that the call is pending."""
    delivered: bool = False
    """The model was told how it ended."""
    approved: bool = False
    """A person approved it."""
    started_at: float | None = None
    """Engine time of the first attempt, in seconds."""
    retired_at: float | None = None
    """Engine time of the end, in seconds."""
    history: list[CallEvent] = field(default_factory=list)
    """Its attempts, what was learnt, and its end: enough to tell it again to a ledger that does not know it."""

    @property
    def key(self) -> str:
        """The call's key."""
        return self.call.key

    @property
    def open(self) -> bool:
        """Whether more is to come."""
        return self.state in OPEN_STATES

    @property
    def succeeded(self) -> bool:
        """Whether the result may be used."""
        return self.state in SUCCESS_STATES

    @property
    def output_sources(self) -> frozenset[str]:
        """The tools whose output the result may hold: who answered, and who was asked on the way."""
        return frozenset({self.answer_tool or self.tool, *(found.tool for found in self.findings)})

    @property
    def effective_arguments(self) -> Mapping[str, Any]:
        """Arguments as issued."""
        return self.call.arguments if self.arguments is None else self.arguments


@dataclass(kw_only=True, slots=True)
class TaskRecord:
    """One task and its progress. Only the ledger writes to it."""

    task: Task
    """As given."""
    state: TaskState = TaskState.OPEN
    """Where it stands."""
    issued: int = 0
    """Calls that were issued for it in all runs."""
    rejections: int = 0
    """Calls rejected in this run."""
    retries: int = 0
    """Attempts repeated in this run."""
    skipped_by_model: bool = False
    """The model had a turn after the task's last news and did nothing for it."""
    nudged: bool = False
    """The model was told in this run that the task is unfinished."""
    last_call: str | None = None
    """Key of the latest call proposed for it."""
