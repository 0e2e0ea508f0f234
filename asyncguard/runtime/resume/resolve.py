"""Resolve open calls: decide the fate of one, of all in some states, or of all in a new state."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from asyncguard.core.calls import CallState
from asyncguard.core.records import CallRecord
from asyncguard.core.resume_policy import decide
from asyncguard.core.resume_terms import Fate, Why
from asyncguard.runtime.resume.case import HELD_BACK, Case, Circumstances
from asyncguard.runtime.resume.facts import all_facts, facts_to_issue, lacks_approval
from asyncguard.runtime.resume.fates import CARRIED_OUT
from asyncguard.runtime.session.session import Session
from asyncguard.runtime.signals import was_begun

_ALONE = Circumstances()


def resolve(session: Session, record: CallRecord, why: Why, given: Circumstances = _ALONE) -> Fate:
    """Decide the fate of an open call, and carry it out.

    Args:
        session: The thread.
        record: The call.
        why: The reason to ask.
        given: Knowledge of the caller.

    Returns:
        The fate. ``JUDGE``, ``KEEP`` and ``WAIT`` change nothing here; the caller acts on them.
    """
    facts = (
        facts_to_issue(session, record)
        if why is Why.ISSUED and not lacks_approval(session, record)
        else all_facts(session, record, why, given)
    )
    decision = decide(facts)
    if (carry_out := CARRIED_OUT.get(decision.fate)) is not None:
        reason = decision.reason or given.message
        carry_out(Case(session=session, record=record, facts=facts, given=given, reason=reason))
    return decision.fate


def reconcile(session: Session, *, issuing: bool, given: Circumstances = _ALONE) -> bool:
    """Resolve the open calls of a state that this process has not written.

    Args:
        session: The thread, joined with state and journal.
        issuing: True if admitted calls may have been issued.
        given: Knowledge of the caller; which calls are lost is found here.

    Returns:
        True if calls wait until this process has met its tools; call this function again then.
    """
    lost = frozenset(record.key for record in session.lost(queued=issuing))
    given = replace(given, lost=lost)
    waits = False
    for state in (CallState.PENDING, CallState.QUEUED, *HELD_BACK):
        # A copy: carrying a fate out moves the call to another state.
        for record in list(session.ledger.in_state(state)):
            waits = resolve(session, record, Why.RESUMED, given) is Fate.WAIT or waits
    return waits


def undecided(session: Session) -> Circumstances:
    """Return the calls that an earlier process may have issued, until that is decided.

    Those that are held back are among them where their wrappers release them, in ``create_agent``.
    """
    states: tuple[CallState, ...] = (CallState.QUEUED,) if session.reconcile_due else ()
    if states and not session.engine.all_met:
        states = (*states, *HELD_BACK)
    return Circumstances(lost=frozenset(record.key for record in session.ledger.in_state(*states)))


def resolve_all(
    session: Session, states: Sequence[CallState], why: Why, given: Circumstances = _ALONE
) -> Mapping[str, Fate]:
    """Resolve all calls in some states; see :func:`resolve`.

    Returns:
        The fates, by key of the call.
    """
    # Collected first: carrying a fate out moves calls between the states.
    records = session.ledger.in_state(*states)
    return {record.key: resolve(session, record, why, given) for record in records}


def never_begun(session: Session, record: CallRecord) -> bool:
    """Return True if no attempt of a call was begun, in this process or elsewhere."""
    begun = session.engine.begun.knows(record.key, after=record.last_answer_attempt)
    return not (record.attempts or begun or was_begun(session, record))


def cancel_changed(session: Session, record: CallRecord, now: str) -> None:
    """Cancel a call whose message was changed after it was judged.

    Guards, journal and approver know the call as the model made it, so the changed one must not run
    under its name.

    Args:
        session: The thread.
        record: The call, of which no attempt was begun.
        now: The call as the message holds it.
    """
    reason = f"the call was changed to {now} after the guards had judged it"
    session.record.cancelled(record.key, reason=reason)
