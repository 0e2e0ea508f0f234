"""The pending-call ledger: all calls of a thread, folded from events, with indexed views.

Rules of the fold:

- An event is applied whole or not at all: the lifecycle table is consulted and named calls and
  tasks are looked up first, then records and indexes change.
- Folding an event costs the same with ten thousand open calls as with a hundred.
- The ledger never decides. Its queries are in :mod:`asyncguard.core.ledger_queries`.

A call is in the indexes of open calls while its state is in ``OPEN_STATES``; it returns to them if
it was in doubt and is made again. A call in doubt stays in the fingerprint index, so that an equal
call is recognised as a possible second effect.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar

from asyncguard.core import events as ev
from asyncguard.core.calls import OPEN_STATES, Call, CallState
from asyncguard.core.ledger_queries import NEVER_BEGUN, LedgerQueries
from asyncguard.core.lifecycle import Move, Task, TaskState, advance, advance_task
from asyncguard.core.records import CallRecord, Finding, TaskRecord
from asyncguard.core.resume_policy import CANCELLED
from asyncguard.errors import UnknownCallError

_OUTCOME_MOVES = {
    ev.Outcome.DONE: Move.SUCCEED,
    ev.Outcome.FAILED: Move.FAIL,
    ev.Outcome.IN_DOUBT: Move.DOUBT,
}
_COUNTED_ONCE = frozenset({"premature"})
"""Guards whose rejections count once for each awaited message.

