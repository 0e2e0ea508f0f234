"""Premature: a call must not rest on a result that the model has not seen.

A call that is composed while an earlier call of its task is unanswered uses a predicted value, or
rests on a predicted outcome, and no later check validates the prediction. It does not matter
whether the value is plausible, nor whether the two calls touch the same resources: footprints give
the order of effects (memory dependence), not the source of a value (flow dependence). A tool's
``takes_from`` gives the latter. The rule is that of non-speculative issue:

- *Earlier messages.* The results of the task's earlier calls have to be told to the model, not only
  to be there, before it makes the next call. Exempt are calls that the arguments name by operand
  reference, directly or through such a call, and tools that ``takes_from`` leaves out.
- *One message.* Calls of one message are made together, so a later one cannot know what an earlier
  one returns. Calls of one tool do not count as sources of each other unless ``takes_from`` says
  so. A call that is refused takes the later ones with it that may need it or must not overtake it.
  Without a declaration a guess and an independent call look alike; ``GuardConfig.siblings`` says
  what is done then.

A call is judged when it is proposed and never again: what the model knew when it wrote the call
does not change. The rule cannot see that a model knows a result from elsewhere, and it does not see
a guess about the result of a call that was never made.
"""

from collections.abc import Iterator

from asyncguard.config import Siblings
from asyncguard.core.admission import ADMIT, Proposal, Reject, Verdict
from asyncguard.core.calls import Call, CallState
from asyncguard.core.dependencies import earlier_untold, references
from asyncguard.core.footprints import EffectClass, Footprint
from asyncguard.core.records import CallRecord
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.core.tool_spec import Mode, ToolSpec
from asyncguard.guards.call_names import labels

_NAME = "premature"


def judge(proposal: Proposal, board: Scoreboard) -> Verdict:
    """Reject a proposed call that may rest on a result which was not told to the model."""
    record = board.ledger.find(proposal.call.key)
    if record is None or record.state is not CallState.PROPOSED:
        return ADMIT
    spec = board.spec(record.call.tool)
    named = _named(record.call, board)
    earlier = [item for item in _earlier(record, spec, board) if item.call.label not in named]
    if refused := [item for item in earlier if item.state is CallState.REJECTED]:
        return _reject(
            earlier,
            f"This call may need the result of {labels(refused, record.call.task)}, which was "
            "refused until other results are told. Wait for those, make that call, then call "
            "again with what it says.",
        )
    if earlier:
        reference = board.config.offers_references and spec.allows_references
        advice = ", or name the value by reference." if reference else "."
        return _reject(
            earlier,
            f"The model has not seen the result of {labels(earlier, record.call.task)} in this "
            "task yet, and this call may need it. Wait for it, then call again with what it "
            f"says{advice}",
        )
    siblings = [item for item in _siblings(record, spec, board) if item.call.label not in named]
    if not siblings or _insists(record, spec, board):
        return _in_order(record, board)
    return _reject(siblings, _beside(siblings, record, spec, board))


def _beside(
    siblings: list[CallRecord], record: CallRecord, spec: ToolSpec, board: Scoreboard
) -> str:
    """Return why a call is refused beside others of its message, and what to do."""
    once = spec.takes_from is None and board.config.siblings is Siblings.ONCE
    unless = "; repeat the call unchanged if it needs nothing of it." if once else "."
    task = record.call.task
    if running := [item for item in siblings if item.open]:
        return (
            f"It stands in one message with {labels(running, task)}, whose result it may need. "
            f"Wait for that result, then call again with what it says{unless}"
        )
    return (
        f"It stands in one message with {labels(siblings, task)}, which was refused and whose "
        f"result it may need. Put that right first, then call again with what it says{unless}"
    )


