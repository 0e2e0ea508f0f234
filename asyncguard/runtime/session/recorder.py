"""The recorder: one typed method for each event.

An event is built here and nowhere else. The recorder numbers and dates it, folds it into the
ledger, and only then passes it on: an illegal event raises, and changes nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from asyncguard.core import events as ev
from asyncguard.core.calls import Call, content_size
from asyncguard.core.faults import CircuitState, Diagnosis
from asyncguard.core.ledger import Ledger
from asyncguard.core.lifecycle import TaskState
from asyncguard.recovery.decisions import Attempt, Recovery
from asyncguard.runtime.engine import Engine

LOST_EPOCH = "lost"
"""Process id of an attempt of which only the start is known; stored in events."""


class Recorder:
    """Builder of the events of one thread, which folds them into its ledger."""

    def __init__(
        self, engine: Engine, ledger: Ledger, *, recorded: Callable[[ev.Event], None]
    ) -> None:
        """Make a recorder.

        Args:
            engine: Supplies clock and process id.
            ledger: Ledger that folds the events.
            recorded: Called with each event after it was folded in.
        """
        self._engine = engine
        self._ledger = ledger
        self._recorded = recorded

    def go_on(self, ledger: Ledger) -> None:
        """Record into another ledger from now on: the thread's ledger was rebuilt."""
        self._ledger = ledger

    def repeated(self, event: ev.CallEvent) -> None:
        """Record an event of the former ledger again, with a new number and time."""
        self._record(replace(event, n=self._next(), at=self._now()))

    # -- runs, turns and tasks ---------------------------------------------------------------------

    def run_started(self, run: str, *, said: bool = True) -> None:
        """Record that a run begins in this process.

        Args:
            run: Id of the run.
            said: True if the run begins with something new from the user.
        """
        epoch = self._engine.epoch
        self._record(ev.RunStarted(n=self._next(), at=self._now(), run=run, epoch=epoch, said=said))

    def run_parked(self, keys: Sequence[str]) -> None:
        """Record that the run is parked until one of some external calls is delivered."""
        self._record(ev.RunParked(n=self._next(), at=self._now(), keys=tuple(keys)))

    def run_ended(self, reason: str) -> None:
        """Record the end of the run."""
        self._record(
            ev.RunEnded(n=self._next(), at=self._now(), reason=reason, turns=self._ledger.turns)
        )

    def turn_taken(self, message_id: str, *, calls: int, passed_over: tuple[str, ...]) -> None:
        """Record a message of the model.

        Args:
            message_id: Id of the message.
            calls: Number of its calls.
            passed_over: Open tasks that it could have acted on.
        """
        self._record(
            ev.TurnTaken(
                n=self._next(),
                at=self._now(),
                turn=self._ledger.turns + 1,
                message_id=message_id,
                calls=calls,
                passed_over=passed_over,
            )
        )

    def completion_judged(
        self, verdict: ev.CompletionVerdict, *, reason: str, tasks: tuple[str, ...], enforced: bool
    ) -> None:
        """Record the verdict on a message without calls.

        Args:
            verdict: The verdict.
            reason: Reason of the verdict.
            tasks: Unfinished tasks that the model is shown.
            enforced: True if the verdict counts; in shadow mode it does not.
        """
        self._record(
            ev.CompletionJudged(
                n=self._next(),
                at=self._now(),
                verdict=verdict,
                reason=reason,
                tasks=tasks,
                enforced=enforced,
            )
        )

    def task_opened(self, task: str, *, goal: str) -> None:
        """Record a task of the user, or one that is reopened."""
        self._record(ev.TaskOpened(n=self._next(), at=self._now(), task=task, goal=goal))

    def task_closed(self, task: str) -> None:
        """Record that a task ended with its run."""
        self._record(
            ev.TaskEnded(n=self._next(), at=self._now(), task=task, state=TaskState.CLOSED)
        )

    def task_stopped(self, task: str, *, reason: str) -> None:
        """Record that a task was ended by the user or by a limit."""
        self._record(
            ev.TaskEnded(
                n=self._next(), at=self._now(), task=task, state=TaskState.STOPPED, reason=reason
            )
        )

    # -- verdicts on calls -------------------------------------------------------------------------

    def proposed(self, call: Call, declared: Mapping[str, Mapping[str, Any]] | None) -> None:
        """Record a call of the model.

        Args:
            call: The call.
            declared: Declarations that the thread does not keep yet, see :meth:`Session.declare`.
        """
        self._record(ev.CallProposed(n=self._next(), at=self._now(), call=call, declared=declared))

    def edited(self, call: Call, declared: Mapping[str, Mapping[str, Any]] | None) -> None:
        """Record that a person wrote a call in place of the one with its key; see :meth:`proposed`.

        Args:
            call: The call.
            declared: Declarations that the thread does not keep yet.
        """
        event = ev.CallEdited(
            n=self._next(), at=self._now(), key=call.key, call=call, declared=declared
        )
        self._record(event)

    def objected(
        self,
        key: str,
        objection: ev.Objection,
        *,
        guard: str,
        reason: str,
        on: tuple[str, ...] = (),
    ) -> None:
        """Record a guard's verdict on a call without applying it; for shadow mode."""
        self._record(
            ev.CallObjected(
                n=self._next(),
                at=self._now(),
                key=key,
                guard=guard,
                objection=objection,
                reason=reason,
                on=on,
            )
        )

    def admitted(
        self,
        key: str,
        *,
        released: bool = False,
        approved: bool = False,
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        """Queue a call for its first attempt.

        Args:
            key: Key of the call.
            released: True if it was deferred or held before.
            approved: True if a person approved it.
            arguments: Arguments with references replaced, if they differ from the call's.
        """
        self._record(
            ev.CallAdmitted(
                n=self._next(),
                at=self._now(),
                key=key,
                released=released,
                approved=approved,
                arguments=arguments,
            )
        )

    def deferred(
        self, key: str, *, guard: str, reason: str, on: tuple[str, ...], also: tuple[str, ...]
    ) -> None:
        """Hold a call back until others have ended.

        Args:
            key: Key of the call.
            guard: Name of the guard that holds it back.
            reason: Reason of the guard.
            on: Keys of the calls that it waits for.
            also: Further guards that hold it back.
        """
        self._record(
            ev.CallDeferred(
                n=self._next(),
                at=self._now(),
                key=key,
                guard=guard,
                reason=reason,
                on=on,
                also=also,
            )
        )

    def held(
        self, key: str, *, guard: str, reason: str, arguments: Mapping[str, Any] | None
    ) -> None:
        """Hold a call until a person has approved it."""
        self._record(
            ev.CallHeld(
                n=self._next(),
                at=self._now(),
                key=key,
                guard=guard,
                reason=reason,
                arguments=arguments,
            )
        )

    def rejected(self, key: str, *, guard: str, reason: str, on: tuple[str, ...] = ()) -> None:
        """End a call that is not run; the model is shown the reason."""
        self._record(
            ev.CallRejected(
                n=self._next(), at=self._now(), key=key, guard=guard, reason=reason, on=on
            )
        )

    def squashed(self, key: str, *, reason: str, on: tuple[str, ...] = ()) -> None:
        """End a deferred or held call that will never be issued."""
        self._record(ev.CallSquashed(n=self._next(), at=self._now(), key=key, reason=reason, on=on))

    def cancelled(self, key: str, *, reason: str) -> None:
        """End a call that was cancelled before it began, or that other middleware answered."""
        self._record(ev.CallCancelled(n=self._next(), at=self._now(), key=key, reason=reason))

    # -- attempts ----------------------------------------------------------------------------------

    def started(self, key: str, *, attempt: int, tool: str, epoch: str | None = None) -> None:
        """Record that an attempt was handed to the executor.

        Args:
            key: Key of the call.
            attempt: Number of the attempt, from 1.
            tool: Tool of the attempt.
            epoch: Process id of the attempt; this process by default.
        """
        epoch = self._engine.epoch if epoch is None else epoch
        self._record(
            ev.CallStarted(
                n=self._next(), at=self._now(), key=key, attempt=attempt, tool=tool, epoch=epoch
            )
        )

    def assumed_started(self, key: str) -> None:
        """Record the start of an attempt that an ended process made, or may have made."""
        record = self._ledger.record(key)
        self.started(key, attempt=record.attempts + 1, tool=record.tool, epoch=LOST_EPOCH)

    def retired(
        self,
        key: str,
        *,
        outcome: ev.Outcome,
        content: Any,
        error: str | None = None,
        mark: str = "",
        doubtful: bool = False,
    ) -> None:
        """End a call with the end of its last attempt.

        Args:
            key: Key of the call.
            outcome: Outcome of the call.
            content: Result or error.
            error: Class of the failure, ``None`` for a result.
            mark: Note that the model is shown with the content.
            doubtful: True if the content may be wrong.
        """
        self._record(
            ev.CallRetired(
                n=self._next(),
                at=self._now(),
                key=key,
                outcome=outcome,
                content=content,
                size=content_size(content),
                error=_plain(error),
                mark=mark,
                doubtful=doubtful,
            )
        )

    def found(
        self, key: str, *, aim: ev.Aim, tool: str, content: Any, error: str | None = None
    ) -> None:
        """Record an answer or failure that informs the recovery of a call and does not end it.

        Args:
            key: Key of the call.
            aim: Purpose of the attempt.
            tool: Tool that was asked.
            content: Its answer, ``None`` if there was none.
            error: Class of the failure, ``None`` for an answer.
        """
        self._record(
            ev.CallFound(
                n=self._next(),
                at=self._now(),
                key=key,
                aim=aim,
                tool=tool,
                content=content,
                error=_plain(error),
            )
        )

    def diagnosed(self, key: str, diagnosis: Diagnosis, *, symptom: tuple[str, ...]) -> None:
        """Record the diagnosis of a failure or an anomalous answer of the last attempt.

        Args:
            key: Key of the call.
            diagnosis: Hazard, rule and evidence.
            symptom: Class of the failure, or the kinds of the anomalies.
        """
        record = self._ledger.record(key)
        self._record(
            ev.CallDiagnosed(
                n=self._next(),
                at=self._now(),
                key=key,
                tool=record.answer_tool,
                attempt=record.attempts,
                symptom=symptom,
                hazard=diagnosis.hazard,
                rule=diagnosis.rule,
                confidence=diagnosis.confidence,
                evidence=diagnosis.evidence,
            )
        )

    def recovered(self, key: str, recovery: Recovery, *, error: str) -> None:
        """Record a decision about the last attempt; queue the call if another attempt follows.

        Args:
            key: Key of the call.
            recovery: The decision. A further attempt without a tool uses the same tool.
            error: Class of the failure.
        """
        then = recovery.then
        follows = isinstance(then, Attempt)
        following = then if isinstance(then, Attempt) else _NO_ATTEMPT
        self._record(
            ev.CallRecovered(
                n=self._next(),
                at=self._now(),
                key=key,
                action=recovery.action,
                attempt=self._ledger.record(key).attempts,
                error=str(error),
                reason=recovery.reason,
                follows=follows,
                aim=following.aim,
                delay=following.delay,
                tool=following.tool,
                arguments=following.arguments,
                changes=recovery.changes,
            )
        )

    def requeued(
        self,
        key: str,
        *,
        error: str,
        reason: str,
        arguments: Mapping[str, Any] | None,
        aim: ev.Aim = ev.Aim.ANSWER,
        tool: str = "",
    ) -> None:
        """Queue a call for another attempt without asking the recovery policy.

        Args:
            key: Key of the call.
            error: Class of the failure of the last attempt.
            reason: Reason of the attempt, for the log.
            arguments: Arguments of the attempt, if they are not the call's own.
            aim: Purpose of the attempt.
            tool: A fallback of the called tool, if the attempt does not use the last one's tool.
        """
        action = ev.RecoveryAction.FALLBACK if tool else ev.RecoveryAction.RETRY
        following = Attempt(aim=aim, tool=tool, arguments=arguments)
        self.recovered(key, Recovery(action=action, reason=reason, then=following), error=error)

    def circuit_moved(self, tool: str, *, state: CircuitState, failures: int) -> None:
        """Record that the breaker of a tool changed its state."""
        self._record(
            ev.CircuitMoved(
                n=self._next(), at=self._now(), tool=tool, state=state, failures=failures
            )
        )

    # -- the conversation --------------------------------------------------------------------------

    def delivered(self, keys: Sequence[str], *, placeholders: Sequence[str] = ()) -> None:
        """Record the messages about calls that were written to the conversation.

        Args:
            keys: Calls whose end the model is shown.
            placeholders: Calls that the model is shown as pending.
        """
        self._record(
            ev.CallsDelivered(
                n=self._next(), at=self._now(), keys=tuple(keys), placeholders=tuple(placeholders)
            )
        )

    # -- all events --------------------------------------------------------------------------------

    def _next(self) -> int:
        return self._ledger.n + 1

    def _now(self) -> float:
        return self._engine.clock.now()

    def _record(self, event: ev.Event) -> None:
        self._ledger.apply(event)
        self._recorded(event)


_NO_ATTEMPT = Attempt(tool="")
"""Default values for the event of a recovery that no attempt follows."""


def _plain(error: str | None) -> str | None:
    # Savers store a member of an enum by its class, and older versions of the library would not
    # find it.
    return None if error is None else str(error)