A model that makes several calls too early, or one in each turn that other tasks give it, does one
thing wrong, and has seen nothing yet that could make it stop.
"""


class Ledger(LedgerQueries):
    """Calls and tasks of one thread; mutated by :meth:`apply` only."""

    def apply(self, event: ev.Event) -> None:
        """Apply one event.

        Raises:
            IllegalTransitionError: The lifecycle does not allow it; nothing changed.
            UnknownCallError: It names an unknown call or task; nothing changed.
        """
        fold = self._FOLDS.get(type(event))
        if fold is None:
            raise UnknownCallError(
                f"The ledger does not know the event {event.kind!r}; add it to Ledger._FOLDS."
            )
        fold(self, event)
        # Last, so that an event that was refused does not move the counter.
        self.n = event.n

    # -- runs and tasks ----------------------------------------------------------------------------

    def _start_run(self, event: ev.RunStarted) -> None:
        self.run, self.epoch = event.run, event.epoch
        self.said += event.said
        # Limits on turns, retries and rejections count per run; `issued` counts over runs.
        self.turns, self.retries, self.ended = 0, 0, None
        for record in self._tasks.values():
            record.rejections, record.retries = 0, 0
            record.awaited.clear()
            record.nudged, record.skipped_by_model = False, False

    def _open_task(self, event: ev.TaskOpened) -> None:
        known = self._tasks.get(event.task)
        if known is None:
            self._tasks[event.task] = TaskRecord(task=Task(id=event.task, goal=event.goal))
            return
        # A message opens only what has ended, so a task that is open already is given by its name.
        if known.state is TaskState.OPEN:
            known.dropped = False
        else:
            known.state = advance_task(known.state, TaskState.OPEN)
        if event.goal != known.task.goal:
            # What was called for the former goal says nothing about this one.
            known.issued, known.last_call, known.dropped = 0, None, False
            known.former |= {
                record.key
                for record in self._calls.values()
                if record.call.task == event.task
                and not (record.open or record.state is CallState.IN_DOUBT)
            }
        known.task = Task(id=event.task, goal=event.goal)
        # The user asks for it again, so the model may act on it again.
        known.skipped_by_model = False

    def _end_task(self, event: ev.TaskEnded) -> None:
        (task,) = self._named_tasks((event.task,))
        task.state = advance_task(task.state, event.state)
        task.dropped = task.dropped or event.reason == CANCELLED

    def _take_turn(self, event: ev.TurnTaken) -> None:
        tasks = self._named_tasks(event.passed_over)
        self.turns, self.last_message = event.turn, event.message_id
        for task in tasks:
            task.skipped_by_model = True

    def _judge_completion(self, event: ev.CompletionJudged) -> None:
        for task in self._named_tasks(event.tasks):
            task.nudged = task.nudged or event.enforced

    def _end_run(self, event: ev.RunEnded) -> None:
        self.ended = event.reason

    def _ignore(self, _: ev.Event) -> None:
        """Change nothing: the event is for the log only."""

    def _named_tasks(self, names: Sequence[str]) -> list[TaskRecord]:
        """Return the tasks that an event names; raise before the event has changed anything."""
        for name in names:
            if name not in self._tasks:
                raise UnknownCallError(
                    f"The ledger has no task {name!r}; task_opened has to come first.", task=name
                )
        return [self._tasks[name] for name in names]

    # -- calls -------------------------------------------------------------------------------------

    def _propose(self, event: ev.CallProposed) -> None:
        call = event.call
        if call.key in self._calls:
            raise UnknownCallError(
                f"Call {call.key!r} was proposed before; each call is proposed once.", key=call.key
            )
        # Nothing was changed up to here, and nothing below raises: the event is applied whole.
        self.declared.update(event.declared or {})
        record = CallRecord(call=call, tool=call.tool, said=self.said)
        self._calls[call.key] = record
        self._by_state[CallState.PROPOSED][call.key] = None
        self._ordinals[call.task, call.tool] += 1
        self._by_label[call.task][call.label] = call.key
        self._by_message.put(call.message_id, call.key)
        self._unanswered[call.key] = None
        self._enter_open(record)
        if (task := self._tasks.get(call.task)) is not None:
            task.last_call, task.dropped = call.key, False

    def _edit(self, event: ev.CallEdited) -> None:
        record, call = self._move(event.key, Move.EDIT), event.call
        self.declared.update(event.declared or {})
        before = record.call
        self._forget_fingerprint(before)
        self.resources.remove(before.key, before.footprint)
        self._barriers.get(before.task, {}).pop(before.key, None)
        record.call, record.edited, record.tool, record.arguments = call, True, call.tool, None
        record.guard, record.reason, record.blocked_by = "", "", ()
        # The former label stays a name of the call.
        if call.label != before.label:
            self._ordinals[call.task, call.tool] += 1
            self._by_label[call.task][call.label] = call.key
        self._open_in_group[call.task, call.message_id] -= 1  # entering counts it again
        self._enter_open(record)
        self._restore_order(call)

    def _object(self, event: ev.CallObjected) -> None:
        for key in (event.key, *event.on):
            self.record(key)  # for the log only; the calls have to exist

    def _diagnose(self, event: ev.CallDiagnosed) -> None:
        self.record(event.key)  # for the log only; the call has to exist

    def _admit(self, event: ev.CallAdmitted) -> None:
        record = self._move(event.key, Move.ADMIT)
        record.approved = record.approved or event.approved
        self._fill(record, event.arguments)

    def _fill(self, record: CallRecord, arguments: Mapping[str, Any] | None) -> None:
        if arguments is not None:
            record.arguments = arguments
            self._redirected.put(record.call.task, record.key)

    def _defer(self, event: ev.CallDeferred) -> None:
        record = self._move(event.key, Move.DEFER, named=event.on)
        record.guard, record.reason, record.blocked_by = event.guard, event.reason, event.on
        # Counted, so that the end of a blocker costs one step per dependent and no search.
        blockers = [key for key in dict.fromkeys(event.on) if self._calls[key].open]
        self._blockers[record.key] = len(blockers)
        for key in blockers:
            self._dependents.put(key, record.key)
        if not blockers:
            self._ready[record.key] = None

    def _hold(self, event: ev.CallHeld) -> None:
        record = self._move(event.key, Move.HOLD)
        record.guard, record.reason = event.guard, event.reason
        self._fill(record, event.arguments)

    def _reject(self, event: ev.CallRejected) -> None:
        record = self._move(event.key, Move.REJECT, named=event.on)
        record.guard, record.reason, record.blocked_by = event.guard, event.reason, event.on
        if (task := self._tasks.get(record.call.task)) is None:
            return
        if event.guard in _COUNTED_ONCE and event.on:
            awaited = {self._calls[key].call.message_id for key in event.on}
            record.refused_again = awaited <= task.awaited
            task.rejections += not record.refused_again
            task.awaited |= awaited
        else:
            task.rejections += 1

    def _squash(self, event: ev.CallSquashed) -> None:
        record = self._move(event.key, Move.SQUASH, named=event.on)
        record.reason, record.blocked_by = event.reason, event.on

    def _cancel(self, event: ev.CallCancelled) -> None:
        record = self._move(event.key, Move.CANCEL)
        record.reason = event.reason

    def _start(self, event: ev.CallStarted) -> None:
        record = self._move(event.key, Move.START)
        record.attempts, record.tool, record.begun_by = event.attempt, event.tool, event.epoch
        record.delay = 0.0
        _count(self._running_by_tool, event.tool, 1)
        record.history += (event,)
        if record.aim is ev.Aim.ANSWER:
            record.answer_attempts += 1
            record.answer_tool, record.last_answer_attempt = event.tool, event.attempt
        # A call counts once, whatever its number of attempts.
        if record.started_at is None:
            record.started_at = event.at
            if (task := self._tasks.get(record.call.task)) is not None:
                task.issued += 1

    def _find(self, event: ev.CallFound) -> None:
        record = self.record(event.key)
        found = Finding(
            aim=event.aim,
            tool=event.tool,
            content=event.content,
            error=event.error,
            tries=record.answer_attempts,
        )
        record.findings = (*record.findings, found)
        record.history += (event,)
        # Kept for later calls of the tool: guards accept arguments that fit it.
        if event.aim is ev.Aim.CONTRACT and event.error is None:
            self.contracts[record.answer_tool] = event.content

    def _recover(self, event: ev.CallRecovered) -> None:
        record = self._move(event.key, Move.RECOVER) if event.follows else self.record(event.key)
        # A tool that asked a person runs again by design, and a sibling is another tool: no retry.
        if not event.asked:
            record.recoveries = (*record.recoveries, event.action)
        record.history += (event,)
        if not event.follows:
            return
        record.delay, record.error = event.delay, event.error
        record.aim, record.attempt_arguments = event.aim, event.arguments
        if event.aim is ev.Aim.ANSWER:
            record.answer_arguments = event.arguments
        record.tool = event.tool or record.tool
        if record.redirected:
            self._redirected.put(record.call.task, record.key)
        if event.action is ev.RecoveryAction.RETRY and not event.asked:
            self.retries += 1
            if (task := self._tasks.get(record.call.task)) is not None:
                task.retries += 1

    def _retire(self, event: ev.CallRetired) -> None:
        record = self._move(event.key, _OUTCOME_MOVES[event.outcome])
        record.content, record.error, record.retired_at = event.content, event.error, event.at
        record.mark, record.doubtful = event.mark, event.doubtful
        record.history += (event,)

    def _deliver(self, event: ev.CallsDelivered) -> None:
        for key in (*event.keys, *event.placeholders):
            self.record(key)  # all of them have to exist before anything changes
        for key in event.placeholders:
            self._calls[key].placeholder = True
            self._unanswered.pop(key, None)
            # The call ended before its placeholder was shown, so its end has not become news yet.
            if not self._calls[key].open:
                self._news[key] = None
        for key in event.keys:
            record = self._calls[key]
            record.delivered = True
            self._untold.drop(record.call.task, key)
            self._unanswered.pop(key, None)
            self._news.pop(key, None)
            if (task := self._tasks.get(record.call.task)) is not None:
                task.skipped_by_model = False

    # -- indexes -----------------------------------------------------------------------------------

    def _move(self, key: str, move: Move, *, named: Sequence[str] = ()) -> CallRecord:
        """Move a call to its next state and update the indexes.

        Args:
            key: Key of the call.
            move: Move that the lifecycle has to allow.
            named: Keys of other calls that the event names; they have to exist.
        """
        # Lookups come before any change: an unknown key must leave the ledger as it was.
        record = self.record(key)
        for other in named:
            self.record(other)
        before, after = record.state, advance(record.state, move)  # raises before anything changes
        del self._by_state[before][key]
        self._by_state[after][key] = None
        record.state = after
        if before is CallState.PENDING:
            _count(self._pending_by_tool, record.call.tool, -1)
            _count(self._running_by_tool, record.tool, -1)
        elif after is CallState.PENDING:
            _count(self._pending_by_tool, record.call.tool, 1)
        elif before is CallState.DEFERRED:
            self._ready.pop(key, None)
            self._blockers.pop(key, None)
            # If the call is deferred again, ends of its former blockers must not count.
            for blocker in record.blocked_by:
                self._dependents.drop(blocker, key)
        if before is CallState.IN_DOUBT:
            self._leave_doubt(record)
        elif after not in OPEN_STATES:
            self._leave_open(record)
        return record

    def _leave_doubt(self, record: CallRecord) -> None:
        """Update the indexes for a call in doubt that ended or is made again.

        An end is news for the model. If the call is made again and the model was shown the doubt,
        that delivery becomes a placeholder, so that the later end is delivered.
        """
        self._forget_fingerprint(record.call)
        if not record.open:
            self._untold.put(record.call.task, record.key)
            if record.key not in self._unanswered:  # else the answer itself shows the end
                self._news[record.key] = None
            return
        self._news.pop(record.key, None)
        self._untold.drop(record.call.task, record.key)
        self._enter_open(record)
        self._restore_order(record.call)
        # Calls that waited for it were unblocked when it came into doubt; they wait again.
        for waiting in self._by_state[CallState.DEFERRED]:
            if record.key in self._calls[waiting].blocked_by:
                self._dependents.put(record.key, waiting)
                self._blockers[waiting] = self._blockers.get(waiting, 0) + 1
                self._ready.pop(waiting, None)
        # What was delivered was the doubt, not the end.
        record.placeholder = record.placeholder or record.delivered
        record.delivered = False

    def _restore_order(self, call: Call) -> None:
        """Restore program order, which the queries promise, after a call was entered last."""
        for calls in (self._open_by_task, self._barriers):
            calls[call.task] = dict.fromkeys(self._in_order(calls.get(call.task, ())))
        alike = self._by_fingerprint[call.task]
        equal = self._in_order(alike.of(call.fingerprint))
        alike.pop(call.fingerprint, None)
        for key in equal:
            alike.put(call.fingerprint, key)

    def _in_order(self, keys: Collection[str]) -> list[str]:
        return sorted(keys, key=lambda key: self._calls[key].call.sequence)

    def _enter_open(self, record: CallRecord) -> None:
        call = record.call
        self._open_by_task.setdefault(call.task, {})[call.key] = None
        self._open_in_group[call.task, call.message_id] += 1
        self._by_fingerprint[call.task].put(call.fingerprint, call.key)
        if record.redirected:
            self._redirected.put(call.task, call.key)
        self.resources.add(call.key, call.footprint)
        if not call.footprint.known:
            self._barriers.setdefault(call.task, {})[call.key] = None

    def _leave_open(self, record: CallRecord) -> None:
        call = record.call
        self._open_by_task[call.task].pop(call.key, None)
        self._open_in_group[call.task, call.message_id] -= 1
        # A counter keeps zeros: without this, each message of the thread would leave an entry.
        if not self._open_in_group[call.task, call.message_id]:
            self._open_in_group.pop((call.task, call.message_id))
        self.resources.remove(call.key, call.footprint)
        if not call.footprint.known:
            self._barriers[call.task].pop(call.key, None)
        # A call in doubt is still compared with new ones: an equal call may be its second effect.
        if record.state is not CallState.IN_DOUBT:
            self._forget_fingerprint(call)
        if record.state not in NEVER_BEGUN:
            self._untold.put(call.task, call.key)
        # Without a placeholder the end is the call's first answer, and ``_unanswered`` holds it.
        if record.placeholder:
            self._news[call.key] = None
        for dependent in self._dependents.of(call.key):
            if (left := self._blockers.get(dependent)) is not None:
                self._blockers[dependent] = left - 1
                if left == 1:
                    self._ready[dependent] = None
        self._dependents.pop(call.key, None)

    def _forget_fingerprint(self, call: Call) -> None:
        self._by_fingerprint[call.task].drop(call.fingerprint, call.key)
        self._redirected.drop(call.task, call.key)

    _FOLDS: ClassVar[Mapping[type[ev.Event], Callable[["Ledger", Any], None]]] = {
        ev.RunStarted: _start_run,
        ev.TaskOpened: _open_task,
        ev.TaskEnded: _end_task,
        ev.CallProposed: _propose,
        ev.CallEdited: _edit,
        ev.CallObjected: _object,
        ev.CallAdmitted: _admit,
        ev.CallDeferred: _defer,
        ev.CallHeld: _hold,
        ev.CallRejected: _reject,
        ev.CallStarted: _start,
        ev.CallFound: _find,
        ev.CallDiagnosed: _diagnose,
        ev.CallRecovered: _recover,
        ev.CircuitMoved: _ignore,
        ev.CallRetired: _retire,
        ev.CallSquashed: _squash,
        ev.CallCancelled: _cancel,
        ev.CallsDelivered: _deliver,
        ev.TurnTaken: _take_turn,
        ev.CompletionJudged: _judge_completion,
        ev.RunParked: _ignore,
        ev.RunEnded: _end_run,
    }
    """Method that applies each type of event."""


def _count(counter: Counter[str], tool: str, change: int) -> None:
    counter[tool] += change
    if not counter[tool]:
        counter.pop(tool)  # in C; `del` of a Counter is a Python method
