"""The scoreboard: the state that guards may read, and its view for the model."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from asyncguard.config import GuardConfig
from asyncguard.core.calls import CallState, as_received, fingerprint
from asyncguard.core.dependencies import references
from asyncguard.core.evidence import EvidenceBook
from asyncguard.core.ledger import Ledger
from asyncguard.core.lifecycle import TaskState
from asyncguard.core.records import CallRecord
from asyncguard.core.stored_specs import cautious, gone
from asyncguard.core.tool_spec import Fallback, Mode, ToolSpec

Validator = Callable[[Mapping[str, Any]], tuple[str, ...]]
"""Function from arguments to their problems, each a sentence that starts with the path."""


class ForeignDoubt(NamedTuple):
    """A call in the history, by another agent or thread, that runs or is in doubt."""

    tool: str
    """Name of its tool."""
    arguments: Mapping[str, Any]
    """Arguments as its model gave them; the task argument may be among them."""
    heard: bool
    """True if the user has said something new since."""


@dataclass(kw_only=True)
class Scoreboard:
    """State of a thread at one moment; guards only read it, the runtime calls its methods."""

    config: GuardConfig
    """Switches and limits."""
    ledger: Ledger = field(default_factory=Ledger)
    """Calls and tasks."""
    specs: Mapping[str, ToolSpec] = field(default_factory=dict)
    """Declarations of all tools by name."""
    validators: Mapping[str, Validator] = field(default_factory=dict)
    """Checks of the arguments by tool name."""
    evidence: EvidenceBook = field(default_factory=EvidenceBook)
    """Texts that the tasks have seen."""
    tainted: bool = False
    """True if untrusted tool output is in the model's context."""
    starting: set[str] = field(default_factory=set)
    """Keys of external calls whose tools are starting the work; until then it is not outside."""
    outside: Collection[str] = ()
    """Keys of calls for whose work a delivery token was issued; a view of what the runtime has."""
    direct: frozenset[str] = frozenset()
    """Names of the tools with whose answers ``create_agent`` ends a run, whatever is open."""
    elsewhere: int = 0
    """Number of calls of other threads that run in this process."""
    at_once: float | None = None
    """Number of this thread's calls that may run at once, ``None`` for any."""
    kept: dict[str, ToolSpec] = field(default_factory=dict)
    """Declarations under which the thread's open calls were made, if this process has others."""
    all_met: bool = True
    """True if this process has met the agent's tools, so that an unknown one is gone."""
    foreign_doubts: Sequence[ForeignDoubt] = ()
    """Calls of others in the history whose outcome is unknown."""
    asking: set[str] = field(default_factory=set)
    """Keys of calls that asked a person although their tool does not declare it."""

    # -- records of the runtime --------------------------------------------------------------------

    def taint(self) -> None:
        """Record that untrusted output is in the model's context."""
        self.tainted = True

    def taint_by_end(self, record: CallRecord) -> None:
        """Record that the model is shown a call's end."""
        self.tainted = self.tainted or self.taints(record)

    def taint_by_output(self, record: CallRecord) -> None:
        """Record that the model has read a call's result, whatever the state of the call."""
        self.tainted = self.tainted or not self.trusts(record)

    def add_arguments(self, record: CallRecord) -> None:
        """Record that a call passed: later calls of its task may use its values.

        A person may have approved them, or they came from results.
        """
        for name, value in record.effective_arguments.items():
            self.evidence.add(record.call.task, f"{name} {value}")

    def begins_outside(self, key: str) -> None:
        """Record that the tool of an external call is starting the work."""
        self.starting.add(key)

    def still_pending(self, keys: Collection[str]) -> None:
        """Record which calls the executor has; the tools of others started the work or failed."""
        self.starting.intersection_update(keys)

    def ends_runs(self, tools: Iterable[str]) -> None:
        """Record with which tools' answers the adapter ends a run, whatever is open."""
        self.direct = frozenset(tools)

    def runs_elsewhere(self, calls: int) -> None:
        """Record the number of calls of other threads that run in this process."""
        self.elsewhere = calls

    def runs_at_once(self, calls: float | None) -> None:
        """Record how many of this thread's calls may run at once, ``None`` for any."""
        self.at_once = calls

    def asked_person(self, key: str) -> None:
        """Record that a call has asked a person, whatever its tool declares."""
        self.asking.add(key)

    def doubted_elsewhere(self, doubts: Sequence[ForeignDoubt]) -> None:
        """Record the calls in doubt that others have made, by the history as it is now."""
        self.foreign_doubts = doubts

    # -- queries of guards -------------------------------------------------------------------------

    @property
    def several_tasks(self) -> bool:
        """Return True if the model has to name the task of a call."""
        return self.ledger.task_count > 1

    def spec(self, tool: str) -> ToolSpec:
        """Return a tool's declaration, merged with the kept one; cautious if it is unknown."""
        # A call that was made under another declaration is repeated only if both allow it.
        met = self.specs.get(tool)
        kept = self.kept.get(tool) if self.kept else None
        if kept is None:
            return met or ToolSpec(name=tool)
        if met is None:
            return gone(kept) if self.all_met else kept
        return cautious(met, kept)

    def equal_calls(self, task: str, of_call: str) -> Iterator[CallRecord]:
        """Yield the calls of a task, open or in doubt, that do what a fingerprint says.

        What was sent for a call counts, too, with its references filled in or by recovery: the
        payment of a sibling is made twice if the model calls the sibling itself.
        """
        yield from self.ledger.same_fingerprint(task, of_call)
        for record in self.ledger.redirected(task):
            call = record.call
            # A sibling that may repeat it does no harm.
            harmless = record.sent_to != call.tool and self.spec(record.sent_to).effect.renewable
            if call.fingerprint != of_call and not harmless and self.sent(record) == of_call:
                yield record

    def sent(self, record: CallRecord) -> str:
        """Return the fingerprint of what was sent for a call, or will be."""
        if not record.redirected:
            return record.call.fingerprint
        tool = record.sent_to
        if record.answer_arguments is not None:
            return self.fingerprint(tool, record.answer_arguments)
        siblings = self.spec(record.call.tool).fallbacks
        sibling = next((each for each in siblings if each.tool == tool), Fallback(tool=tool))
        return self.sent_by(record, sibling)

    def sent_by(self, record: CallRecord, sibling: Fallback) -> str:
        """Return the fingerprint of a call as one of its siblings gets it."""
        return self.fingerprint(sibling.tool, sibling.translate(record.effective_arguments))

    def fingerprint(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Return the fingerprint of arguments as a tool receives them."""
        return fingerprint(tool, as_received(arguments, self.spec(tool).parameters))

    def equal_foreign_doubts(self, tool: str, of_call: str) -> Iterator[ForeignDoubt]:
        """Yield the calls in doubt of others that do what a fingerprint says."""
        spec = self.spec(tool)
        declared = (spec.parameters or {}).get("properties", {})
        for doubt in self.foreign_doubts:
            if doubt.tool == tool and not spec.effect.renewable:
                known = {n: v for n, v in doubt.arguments.items() if n in declared or not declared}
                if self.fingerprint(tool, known) == of_call:
                    yield doubt

    def declares(self, tool: str) -> bool:
        """Return True if the declaration of a tool is known."""
        return tool in self.specs or tool in self.kept

    def trusts(self, record: CallRecord) -> bool:
        """Return True if all output that a call's result may hold is trusted, operands included."""
        return self._trusts_sources(record) and self.trusts_operands(record)

    def trusts_operands(self, record: CallRecord) -> bool:
        """Return True if all calls whose results the arguments use, at any depth, are trusted."""
        seen, left = {record.key}, [record]
        while left:
            user = left.pop().call
            for item in references(user.arguments):
                source = self.ledger.labelled(user.task, item.label)
                # A call uses results of earlier ones only; a refused one may name any, even itself.
                if source is None or source.call.sequence >= user.sequence:
                    continue
                if not self._trusts_sources(source):
                    return False
                if source.key not in seen:
                    seen.add(source.key)
                    left.append(source)
        return True

    def _trusts_sources(self, record: CallRecord) -> bool:
        return all(self.spec(tool).trusted_output for tool in record.output_sources)

    def taints(self, record: CallRecord) -> bool:
        """Return True if the text shown to the model for a call may hold untrusted tool output."""
        if record.state is CallState.REJECTED:  # a refusal because of operands quotes them
            return record.guard == OPERANDS and not self.trusts_operands(record)
        return record.state in _HOLDING_OUTPUT and not self.trusts(record)

    def asks_person(self, record: CallRecord) -> bool:
        """Return True if the call raises interrupts of its own."""
        return record.key in self.asking or self.spec(record.call.tool).interrupts

    def runs_outside(self, record: CallRecord) -> bool:
        """Return True if only a delivery ends the call's attempt, once its tool has started it.

        So it is if an earlier version of the agent had declared the tool to be external.
        """
        return self.spec(record.tool).mode is Mode.EXTERNAL or record.key in self.outside

    def in_foreground(self, tool: str) -> bool:
        """Return True if the model waits for this tool; in shadow mode it waits for all."""
        spec, config = self.spec(tool), self.config
        awaited = config.shadow and config.waiting and spec.mode is not Mode.EXTERNAL
        return awaited or spec.foreground(self.several_tasks)


def task_view(board: Scoreboard) -> str:
    """Return the state of all tasks as text for the model: one line a task, with its open calls."""
    lines = ["State of your tasks (kept by the runtime):"]
    for task in board.ledger.tasks():
        # One more than is shown tells whether there are more; a task may have thousands.
        first = islice(board.ledger.open_of(task.task.id), _SHOWN + 1)
        open_calls = [f"{record.call.label} {_STATE_WORDS[record.state]}" for record in first]
        if task.state is not TaskState.OPEN:
            status = task.state.value
        elif open_calls:
            more = " and more" if len(open_calls) > _SHOWN else ""
            status = f"waiting for {', '.join(open_calls[:_SHOWN])}{more}"
        elif task.issued == 0:
            status = "not started"
            if board.config.completion:
                status += (
                    f' (if it needs no tool, say "{task.task.id}: {NEEDS_NO_TOOL}" at the end)'
                )
        else:
            status = (
                f"{task.issued} call{'s' if task.issued != 1 else ''} answered; "
                "continue, or leave it if it is finished"
            )
        lines.append(f"- {task.task.id}: {status}")
    return "\n".join(lines)


NEEDS_NO_TOOL = "no tool needed"
"""Words after a task's id with which the model says that the task needs no call."""
OPERANDS = "operands"
"""Name given as the guard if substituted operands do not fit the schema."""
_HOLDING_OUTPUT = frozenset(
    {CallState.DONE, CallState.FAILED, CallState.IN_DOUBT, CallState.RESOLVED, CallState.CANCELLED}
)
"""Ends that are shown in a tool's words; other middleware may have answered a cancelled call."""
_SHOWN = 8
"""Number of open calls of a task that the view names."""
_STATE_WORDS = {
    CallState.PROPOSED: "(proposed)",
    CallState.DEFERRED: "(held back until its turn; do not repeat it)",
    CallState.HELD: "(waiting for approval)",
    CallState.QUEUED: "(about to run)",
    CallState.PENDING: "(running)",
}
