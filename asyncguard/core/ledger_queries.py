"""What can be asked of the ledger: indexed views of all calls and tasks of a thread.

No view scans all calls. Each costs the same with ten thousand open calls as with a hundred, except that it returns what
it was asked for. The views never decide: guards and the turn rule say what follows.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from asyncguard.core.calls import OPEN_STATES, SUCCESS_STATES, CallState
from asyncguard.core.indexes import KeyMultimap, ResourceIndex
from asyncguard.core.lifecycle import TaskState
from asyncguard.core.records import CallRecord, TaskRecord
from asyncguard.errors import UnknownCallError

_NEVER_BEGUN = frozenset({CallState.REJECTED, CallState.SQUASHED, CallState.CANCELLED})
_UNUSABLE_STATES = frozenset(CallState) - OPEN_STATES - SUCCESS_STATES


class LedgerQueries:
    """The reading side of :class:`asyncguard.core.ledger.Ledger`, with the indexes that it reads."""

    def __init__(self) -> None:
        """Make an empty ledger."""
        self.n = 0
        self.turns = 0
        self.run = ""
        self.said = 0
        self.epoch = ""
        self.retries = 0
        self.ended: str | None = None
        self.last_message = ""
        self.contracts: dict[str, Any] = {}
        self.declared: dict[str, Mapping[str, Any]] = {}
        self.resources = ResourceIndex()
        self._calls: dict[str, CallRecord] = {}
        self._tasks: dict[str, TaskRecord] = {}
        self._by_state: dict[CallState, dict[str, None]] = {state: {} for state in CallState}
        self._open_by_task: dict[str, dict[str, None]] = {}
        self._barriers: dict[str, dict[str, None]] = {}
        self._news: dict[str, None] = {}
        self._unanswered: dict[str, None] = {}
        self._by_fingerprint: KeyMultimap[tuple[str, str]] = KeyMultimap()
        self._by_label: dict[tuple[str, str], str] = {}
        self._by_message: KeyMultimap[str] = KeyMultimap()
        self._open_in_group: Counter[tuple[str, str]] = Counter()
        self._ordinals: Counter[tuple[str, str]] = Counter()
        self._dependents: KeyMultimap[str] = KeyMultimap()
        self._blockers: dict[str, int] = {}
        self._ready: dict[str, None] = {}
        self._pending_by_tool: Counter[str] = Counter()
        self._running_by_tool: Counter[str] = Counter()

    def record(self, key: str) -> CallRecord:
        """The record of a call.

        Raises:
            UnknownCallError: No such call.
        """
        found = self._calls.get(key)
        if found is None:
            raise UnknownCallError(f"The ledger has no call {key!r}.", key=key)
        return found

    def find(self, key: str) -> CallRecord | None:
        """The record of a call, or ``None``."""
        return self._calls.get(key)

    def task(self, task: str) -> TaskRecord | None:
        """The record of a task, or ``None``."""
        return self._tasks.get(task)

    def tasks(self) -> Iterable[TaskRecord]:
        """All tasks in the order given."""
        return self._tasks.values()

    @property
    def task_count(self) -> int:
        """Number of tasks ever given."""
        return len(self._tasks)

    def open_tasks(self) -> list[TaskRecord]:
        """Tasks that are not closed or stopped."""
        return [task for task in self._tasks.values() if task.state is TaskState.OPEN]

    def __len__(self) -> int:
        """Number of calls ever proposed."""
        return len(self._calls)

    def calls(self) -> Iterable[CallRecord]:
        """All calls in program order."""
        return self._calls.values()

    def in_state(self, state: CallState) -> list[CallRecord]:
        """Calls in one state, in the order in which they entered it."""
        return [self._calls[key] for key in self._by_state[state]]

    def count(self, *states: CallState) -> int:
        """Number of calls in the states."""
        return sum(len(self._by_state[state]) for state in states)

    def pending_tools(self) -> list[str]:
        """Names of the tools that have pending calls."""
        return list(self._pending_by_tool)

    def running_tools(self) -> list[str]:
        """Names of the tools of the running attempts; recovery may ask others than the calls named."""
        return list(self._running_by_tool)

    def any_open(self) -> bool:
        """Whether any call is open."""
        return any(self._open_by_task.values())

    def open_count(self) -> int:
        """Number of open calls."""
        return sum(len(keys) for keys in self._open_by_task.values())

    def open_of(self, task: str) -> Iterator[CallRecord]:
        """Open calls of a task in program order."""
        return (self._calls[key] for key in self._open_by_task.get(task, ()))

    def has_open(self, task: str) -> bool:
        """Whether a task has an open call."""
        return bool(self._open_by_task.get(task))

    def barriers_of(self, task: str) -> Iterator[CallRecord]:
        """Open calls of a task whose footprint is not fully known, in program order."""
        return (self._calls[key] for key in self._barriers.get(task, ()))

    def same_fingerprint(self, task: str, fingerprint: str) -> Iterator[CallRecord]:
        """Calls of a task that do the same and are open or in doubt."""
        return (self._calls[key] for key in self._by_fingerprint.of((task, fingerprint)))

    def labelled(self, task: str, label: str) -> CallRecord | None:
        """The call of a task with this label (``tool#ordinal``), or ``None``."""
        key = self._by_label.get((task, label))
        return None if key is None else self._calls[key]

    def of_tool(self, task: str, tool: str) -> Iterator[CallRecord]:
        """Calls of a task that named this tool, in program order."""
        labels = (f"{tool}#{number}" for number in range(1, self._ordinals[task, tool] + 1))
        return (self._calls[self._by_label[task, label]] for label in labels)

    def of_message(self, message_id: str) -> list[CallRecord]:
        """Calls of one model message in order of position."""
        return [self._calls[key] for key in self._by_message.of(message_id)]

    def next_ordinal(self, task: str, tool: str) -> int:
        """The ordinal that the next call of the tool in the task gets."""
        return self._ordinals[task, tool] + 1

    def news(self) -> list[CallRecord]:
        """Calls that ended, were announced by a placeholder and whose end the model does not know."""
        return [self._calls[key] for key in self._news]

    def unanswered(self) -> list[CallRecord]:
        """Calls that have no answer in the conversation, not even a placeholder."""
        return [self._calls[key] for key in self._unanswered]

    def group_open(self, record: CallRecord) -> bool:
        """Whether its task has open calls from the same message."""
        return self._open_in_group[record.call.task, record.call.message_id] > 0

    def ready(self) -> list[CallRecord]:
        """Deferred calls that wait for nothing any more, in program order."""
        if not self._ready:
            return []
        return sorted(
            (self._calls[key] for key in self._ready), key=lambda record: record.call.sequence
        )

    def failed_blockers(self, record: CallRecord) -> tuple[str, ...]:
        """Keys among those a deferred call waited for that ended without a usable result.

        One that never began takes only calls with effects with it: a pure call did not need it to have happened, and
        where it needed a value, the operand says so.
        """
        pure = record.call.footprint.writes_nothing
        return tuple(
            key
            for key in record.blocked_by
            if (state := self._calls[key].state) in _UNUSABLE_STATES
            and not (pure and state in _NEVER_BEGUN)
        )
