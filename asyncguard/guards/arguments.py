"""Arguments: the tool exists, its schema holds, and every operand names a call that can still deliver.

The schema is the declared one, or the live one where the tool's contract was read: a tool that has changed is called as
it is now.
"""

from asyncguard.core.admission import ADMIT, Proposal, Reject, Verdict
from asyncguard.core.calls import Call
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.guards.clarification import missing_names
from asyncguard.guards.live_contract import fits_live
from asyncguard.guards.readable import unreadable
from asyncguard.guards.referring import bad_reference
from asyncguard.schema.arguments import ROOT, missing_sentence

_MAX_PROBLEMS = 5


def judge(proposal: Proposal, board: Scoreboard) -> Verdict:
    """Reject a call that its tool could not take."""
    if reason := unreadable(proposal, board):
        return Reject(guard="arguments", reason=reason)
    call, spec = proposal.call, proposal.spec or ToolSpec(name=proposal.call.tool)
    if verdict := bad_reference(call, spec, board):
        return verdict
    problems = _problems(call, spec, board)
    if not problems:
        return ADMIT
    more = f"; and {len(problems) - _MAX_PROBLEMS} more" if len(problems) > _MAX_PROBLEMS else ""
    text = "; ".join(problems[:_MAX_PROBLEMS])
    return Reject(
        guard="arguments",
        reason=f"The arguments of {call.label} do not fit its schema: {text}{more}. Correct them and call again.",
    )


def _problems(call: Call, spec: ToolSpec, board: Scoreboard) -> list[str]:
    validator = board.validators.get(call.tool)
    if validator is None:
        return []
    problems = validator(call.arguments)
    if problems and fits_live(call, spec, board):
        return []
    if problems and board.config.clarification:
        left = {missing_sentence(ROOT, name) for name in missing_names(spec, call)}
        return [problem for problem in problems if problem not in left]
    return list(problems)
