"""Proposals: the calls of a model message are numbered, keyed and judged by admission.

A call leaves this module rejected, deferred, held for a person, or queued. A deferred call returns
to it through :func:`release_ready` when the calls that it waits for have ended, a held one through
:func:`answer_approval`.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from asyncguard.core import events as ev
from asyncguard.core.admission import Admit, Defer, Fault, Proposal, Reject, admit, objections
from asyncguard.core.calls import (
    Call,
    CallState,
    as_received,
    call_key,
    canonical_json,
    content_size,
    fingerprint,
)
from asyncguard.core.dependencies import OperandError, references
from asyncguard.core.footprints import Footprint
from asyncguard.core.lifecycle import TaskState
from asyncguard.core.records import CallRecord
from asyncguard.core.resume_terms import Fate, Why
from asyncguard.core.scheduling import passed_over
from asyncguard.core.scoreboard import OPERANDS
from asyncguard.guards import Completion, judge_completion
from asyncguard.guards.call_names import labels
from asyncguard.guards.operands import filled
from asyncguard.runtime.resume.case import HELD_BACK, Circumstances
from asyncguard.runtime.resume.resolve import resolve, resolve_all, undecided
from asyncguard.runtime.session.session import Session
from asyncguard.runtime.signals import was_begun
from asyncguard.schema.pointers import PointerError


@dataclass(frozen=True, kw_only=True, slots=True)
class ParsedCall:
    """One call as an adapter parsed it from a model message."""

    tool: str
    """Tool name."""
    arguments: Mapping[str, Any]
    """Arguments without the task argument."""
    call_id: str
    """The provider's id of the call."""
    task: str
    """Task that the call is for."""
    problem: str = ""
    """Reason why the call cannot be parsed; empty if it can."""


def propose_calls(session: Session, message_id: str, wishes: Sequence[ParsedCall]) -> None:
    """Record a model message: one turn, and a verdict for each of its calls."""
    ledger = session.ledger
    # Calls of other threads run in the same executor; the capacity guard counts them.
    session.board.runs_elsewhere(
        sum(ledger.find(key) is None for key in session.engine.executor.pending())
    )
    # All are proposed before the first is judged, so that the guards know the whole message.
    proposals = [
        _propose(session, message_id, position, parsed) for position, parsed in enumerate(wishes)
    ]
    for proposal in proposals:
        _judge(session, proposal)
    mentioned = {parsed.task for parsed in wishes}
    passed = passed_over(session.board, mentioned, len(wishes), message_id)
    session.record.turn_taken(message_id, calls=len(wishes), passed_over=passed)
    _stop_tasks(session)


def edit_call(session: Session, record: CallRecord, parsed: ParsedCall) -> None:
    """Replace a call that was not issued by the one that a person wrote, and have that judged.

    Its values are words of a person, who has seen the call, so no other person is asked. A call
    that was begun elsewhere is not judged: its attempt answers for it.

    Args:
        session: The thread.
        record: The call.
        parsed: What the person wrote; its task is not read, as a call stays with its task.
    """
    before = record.call
    same = parsed.tool == before.tool
    number = before.ordinal if same else session.ledger.next_ordinal(before.task, parsed.tool)
    text = canonical_json(parsed.arguments)
    footprint, of_call = _effect(session, parsed, before.task, text)
    call = replace(
        before,
        tool=parsed.tool,
        ordinal=number,
        arguments=parsed.arguments,
        footprint=footprint,
        fingerprint=of_call,
    )
    session.record.edited(call, session.declare(parsed.tool))
    session.board.add_arguments(record)
    if was_begun(session, record) or session.engine.begun.knows(
        record.key, after=record.last_answer_attempt
    ):
        session.record.admitted(record.key, released=True, approved=True)
        return
    spec = session.engine.specs.get(parsed.tool)
    proposal = Proposal(
        call=call, spec=spec, size=content_size(text), problem=parsed.problem, approved=True
    )
    _judge(session, proposal, released=True)
    _stop_tasks(session)


def judge_end(session: Session, said: str) -> Completion:
    """Judge a model message without calls; the event records if the verdict is enforced."""
    completion = judge_completion(session.board, said)
    session.record.completion_judged(
        completion.verdict,
        reason=completion.reason,
        tasks=completion.tasks,
        enforced=not session.engine.config.shadow,
    )
    return completion


