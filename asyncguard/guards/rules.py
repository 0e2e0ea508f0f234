"""Guards of the user's own: asked like the built-in ones, and never able to break a run.

A rule that raises, or whose verdict cannot be followed, gives a :class:`Fault`; the call is then
refused or left to the other guards, as the rule declares.
"""

import inspect
from dataclasses import replace
from types import TracebackType

from asyncguard.config import Rule
from asyncguard.core.admission import (
    ADMIT,
    Admit,
    Defer,
    Fault,
    Guard,
    Proposal,
    Reject,
    Verdict,
)
from asyncguard.core.board_view import BoardView, as_shown
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.errors import CallerError
from asyncguard.guards.operands import as_issued
from asyncguard.validation import check_fields


def guard_of(rule: Rule) -> Guard:
    """Return a rule as a guard.

    Verdicts carry the rule's name, whatever name the function gave them.
    """

    def judge(proposal: Proposal, board: Scoreboard) -> Verdict | Fault:
        try:
            # A rule is asked about values: where a reference is still pending, it is asked again.
            shown = as_shown(replace(proposal, call=as_issued(proposal.call, board)))
            answer: object = rule.judge(shown, BoardView(_board=board))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - a rule must not end the run
            # Also one that says that something was cancelled: no wait of the run stands in here.
            # The message of an exception may quote a payload; its class and place do not.
            return _fault(rule, f"raised {type(error).__name__} at {_place(error.__traceback__)}")
        if inspect.iscoroutine(answer):
            answer.close()  # it would warn that it was never awaited
        if not isinstance(answer, Admit | Defer | Reject):
            kind = type(answer).__name__
            return _fault(rule, f"answered with {kind} instead of Admit, Defer or Reject")
        try:
            check_fields(answer)
        except CallerError as error:
            return _fault(rule, f"gave a verdict with a wrong field: {error}")
        if isinstance(answer, Admit):
            return replace(answer, guard=rule.name) if answer.approval else ADMIT
        if problem := _problem(answer, proposal, board):
            return _fault(rule, problem)
        if isinstance(answer, Defer):
            return replace(answer, guard=rule.name, also=())
        return replace(answer, guard=rule.name)

    return judge


def _fault(rule: Rule, problem: str) -> Fault:
    verdict: Admit | Reject = ADMIT
    if rule.on_error == "reject":
        reason = (
            f"The check {rule.name!r} of this application failed and could not judge the call, so "
            "it was not run. Do not repeat it; go on with what does not need it, and tell the user."
        )
        verdict = Reject(guard=rule.name, reason=reason)
    return Fault(guard=rule.name, problem=problem, verdict=verdict)


def _place(trace: TracebackType | None) -> str:
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "?" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"


def _problem(verdict: Defer | Reject, proposal: Proposal, board: Scoreboard) -> str:
    """Return why a verdict cannot be followed, empty if it can."""
    deferring = isinstance(verdict, Defer)
    if not verdict.reason.strip():
        return f"gave no reason for its {type(verdict).__name__}"
    if deferring and not verdict.on:
        return "deferred a call without naming what it waits for"
    for key in verdict.on:
        record = board.ledger.find(key)
        if record is None:
            return "named a call that does not exist"
        # A call that waits for itself, or for one that waits for it, would wait for ever.
        if record.call.sequence >= proposal.call.sequence:
            return f"named {record.call.label}, which does not come before the judged call"
        if deferring and not record.open:
            return f"deferred a call for {record.call.label}, which has ended"
    return ""
