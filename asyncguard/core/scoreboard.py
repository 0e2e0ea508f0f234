"""The scoreboard: all that a guard may look at, and the view of it that the model is shown."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from asyncguard.config import GuardConfig
from asyncguard.core.calls import CallState
from asyncguard.core.dependencies import references
from asyncguard.core.evidence import EvidenceBook
from asyncguard.core.ledger import Ledger
from asyncguard.core.lifecycle import TaskState
from asyncguard.core.records import CallRecord, TaskRecord
from asyncguard.core.stored_specs import cautious, gone
from asyncguard.core.tool_spec import ToolSpec

Validator = Callable[[Mapping[str, Any]], tuple[str, ...]]
"""Arguments to the problems found in them, each a sentence that starts with the path; empty if they fit."""


@dataclass(kw_only=True)
class Scoreboard:
    """What is known at one moment; guards read it and change nothing, the runtime changes it by its methods."""

    config: GuardConfig
    """Switches and limits."""
    ledger: Ledger = field(default_factory=Ledger)
    """Calls and tasks."""
    specs: Mapping[str, ToolSpec] = field(default_factory=dict)
    """Declarations of all tools by name."""
    validators: Mapping[str, Validator] = field(default_factory=dict)
    """Checks of the arguments by tool name."""
    evidence: EvidenceBook = field(default_factory=EvidenceBook)
    """What the tasks have been told."""
    tainted: bool = False
    """Whether untrusted tool output is in the model's context."""
    starting: set[str] = field(default_factory=set)
    """Keys of external calls whose tools are starting the work: until they have, the work is nobody's but ours."""
    elsewhere: int = 0
    """Calls of other threads that run in this process."""
    kept: dict[str, ToolSpec] = field(default_factory=dict)
    """Declarations under which the thread's open calls were made, where this process does not know them as such."""
    all_met: bool = True
    """Whether this process has met the agent's tools, so that one it does not know is gone."""
    asking: set[str] = field(default_factory=set)
    """Keys of calls that turned out to ask a person although their tool does not say so."""

    # -- what the runtime enters -----------------------------------------------------------------------------------

    def taint(self) -> None:
        """Enter that untrusted output is in the model's context."""
        self.tainted = True

    def taint_by_end(self, record: CallRecord) -> None:
        """Enter that the model is told of a call's end."""
        self.tainted = self.tainted or self.taints(record)

    def taint_by_output(self, record: CallRecord) -> None:
        """Enter that the model has read a call's result, whatever became of the call."""
        self.tainted = self.tainted or not self.trusts(record)

    def begins_outside(self, key: str) -> None:
        """Enter that the tool of an external call is starting the work."""
        self.starting.add(key)

    def still_pending(self, keys: Collection[str]) -> None:
        """Enter which calls the executor has; the tools of all others have started their work, or failed to."""
        self.starting.intersection_update(keys)

    def runs_elsewhere(self, calls: int) -> None:
        """Enter how many calls of other threads run in this process."""
        self.elsewhere = calls

    def asked_person(self, key: str) -> None:
        """Enter that a call has asked a person, whatever its tool declares."""
        self.asking.add(key)

    # -- what guards ask -------------------------------------------------------------------------------------------

    @property
    def several_tasks(self) -> bool:
        """Whether the model has to say which task a call is for."""
        return self.ledger.task_count > 1

    def spec(self, tool: str) -> ToolSpec:
        """Return a tool's declaration, the cautious default for an unknown one; see ``core/stored_specs.py``."""
        met = self.specs.get(tool)
        kept = self.kept.get(tool) if self.kept else None
        if kept is None:
            return met or ToolSpec(name=tool)
        if met is None:
            return gone(kept) if self.all_met else kept
        return cautious(met, kept)

    def declares(self, tool: str) -> bool:
        """Whether it is known what a tool declares."""
        return tool in self.specs or tool in self.kept

    def trusts(self, record: CallRecord) -> bool:
        """Whether all of whom a call's result may hold output are trusted; results that it took values from count."""
        return self._heard_trusted(record) and self.trusts_operands(record)

    def trusts_operands(self, record: CallRecord) -> bool:
        """Whether the calls from whose results the arguments take values are trusted, and those that they took from."""
        seen, left = {record.key}, [record]
        while left:
            for source in self._sources(left.pop()):
                if not self._heard_trusted(source):
                    return False
                if source.key not in seen:
                    seen.add(source.key)
                    left.append(source)
        return True

    def _heard_trusted(self, record: CallRecord) -> bool:
        return all(self.spec(tool).trusted_output for tool in record.output_sources)

    def _sources(self, record: CallRecord) -> list[CallRecord]:
        named = (
            self.ledger.labelled(record.call.task, item.label)
            for item in references(record.call.arguments)
        )
        # A call takes values from earlier ones only; a refused one may name anything, also itself.
        return [each for each in named if each and each.call.sequence < record.call.sequence]

    def taints(self, record: CallRecord) -> bool:
        """Whether what the model is told of a call's end may hold output of somebody who is not trusted."""
        if record.state is CallState.REJECTED:  # a refusal for the sake of its operands quotes them
            return record.guard == OPERANDS and not self.trusts_operands(record)
        return record.state in _HOLDING_OUTPUT and not self.trusts(record)

    def asks_person(self, record: CallRecord) -> bool:
        """Whether the call raises interrupts of its own."""
        return record.key in self.asking or self.spec(record.call.tool).interrupts

    def in_foreground(self, tool: str) -> bool:
        """Whether the model waits for this tool."""
        return self.spec(tool).foreground(self.several_tasks)


def task_view(board: Scoreboard) -> str:
    """The state of all tasks as text for the model: one line a task, open calls named by their labels."""
    lines = [_task_line(board, task) for task in board.ledger.tasks()]
    return "State of your tasks (kept by the runtime):\n" + "\n".join(lines)


def _task_line(board: Scoreboard, task: TaskRecord) -> str:
    first = islice(board.ledger.open_of(task.task.id), _SHOWN + 1)
    open_calls = [f"{record.call.label} {_STATE_WORDS[record.state]}" for record in first]
    if task.state is not TaskState.OPEN:
        status = task.state.value
    elif open_calls:
        status = (
            "waiting for "
            + ", ".join(open_calls[:_SHOWN])
            + (" and more" if len(open_calls) > _SHOWN else "")
        )
    elif task.issued == 0:
        status = "not started"
    else:
        status = (
            f"{task.issued} call{'s' if task.issued != 1 else ''} answered; "
            "continue, or leave it if it is finished"
        )
    return f"- {task.task.id}: {status}"


OPERANDS = "operands"
"""Named as the guard where values that were filled in do not fit."""
_HOLDING_OUTPUT = frozenset(
    {CallState.DONE, CallState.FAILED, CallState.IN_DOUBT, CallState.RESOLVED, CallState.CANCELLED}
)
"""Ends of which the model is told in the words of a tool; a cancelled call may have been answered by somebody else."""
_SHOWN = 8
"""Open calls of a task that are named in the view."""
_STATE_WORDS = {
    CallState.PROPOSED: "(proposed)",
    CallState.DEFERRED: "(held back until its turn; do not repeat it)",
    CallState.HELD: "(waiting for approval)",
    CallState.QUEUED: "(running)",
    CallState.PENDING: "(running)",
}