def _propose(session: Session, message_id: str, position: int, parsed: ParsedCall) -> Proposal:
    ledger = session.ledger
    spec = session.engine.specs.get(parsed.tool)
    text = canonical_json(parsed.arguments)
    footprint, of_call = _effect(session, parsed, parsed.task, text)
    call = Call(
        key=call_key(session.namespace, session.thread, message_id, position),
        sequence=len(ledger) + 1,
        task=parsed.task,
        tool=parsed.tool,
        ordinal=ledger.next_ordinal(parsed.task, parsed.tool),
        arguments=parsed.arguments,
        call_id=parsed.call_id,
        message_id=message_id,
        footprint=footprint,
        fingerprint=of_call,
    )
    session.record.proposed(call, session.declare(parsed.tool))
    return Proposal(
        call=call, spec=spec, position=position, size=content_size(text), problem=parsed.problem
    )


def _effect(session: Session, parsed: ParsedCall, task: str, text: str) -> tuple[Footprint, str]:
    """Return footprint and fingerprint of a call, whose arguments are given as JSON, too."""
    # Both are of what the tool receives: "01" and 1 are one account to it, and an omitted default
    # equals a given one. A footprint has no defaults: a missing argument widens it.
    spec = session.engine.specs.get(parsed.tool)
    received = as_received(parsed.arguments, None if spec is None else spec.parameters)
    footprint = session.board.spec(parsed.tool).footprint(
        {name: received[name] for name in parsed.arguments}, task
    )
    same = received == parsed.arguments
    return footprint, fingerprint(parsed.tool, text if same else received)


def _judge(session: Session, proposal: Proposal, *, released: bool = False) -> None:
    if session.engine.watching and not released:
        _record_objections(session, proposal)
    key = proposal.call.key
    report = partial(_record_fault, session, key)
    verdict = admit(proposal, session.board, session.engine.guards, report)
    match verdict:
        case Reject():
            session.record.rejected(key, guard=verdict.guard, reason=verdict.reason, on=verdict.on)
        case Defer():
            session.record.deferred(
                key, guard=verdict.guard, reason=verdict.reason, on=verdict.on, also=verdict.also
            )
        case Admit():
            _admit(session, proposal, verdict, released=released)


def _record_objections(session: Session, proposal: Proposal) -> None:
    """Record the verdict of every guard that would not have admitted the call; for shadow mode."""
    objected, key, objection = session.record.objected, proposal.call.key, ev.Objection
    report = partial(_record_fault, session, key)
    for verdict in objections(proposal, session.board, session.engine.watching, report):
        guard = verdict.guard
        match verdict:
            case Reject(reason=reason, on=on):
                objected(key, objection.REJECT, guard=guard, reason=reason, on=on)
            case Defer(reason=reason, on=on):
                objected(key, objection.DEFER, guard=guard, reason=reason, on=on)
            case Admit(approval=reason):
                objected(key, objection.HOLD, guard=guard, reason=reason)


def _record_fault(session: Session, key: str, fault: Fault) -> None:
    """Record that a guard of the user's own failed; each kind of failure is logged once."""
    session.record.objected(key, ev.Objection.FAULT, guard=fault.guard, reason=fault.problem)
    known = session.engine.known_faults
    if fault not in known:
        known.add(fault)
        # Also without observers: with on_error="admit" the guard would otherwise fail silently.
        logging.getLogger("asyncguard").error(
            "The guard %s %s, in thread %r.",
            fault.guard,
            fault.problem,
            session.thread_id or session.thread,
        )


def _admit(session: Session, proposal: Proposal, verdict: Admit, *, released: bool) -> None:
    """Replace the references, then queue the call, or hold it for approval.

    References are replaced first, so that the person who approves sees the arguments to be issued.
    """
    key = proposal.call.key
    try:
        arguments = filled(proposal.call, session.ledger)
    except (OperandError, PointerError) as error:
        session.record.rejected(key, guard=OPERANDS, reason=str(error))
        return
    problems: tuple[str, ...] = ()
    if arguments is not None:
        # Again, as the guards have judged the references and not the values in their place.
        limit, size = session.engine.config.limits.max_argument_bytes, content_size(arguments)
        validator = session.engine.validators.get(proposal.call.tool)
        if session.engine.config.capacity and size > limit:
            problems = (f"they take {size} bytes, and at most {limit} are allowed",)
        elif validator is not None:
            problems = validator(arguments)
    if problems:
        reason = "With the referenced values filled in, the arguments do not fit: " + "; ".join(
            problems
        )
        session.record.rejected(key, guard=OPERANDS, reason=reason)
        return
    approval = verdict.approval or _approval_of_operands(session, proposal, arguments)
    if approval and not proposal.approved:
        guard = verdict.guard or "trust"
        session.record.held(key, guard=guard, reason=approval, arguments=arguments)
        return
    session.record.admitted(key, released=released, approved=proposal.approved, arguments=arguments)
    session.board.add_arguments(session.ledger.record(key))


