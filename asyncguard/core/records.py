"""Records of the ledger: one call or one task, folded from its events."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from asyncguard.core.calls import OPEN_STATES, SUCCESS_STATES, Call, CallState
from asyncguard.core.events import Aim, CallEvent, RecoveryAction
from asyncguard.core.faults import ErrorCode
from asyncguard.core.lifecycle import Task, TaskState


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One answer that was received for a call and did not end it."""

    aim: Aim
    """Purpose of the attempt; ``ANSWER`` for a strange answer of the call itself."""
    tool: str
    """Name of the tool that answered."""
    content: Any
    """The answer, ``None`` if there was none."""
    error: str | None = None
    """Class of the failure."""
    tries: int = 0
    """Attempts made so far for the call's own result; a probe's answer concerns the last one."""


@dataclass(kw_only=True, slots=True)
class CallRecord:
    """One call and its progress. Only the ledger writes to it."""

    call: Call
    """The call as proposed, or as a person wrote it in place of that."""
    edited: bool = False
    """True if a person wrote it in place of the model's."""
    said: int = 0
    """Runs with new input of the user in the thread when the call was made."""
    state: CallState = CallState.PROPOSED
    """State of the call."""
    arguments: Mapping[str, Any] | None = None
    """Arguments with operands substituted; ``None`` while they are the call's own."""
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
    """Purpose of the current attempt."""
    attempt_arguments: Mapping[str, Any] | None = None
    """Arguments that recovery gave the current attempt; ``None`` if it gave none."""
    answer_arguments: Mapping[str, Any] | None = None
    """The same for the latest attempt that was made for the call's own result."""
    recoveries: tuple[RecoveryAction, ...] = ()
    """Steps of recovery, in order."""
    findings: tuple[Finding, ...] = ()
    """Answers that did not end the call, in order."""
    delay: float = 0.0
    """Seconds that the next attempt has to wait."""
    begun_by: str = ""
    """Id of the process of the current attempt."""
    blocked_by: tuple[str, ...] = ()
    """Keys of calls that it waits for (deferred) or the model should wait for (rejected)."""
    refused_again: bool = False
    """True if it was refused for results for which a call of the task had been refused before."""
    guard: str = ""
    """Name of the guard that judged it last."""
    reason: str = ""
    """Reason of that guard, or of the call's end."""
    content: Any = None
    """Result or error text, while it is kept in memory."""
    error: str | None = None
    """Class of the failure."""
    mark: str = ""
    """Note to the model beside the content."""
    doubtful: bool = False
    """True if the content may be wrong."""
    placeholder: bool = False
    """True if the model was shown the call as pending."""
    delivered: bool = False
    """True if the model was shown its end."""
    approved: bool = False
    """True if a person approved it."""
    started_at: float | None = None
    """Engine time of the first attempt, in seconds."""
    retired_at: float | None = None
    """Engine time of the end, in seconds."""
    history: tuple[CallEvent, ...] = ()
    """Events of its attempts, findings and end, from which another ledger can rebuild the call."""

    @property
    def key(self) -> str:
        """Key of the call."""
        return self.call.key

    @property
    def open(self) -> bool:
        """Return True if the call has not ended."""
        return self.state in OPEN_STATES

    @property
    def wanted_again(self) -> bool:
        """Return True if an operator found that the open call did not happen and wants it made."""
        return self.error == ErrorCode.NOT_HAPPENED

    @property
    def redirected(self) -> bool:
        """Return True if something else was sent than the call as it was proposed.

        Its references were filled in, or recovery sent it to a sibling or rebound it.
        """
        return (
            self.arguments is not None
            or self.answer_arguments is not None
            or self.sent_to != self.call.tool
        )

    @property
    def sent_to(self) -> str:
        """Tool of the latest attempt that was made, or is due, for the call's own result."""
        return self.tool if self.aim is Aim.ANSWER or not self.answer_tool else self.answer_tool

    @property
    def succeeded(self) -> bool:
        """Return True if the result may be used."""
        return self.state in SUCCESS_STATES

    @property
    def output_sources(self) -> frozenset[str]:
        """Names of the tools whose output the result may hold, side queries included."""
        return frozenset({self.answer_tool or self.tool, *(found.tool for found in self.findings)})

    @property
    def effective_arguments(self) -> Mapping[str, Any]:
        """Arguments as they are issued."""
        return self.call.arguments if self.arguments is None else self.arguments


@dataclass(kw_only=True, slots=True)
class TaskRecord:
    """One task and its progress. Only the ledger writes to it."""

    task: Task
    """The task as given."""
    state: TaskState = TaskState.OPEN
    """State of the task."""
    issued: int = 0
    """Calls that were issued for its goal, in all runs."""
    rejections: int = 0
    """Calls rejected in this run; early ones count once for each message that they await."""
    awaited: set[str] = field(default_factory=set)
    """Ids of the messages whose results early calls were told to wait for in this run."""
    retries: int = 0
    """Attempts repeated in this run."""
    skipped_by_model: bool = False
    """True if the model had a turn after the task's last news and made no call for it."""
    nudged: bool = False
    """True if the model was shown in this run that the task is unfinished."""
    dropped: bool = False
    """True if the user cancelled the task, has not given it again, and no call was made for it
    since. A message of the user reopens it, because it may mean the task, but does not ask for it
    to be done."""
    last_call: str | None = None
    """Key of the latest call proposed for its goal."""
    former: set[str] = field(default_factory=set)
    """Keys of the calls that had ended, and not in doubt, when the task got another goal."""
