"""Queries of the ledger: indexed views of all calls and tasks of a thread.

No view scans all calls. Apart from the size of its result, each costs the same with ten thousand
open calls as with a hundred. The views never decide: guards and the turn rule do.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from asyncguard.core.calls import OPEN_STATES, SUCCESS_STATES, CallState
from asyncguard.core.indexes import KeyMultimap, ResourceIndex
from asyncguard.core.lifecycle import TaskState
from asyncguard.core.records import CallRecord, TaskRecord
from asyncguard.errors import UnknownCallError

# Dictionaries to ``None`` are ordered sets: keys come out in the order in which they went in.
NEVER_BEGUN = frozenset({CallState.REJECTED, CallState.SQUASHED, CallState.CANCELLED})
"""Ends of calls that no executor was given."""
_UNUSABLE_STATES = frozenset(CallState) - OPEN_STATES - SUCCESS_STATES


class LedgerQueries:
    """Read access to :class:`asyncguard.core.ledger.Ledger`, with the indexes that it uses."""

    def __init__(self) -> None:
        """Make an empty ledger."""
        self.n = 0
        """Counter of the latest event."""
        self.turns = 0
        """Model messages of the current run."""
        self.run = ""
        """Id of the current run."""
        self.said = 0
        """Number of runs that began with a message or task of the user."""
        self.epoch = ""
        """Id of the process that runs the current run."""
        self.retries = 0
        """Attempts repeated in the current run."""
        self.ended: str | None = None
        """Reason of the end of the run, ``None`` while it runs."""
        self.last_message = ""
        """Id of the latest model message."""
        self.contracts: dict[str, Any] = {}
        """Live contracts that were read, by tool."""
        self.declared: dict[str, Mapping[str, Any]] = {}
        """Declarations as the thread keeps them, by tool."""
        self.resources = ResourceIndex()
        """Readers and writers of resources among the open calls."""
        # Records, in program order and in the order in which tasks were given.
        self._calls: dict[str, CallRecord] = {}
        self._tasks: dict[str, TaskRecord] = {}
        self._by_state: dict[CallState, dict[str, None]] = {state: {} for state in CallState}
        # Open calls by task, in program order; barriers are those with an unknown footprint.
        self._open_by_task: dict[str, dict[str, None]] = {}
        self._barriers: dict[str, dict[str, None]] = {}
        # Ended calls with a placeholder, to be delivered; and calls without any answer.
        self._news: dict[str, None] = {}
        self._unanswered: dict[str, None] = {}
        # By task: ended calls with a result, or a doubt, that was not told to the model.
        self._untold: KeyMultimap[str] = KeyMultimap()
        # By fingerprint and by label within a task, and by message id.
        self._by_fingerprint: defaultdict[str, KeyMultimap[str]] = defaultdict(KeyMultimap)
        # By task: calls, open or in doubt, for which something else was sent than proposed.
        self._redirected: KeyMultimap[str] = KeyMultimap()
        self._by_label: defaultdict[str, dict[str, str]] = defaultdict(dict)
        self._by_message: KeyMultimap[str] = KeyMultimap()
        self._open_in_group: Counter[tuple[str, str]] = Counter()  # by task and message id
        self._ordinals: Counter[tuple[str, str]] = Counter()  # latest ordinal by task and tool
        # Deferred calls: by the call that blocks them, by number of open blockers, those without.
        self._dependents: KeyMultimap[str] = KeyMultimap()
        self._blockers: dict[str, int] = {}
        self._ready: dict[str, None] = {}
        # Pending calls by the tool that was called, and by the tool of the running attempt.
        self._pending_by_tool: Counter[str] = Counter()
        self._running_by_tool: Counter[str] = Counter()

    def record(self, key: str) -> CallRecord:
        """Return the record of a call.

        Raises:
            UnknownCallError: The ledger has no such call.
        """
        found = self._calls.get(key)
        if found is None:
            raise UnknownCallError(
                f"The ledger has no call {key!r}; call_proposed has to come first.", key=key
            )
        return found

    def find(self, key: str) -> CallRecord | None:
        """Return the record of a call, or ``None``."""
        return self._calls.get(key)

    def task(self, task: str) -> TaskRecord | None:
        """Return the record of a task, or ``None``."""
        return self._tasks.get(task)

    def tasks(self) -> Iterable[TaskRecord]:
        """Return all tasks in the order given."""
        return self._tasks.values()

    @property
    def task_count(self) -> int:
        """Number of tasks ever given."""
        return len(self._tasks)

    def open_tasks(self) -> list[TaskRecord]:
        """Return the tasks that are neither closed nor stopped."""
        return [task for task in self._tasks.values() if task.state is TaskState.OPEN]

    def __len__(self) -> int:
        """Return the number of calls ever proposed."""
        return len(self._calls)

    def calls(self) -> Iterable[CallRecord]:
        """Return all calls in program order."""
        return self._calls.values()

    def in_state(self, *states: CallState) -> list[CallRecord]:
        """Return the calls in some states, state by state, in the order in which they entered."""
        return [self._calls[key] for state in states for key in self._by_state[state]]

    def count(self, *states: CallState) -> int:
        """Return the number of calls in the states."""
        return sum(len(self._by_state[state]) for state in states)

    def pending_tools(self) -> list[str]:
        """Return the names of the tools that have pending calls."""
        return list(self._pending_by_tool)

    def running_tools(self) -> list[str]:
        """Return the tools of the running attempts; recovery may replace those of the calls."""
        return list(self._running_by_tool)

    def any_open(self) -> bool:
        """Return True if any call is open."""
        return any(self._open_by_task.values())

    def open_count(self) -> int:
        """Return the number of open calls."""
        return sum(len(keys) for keys in self._open_by_task.values())

    def open_of(self, task: str) -> Iterator[CallRecord]:
        """Yield the open calls of a task in program order."""
        return (self._calls[key] for key in self._open_by_task.get(task, ()))

    def untold_of(self, task: str) -> Iterable[CallRecord]:
        """Return the calls of a task whose end was not told to the model, in program order.

        They are open or have ended; calls that never began are left out when they end.
        """
        if not (ended := self._untold.of(task)):
            return self.open_of(task)
        found = [*self.open_of(task), *(self._calls[key] for key in ended)]
        return sorted(found, key=lambda record: record.call.sequence)

    def untold(self, key: str) -> bool:
        """Return True if a call is open, or its result was not told to the model."""
        record = self.record(key)
        return record.open or key in self._untold.of(record.call.task)

    def has_open(self, task: str) -> bool:
        """Return True if a task has an open call."""
        return bool(self._open_by_task.get(task))

    def barriers_of(self, task: str) -> Iterator[CallRecord]:
        """Yield the open calls of a task with an unknown footprint, in program order."""
        return (self._calls[key] for key in self._barriers.get(task, ()))

    def same_fingerprint(self, task: str, fingerprint: str) -> Iterator[CallRecord]:
        """Yield the calls of a task with this fingerprint that are open or in doubt."""
        return (self._calls[key] for key in self._by_fingerprint[task].of(fingerprint))

    def redirected(self, task: str) -> Iterator[CallRecord]:
        """Yield the calls of a task, open or in doubt, for which something else was sent."""
        return (self._calls[key] for key in self._redirected.of(task))

    def labelled(self, task: str, label: str) -> CallRecord | None:
        """Return the call of a task with this label (``tool#ordinal``), or ``None``."""
        key = self._by_label[task].get(label)
        return None if key is None else self._calls[key]

    def of_tool(self, task: str, tool: str) -> Iterator[CallRecord]:
        """Yield the calls of a task that name this tool, in the order of their labels."""
        labels = (f"{tool}#{number}" for number in range(1, self._ordinals[task, tool] + 1))
        found = (self._calls[self._by_label[task][label]] for label in labels)
        # A call that a person gave to another tool keeps its former label.
        return (record for record in found if record.call.tool == tool)

    def of_message(self, message_id: str) -> list[CallRecord]:
        """Return the calls of one model message in order of position."""
        return [self._calls[key] for key in self._by_message.of(message_id)]

    def next_ordinal(self, task: str, tool: str) -> int:
        """Return the ordinal that the next call of the tool in the task gets."""
        return self._ordinals[task, tool] + 1

    def news(self) -> list[CallRecord]:
        """Return the ended calls with a placeholder whose end was not shown to the model."""
        return [self._calls[key] for key in self._news]

    def unanswered(self) -> list[CallRecord]:
        """Return the calls without an answer in the conversation, not even a placeholder."""
        return [self._calls[key] for key in self._unanswered]

    def group_open(self, record: CallRecord) -> bool:
        """Return True if the call's task has open calls from the same message."""
        return self._open_in_group[record.call.task, record.call.message_id] > 0

    def ready(self) -> list[CallRecord]:
        """Return the deferred calls whose blockers have all ended, in program order."""
        if not self._ready:
            return []
        return sorted(
            (self._calls[key] for key in self._ready), key=lambda record: record.call.sequence
        )

    def failed_blockers(self, record: CallRecord) -> tuple[str, ...]:
        """Return the blockers of a deferred call that ended without a usable result.

        A blocker that never began, or whose result is doubtful, counts for calls with effects only:
        a pure call did not need it to have happened, and if it needed a value, its operand cannot
        be resolved.
        """
        pure = record.call.footprint.writes_nothing
        return tuple(key for key in record.blocked_by if _unusable(self._calls[key], pure=pure))


def _unusable(blocker: CallRecord, *, pure: bool) -> bool:
    if pure:
        return blocker.state in _UNUSABLE_STATES - NEVER_BEGUN
    return blocker.doubtful or blocker.state in _UNUSABLE_STATES