def _approval_of_operands(
    session: Session, proposal: Proposal, arguments: Mapping[str, Any] | None
) -> str:
    """Return the reason to have a destructive call with untrusted operands approved, or ``""``.

    The trust guard judges what the model has read. It may not have read these values, so they are
    judged here.
    """
    spec, config = proposal.spec, session.engine.config
    if arguments is None or not config.trust or config.shadow:
        return ""
    if spec is None or not spec.destructive:
        return ""
    sources = (
        session.ledger.labelled(proposal.call.task, item.label)
        for item in references(proposal.call.arguments)
    )
    untrusted = [item.call.label for item in sources if item and not session.board.trusts(item)]
    if not untrusted:
        return ""
    return f"its arguments hold output of {', '.join(untrusted)}, which is not trusted"


def release_ready(session: Session) -> None:
    """Judge the deferred calls that wait for no other call; squash those with a failed predecessor.

    A call that was begun elsewhere is not judged: its effect may have happened.
    """
    for record in session.ledger.ready():
        failed = []
        for key in session.ledger.failed_blockers(record):
            task = session.ledger.record(key).call.task
            known = session.ledger.task(task)
            stopped = known is not None and known.state is TaskState.STOPPED
            # A call of another task was waited for because of the order alone, so its end with a
            # stopped task does not fail this one.
            if task == record.call.task or not stopped:
                failed.append(key)
        named = labels(map(session.ledger.record, failed), record.call.task)
        given = Circumstances(failed=tuple(failed), message=f"{named} gave no usable result")
        if resolve(session, record, Why.RELEASED, given) is Fate.JUDGE:
            _judge(session, _again(session, record), released=True)
    _stop_tasks(session)


def answer_approval(
    session: Session, record: CallRecord, *, approved: bool, message: str = ""
) -> None:
    """Apply a person's decision about a held call; an approved call is judged by the guards again.

    If a process that has ended began the call after an earlier approval, a refusal does not end it
    as "not run": the existing attempt gives its result, and no further attempt is made.
    """
    why = Why.APPROVED if approved else Why.REFUSED
    if resolve(session, record, why, Circumstances(message=message)) is Fate.JUDGE:
        _judge(session, _again(session, record, approved=True), released=True)


def reject_held_calls(session: Session) -> None:
    """Reject the held calls of a run that cannot be resumed: no person can be asked about them."""
    for record in session.ledger.in_state(CallState.HELD):
        reason = "The call needs a person's approval, and in this run no person can be asked."
        if record.guard == "duplicate":
            reason = (
                f"{record.reason} In this run no person can be asked: tell the user, who can look, "
                "or run the agent with a checkpointer and a thread_id, so that the call can be "
                "approved."
            )
        session.record.rejected(record.key, guard=record.guard, reason=reason)


def _again(session: Session, record: CallRecord, *, approved: bool = False) -> Proposal:
    """Return the proposal of a recorded call, to judge it again."""
    tool = record.call.tool
    spec = session.engine.specs.get(tool) or (
        None if session.engine.all_met else session.board.kept.get(tool)
    )
    return Proposal(call=record.call, spec=spec, approved=approved or record.approved)


def squash_unissued_effects(session: Session) -> None:
    """Squash held-back calls with an effect: the user's new message may say "stop".

    The model is shown that they ended and may make them again.
    """
    resolve_all(session, HELD_BACK, Why.NEW_MESSAGE, undecided(session))
    # In this order: a call that the first line queues, because it had begun, is stopped as well.
    admitted = (CallState.QUEUED, CallState.PENDING)
    resolve_all(session, admitted, Why.NEW_MESSAGE, undecided(session))


def end_overtaken(session: Session, keys: Iterable[str]) -> None:
    """End the calls that other middleware had not let pass when a new input came.

    Args:
        session: The thread.
        keys: Keys of the calls.
    """
    for key in keys:
        if (record := session.ledger.record(key)).open:
            resolve(session, record, Why.OVERTAKEN, undecided(session))


def _stop_tasks(session: Session) -> None:
    """Stop the open tasks that have more rejected calls than the limit."""
    limit = session.engine.config.limits.max_rejections
    for task in session.ledger.open_tasks():
        if task.rejections > limit and task.state is TaskState.OPEN:
            reason = f"{task.rejections} calls were rejected; the limit is {limit}"
            session.record.task_stopped(task.task.id, reason=reason)
