"""Recovery policy: a table that maps a case to one action.

Rows are tried in order and the first that applies acts. Each action is a switch of the
configuration; a row whose action is off is skipped. *Safe* means that the call can be made again:
its effect cannot have begun, its probe says that it did not happen, or its effect class allows
repetition. Actions that query another tool (the contract, a source, the verifier, the probe) are
pure calls and are made once each; after their answer the table is tried again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from asyncguard.config import GuardConfig
from asyncguard.core.calls import canonical_json
from asyncguard.core.events import Aim, Outcome, RecoveryAction
from asyncguard.core.faults import ErrorCode, HazardKind
from asyncguard.core.tool_spec import Fallback
from asyncguard.recovery.decisions import Attempt, End, Recovery, Spent, Stopped
from asyncguard.recovery.diagnosis import is_transient
from asyncguard.recovery.effect_probe import Probed
from asyncguard.recovery.failure_case import Case
from asyncguard.recovery.messages import (
    changed_contract,
    diagnosis_and_options,
    mark_of_changes,
    mark_of_consensus,
    mark_of_doubt,
)
from asyncguard.recovery.retry import exponential, plan


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One row of the table."""

    action: RecoveryAction
    """Action that is taken."""
    reason: str
    """Reason, for the log."""
    applies: Callable[[Case, GuardConfig, Spent], bool]
    """Predicate: True if the row applies to the case."""
    then: Callable[[Case, GuardConfig], Attempt | End | Stopped]
    """Function that returns the attempt or end that follows."""


def decide(case: Case, config: GuardConfig, spent: Spent) -> Recovery:
    """Return the action for a case.

    Args:
        case: Everything that was seen and learnt.
        config: Switches, budgets and back-off.
        spent: Retries of run and task so far.
    """
    rows = FAILED if case.failed else STRANGE
    # Bounds the side queries, too, which no retry budget counts.
    exhausted = len(case.record.recoveries) >= config.limits.max_recoveries
    complaint = ""
    for row in rows:
        switch = _SWITCHES.get(row.action)
        enabled = switch is None or bool(getattr(config, switch))
        if enabled and row.applies(case, config, spent):
            then = row.then(case, config)
            if not isinstance(then, End):
                complaint = complaint or then.complaint
            if isinstance(then, Stopped) or (exhausted and isinstance(then, Attempt)):
                continue  # no further attempt, but a later row may still end the call well
            changes: tuple[str, ...] = ()
            if row.action is RecoveryAction.REBIND and case.rebound is not None:
                changes = case.rebound.changes
            elif row.action is RecoveryAction.NORMALISE and case.normalised is not None:
                changes = case.normalised.changes
            reason = f"{row.reason}; {complaint}" if complaint else row.reason
            return Recovery(action=row.action, reason=reason, then=then, changes=changes)
    # The last row always applies; only its switch, `ask`, leads here.
    if case.seen.symptom is None:
        reason = "passed on as it came, marked"
    elif case.unknown:
        reason = "effect may have begun"
    else:
        reason = "attempts exhausted" if is_transient(case.seen.symptom) else "not transient"
    return Recovery(action=RecoveryAction.GIVE_UP, reason=reason, then=_end(case, config))


_SWITCHES: Mapping[RecoveryAction, str] = {
    RecoveryAction.RETRY: "retry",
    RecoveryAction.REFRESH: "refresh",
    RecoveryAction.REBIND: "refresh",
    RecoveryAction.NORMALISE: "normalise",
    RecoveryAction.FALLBACK: "fallback",
    RecoveryAction.CROSS_CHECK: "cross_check",
    RecoveryAction.VERIFY: "verify",
    RecoveryAction.ASK: "ask",
}
LOOKING: tuple[str, ...] = ("refresh", "normalise", "fallback", "cross_check", "verify", "ask")
"""Switches of the actions that handle strange answers.

With all of them off, answers are not inspected.
"""


# -- predicates of the rows ------------------------------------------------------------------------


def _user_spoke(case: Case, config: GuardConfig, spent: Spent) -> bool:
    symptom = case.seen.symptom
    if symptom is None:
        return False
    # A cancelled call is never repeated, by any tool; the probe of its effect is still asked.
    return symptom.error == ErrorCode.USER_SPOKE or (
        symptom.error == ErrorCode.CANCELLED and not _in_doubt_with_probe(case, config, spent)
    )


