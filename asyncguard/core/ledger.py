"""The pending-call ledger: every call of a thread, folded from events, with indexed views.

Rules of the fold:

- An event is applied whole or not at all: the lifecycle table is asked first, then the indexes move.
- Folding an event costs the same with ten thousand open calls as with a hundred.
- The ledger never decides. What can be asked of it is in :mod:`asyncguard.core.views`.
"""

from asyncguard.core import events as ev
from asyncguard.core.calls import Call, CallState
from asyncguard.core.lifecycle import Move, advance, advance_task
from asyncguard.core.records import CallRecord, TaskRecord
from asyncguard.core.tasks import Task, TaskState
from asyncguard.core.views import LedgerViews
from asyncguard.errors import UnknownCallError

_OUTCOME_MOVES = {
    ev.Outcome.DONE: Move.SUCCEED,
    ev.Outcome.FAILED: Move.FAIL,
    ev.Outcome.IN_DOUBT: Move.DOUBT,
}


def _tasks_in(event: ev.Event) -> tuple[str, ...]:
    match event:
        case ev.TaskEnded():
            return (event.task,)
        case ev.TurnTaken():
            return event.passed_over
        case ev.CompletionJudged():
            return event.tasks
        case _:
            return ()


class Ledger(LedgerViews):
    """Calls and tasks of one thread; mutated by :meth:`apply` only."""

    def apply(self, event: ev.Event) -> None:
        """Fold one event in.

        Raises:
            IllegalTransitionError: The lifecycle does not allow it; nothing changed.
            UnknownCallError: It names an unknown call or task; nothing changed.
        """
        match event:
            case ev.CallProposed():
                self._propose(event.call)
            case ev.CallEvent():
                self._apply_to_call(event)
            case ev.CallsDelivered():
                self._deliver(event)
            case _:
                for name in _tasks_in(event):
                    if name not in self._tasks:
                        raise UnknownCallError(f"The ledger has no task {name!r}.", task=name)
                self._apply_to_run(event)
        self.n = event.n

    def _apply_to_run(self, event: ev.Event) -> None:
        match event:
            case ev.RunStarted():
                self.run, self.epoch = event.run, event.epoch
                self.turns, self.retries, self.ended = 0, 0, None
                for record in self._tasks.values():
                    record.rejections, record.nudged, record.passed_over = 0, False, False
            case ev.TaskOpened():
                self._open_task(event)
            case ev.TaskEnded():
                task = self._tasks[event.task]
                task.state = advance_task(task.state, event.state)
            case ev.TurnTaken():
                self.turns, self.last_message = event.turn, event.message_id
                for name in event.passed_over:
                    self._tasks[name].passed_over = True
            case ev.CompletionJudged():
                for name in event.tasks if event.enforced else ():
                    self._tasks[name].nudged = True
            case ev.RunEnded():
                self.ended = event.reason
            case _:
                pass  # RunParked is told to the log only

    def _open_task(self, event: ev.TaskOpened) -> None:
        known = self._tasks.get(event.task)
        if known is None:
            self._tasks[event.task] = TaskRecord(task=Task(id=event.task, goal=event.goal))
            return
        if known.state is not TaskState.OPEN:
            known.state = advance_task(known.state, TaskState.OPEN)
        known.task = Task(id=event.task, goal=event.goal)
        known.passed_over = False

    def _propose(self, call: Call) -> None:
        if call.key in self._calls:
            raise UnknownCallError(f"Call {call.key!r} was proposed before.", key=call.key)
        record = CallRecord(call=call, tool=call.tool)
        self._calls[call.key] = record
        self._by_state[CallState.PROPOSED][call.key] = None
        self._ordinals[call.task, call.tool] += 1
        self._by_label[call.task, call.label] = call.key
        self._by_message.setdefault(call.message_id, []).append(call.key)
        self._unanswered[call.key] = None
        self._enter_open(record)
        if (task := self._tasks.get(call.task)) is not None:
            task.last_call = call.key

    def _apply_to_call(self, event: ev.CallEvent) -> None:
        record = self.record(event.key)
        if isinstance(event, ev.CallDeferred | ev.CallRejected | ev.CallSquashed | ev.CallObjected):
            for key in event.on:
                self.record(key)
        match event:
            case ev.CallAdmitted():
                self._move(record, Move.ADMIT)
                record.approved = record.approved or event.approved
                record.arguments = event.arguments if event.arguments is not None else record.arguments
            case ev.CallDeferred():
                self._move(record, Move.DEFER)
                record.guard, record.reason, record.on = event.guard, event.reason, event.on
                self._wait_for(record)
            case ev.CallHeld():
                self._move(record, Move.HOLD)
                record.guard, record.reason = event.guard, event.reason
                record.arguments = event.arguments if event.arguments is not None else record.arguments
            case ev.CallRejected():
                self._move(record, Move.REJECT)
                record.guard, record.reason, record.on = event.guard, event.reason, event.on
                if (task := self._tasks.get(record.call.task)) is not None:
                    task.rejections += 1
            case ev.CallSquashed():
                self._move(record, Move.SQUASH)
                record.reason, record.on = event.reason, event.on
            case ev.CallCancelled():
                self._move(record, Move.CANCEL)
                record.reason = event.reason
            case _:
                self._apply_attempt(record, event)

    def _apply_attempt(self, record: CallRecord, event: ev.CallEvent) -> None:
        match event:
            case ev.CallObjected():
                pass  # told to the log only
            case ev.CallStarted():
                self._move(record, Move.START)
                record.attempts, record.tool, record.epoch = event.attempt, event.tool, event.epoch
                record.delay = 0.0
                if record.started_at is None:
                    record.started_at = event.at
                    if (task := self._tasks.get(record.call.task)) is not None:
                        task.issued += 1
            case ev.CallRecovered():
                self._move(record, Move.RECOVER)
                record.delay, record.error = event.delay, event.error
                record.tool = event.tool or record.tool
                # An interrupt's tool runs anew by design, and a sibling is another tool: neither is a retry.
                self.retries += event.action is ev.RecoveryAction.RETRY and event.error != "interrupt"
            case ev.CallRetired():
                self._move(record, _OUTCOME_MOVES[event.outcome])
                record.content, record.error, record.retired_at = event.content, event.error, event.at
            case _:
                raise UnknownCallError(f"The ledger does not know the event {event.kind!r}.")

    def _deliver(self, event: ev.CallsDelivered) -> None:
        for key in (*event.keys, *event.placeholders):
            self.record(key)
        for key in event.placeholders:
            self._calls[key].placeholder = True
            self._unanswered.pop(key, None)
            if not self._calls[key].open:
                self._news[key] = None
        for key in event.keys:
            record = self._calls[key]
            record.delivered = True
            self._unanswered.pop(key, None)
            self._news.pop(key, None)
            if (task := self._tasks.get(record.call.task)) is not None:
                task.passed_over = False

    # -- indexes ---------------------------------------------------------------------------------------------------

    def _move(self, record: CallRecord, move: Move) -> None:
        before, after = record.state, advance(record.state, move)
        key = record.call.key
        del self._by_state[before][key]
        self._by_state[after][key] = None
        was_open = record.open
        record.state = after
        if CallState.PENDING in (before, after):
            self._count_pending(record.call.tool, 1 if after is CallState.PENDING else -1)
        if before is CallState.DEFERRED:
            self._ready.pop(key, None)
            self._blockers.pop(key, None)
            for blocker in record.on:  # deferred again, the call must not count the ends of what it waited for before
                self._dependents.get(blocker, {}).pop(key, None)
        if was_open and not record.open:
            self._leave_open(record)
        elif before is CallState.IN_DOUBT:
            self._forget_fingerprint(record.call)
            self._news[key] = None

    def _count_pending(self, tool: str, change: int) -> None:
        self._pending_by_tool[tool] += change
        if not self._pending_by_tool[tool]:
            del self._pending_by_tool[tool]

    def _enter_open(self, record: CallRecord) -> None:
        call = record.call
        self._open_by_task.setdefault(call.task, {})[call.key] = None
        self._open_in_group[call.task, call.message_id] += 1
        self._by_fingerprint.setdefault((call.task, call.fingerprint), {})[call.key] = None
        self.resources.add(call.key, call.footprint)
        if not call.footprint.known:
            self._barriers.setdefault(call.task, {})[call.key] = None

    def _leave_open(self, record: CallRecord) -> None:
        call = record.call
        self._open_by_task[call.task].pop(call.key, None)
        self._open_in_group[call.task, call.message_id] -= 1
        self.resources.remove(call.key, call.footprint)
        if not call.footprint.known:
            self._barriers[call.task].pop(call.key, None)
        if record.state is not CallState.IN_DOUBT:
            self._forget_fingerprint(call)
        if record.placeholder:
            self._news[call.key] = None
        for dependent in self._dependents.pop(call.key, ()):
            self._unblock(dependent)

    def _forget_fingerprint(self, call: Call) -> None:
        same = self._by_fingerprint[call.task, call.fingerprint]
        same.pop(call.key, None)
        if not same:
            del self._by_fingerprint[call.task, call.fingerprint]

    def _wait_for(self, record: CallRecord) -> None:
        blockers = [key for key in dict.fromkeys(record.on) if self._calls[key].open]
        self._blockers[record.key] = len(blockers)
        for key in blockers:
            self._dependents.setdefault(key, {})[record.key] = None
        if not blockers:
            self._ready[record.key] = None

    def _unblock(self, key: str) -> None:
        left = self._blockers.get(key)
        if left is None:
            return
        self._blockers[key] = left - 1
        if left == 1:
            self._ready[key] = None
