"""Everything that happens in a run, as frozen values.

Events are the single source of truth: the ledger is folded from them, the graph state stores them, the structured log
prints them and the timeline is drawn from them. Each has a stable ``kind`` and turns into plain JSON and back
(:mod:`asyncguard.core.event_codec`).

``at`` is the engine's clock in seconds (monotonic within a process), ``n`` the logical counter that breaks ties.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from asyncguard.core.calls import Call
from asyncguard.core.faults import CircuitState, HazardKind
from asyncguard.core.lifecycle import TaskState


class Outcome(StrEnum):
    """How an attempt ended."""

    DONE = "done"
    """With a result."""
    FAILED = "failed"
    """Without one, and the call may be given up safely."""
    IN_DOUBT = "in_doubt"
    """The effect may have happened."""


class RecoveryAction(StrEnum):
    """What is done about a failed attempt or a strange answer; each is a node of the state machine."""

    RETRY = "retry"
    """The same call again after a back-off."""
    REFRESH = "refresh"
    """The tool's live contract is read."""
    REBIND = "rebind"
    """The same call with its arguments as the live contract wants them."""
    NORMALISE = "normalise"
    """The answer is brought into the declared form and accepted."""
    FALLBACK = "fallback"
    """A sibling tool."""
    CROSS_CHECK = "cross_check"
    """Another source is asked, or what several said is settled."""
    VERIFY = "verify"
    """The probe of an effect or the verifier of an answer is asked, or its word is taken."""
    ASK = "ask"
    """The model is told the diagnosis and its options."""
    GIVE_UP = "give_up"
    """The failure is reported to the model."""


class Aim(StrEnum):
    """What an attempt of a call is made for."""

    ANSWER = "answer"
    """The call's own result."""
    CONTRACT = "contract"
    """The live contract of its tool."""
    SOURCE = "source"
    """What another source says."""
    VERIFIER = "verifier"
    """The same result, derived in another way."""
    PROBE = "probe"
    """Whether its effect happened."""


class Objection(StrEnum):
    """What a guard would have done with a call."""

    DEFER = "defer"
    """Held it back until others have ended."""
    HOLD = "hold"
    """Asked a person."""
    REJECT = "reject"
    """Refused it."""


class CompletionVerdict(StrEnum):
    """What becomes of a model message without calls."""

    END = "end"
    """The run ends."""
    WAIT = "wait"
    """Calls are open: the text is kept as interim text."""
    NUDGE = "nudge"
    """Tasks are unfinished: the model is told which."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """What all events share."""

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
    """Id of the process that runs it; entries of another epoch have no running attempt here."""
    said: bool = True
    """Whether the user said something with it: a message or a task, and not only which tasks to cancel."""


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
    """Declarations of the tool and its helpers by name, where the thread does not keep them yet."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallEvent(Event):
    """Something happened to one call."""

    key: str
    """The call's key."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallAdmitted(CallEvent):
    """Admission let the call pass; the next dispatch issues it. This is the intent."""

    kind: ClassVar[str] = "call_admitted"
    released: bool = False
    """Whether it was deferred or held before."""
    approved: bool = False
    """Whether a person approved it."""
    arguments: Mapping[str, Any] | None = None
    """The arguments with operands substituted, where they differ from the call's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallObjected(CallEvent):
    """In shadow mode: a guard would have intervened. Nothing came of it."""

    kind: ClassVar[str] = "call_objected"
    guard: str
    objection: Objection
    reason: str
    on: tuple[str, ...] = ()
    """Keys of the calls it would have waited for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallDeferred(CallEvent):
    """The call is right but early."""

    kind: ClassVar[str] = "call_deferred"
    guard: str
    reason: str
    on: tuple[str, ...]
    """Keys of the calls it waits for."""
    also: tuple[str, ...] = ()
    """Further guards that hold it back."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallHeld(CallEvent):
    """The call waits for a person's approval."""

    kind: ClassVar[str] = "call_held"
    guard: str
    reason: str
    arguments: Mapping[str, Any] | None = None
    """The arguments with operands substituted, where they differ from the call's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallRejected(CallEvent):
    """The call is not run; the model is told why."""

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
    """The tool of this attempt; another than the call's after a fallback."""
    epoch: str
    """The process that runs the attempt."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallRetired(CallEvent):
    """An attempt ended and the call with it: the result is bound and may be delivered."""

    kind: ClassVar[str] = "call_retired"
    outcome: Outcome
    content: Any
    """Result or error (text or content blocks); ``None`` in the state once it stands in the messages."""
    size: int
    """Size of the content in bytes."""
    error: str | None = None
    """Class of the failure, ``None`` for a result."""
    mark: str = ""
    """What the model is told beside the content: that it was corrected, or is doubtful, and why."""
    doubtful: bool = False
    """Whether the content may be wrong, so that no other call may take a value from it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallFound(CallEvent):
    """Something was learnt for a call that does not end it: a strange answer, a contract, what another source says."""

    kind: ClassVar[str] = "call_found"
    aim: Aim
    tool: str
    content: Any
    """The answer; ``None`` if there was none."""
    error: str | None = None
    """Class of the failure, ``None`` for an answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallDiagnosed(CallEvent):
    """A failed attempt or a strange answer was taken to mean one of the hazards."""

    kind: ClassVar[str] = "call_diagnosed"
    tool: str
    """The tool that it is about: the one that was tried last for the call's own result."""
    attempt: int
    """The attempt that failed, or that brought the answer."""
    symptom: tuple[str, ...]
    """Class of the failure, or the kinds of what is wrong with the answer."""
    hazard: HazardKind
    rule: str
    confidence: float
    evidence: tuple[str, ...]
    """What it rests on; no values of arguments or answers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallRecovered(CallEvent):
    """Recovery did something about a failed attempt or a strange answer."""

    kind: ClassVar[str] = "call_recovered"
    action: RecoveryAction
    attempt: int
    """The attempt that failed."""
    error: str
    """Class of the failure, or ``anomaly`` for a strange answer."""
    reason: str
    follows: bool = True
    """Whether another attempt follows; if not, the call is retired with what is known."""
    aim: Aim = Aim.ANSWER
    """What the next attempt is for."""
    delay: float = 0.0
    """Back-off in seconds."""
    tool: str = ""
    """Tool of the next attempt, if it is another one."""
    arguments: Mapping[str, Any] | None = None
    """Arguments of the next attempt, where they are neither the call's nor a sibling's translation of them."""
    changes: tuple[str, ...] = ()
    """What was changed in arguments or answer, without values."""


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
    """A queued call was taken back before it began."""

    kind: ClassVar[str] = "call_cancelled"
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CallsDelivered(Event):
    """Results or refusals were written to the conversation."""

    kind: ClassVar[str] = "calls_delivered"
    keys: tuple[str, ...]
    """Calls whose end the model knows now."""
    placeholders: tuple[str, ...] = ()
    """Calls which the model was told are pending."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnTaken(Event):
    """The model made a message."""

    kind: ClassVar[str] = "turn_taken"
    turn: int
    """Number in the run, from 1."""
    message_id: str
    calls: int
    passed_over: tuple[str, ...] = ()
    """Open tasks that the message could have acted on and did not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CompletionJudged(Event):
    """A message without calls was judged."""

    kind: ClassVar[str] = "completion_judged"
    verdict: CompletionVerdict
    reason: str
    tasks: tuple[str, ...] = ()
    enforced: bool = True
    """Whether the verdict counted; in shadow mode the run ended all the same."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunParked(Event):
    """Only external calls are open; the run rests until a delivery wakes it."""

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
"""Every event, in the order in which a run usually meets them."""