def _circuit_is_open(case: Case, _: GuardConfig, __: Spent) -> bool:
    symptom = case.seen.symptom
    return (
        symptom is not None
        and symptom.error == ErrorCode.CIRCUIT_OPEN
        and case.next_sibling is not None
    )


def _can_retry(case: Case, config: GuardConfig, spent: Spent) -> bool:
    symptom = case.seen.symptom
    if symptom is None or not case.safe:
        return False
    # A refused call is repeated if its arguments fit and the contract is unchanged: the request may
    # have been garbled on its way.
    garbled = (
        case.refused and case.diagnosis.hazard is HazardKind.INVOCATION and not symptom.answered
    )
    if not (is_transient(symptom) or garbled or case.probe.probed is Probed.NOT_HAPPENED):
        return False
    asked = symptom.retry_after or 0.0
    if asked > config.timing.retry_after_max and symptom.error != ErrorCode.CIRCUIT_OPEN:
        return False  # a retry earlier than the server asked for would be refused, too
    limits = config.limits
    return spent.run < limits.max_run_retries and spent.task < limits.max_task_retries


def _happened(case: Case, _: GuardConfig, __: Spent) -> bool:
    return case.probe.probed is Probed.HAPPENED


def _in_doubt_with_probe(case: Case, _: GuardConfig, __: Spent) -> bool:
    return not case.safe and not case.answered and case.probe_unasked


def _may_happen_yet(case: Case, config: GuardConfig, _: Spent) -> bool:
    early = case.probe.probed is Probed.TOO_EARLY and case.attempted.probe is not None
    return early and not case.safe and case.probes < config.limits.max_attempts


def _contract_would_tell(case: Case, _: GuardConfig, __: Spent) -> bool:
    # After a refusal that the tool itself answered, the model can be told even if it must decide.
    refused = case.refused and (case.safe or case.answered)
    return case.contract_unread and (not case.failed or refused)


def _has_sibling(case: Case, _: GuardConfig, __: Spent) -> bool:
    return case.safe and case.next_sibling is not None


def _settled(case: Case, config: GuardConfig, _: Spent) -> bool:
    found = case.settlement
    if found is None or not found.decided:
        return False
    return found.firm or case.next_source is None or not config.cross_check


def _has_verifier(case: Case, _: GuardConfig, __: Spent) -> bool:
    return case.safe and case.verifier_unasked is not None


def _has_source(case: Case, _: GuardConfig, __: Spent) -> bool:
    return case.safe and case.next_source is not None


def _settled_by_verifier(case: Case, config: GuardConfig, spent: Spent) -> bool:
    return bool(case.asked(Aim.VERIFIER)) and _settled(case, config, spent)


def _settled_by_sources(case: Case, config: GuardConfig, spent: Spent) -> bool:
    return bool(case.asked(Aim.SOURCE)) and _settled(case, config, spent)


def _once_more(case: Case, config: GuardConfig, spent: Spent) -> bool:
    # Without strategies of its own, a tool that answers nonsense twice is not asked a third time.
    wanted = case.attempted.retry is not None or not case.done(RecoveryAction.RETRY)
    return (
        case.safe
        and case.unreadable
        and wanted
        and spent.run < config.limits.max_run_retries
        and spent.task < config.limits.max_task_retries
    )


# -- consequences of the rows ----------------------------------------------------------------------


def _again(case: Case, config: GuardConfig) -> Attempt | Stopped:
    # If a circuit is open, no attempt was made; max_recoveries bounds how often the call comes
    # back.
    symptom = case.seen.symptom
    refused_here = symptom is not None and symptom.error == ErrorCode.CIRCUIT_OPEN
    planned = plan(case, config, refused_here=refused_here)
    if planned.stops:
        return Stopped(complaint=planned.complaint)
    return Attempt(
        tool=case.attempted.name,
        arguments=case.record.answer_arguments,
        delay=planned.delay,
        complaint=planned.complaint,
    )


def _read_contract(case: Case, _: GuardConfig) -> Attempt:
    assert case.attempted.contract is not None  # the row's condition
    return Attempt(
        aim=Aim.CONTRACT, tool=case.attempted.contract, arguments={"tool": case.attempted.name}
    )


def _rebound(case: Case, _: GuardConfig) -> Attempt:
    assert case.rebound is not None  # the row's condition
    return Attempt(tool=case.attempted.name, arguments=case.rebound.arguments)


def _sibling(case: Case, _: GuardConfig) -> Attempt:
    assert case.next_sibling is not None  # the row's condition
    return Attempt(tool=case.next_sibling.tool)


