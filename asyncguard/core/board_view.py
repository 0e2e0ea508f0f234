"""Read-only view of a thread for guards of the user's own.

All that the view returns is a copy: a guard that changes it changes nothing of the thread.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from asyncguard.core.admission import Proposal
from asyncguard.core.calls import OPEN_STATES, SUCCESS_STATES, Call, CallState
from asyncguard.core.records import CallRecord
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.core.tool_spec import ToolSpec


@dataclass(frozen=True, kw_only=True, slots=True)
class CallView:
    """One call of the thread at the moment of a judgement."""

    key: str
    """Key of the call, which ``Defer.on`` and ``Reject.on`` take."""
    sequence: int
    """Program order: calls of earlier messages, then earlier positions, come first."""
    task: str
    """Id of the task it belongs to."""
    tool: str
    """Tool name as the model gave it."""
    label: str
    """Name of the call for people and models: ``tool#ordinal``."""
    message_id: str
    """Id of the model message that made the call."""
    arguments: Mapping[str, Any]
    """Arguments as they are issued, operands filled in."""
    state: CallState
    """State of the call."""
    error: str | None
    """Class of the failure."""
    approved: bool
    """True if a person approved it."""
    delivered: bool
    """True if the model was shown its end."""

    @property
    def open(self) -> bool:
        """Return True if the call has not ended."""
        return self.state in OPEN_STATES

    @property
    def succeeded(self) -> bool:
        """Return True if the result may be used."""
        return self.state in SUCCESS_STATES


@dataclass(frozen=True, kw_only=True, slots=True)
class BoardView:
    """State of a thread, as a guard of the user's own may read it."""

    _board: Scoreboard
    """The state itself, which only the runtime may change."""

    @property
    def tainted(self) -> bool:
        """Return True if untrusted tool output is in the model's context."""
        return self._board.tainted

    def spec(self, tool: str) -> ToolSpec:
        """Return a tool's declaration; the most cautious one if it is unknown."""
        return self._board.spec(tool)

    def goals(self) -> dict[str, str]:
        """Return the goals of the open tasks by id, in the order given."""
        return {task.task.id: task.task.goal for task in self._board.ledger.open_tasks()}

    def call(self, key: str) -> CallView | None:
        """Return a call, or ``None``."""
        record = self._board.ledger.find(key)
        return None if record is None else _view(record)

    def calls(self) -> Iterator[CallView]:
        """Yield all calls of the thread in program order, the judged one and its siblings too."""
        return map(_view, self._board.ledger.calls())

    def open_before(self, call: Call) -> tuple[CallView, ...]:
        """Return the open calls of all tasks that come before a call, in program order.

        These are the calls for which it may be deferred.
        """
        ledger = self._board.ledger
        found = ledger.in_state(*OPEN_STATES)
        found.sort(key=lambda record: record.call.sequence)
        return tuple(_view(record) for record in found if record.call.sequence < call.sequence)

    def result(self, key: str) -> Any:
        """Return the result or error text of a call; ``None`` if there is none or it is gone."""
        record = self._board.ledger.find(key)
        return None if record is None else _copied(record.content)


def as_shown(proposal: Proposal) -> Proposal:
    """Return a proposal whose arguments are a copy."""
    call = replace(proposal.call, arguments=_copied(proposal.call.arguments))
    return replace(proposal, call=call)


def _view(record: CallRecord) -> CallView:
    call = record.call
    return CallView(
        key=call.key,
        sequence=call.sequence,
        task=call.task,
        tool=call.tool,
        label=call.label,
        message_id=call.message_id,
        arguments=_copied(record.effective_arguments),
        state=record.state,
        error=record.error,
        approved=record.approved,
        delivered=record.delivered,
    )


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _copied(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copied(item) for item in value]
    return value
