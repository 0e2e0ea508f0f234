"""Events of a run, as frozen values.

Events are the single source of truth: the ledger is folded from them, the graph state stores them,
the structured log prints them and the timeline is drawn from them. Each has a stable ``kind`` and
turns into plain JSON and back (:mod:`asyncguard.core.event_codec`).

``at`` is the engine's clock in seconds (monotonic within a process), ``n`` the logical counter that
breaks ties.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from asyncguard.core.calls import Call
from asyncguard.core.faults import CircuitState, ErrorCode, HazardKind
from asyncguard.core.lifecycle import TaskState


class Outcome(StrEnum):
    """End of an attempt."""

    DONE = "done"
    """With a result."""
    FAILED = "failed"
    """Without a result, and the call may be given up safely."""
    IN_DOUBT = "in_doubt"
    """The effect may have happened."""


class RecoveryAction(StrEnum):
    """Step of recovery after a failed attempt or a strange answer; each is a node of the graph."""

    RETRY = "retry"
    """Make the same call again after a back-off."""
    REFRESH = "refresh"
    """Read the tool's live contract."""
    REBIND = "rebind"
    """Make the same call with its arguments as the live contract requires them."""
    NORMALISE = "normalise"
    """Bring the answer into the declared form and accept it."""
    FALLBACK = "fallback"
    """Call a sibling tool."""
    CROSS_CHECK = "cross_check"
    """Ask another source, or decide between the answers of several."""
    VERIFY = "verify"
    """Ask the probe of an effect or the verifier of an answer, or accept its answer."""
    ASK = "ask"
    """Show the model the diagnosis and its options."""
    GIVE_UP = "give_up"
    """Report the failure to the model."""


class Aim(StrEnum):
    """Purpose of an attempt of a call."""

    ANSWER = "answer"
    """The call's own result."""
    CONTRACT = "contract"
    """The live contract of its tool."""
    SOURCE = "source"
    """The answer of another source."""
    VERIFIER = "verifier"
    """The same result, derived in another way."""
    PROBE = "probe"
    """The fact whether the call's effect happened."""


class Objection(StrEnum):
    """Intervention that a guard would have made."""

    DEFER = "defer"
    """Hold the call back until others have ended."""
    HOLD = "hold"
    """Ask a person."""
    REJECT = "reject"
    """Refuse the call."""
    FAULT = "fault"
    """None: a guard of the user's own failed to judge the call, in shadow mode or not."""


class CompletionVerdict(StrEnum):
    """Verdict on a model message without calls."""

    END = "end"
    """The run ends."""
    WAIT = "wait"
    """Calls are open: the text is kept as interim text."""
    NUDGE = "nudge"
    """Tasks are unfinished: the model is shown which."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """Fields that all events share."""

    # Kinds stand in stored states and trace files: none may change.
    kind: ClassVar[str] = ""
    n: int
    """Logical counter, rising by one within a thread."""
    at: float
    """Engine time in seconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunStarted(Event):
    """The graph was entered with new input."""

    kind: ClassVar[str] = "run_started"
    run: str
    """Id of the run."""
    epoch: str
    """Id of the process that runs it; attempts of other processes do not run in this one."""
    said: bool = True
    """True if the input held a message or a task of the user, and not only tasks to cancel."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskOpened(Event):
    """The user gave a task."""

    kind: ClassVar[str] = "task_opened"
    task: str
    goal: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskEnded(Event):
    """A task was closed or stopped."""

    kind: ClassVar[str] = "task_ended"
    task: str
    state: TaskState
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallProposed(Event):
    """The model made a call."""

    kind: ClassVar[str] = "call_proposed"
    call: Call
    declared: Mapping[str, Mapping[str, Any]] | None = None
    """Declarations of the tool and its helpers by name, if the thread does not keep them yet."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallEvent(Event):
    """An event of one call."""

    key: str
    """The call's key."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallEdited(CallEvent):
    """A person has written another call in place of one that was not issued yet."""

    kind: ClassVar[str] = "call_edited"
    call: Call
    """The call that is judged now; key, task and message stay."""
    declared: Mapping[str, Mapping[str, Any]] | None = None
    """Declarations of its tool and the helpers, as in :class:`CallProposed`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallAdmitted(CallEvent):
    """Admission let the call pass; the next dispatch issues it. This is the intent."""

    kind: ClassVar[str] = "call_admitted"
    released: bool = False
    """True if the call was deferred or held before."""
    approved: bool = False
    """True if a person approved the call."""
    arguments: Mapping[str, Any] | None = None
    """Arguments with operands substituted, if they differ from the call's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallObjected(CallEvent):
    """In shadow mode, a guard would have intervened; or a guard of the user's own failed.

    The event itself does not affect the call.
    """

    kind: ClassVar[str] = "call_objected"
    guard: str
    objection: Objection
    reason: str
    on: tuple[str, ...] = ()
    """Keys of the calls that it would have waited for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallDeferred(CallEvent):
    """The call is right but early."""

    kind: ClassVar[str] = "call_deferred"
    guard: str
    reason: str
    on: tuple[str, ...]
    """Keys of the calls that it waits for."""
    also: tuple[str, ...] = ()
    """Names of further guards that defer it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallHeld(CallEvent):
    """The call waits for a person's approval."""

    kind: ClassVar[str] = "call_held"
    guard: str
    reason: str
    arguments: Mapping[str, Any] | None = None
    """Arguments with operands substituted, if they differ from the call's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallRejected(CallEvent):
    """The call is not run; the model is shown the reason."""

    kind: ClassVar[str] = "call_rejected"
    guard: str
    reason: str
    on: tuple[str, ...] = ()
    """Keys of pending calls whose results the model should wait for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallStarted(CallEvent):
    """An attempt was handed to the executor."""

    kind: ClassVar[str] = "call_started"
    attempt: int
    tool: str
    """Tool of this attempt; after a fallback it differs from the call's."""
    epoch: str
    """Id of the process that runs the attempt."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallRetired(CallEvent):
    """An attempt ended and the call with it: the result is bound and may be delivered."""

    kind: ClassVar[str] = "call_retired"
    outcome: Outcome
    content: Any
    """Result or error (text or content blocks); ``None`` in the state once the messages hold it."""
    size: int
    """Size of the content in bytes."""
    error: str | None = None
    """Class of the failure, ``None`` for a result."""
    mark: str = ""
    """Note to the model beside the content: that it was corrected, or is doubtful, and why."""
    doubtful: bool = False
    """True if the content may be wrong, so that no other call may take a value from it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallFound(CallEvent):
    """A strange answer, a live contract or another source's answer came in; the call continues."""

    kind: ClassVar[str] = "call_found"
    aim: Aim
    tool: str
    content: Any
    """The answer; ``None`` if there was none."""
    error: str | None = None
    """Class of the failure, ``None`` for an answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallDiagnosed(CallEvent):
    """A failed attempt or a strange answer was diagnosed as one of the hazards."""

    kind: ClassVar[str] = "call_diagnosed"
    tool: str
    """Tool that was diagnosed: the one tried last for the call's own result."""
    attempt: int
    """Number of the attempt that failed, or that brought the answer."""
    symptom: tuple[str, ...]
    """Class of the failure, or the kinds of the answer's anomalies."""
    hazard: HazardKind
    rule: str
    confidence: float
    evidence: tuple[str, ...]
    """Grounds of the diagnosis; no values of arguments or answers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallRecovered(CallEvent):
    """Recovery took a step after a failed attempt or a strange answer, or a tool asked a person."""

    kind: ClassVar[str] = "call_recovered"
    action: RecoveryAction
    attempt: int
    """Number of the attempt that failed."""
    error: str
    """Class of the failure, ``anomaly`` for a strange answer, ``interrupt`` for a question."""
    reason: str
    follows: bool = True
    """True if another attempt follows; if not, the call is retired with what is known."""
    aim: Aim = Aim.ANSWER
    """Purpose of the next attempt."""
    delay: float = 0.0
    """Back-off in seconds."""
    tool: str = ""
    """Tool of the next attempt, if it changes."""
    arguments: Mapping[str, Any] | None = None
    """Arguments of the next attempt, unless they are the call's, as such or translated."""
    changes: tuple[str, ...] = ()
    """Changes made to arguments or answer, without values."""

    @property
    def asked(self) -> bool:
        """True if nothing failed: the tool asked a person, and runs again with the answer."""
        return self.error == ErrorCode.INTERRUPT


