"""Section `ledger`: what one operation on the record of calls costs with many calls pending, and how big a call is."""

import gc
import time
import tracemalloc
from collections.abc import Sequence
from itertools import count

from asyncguard.core import events
from asyncguard.core.calls import Call, CallState, call_key, fingerprint
from asyncguard.core.footprints import Footprint
from asyncguard.core.ledger import Ledger
from settings import Settings
from table import Reference, Row, row

FEW, MANY = 100, 10_000
# The growth of an operation from FEW to MANY, and the size of a pending call in bytes, that are on target.
OPERATION_LIMIT = 3.0
SIZE_LIMIT = 2048

_TASKS = 10
_OPERATIONS = 500


class _Crowd:
    """A ledger with calls pending in several tasks, all different and each holding a resource of its own."""

    def __init__(self, pending: int) -> None:
        self.ledger = Ledger()
        self._ticks = count(1)
        for number in range(_TASKS):
            self._apply(events.TaskOpened, task=_task(number), goal="look up every key")
        for number in range(pending):
            self.issue(self.propose(number))

    def propose(self, number: int) -> Call:
        """Make the number-th call of the crowd and note that the model proposed it."""
        task, arguments = _task(number), {"key": f"key-{number}"}
        call = Call(
            key=call_key("performance", "thread", f"message-{number}", 0),
            sequence=number,
            task=task,
            tool="look_up",
            ordinal=self.ledger.next_ordinal(task, "look_up"),
            arguments=arguments,
            call_id=f"call-{number}",
            message_id=f"message-{number}",
            footprint=Footprint(reads=frozenset({f"key:{number}"}), writes=frozenset()),
            fingerprint=fingerprint("look_up", arguments),
        )
        self._apply(events.CallProposed, call=call)
        return call

    def issue(self, call: Call) -> None:
        """Let a call pass, start it and tell the model that it is pending."""
        self._apply(events.CallAdmitted, key=call.key)
        self._apply(events.CallStarted, key=call.key, attempt=1, tool=call.tool, epoch="epoch")
        self._apply(events.CallsDelivered, keys=(), placeholders=(call.key,))

    def retire(self, call: Call) -> None:
        """End a call and tell the model how."""
        self._apply(
            events.CallRetired, key=call.key, outcome=events.Outcome.DONE, content="value", size=5
        )
        self._apply(events.CallsDelivered, keys=(call.key,), placeholders=())

    def look(self, call: Call) -> None:
        """Ask what admission and the turn rule ask about a call."""
        ledger = self.ledger
        ledger.record(call.key)
        ledger.any_open()
        ledger.count(CallState.PENDING, CallState.QUEUED)
        ledger.labelled(call.task, call.label)
        ledger.next_ordinal(call.task, call.tool)
        list(ledger.same_fingerprint(call.task, call.fingerprint))
        list(ledger.resources.holders(f"key:{call.sequence}", writing=True))
        ledger.news()
        ledger.ready()

    def _apply(self, kind: type[events.Event], **values: object) -> None:
        tick = next(self._ticks)
        self.ledger.apply(kind(n=tick, at=float(tick), **values))


def measure(settings: Settings) -> list[Row]:
    """Compare a crowded ledger with a nearly empty one, then weigh a pending call."""
    settings.note(f"ledger: {MANY} pending against {FEW}, {settings.repeats} rounds")
    _microseconds(FEW)
    rounds = [(_microseconds(FEW), _microseconds(MANY)) for _ in range(settings.repeats)]
    rows = []
    for index, subject in enumerate(("the life of one call", "the questions of an admission")):
        few = [some[index] for some, _ in rounds]
        many = [crowded[index] for _, crowded in rounds]
        rows.append(row(("ledger", f"{FEW} pending"), subject, few, "us", None))
        reference = Reference(name=f"{FEW} pending", values=few, limit=OPERATION_LIMIT)
        rows.append(row(("ledger", f"{MANY} pending"), subject, many, "us", reference))
    rows.append(_size_row([_bytes_per_call() for _ in range(settings.repeats)]))
    return rows


def _microseconds(pending: int) -> tuple[float, float]:
    crowd = _Crowd(pending)
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()  # nothing waits here, and other processes shall not count
        for number in range(pending, pending + _OPERATIONS):
            call = crowd.propose(number)
            crowd.issue(call)
            crowd.retire(call)
        between = time.process_time()
        for _ in range(_OPERATIONS):
            crowd.look(call)
        end = time.process_time()
    finally:
        gc.enable()
    return (between - start) / _OPERATIONS * 1e6, (end - between) / _OPERATIONS * 1e6


def _bytes_per_call() -> float:
    tracemalloc.start()
    try:
        crowd = _Crowd(MANY)
        held, _ = tracemalloc.get_traced_memory()
        return held / len(crowd.ledger)
    finally:
        tracemalloc.stop()


def _size_row(sizes: Sequence[float]) -> Row:
    reference = Reference(name=f"{SIZE_LIMIT} bytes", values=[SIZE_LIMIT] * len(sizes), limit=1.0)
    return row(("ledger", f"{MANY} pending"), "memory of a pending call", sizes, "bytes", reference)


def _task(number: int) -> str:
    return f"task-{number % _TASKS}"
