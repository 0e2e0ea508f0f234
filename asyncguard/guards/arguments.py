"""Arguments: the tool exists, its schema holds, and every operand names a call with a result.

The schema is the declared one. What fits the live one passes, too, if the tool's contract was read:
a tool that has changed is called as it is now. The first check, that the call can be run at all, is
made for every call whatever is switched off.
"""

import difflib

from asyncguard.core.admission import ADMIT, Proposal, Reject, Verdict
from asyncguard.core.calls import Call, CallState
from asyncguard.core.dependencies import Reference, references
from asyncguard.core.records import CallRecord
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.guards.call_names import labels
from asyncguard.guards.clarification import misnamed, missing_names
from asyncguard.guards.live_contract import fits_live
from asyncguard.schema.arguments import ROOT, missing_sentence, unknown_sentence
from asyncguard.schema.excerpts import MAX_VALUE, clipped, listed, short

_MAX_PROBLEMS = 5
_MAX_NAMES = 20
_MAX_PROBLEM = 400


def judge(proposal: Proposal, board: Scoreboard) -> Verdict:
    """Reject a call that its tool could not accept."""
    if reason := unreadable(proposal, board):
        return Reject(guard="arguments", reason=reason)
    call, spec = proposal.call, proposal.spec or ToolSpec(name=proposal.call.tool)
    # Operands first, because the schema accepts each of them, whatever it names.
    if verdict := bad_reference(call, spec, board):
        return verdict
    problems = _problems(call, spec, board)
    if not problems:
        return ADMIT
    more = f"; and {len(problems) - _MAX_PROBLEMS} more" if len(problems) > _MAX_PROBLEMS else ""
    text = "; ".join(problems[:_MAX_PROBLEMS])
    return Reject(
        guard="arguments",
        reason=f"The arguments of {call.label} do not fit its schema: {text}{more}. "
        "Correct them and call again.",
    )


def _problems(call: Call, spec: ToolSpec, board: Scoreboard) -> list[str]:
    validator = board.validators.get(call.tool)
    if validator is None:
        return []
    problems = validator(call.arguments)
    # A tool that has changed since it was declared accepts what its live contract accepts.
    if problems and fits_live(call, spec, board):
        return []
    if problems and (strange := misnamed(spec, call)):
        # What is missing is most probably there under a wrong name, so both are told.
        known = (spec.parameters or {}).get("properties", ())
        return list(dict.fromkeys((unknown_sentence(ROOT, strange, known), *problems)))
    if problems and board.config.clarification:
        # The clarification guard judges missing values, with better advice.
        left = {missing_sentence(ROOT, name) for name in missing_names(spec, call)}
        return [problem for problem in problems if problem not in left]
    return list(problems)


def bad_reference(call: Call, spec: ToolSpec, board: Scoreboard) -> Reject | None:
    """Return the rejection of the first operand that cannot be used, or ``None``."""
    config = board.config
    # Without the dependency guard, an operand that is not ready would not hold its call back.
    usable = config.offers_references and config.dependency and spec.allows_references
    for reference in references(call.arguments):
        source = board.ledger.labelled(call.task, reference.label)
        if not usable:
            # A rejection that names an open call is shown to the model when that call has ended.
            earlier = source if source and source.call.sequence < call.sequence else None
            awaited = (earlier.key,) if earlier and earlier.open and config.ledger else ()
            return Reject(
                guard="arguments",
                reason=f"{clipped(call.tool)} does not take results by reference. "
                f"{_instead(clipped(reference.label), earlier)}",
                on=awaited,
            )
        if reason := _reason(reference, source, call, board):
            return Reject(guard="arguments", reason=reason)
    return None


def _instead(label: str, earlier: CallRecord | None) -> str:
    """Return what to do instead of a reference to an earlier call, ``None`` if it names none."""
    if earlier is None:
        return f"{label} is not an earlier call of this task. Give the value itself."
    wait = f"Wait for the result of {label} and give" if earlier.open else "Give"
    return f"{wait} the value itself."


def _reason(reference: Reference, source: CallRecord | None, call: Call, board: Scoreboard) -> str:
    """Return what is wrong with one operand, for the model; empty if it can be used."""
    label = clipped(reference.label)
    if source is None or source.call.sequence >= call.sequence:
        earlier = (
            item for item in board.ledger.open_of(call.task) if item.call.sequence < call.sequence
        )
        named = labels(earlier, call.task) or "none"
        return (
            f"{label} is not an earlier call of this task. Open calls that can be named: {named}."
        )
    if not source.open and not source.succeeded:
        what = (
            "its outcome is unknown"
            if source.state is CallState.IN_DOUBT
            else f"it was {source.state.value}"
        )
        return (
            f"{label} has no result to use: {what}. Read its answer and give a value that you have."
        )
    if reference.pointer and not reference.pointer.startswith("/"):
        pointer = short(reference.pointer)
        return f"Pointer {pointer} has to be empty or start with '/', as in /items/0/id."
    return ""


def judge_runnable(proposal: Proposal, board: Scoreboard) -> Verdict:
    """Reject a call that cannot be run."""
    reason = unreadable(proposal, board)
    return Reject(guard="readable", reason=reason) if reason else ADMIT


def unreadable(proposal: Proposal, board: Scoreboard) -> str:
    """Return the reason why the call cannot be run, for the model; empty if it can."""
    problem = clipped(proposal.problem, _MAX_PROBLEM)
    if proposal.spec is not None:
        if not problem:
            return ""
        label = clipped(proposal.call.label)
        return f"{label} could not be read: {problem} Correct it and call again."
    name, task = proposal.call.tool, proposal.call.task
    usable = [
        tool for tool, spec in board.specs.items() if spec.tasks is None or task in spec.tasks
    ]
    if usable:
        # A very long name is not a typing error, and comparing it would take long.
        close = difflib.get_close_matches(name[:MAX_VALUE], usable, n=3)
        ordered = dict.fromkeys((*close, *sorted(usable)))
        advice = f"There is no tool {clipped(name)!r}. Use one of: {listed(ordered, _MAX_NAMES)}."
    else:
        advice = (
            f"There is no tool {clipped(name)!r}, nor any other for this task. "
            "Answer without tools."
        )
    return f"{advice} {problem}".rstrip()