def _ask_probe(case: Case, _: GuardConfig) -> Attempt:
    assert case.attempted.probe is not None  # the row's condition
    return Attempt(
        aim=Aim.PROBE, tool=case.attempted.probe, arguments=case.record.effective_arguments
    )


def _ask_probe_later(case: Case, config: GuardConfig) -> Attempt:
    return replace(_ask_probe(case, config), delay=exponential(config, case.probes))


def _ask_verifier(case: Case, _: GuardConfig) -> Attempt:
    return _ask(case, Aim.VERIFIER, case.verifier_unasked)


def _ask_source(case: Case, _: GuardConfig) -> Attempt:
    return _ask(case, Aim.SOURCE, case.next_source)


def _ask(case: Case, aim: Aim, other: Fallback | None) -> Attempt:
    assert other is not None  # the row's condition
    return Attempt(
        aim=aim, tool=other.tool, arguments=other.translate(case.record.effective_arguments)
    )


def _accept_normalised(case: Case, _: GuardConfig) -> End:
    assert case.normalised is not None  # the row's condition
    return End(
        outcome=Outcome.DONE,
        content=_as_text(case.normalised.value),
        mark=mark_of_changes(case.normalised.changes),
    )


def _accept_settled(case: Case, _: GuardConfig) -> End:
    assert case.settlement is not None  # the row's condition
    mark = mark_of_consensus(case.settlement)
    if case.normalised is not None and case.record.answer_tool in case.settlement.agreeing:
        mark = f"{mark_of_changes(case.normalised.changes)}; {mark}"
    elif case.settlement.changes:
        mark = f"{mark_of_changes(case.settlement.changes)}; {mark}"
    return End(outcome=Outcome.DONE, content=_as_text(case.settlement.value), mark=mark)


def _accept_probe(case: Case, _: GuardConfig) -> End:
    probe = case.attempted.probe
    mark = f"the call gave no usable answer, and {probe} says that its effect happened"
    if case.probe.result is not None:
        if case.probe.changes:
            mark = f"{mark_of_changes(case.probe.changes)}; {mark}"
        return End(outcome=Outcome.DONE, content=_as_text(case.probe.result), mark=mark)
    if case.failed:
        return End(
            outcome=Outcome.DONE, content="It took effect; its result is not known.", mark=mark
        )
    doubt = f"{mark_of_doubt(case.seen.anomalies)}; {probe} says that its effect happened"
    return End(outcome=Outcome.DONE, content=case.seen.content, mark=doubt, doubtful=True)


def _as_text(value: Any) -> str:
    """Return a value as a tool would have answered it.

    A list is data here; passed on as a list it would be read as content blocks.
    """
    return value if isinstance(value, str) else canonical_json(value)


def _explain(case: Case, config: GuardConfig) -> End:
    """Return the call's end with diagnosis and options as its text."""
    end = _end(case, config)
    if end.outcome is Outcome.DONE:
        return end  # passed on with a mark
    if case.answered:  # the tool's own error says enough, but for what it could not compare
        changed = changed_contract(case)
        return replace(end, content=f"{end.content}\n{changed}") if changed else end
    return End(
        outcome=end.outcome, content=diagnosis_and_options(case, end.outcome), error=end.error
    )


def _end(case: Case, config: GuardConfig) -> End:
    """Return the end of a call for which nothing more is done."""
    symptom = case.seen.symptom
    if symptom is not None:
        outcome = Outcome.IN_DOUBT if case.unknown else Outcome.FAILED
        return End(outcome=outcome, content=symptom.message, error=symptom.error)
    if case.attempted.effect.renewable and config.ask:
        outcome = Outcome.IN_DOUBT if case.unknown else Outcome.FAILED
        return End(outcome=outcome, content=case.seen.content, error=case.diagnosis.hazard.value)
    # An effect has happened, however strange its answer. With `ask` off, a strange answer is passed
    # on with a mark.
    return End(
        outcome=Outcome.DONE,
        content=case.seen.content,
        mark=mark_of_doubt(case.seen.anomalies),
        doubtful=True,
    )


# -- the table -------------------------------------------------------------------------------------

_LAST: tuple[Row, ...] = (
    Row(
        action=RecoveryAction.VERIFY,
        reason="it can be derived in another way",
        applies=_has_verifier,
        then=_ask_verifier,
    ),
    Row(
        action=RecoveryAction.CROSS_CHECK,
        reason="another source can answer",
        applies=_has_source,
        then=_ask_source,
    ),
    Row(
        action=RecoveryAction.ASK,
        reason="nothing more can be done here",
        applies=lambda *_: True,
        then=_explain,
    ),
)
"""Rows that end both tables: one more question to another tool, then the model."""

