"""From a model message to verdicts: proposed calls are numbered, keyed and put before admission."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from asyncguard.core import events as ev
from asyncguard.core.admission import Admit, Defer, Proposal, Reject, admit, objections
from asyncguard.core.calls import (
    Call,
    CallState,
    as_received,
    call_key,
    canonical_json,
    content_size,
    fingerprint,
)
from asyncguard.core.dependencies import OperandError, Path, references, substitute
from asyncguard.core.lifecycle import TaskState
from asyncguard.core.records import CallRecord
from asyncguard.core.resume_policy import Fate, Why
from asyncguard.core.scheduling import passed_over
from asyncguard.core.scoreboard import OPERANDS
from asyncguard.guards import Completion, judge_completion
from asyncguard.runtime.resume import Circumstances, resolve, resolve_all
from asyncguard.runtime.session.session import Session
from asyncguard.schema.pointers import PointerError, in_result


@dataclass(frozen=True, kw_only=True, slots=True)
class ParsedCall:
    """One call as a front end read it from a model message."""

    tool: str
    """Tool name."""
    arguments: Mapping[str, Any]
    """Arguments without the task argument."""
    call_id: str
    """The provider's id."""
    task: str
    """Task that the call is for."""
    problem: str = ""
    """Why it cannot be read; empty if it can."""


def propose_calls(session: Session, message_id: str, wishes: Sequence[ParsedCall]) -> None:
    """Enter a model message: one turn, and a verdict for each of its calls."""
    ledger = session.ledger
    session.board.runs_elsewhere(
        sum(ledger.find(key) is None for key in session.engine.executor.pending())
    )
    proposals = [
        _propose(session, message_id, position, wish) for position, wish in enumerate(wishes)
    ]
    for proposal in proposals:
        _judge(session, proposal)
    mentioned = {wish.task for wish in wishes}
    passed = passed_over(session.board, mentioned, len(wishes))
    session.record.turn_taken(message_id, calls=len(wishes), passed_over=passed)
    _stop_tasks(session)


def judge_end(session: Session) -> Completion:
    """Judge a model message without calls; what is recorded says whether the verdict counts."""
    completion = judge_completion(session.board)
    session.record.completion_judged(
        completion.verdict,
        reason=completion.reason,
        tasks=completion.tasks,
        enforced=not session.engine.config.shadow,
    )
    return completion


def _propose(session: Session, message_id: str, position: int, wish: ParsedCall) -> Proposal:
    ledger = session.ledger
    spec = session.engine.specs.get(wish.tool)
    text = canonical_json(wish.arguments)
    received = as_received(wish.arguments, None if spec is None else spec.parameters)
    call = Call(
        key=call_key(session.namespace, session.thread, message_id, position),
        sequence=len(ledger) + 1,
        task=wish.task,
        tool=wish.tool,
        ordinal=ledger.next_ordinal(wish.task, wish.tool),
        arguments=wish.arguments,
        call_id=wish.call_id,
        message_id=message_id,
        footprint=session.board.spec(wish.tool).footprint(wish.arguments, wish.task),
        fingerprint=fingerprint(wish.tool, text if received == wish.arguments else received),
    )
    session.record.proposed(call, session.declare(wish.tool))
    return Proposal(
        call=call, spec=spec, position=position, size=content_size(text), problem=wish.problem
    )


def _judge(session: Session, proposal: Proposal, *, released: bool = False) -> None:
    if session.engine.watching and not released:
        _tell_objections(session, proposal)
    verdict = admit(proposal, session.board, session.engine.guards)
    key = proposal.call.key
    match verdict:
        case Reject():
            session.record.rejected(key, guard=verdict.guard, reason=verdict.reason, on=verdict.on)
        case Defer():
            session.record.deferred(
                key, guard=verdict.guard, reason=verdict.reason, on=verdict.on, also=verdict.also
            )
        case Admit():
            _admit(session, proposal, verdict, released=released)


def _tell_objections(session: Session, proposal: Proposal) -> None:
    """In shadow mode: note what every guard would have done."""
    objected, key, objection = session.record.objected, proposal.call.key, ev.Objection
    for verdict in objections(proposal, session.board, session.engine.watching):
        guard = verdict.guard
        match verdict:
            case Reject(reason=reason, on=on):
                objected(key, objection.REJECT, guard=guard, reason=reason, on=on)
            case Defer(reason=reason, on=on):
                objected(key, objection.DEFER, guard=guard, reason=reason, on=on)
            case Admit(approval=reason):
                objected(key, objection.HOLD, guard=guard, reason=reason)


def _admit(session: Session, proposal: Proposal, verdict: Admit, *, released: bool) -> None:
    """Fill the operands in, then queue the call, or hold it for a person, who is shown what would be issued."""
    key = proposal.call.key
    try:
        arguments = _substituted(session, proposal.call)
    except (OperandError, PointerError) as error:
        session.record.rejected(key, guard=OPERANDS, reason=str(error))
        return
    if arguments is not None and (problems := _check(session, proposal.call.tool, arguments)):
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
    issued = session.ledger.record(key).effective_arguments
    for name, value in issued.items():
        session.board.evidence.add(proposal.call.task, f"{name} {value}")


