"""The message clock: when each call is issued, and when its result arrives.

The clock counts ticks. In the plain loop every assistant message is one tick, so a call issued in
tick t with delay d is delivered after message t + d, as in the paper. A runtime may also let a tick
pass without a message (a wait) and may issue calls by itself; rounds (assistant messages) and ticks
are therefore counted apart. The environment knows nothing of messages: its driver renders what it
returns.

One turn of a driver: `begin_round` or `advance`, then `issue` any number of calls, then `due`,
again after every further `issue` in the same tick, because a delay may be 0.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from asyncguard_benchmark.errors import UnknownSubTaskError
from asyncguard_benchmark.harness.fault_pipeline import Outcome, Pipeline
from asyncguard_benchmark.harness.faults import Firing
from asyncguard_benchmark.harness.foreign import foreign_tools
from asyncguard_benchmark.harness.saved_form import Count, Truth, saved_form
from asyncguard_benchmark.harness.scenario import Composition, Regime
from asyncguard_benchmark.services.service import copy_json

_FIXED_DELAY = {Regime.SYNC: 0, Regime.FIXED1: 1, Regime.FIXED2: 2}
_LEAST_RANDOM_DELAY = {Regime.RANDOM01: 0, Regime.RANDOM12: 1}


def delay(regime: Regime, seed: int, task_id: str, count: int) -> int:
    """Return ticks between the `count`-th call of a sub-task, from 1, and its result.

    Random delays depend on nothing else, so they are the same however an agent orders its sub-tasks.
    """
    if regime in _FIXED_DELAY:
        return _FIXED_DELAY[regime]
    digest = hashlib.sha256(f"{seed}\n{task_id}\n{count}".encode()).digest()
    return _LEAST_RANDOM_DELAY[regime] + digest[0] % 2


@saved_form("note")
@dataclass(frozen=True, kw_only=True)
class CallRecord:
    """One call that reached an executor."""

    number: Count
    """Order of issue over all sub-tasks, from 0."""
    task_id: str
    tool: str
    arguments: Mapping[str, Any]
    """As issued: operands are already substituted."""
    response: str
    """The result, serialised when the call was issued."""
    issued: Count
    """Tick of issue; the effect happened in it."""
    due: Count
    """Tick from which the result may be delivered."""
    delivered: Count | None = None
    """Tick of delivery; None if the run ended before."""
    pending_before: tuple[Count, ...] = ()
    """Numbers of the calls of the same sub-task whose results were undelivered at issue."""
    note: str = ""
    """Note that comes beside the response: a hint, if a fault gives one."""

    @property
    def premature(self) -> bool:
        """Return True if the sub-task had a pending call when this one was issued."""
        return bool(self.pending_before)


@saved_form()
@dataclass(frozen=True, kw_only=True)
class Counters:
    """Counts of an episode while it runs."""

    rounds: Count = 0
    """Assistant messages, the final one included."""
    ticks: Count = 0
    """Ticks of the clock: rounds, and waits of a runtime."""
    idle_turns: Count = 0
    """Assistant messages that neither called a tool nor ended the run."""
    format_errors: Count = 0
    """Actions that could not be read and were answered by an error at once."""
    truncated: Truth = False
    """True if the cap on assistant messages ended the run."""


class Toolbox(Protocol):
    """Tools of one task, which can be called."""

    def call(self, number: int, tool: str, arguments: Mapping[str, Any]) -> Outcome:
        """Make one call; never raise for what an agent wrote."""
        ...


class MessageClock:
    """The tools of some tasks under the message clock."""

    def __init__(self, tools: Mapping[str, Toolbox], regime: Regime, seed: int) -> None:
        """Start at tick 0.

        Args:
            tools: Id of a task -> its tools.
            regime: How late results come.
            seed: Seed of random delays.
        """
        self.regime = regime
        self._seed = seed
        self._tools = tools
        self._issued: Counter[str] = Counter()
        self._records: list[CallRecord] = []
        self._raised: dict[int, Exception] = {}
        self._firings: list[Firing] = []
        # Numbers of undelivered calls; a dictionary keeps the order of issue and removes in constant time.
        self._pending: dict[int, None] = {}
        self._counters = Counters()

    @property
    def tick(self) -> int:
        """The present tick; 0 before the first message."""
        return self._counters.ticks

    @property
    def counters(self) -> Counters:
        """Return the counts so far."""
        return self._counters

    @property
    def trajectory(self) -> tuple[CallRecord, ...]:
        """All calls in the order of issue."""
        return tuple(self._records)

    @property
    def firings(self) -> tuple[Firing, ...]:
        """Every fault that struck, in the order of the calls; for scorers only."""
        return tuple(self._firings)

    def raised(self, number: int) -> Exception | None:
        """Return the exception of a call that raised one; its response says the same in words."""
        return self._raised.get(number)

    def pending(self, task_id: str | None = None) -> tuple[CallRecord, ...]:
        """Return undelivered calls in the order of issue, of one sub-task or of all."""
        records = (self._records[number] for number in self._pending)
        return tuple(record for record in records if task_id is None or record.task_id == task_id)

    def advance(self) -> int:
        """Let one tick pass without an assistant message, and return the new tick."""
        self._counters = replace(self._counters, ticks=self._counters.ticks + 1)
        return self.tick

    def begin_round(self) -> int:
        """Count an assistant message and its tick; return the new tick."""
        self._counters = replace(self._counters, rounds=self._counters.rounds + 1)
        return self.advance()

    def issue(self, task_id: str, tool: str, arguments: Mapping[str, Any]) -> CallRecord:
        """Make a call: its effect happens and its result is fixed now, its delivery comes later.

        Tool and arguments may be wrong in any way: that is a result like any other.

        Raises:
            UnknownSubTaskError: there is no such task.
        """
        tools = self._tools.get(task_id)
        if tools is None:
            raise UnknownSubTaskError(f"the composition has no sub-task {task_id!r}")
        self._issued[task_id] += 1
        wait = delay(self.regime, self._seed, task_id, self._issued[task_id])
        number = len(self._records)
        outcome = tools.call(number, tool, arguments)
        record = CallRecord(
            number=number,
            task_id=task_id,
            tool=tool,
            arguments=copy_json(dict(arguments)),
            response=outcome.text,
            issued=self.tick,
            due=self.tick + wait,
            pending_before=tuple(earlier.number for earlier in self.pending(task_id)),
            note=outcome.note,
        )
        self._firings += outcome.firings
        if outcome.raised is not None:
            self._raised[number] = outcome.raised
        self._records.append(record)
        self._pending[record.number] = None
        return record

    def due(self) -> tuple[CallRecord, ...]:
        """Deliver what is due: by due tick, then by order of issue. Each call is returned once, ever."""
        ready = sorted(
            (r for r in self.pending() if r.due <= self.tick),
            key=lambda record: (record.due, record.number),
        )
        delivered = tuple(replace(record, delivered=self.tick) for record in ready)
        for record in delivered:
            self._records[record.number] = record
            del self._pending[record.number]
        return delivered

    def note_idle_turn(self) -> None:
        """Count an assistant message that did nothing."""
        self._counters = replace(self._counters, idle_turns=self._counters.idle_turns + 1)

    def note_format_error(self) -> None:
        """Count an action that could not be read."""
        self._counters = replace(self._counters, format_errors=self._counters.format_errors + 1)

    def note_truncated(self) -> None:
        """Note that the cap on assistant messages ended the run."""
        self._counters = replace(self._counters, truncated=True)


class Environment(MessageClock):
    """The world of one composition: the tools of each sub-task and their faults, under the message clock."""

    def __init__(self, composition: Composition, regime: Regime, seed: int) -> None:
        foreign = foreign_tools()
        tools = {
            task.id: Pipeline(task, composition.faults, foreign.get(task.id))
            for task in composition.sub_tasks
        }
        super().__init__(tools, regime, seed)
        self.composition = composition


def most_rounds(composition: Composition) -> int:
    """Return the cap on assistant messages: max(30, 4 * gold calls + 4 * sub-tasks)."""
    return max(30, 4 * composition.gold_calls + 4 * len(composition.sub_tasks))