FAILED: tuple[Row, ...] = (
    # What is known to have happened must not be made again, whatever else could be tried.
    Row(
        action=RecoveryAction.VERIFY,
        reason="the probe says that it happened",
        applies=_happened,
        then=_accept_probe,
    ),
    Row(
        action=RecoveryAction.GIVE_UP, reason="the user stopped it", applies=_user_spoke, then=_end
    ),
    # Before every row that repeats or replaces: until the probe answers, the effect may be there.
    Row(
        action=RecoveryAction.VERIFY,
        reason="the effect may have begun",
        applies=_in_doubt_with_probe,
        then=_ask_probe,
    ),
    Row(
        action=RecoveryAction.VERIFY,
        reason="the attempt may still run",
        applies=_may_happen_yet,
        then=_ask_probe_later,
    ),
    # A refused call is refused again as it stands, so its arguments come before any repetition.
    Row(
        action=RecoveryAction.REBIND,
        reason="the live contract differs",
        applies=lambda case, *_: case.refused and case.safe and case.rebound is not None,
        then=_rebound,
    ),
    Row(
        action=RecoveryAction.REFRESH,
        reason="the tool refused the call",
        applies=_contract_would_tell,
        then=_read_contract,
    ),
    # A repetition would only wait for the cooldown; the sibling answers now.
    Row(
        action=RecoveryAction.FALLBACK,
        reason="the tool rests",
        applies=_circuit_is_open,
        then=_sibling,
    ),
    Row(action=RecoveryAction.RETRY, reason="transient", applies=_can_retry, then=_again),
    Row(
        action=RecoveryAction.FALLBACK,
        reason="sibling declared",
        applies=_has_sibling,
        then=_sibling,
    ),
    # Answers that have come in decide before another tool is asked.
    Row(
        action=RecoveryAction.VERIFY,
        reason="another derivation agrees",
        applies=_settled_by_verifier,
        then=_accept_settled,
    ),
    Row(
        action=RecoveryAction.CROSS_CHECK,
        reason="another source answers",
        applies=_settled_by_sources,
        then=_accept_settled,
    ),
    *_LAST,
)
"""Rows for an attempt that failed."""

STRANGE: tuple[Row, ...] = (
    # It costs no call. Where other answers disagree, the right form does not make it true.
    Row(
        action=RecoveryAction.NORMALISE,
        reason="it takes no guess",
        applies=lambda case, *_: case.normalised is not None and not case.disputed,
        then=_accept_normalised,
    ),
    Row(
        action=RecoveryAction.VERIFY,
        reason="the probe says what happened",
        applies=_happened,
        then=_accept_probe,
    ),
    Row(
        action=RecoveryAction.VERIFY,
        reason="another derivation decides",
        applies=_settled_by_verifier,
        then=_accept_settled,
    ),
    Row(
        action=RecoveryAction.CROSS_CHECK,
        reason="the sources decide",
        applies=_settled_by_sources,
        then=_accept_settled,
    ),
    # With the live contract known, the answer may be normalised, and the table begins again.
    Row(
        action=RecoveryAction.REFRESH,
        reason="the contract may differ",
        applies=_contract_would_tell,
        then=_read_contract,
    ),
    Row(
        action=RecoveryAction.VERIFY,
        reason="the effect's answer is strange",
        applies=_in_doubt_with_probe,
        then=_ask_probe,
    ),
    # An answer of the right form can be compared with others, so it is kept and checked; one of
    # another form is asked for again first.
    Row(
        action=RecoveryAction.VERIFY,
        reason="the content is doubted",
        applies=lambda case, *more: case.well_formed and _has_verifier(case, *more),
        then=_ask_verifier,
    ),
    Row(
        action=RecoveryAction.CROSS_CHECK,
        reason="the content is doubted",
        applies=lambda case, *more: case.well_formed and _has_source(case, *more),
        then=_ask_source,
    ),
    Row(action=RecoveryAction.RETRY, reason="unreadable", applies=_once_more, then=_again),
    Row(
        action=RecoveryAction.FALLBACK,
        reason="sibling declared",
        applies=_has_sibling,
        then=_sibling,
    ),
    *_LAST,
)
"""Rows for an answer that does not match its declaration."""
