"""Operands in a call: each has to name an earlier call of the task that has a result or will have one."""

from asyncguard.core.admission import Reject
from asyncguard.core.calls import Call, CallState
from asyncguard.core.records import CallRecord
from asyncguard.core.references import Reference, references
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.guards.messages import labels
from asyncguard.schema.excerpts import clipped, short


def bad_reference(call: Call, spec: ToolSpec, board: Scoreboard) -> Reject | None:
    """The rejection of the first operand that cannot work, or ``None``."""
    for reference in references(call.arguments):
        source = board.ledger.labelled(call.task, reference.label)
        if not _usable(spec, board):
            return _not_taken(reference, source, call, board)
        if reason := _reason(reference, source, call, board):
            return Reject(guard="arguments", reason=reason)
    return None


def _usable(spec: ToolSpec, board: Scoreboard) -> bool:
    # An operand that is not ready holds its call back; without the dependency guard nothing would.
    config = board.config
    return config.offers_references and config.dependency and spec.allows_references


def _not_taken(reference: Reference, source: CallRecord | None, call: Call, board: Scoreboard) -> Reject:
    waiting = source is not None and source.open and source.key != call.key and board.config.ledger
    return Reject(
        guard="arguments",
        reason=f"{clipped(call.tool)} does not take results by reference. "
        f"Wait for the result of {clipped(reference.label)} and give the value itself.",
        on=(source.key,) if source is not None and waiting else (),
    )


def _reason(reference: Reference, source: CallRecord | None, call: Call, board: Scoreboard) -> str:
    label = clipped(reference.label)
    if source is None or source.call.sequence >= call.sequence:
        earlier = (item for item in board.ledger.open_of(call.task) if item.call.sequence < call.sequence)
        return f"{label} is no earlier call of this task. Open calls that can be named: {labels(earlier) or 'none'}."
    if not source.open and not source.succeeded:
        what = "its outcome is unknown" if source.state is CallState.IN_DOUBT else f"it was {source.state.value}"
        return f"{label} has no result to use: {what}. Read its answer and give a value that you have."
    if reference.pointer and not reference.pointer.startswith("/"):
        return f"Pointer {short(reference.pointer)} has to be empty or start with '/', as in /items/0/id."
    return ""
