"""A fake model that says again what was recorded, and reacts where the runtime refuses.

It learns from the runtime's events what became of its calls, which is what the messages tell a real
model. A call that was refused or given up is made again, as recorded, once the model was told all
that the refusal names; after `MOST_TRIES` it is left out and counted as lost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from pydantic import PrivateAttr, SkipValidation
from typing_extensions import override

from asyncguard import Details
from asyncguard.core import events as ev
from asyncguard.core.lifecycle import TaskState
from asyncguard_benchmark.harness.chat_model import PlainChatModel
from asyncguard_benchmark.harness.replay.conversations import Conversation, RecordedCall
from asyncguard_benchmark.harness.replay.knowledge import Need

MOST_TRIES = 4
"""Times that a call is made before it is given up."""
WAITING = "I am waiting for the results of the calls that are running."


@dataclass(kw_only=True)
class Attempt:
    """A call as the model made it once, and what became of it."""

    task: str
    step: int
    """Number of its message among the task's messages with calls, from 0."""
    number: int
    """Number of the call in its message, from 0."""
    call: RecordedCall
    need: Need | None
    """Class of its values if it was made early, else None."""
    tries: int = 1
    key: str = ""
    verdicts: list[tuple[str, str]] = field(default_factory=list)
    """Guards that intervened, and how: ``reject``, ``defer``, ``hold``; ``shadow`` if not heeded."""
    on: tuple[str, ...] = ()
    """Keys of the calls that a refusal names."""
    issued: Mapping[str, Any] | None = None
    """Arguments that reached the tool, if it ran."""
    refused: bool = False
    """True if it will never run."""
    told: bool = False
    """True if the model was told its end."""

    @property
    def place(self) -> tuple[str, int, int]:
        """Place of the call in the record; all attempts of it have the same."""
        return self.task, self.step, self.number

    @property
    def outcome(self) -> str:
        """Name of its end: the guard that refused it, or how it got through."""
        deferred = any(verdict == "defer" for _, verdict in self.verdicts)
        if self.issued is not None:
            return "deferred, then issued" if deferred else "admitted"
        rejecting = [guard for guard, verdict in self.verdicts if verdict == "reject"]
        if rejecting:
            return rejecting[-1]
        return "deferred, then dropped" if deferred else "not run"


@dataclass(kw_only=True)
class Due:
    """Calls that a task can make now, in one message."""

    step: int
    calls: Mapping[int, tuple[Need | None, int]]
    """Number of a call in its message -> its class if it is early, and the number of the try."""


class Lane:
    """One conversation as a task: what it says next, and which of its calls are out."""

    def __init__(
        self, task: str, conversation: Conversation, needs: Sequence[Sequence[Need]]
    ) -> None:
        """Begin.

        Args:
            task: Id of the task.
            conversation: The recorded conversation.
            needs: Class of each call of each step, as if it were early.
        """
        self.task = task
        self.steps = conversation.steps
        self.horizon = len(self.steps)
        """Number of the first step that must not be made yet."""
        self.out: list[Attempt] = []
        """Calls whose end the model was not told."""
        self.position = 0
        """Number of the next step."""
        self.stopped = False
        """True if the runtime stopped the task."""
        self.needs = needs
        """Class of each call of each step, as if it were early."""
        self._again: list[Attempt] = []

    def settle(self, book: "Book") -> None:
        """Put calls that were told as refused on the list of those to make again."""
        self.stopped = self.task in book.stopped
        for attempt in list(self.out):
            if not attempt.told or (attempt.refused and not book.all_told(attempt.on)):
                continue
            self.out.remove(attempt)
            if attempt.refused and attempt.tries < MOST_TRIES:
                self._again.append(attempt)

    def due(self) -> Due | None:
        """Return the calls that the task can make now that all is told."""
        if self.out or self.stopped:
            return None
        if self._again:
            first = min(attempt.step for attempt in self._again)
            again = [attempt for attempt in self._again if attempt.step == first]
            self._again = [attempt for attempt in self._again if attempt.step != first]
            return Due(step=first, calls={each.number: (None, each.tries + 1) for each in again})
        return self._step(early=False)

    def due_early(self, parity: int) -> Due | None:
        """Return the next calls if the step before is pending, and it is this one's turn to be early."""
        pending = self.out and not self._again and not self.stopped
        if not pending or self.position % 2 != parity:
            return None
        previous = self.position - 1
        if any(
            each.step != previous or each.need is not None or each.refused or each.tries > 1
            for each in self.out
        ):
            return None
        return self._step(early=True)

    def _step(self, *, early: bool) -> Due | None:
        if self.position >= self.horizon:
            return None
        step, self.position = self.position, self.position + 1
        needs = enumerate(self.needs[step])
        calls = {number: (need if early else None, 1) for number, need in needs}
        return Due(step=step, calls=calls)

    @property
    def finished(self) -> bool:
        """True if there is nothing left to say."""
        all_made = self.position >= self.horizon and not self.out and not self._again
        return self.stopped or all_made