def _in_order(record: CallRecord, board: Scoreboard) -> Verdict:
    """Reject a call after a refused one of its message, if order matters.

    One that was refused until a result comes again, whichever guard refused it; what a duplicate
    repeats is made already. One that was refused for itself may come again with other arguments: it
    holds up effects alone, and those on its own resources, as any other call may be independent.
    """
    call = record.call
    refused = [
        other
        for other in board.ledger.of_message(call.message_id)
        if other.state is CallState.REJECTED
        and (other.blocked_by or _writes_the_same(other.call.footprint, call.footprint))
        and other.guard != "duplicate"
        and other.call.task == call.task
        and other.call.sequence < call.sequence
        and not other.call.footprint.commutes_with(call.footprint)
    ]
    if not refused:
        return ADMIT
    return _reject(
        refused,
        f"It comes after {labels(refused, call.task)} in one message, which was not run yet, and "
        "must not overtake it. Make it again with that call or after it.",
    )


def _writes_the_same(one: Footprint, other: Footprint) -> bool:
    """Return True if both write, and their declared footprints meet."""
    writes = not (one.writes_nothing or other.writes_nothing)
    return writes and one.known and other.known and not one.commutes_with(other)


def _named(call: Call, board: Scoreboard) -> set[str]:
    """Return the labels that a call names by reference, and those that these calls name in turn."""
    found: set[str] = set()
    left = [call]
    while left:
        for item in references(left.pop().arguments):
            source = board.ledger.labelled(call.task, item.label)
            if source is not None and item.label not in found:
                found.add(item.label)
                left.append(source.call)
    return found


def _reject(sources: list[CallRecord], reason: str) -> Reject:
    # A refused source stands for the results that it waits for: it has none of its own.
    on = (
        key
        for item in sources
        for key in ((item.key,) if item.state is not CallState.REJECTED else item.blocked_by)
    )
    return Reject(guard=_NAME, reason=reason, on=tuple(dict.fromkeys(on)))


def _earlier(record: CallRecord, spec: ToolSpec, board: Scoreboard) -> Iterator[CallRecord]:
    """Yield the calls of earlier messages that the call may rest on and the model has not seen."""
    ledger, call = board.ledger, record.call
    for other in earlier_untold(call, ledger):
        if spec.may_take_from(other.call.tool) and not _user_went_on(other, spec, board):
            yield other
    # A source that was refused until a result is told: what it would have returned is as unknown.
    for tool in spec.takes_from or ():
        last = ledger.labelled(call.task, f"{tool}#{ledger.next_ordinal(call.task, tool) - 1}")
        if (
            last is not None
            and last.state is CallState.REJECTED
            and last.call.message_id != call.message_id
            and any(ledger.untold(key) for key in last.blocked_by)
        ):
            yield last


def _user_went_on(other: CallRecord, spec: ToolSpec, board: Scoreboard) -> bool:
    """Return True for a read beside external work that began before the user's last message.

    Such work may take days, and a user who writes meanwhile may ask about something else.
    """
    external = board.spec(other.call.tool).mode is Mode.EXTERNAL or other.key in board.outside
    return external and other.said < board.ledger.said and spec.effect is EffectClass.PURE


def _siblings(record: CallRecord, spec: ToolSpec, board: Scoreboard) -> Iterator[CallRecord]:
    """Yield the earlier calls of the same message that the call may rest on."""
    call = record.call
    if spec.takes_from is None and (
        # With one task the model sees all results of a message together, as it does without guards.
        not board.several_tasks or board.config.siblings is Siblings.DECLARED
    ):
        return
    for other in board.ledger.of_message(call.message_id):
        if other.call.sequence >= call.sequence:
            return
        may_give = (
            other.call.tool != call.tool
            if spec.takes_from is None
            else other.call.tool in spec.takes_from
        )
        unseen = other.open or other.state is CallState.REJECTED
        if may_give and unseen and other.call.task == call.task:
            yield other


def _insists(record: CallRecord, spec: ToolSpec, board: Scoreboard) -> bool:
    """Return True if the model repeats a call unchanged that was refused beside its siblings.

    It was told why, and repeats it with the results that it was to wait for.
    """
    if spec.takes_from is not None or board.config.siblings is not Siblings.ONCE:
        return False
    ledger, call = board.ledger, record.call
    return any(
        former.guard == _NAME
        and former.delivered
        and former.call.fingerprint == call.fingerprint
        and all(
            ledger.record(key).call.message_id == former.call.message_id
            for key in former.blocked_by
        )
        for former in ledger.of_tool(call.task, call.tool)
    )