def _approval_of_operands(
    session: Session, proposal: Proposal, arguments: Mapping[str, Any] | None
) -> str:
    """Why a person has to see a destructive call whose operands are tool output; empty if nobody has to.

    The model may not have seen these values, so the context may still be clean when they are used.
    """
    spec, config = proposal.spec, session.engine.config
    if (
        arguments is None
        or spec is None
        or not spec.destructive
        or not config.trust
        or config.shadow
    ):
        return ""
    sources = (
        session.ledger.labelled(proposal.call.task, item.label)
        for item in references(proposal.call.arguments)
    )
    untrusted = [item.call.label for item in sources if item and not session.board.trusts(item)]
    return (
        f"its arguments hold output of {', '.join(untrusted)}, which is not trusted"
        if untrusted
        else ""
    )


def _check(session: Session, tool: str, arguments: Mapping[str, Any]) -> tuple[str, ...]:
    limit, size = session.engine.config.limits.max_argument_bytes, content_size(arguments)
    if session.engine.config.capacity and size > limit:
        return (f"they take {size} bytes, and at most {limit} are allowed",)
    validator = session.engine.validators.get(tool)
    return validator(arguments) if validator is not None else ()


def _substituted(session: Session, call: Call) -> dict[str, Any] | None:
    """The arguments with operands filled in, or ``None`` where there are none."""
    values: dict[Path, Any] = {}
    for reference in references(call.arguments):
        source = session.ledger.labelled(call.task, reference.label)
        if source is None or not source.succeeded:
            raise OperandError(
                f"{reference.label} has no result to take a value from; give the value itself."
            )
        if source.doubtful:
            raise OperandError(
                f"The result of {reference.label} is doubtful; check it and give the value itself."
            )
        if source.content is None:
            raise OperandError(
                f"The result of {reference.label} is no longer held; give the value itself."
            )
        values[reference.path] = value = in_result(source.content, reference.pointer)
        if (
            next(references([value]), None) is not None
        ):  # it would pass for an operand, which fits every schema
            told = f"The value at {reference.pointer!r} in the result of {reference.label} has the form of a reference"
            raise OperandError(f"{told}; give the value itself.")
    if not values:
        return None
    filled: dict[str, Any] = substitute(call.arguments, values)
    return filled


def release_ready(session: Session) -> None:
    """Judge the deferred calls that wait for nothing any more; one whose predecessor failed is squashed.

    What was begun elsewhere is not judged: it is too late for that.
    """
    for record in session.ledger.ready():
        failed = tuple(
            key
            for key in session.ledger.failed_blockers(record)
            if not _withdrawn(session, record, key)
        )
        labels = ", ".join(session.ledger.record(key).call.label for key in failed)
        given = Circumstances(failed=failed, told=f"{labels} gave no usable result")
        if resolve(session, record, Why.RELEASED, given) is Fate.JUDGE:
            _judge(session, _again(session, record), released=True)
    _stop_tasks(session)


def _withdrawn(session: Session, record: CallRecord, blocker: str) -> bool:
    """Whether a call was waited for only because of its order, and by another task than the one that was stopped."""
    task = session.ledger.record(blocker).call.task
    stopped = session.ledger.task(task)
    return task != record.call.task and stopped is not None and stopped.state is TaskState.STOPPED


def answer_approval(
    session: Session, record: CallRecord, *, approved: bool, told: str = ""
) -> None:
    """Enter a person's answer about a held call; an approved call meets the guards once more.

    One that was approved before, and begun by a process that is gone, is not "not run": its attempt answers for it, and
    after a refusal no other is made.
    """
    why = Why.APPROVED if approved else Why.REFUSED
    if resolve(session, record, why, Circumstances(told=told)) is Fate.JUDGE:
        _judge(session, _again(session, record, approved=True), released=True)


def reject_held_calls(session: Session) -> None:
    """Reject the held calls of a run that nobody could resume, so that nobody can be asked."""
    for record in session.ledger.in_state(CallState.HELD):
        reason = "The call needs a person's approval, and in this run nobody can be asked."
        if record.guard == "duplicate":
            reason = (
                f"{record.reason} In this run nobody can be asked: tell the user, who can look, "
                "or run the agent with a checkpointer and a thread_id, so that the call can be approved."
            )
        session.record.rejected(record.key, guard=record.guard, reason=reason)


def _again(session: Session, record: CallRecord, *, approved: bool = False) -> Proposal:
    tool = record.call.tool
    spec = session.engine.specs.get(tool) or (
        None if session.engine.all_met else session.board.kept.get(tool)
    )
    return Proposal(call=record.call, spec=spec, approved=approved or record.approved)


def squash_unissued_effects(session: Session) -> None:
    """Squash what was held back and would have an effect: the user spoke, and "stop" must win.

    The model is told and may ask for the call again.
    """
    resolve_all(session, (CallState.DEFERRED, CallState.HELD), Why.NEW_MESSAGE)
    # After that: what was taken up just now, because it had begun, is stopped as well.
    resolve_all(session, (CallState.QUEUED, CallState.PENDING), Why.NEW_MESSAGE)


def _stop_tasks(session: Session) -> None:
    limit = session.engine.config.limits.max_rejections
    for task in session.ledger.open_tasks():
        if task.rejections > limit and task.state is TaskState.OPEN:
            reason = f"{task.rejections} calls were rejected; the limit is {limit}"
            session.record.task_stopped(task.task.id, reason=reason)