class Book:
    """An observer that keeps what became of the calls."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.attempts: dict[str, Attempt] = {}
        """By the provider's id of the call."""
        self.nudges = 0
        """Times that the model was asked to go on."""
        self.stopped: set[str] = set()
        """Tasks that the runtime stopped."""
        self._by_key: dict[str, Attempt] = {}

    def __call__(self, details: Details) -> None:
        """Take an event."""
        event = details.event
        match event:
            case ev.CallProposed():
                if attempt := self.attempts.get(event.call.call_id):
                    attempt.key = event.call.key
                    self._by_key[attempt.key] = attempt
            case ev.CallsDelivered():
                for key in event.keys:
                    if attempt := self._by_key.get(key):
                        attempt.told = True
            case ev.CompletionJudged(verdict=ev.CompletionVerdict.NUDGE):
                self.nudges += 1
            case ev.TaskEnded(state=TaskState.STOPPED):
                self.stopped.add(event.task)
            case ev.CallEvent():
                if attempt := self._by_key.get(event.key):
                    _note(attempt, event)

    def all_told(self, keys: Sequence[str]) -> bool:
        """Return True if the model was told the end of all these calls."""
        return all(self._by_key[key].told for key in keys if key in self._by_key)


def _note(attempt: Attempt, event: ev.CallEvent) -> None:
    match event:
        case ev.CallRejected():
            attempt.verdicts.append((event.guard, "reject"))
            attempt.refused, attempt.on = True, event.on
        case ev.CallDeferred():
            attempt.verdicts += [(guard, "defer") for guard in (event.guard, *event.also)]
        case ev.CallHeld():
            attempt.verdicts.append((event.guard, "hold"))
        case ev.CallObjected():
            attempt.verdicts.append((event.guard, f"shadow {event.objection.value}"))
        case ev.CallSquashed():
            attempt.refused, attempt.on = True, event.on
        case ev.CallCancelled():
            attempt.refused = True


class Speaker(PlainChatModel):
    """The fake model; it makes the calls of one conversation in a message."""

    lanes: SkipValidation[Sequence[Lane]]
    book: SkipValidation[Book]
    early: int | None = None
    """Steps made before the step before them was told: those with even (0) or odd (1) numbers."""
    task_argument: str = ""
    """Argument that names the task, empty for a single task."""
    closing: str = ""
    """Answer once all is said."""
    turns: int = 0
    waited: int = 0
    """Turns in which it could only say that it waits."""
    _latest: int = PrivateAttr(default=-1)
    """Number of the lane that spoke last: they take turns."""

    @override
    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> "Speaker":
        """Return the model itself; note which argument names the task."""
        ids = [lane.task for lane in self.lanes]
        for tool in tools:
            schema = (
                tool.get("function", {}).get("parameters", {}) if isinstance(tool, dict) else {}
            )
            for name, argument in schema.get("properties", {}).items():
                if isinstance(argument, dict) and argument.get("enum") == ids and len(ids) > 1:
                    self.task_argument = name
        return self

    @override
    def say(self, messages: list[BaseMessage]) -> AIMessage:
        """Return the next message."""
        self.turns += 1
        for lane in self.lanes:
            lane.settle(self.book)
        found = self._early() or self._next()
        if found is not None:
            number, due = found
            self._latest = number
            return self._calling(self.lanes[number], due)
        if all(lane.finished for lane in self.lanes):
            return AIMessage(self.closing or "That is all.")
        self.waited += 1
        return AIMessage(WAITING)

    def _early(self) -> tuple[int, Due] | None:
        if self.early is None:
            return None
        for number, lane in enumerate(self.lanes):
            if due := lane.due_early(self.early):
                return number, due
        return None

    def _next(self) -> tuple[int, Due] | None:
        for offset in range(len(self.lanes)):
            number = (self._latest + 1 + offset) % len(self.lanes)
            if due := self.lanes[number].due():
                return number, due
        return None

    def _calling(self, lane: Lane, due: Due) -> AIMessage:
        said, calls = lane.steps[due.step], []
        for number, (need, tries) in due.calls.items():
            attempt = Attempt(
                task=lane.task,
                step=due.step,
                number=number,
                call=said.calls[number],
                need=need,
                tries=tries,
            )
            call_id = f"call_{len(self.book.attempts) + 1}"
            self.book.attempts[call_id] = attempt
            lane.out.append(attempt)
            task = {self.task_argument: lane.task} if self.task_argument else {}
            arguments = {**task, **attempt.call.arguments}
            name = attempt.call.tool
            calls.append(ToolCall(name=name, args=arguments, id=call_id, type="tool_call"))
        return AIMessage(said.text, tool_calls=calls)