@dataclass(frozen=True, kw_only=True, slots=True)
class CircuitMoved(Event):
    """The circuit breaker of a tool opened, let a probe through, or closed."""

    kind: ClassVar[str] = "circuit_moved"
    tool: str
    state: CircuitState
    failures: int


@dataclass(frozen=True, kw_only=True, slots=True)
class CallSquashed(CallEvent):
    """A deferred or held call will never be issued."""

    kind: ClassVar[str] = "call_squashed"
    reason: str
    on: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class CallCancelled(CallEvent):
    """A call was cancelled before it began, or other middleware answered it."""

    kind: ClassVar[str] = "call_cancelled"
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CallsDelivered(Event):
    """Results or refusals were written to the conversation."""

    kind: ClassVar[str] = "calls_delivered"
    keys: tuple[str, ...]
    """Calls whose end was shown to the model."""
    placeholders: tuple[str, ...] = ()
    """Calls that were shown to the model as pending."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnTaken(Event):
    """The model made a message."""

    kind: ClassVar[str] = "turn_taken"
    turn: int
    """Number of the turn in the run, from 1."""
    message_id: str
    calls: int
    passed_over: tuple[str, ...] = ()
    """Ids of open tasks that the message could have acted on and did not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CompletionJudged(Event):
    """A message without calls was judged."""

    kind: ClassVar[str] = "completion_judged"
    verdict: CompletionVerdict
    reason: str
    tasks: tuple[str, ...] = ()
    enforced: bool = True
    """True if the verdict had its effect; in shadow mode the run ends whatever it says."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunParked(Event):
    """Only external calls are open; the run pauses until a delivery wakes it."""

    kind: ClassVar[str] = "run_parked"
    keys: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class RunEnded(Event):
    """The run is over."""

    kind: ClassVar[str] = "run_ended"
    reason: str
    """``complete``, ``max_model_turns``, ``tasks_stopped`` or ``direct_return``."""
    turns: int


EVENT_TYPES: tuple[type[Event], ...] = (
    RunStarted,
    TaskOpened,
    TaskEnded,
    CallProposed,
    CallEdited,
    CallObjected,
    CallAdmitted,
    CallDeferred,
    CallHeld,
    CallRejected,
    CallStarted,
    CallRetired,
    CallFound,
    CallDiagnosed,
    CallRecovered,
    CircuitMoved,
    CallSquashed,
    CallCancelled,
    CallsDelivered,
    TurnTaken,
    CompletionJudged,
    RunParked,
    RunEnded,
)
"""All event types, in the order in which they usually occur in a run."""
