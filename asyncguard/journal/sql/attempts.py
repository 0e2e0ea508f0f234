"""Attempts in the database: begin, outcome, final state; one function per request."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace

from asyncguard.core.calls import SUCCESS_STATES, CallState
from asyncguard.core.footprints import EffectClass
from asyncguard.core.results import Failure, Interrupted, Result, Started, Success
from asyncguard.errors import CallerError
from asyncguard.journal.begin_policy import OUTCOME_MISSING, Facts, Recorded, Write, in_doubt, judge
from asyncguard.journal.codec import plain, result_to_json, to_json
from asyncguard.journal.intent import Intent
from asyncguard.journal.port import Attempt, AttemptState, Begin, Signal, SignalKind, Verdict
from asyncguard.journal.sql.leases import standing
from asyncguard.journal.sql.processes import is_alive
from asyncguard.journal.sql.rows import ATTEMPT, attempt_of, begins_to_json, value
from asyncguard.journal.sql.signals import send, signals_of_call, token_hash
from asyncguard.journal.sql.store import Store

_LATE = "a late result"
"""Sender of the signal by which a result resolves a doubt."""
_log = logging.getLogger("asyncguard.journal")


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """Outcome as it is written; made by the caller, so that the writer thread only writes."""

    key: str
    """Key of the call."""
    attempt: int
    """Number of the attempt."""
    state: AttemptState
    """State of the attempt with this outcome."""
    result: str
    """Result as JSON text."""
    content: str | None
    """JSON text of the answer; ``None`` unless the attempt succeeded."""
    running: bool
    """True if the attempt was given up, and its tool may still run."""


def outcome_of(key: str, attempt: int, result: Result) -> Outcome:
    """Serialize a result; if it is not JSON, record only that the attempt succeeded."""
    try:
        return _outcome(key, attempt, result)
    except CallerError as error:
        kept = f"It took effect; its result could not be kept: {error}"
        return _outcome(key, attempt, Success(content=kept))


def _outcome(key: str, attempt: int, result: Result) -> Outcome:
    state = AttemptState.ENDED
    if isinstance(result, Interrupted):
        state = AttemptState.ASKED
    elif isinstance(result, Started):
        state = AttemptState.STARTED
    content = to_json(result.content) if isinstance(result, Success) else None
    return Outcome(
        key=key,
        attempt=attempt,
        state=state,
        result=to_json(result_to_json(result)),
        content=content,
        running=isinstance(result, Failure) and result.symptom.running,
    )


# -- begin -----------------------------------------------------------------------------------------


def begin(store: Store, intent: Intent, arguments: str) -> Verdict:
    """Judge an intent, and write it if it may begin.

    Args:
        store: The database.
        intent: The attempt that is about to begin.
        arguments: Its arguments as JSON text.
    """
    recorded = _recorded(store, intent.key, intent.attempt)
    ended, held_by = standing(store, intent.session)
    # Each fact is a query, and the journal is asked before every call with an effect: only those
    # are read that can change the verdict on this attempt.
    signals: tuple[Signal, ...] = ()
    followed, rival = False, ""
    if recorded is not None:
        signals = signals_of_call(store, intent.key)
        if recorded.attempt.state is AttemptState.ASKED:
            last = latest(store, intent.key)
            followed = last is not None and last.attempt.number > recorded.attempt.number
    else:
        if intent.attempt > 1:
            signals = signals_of_call(store, intent.key)
        if not (intent.effect.renewable or intent.allowed):
            rival = _rival(store, intent)
    verdict, write = judge(
        intent,
        Facts(
            process_id=store.process_id,
            ended=ended,
            holder=held_by,
            recorded=recorded,
            signals=signals,
            followed=followed,
            rival=rival,
        ),
    )
    if write is not Write.NOTHING:
        _write_intent(store, intent, arguments, None if recorded is None else recorded.attempt)
    return verdict


def _recorded(store: Store, key: str, number: int) -> Recorded | None:
    rows = store.execute(
        f"SELECT {ATTEMPT} FROM attempts a WHERE a.key = ? AND a.number = ?", (key, number)
    )
    return recorded_of(store, *attempt_of(rows[0])) if rows else None


def recorded_of(store: Store, attempt: Attempt, effect: EffectClass) -> Recorded:
    """Return an attempt with the fate of the process that began it."""
    open_, result = attempt.state is AttemptState.INTENT, attempt.result
    if (
        isinstance(result, Failure)
        and result.symptom.running
        and not _lives(store, attempt.process_id)
    ):
        # It was given up, and its tool has ended with the process.
        attempt = replace(attempt, result=Failure(symptom=replace(result.symptom, running=False)))
    return Recorded(
        attempt=attempt, effect=effect, alive=open_ and _lives(store, attempt.process_id)
    )


def _lives(store: Store, process_id: str) -> bool:
    return process_id == store.process_id or is_alive(store, process_id)


def latest(store: Store, key: str) -> Recorded | None:
    """Return the latest attempt of a call, ``None`` if it has none."""
    rows = store.execute(
        f"SELECT {ATTEMPT} FROM attempts a WHERE a.key = ? ORDER BY a.number DESC LIMIT 1", (key,)
    )
    return recorded_of(store, *attempt_of(rows[0])) if rows else None


def latest_whole(store: Store, key: str) -> Attempt | None:
    """Return the latest attempt of a call with its arguments and the earlier attempts.

    ``None`` if it has none.
    """
    recorded = latest(store, key)
    if recorded is None:
        return None
    ((arguments,),) = store.execute("SELECT arguments FROM calls WHERE key = ?", (key,))
    earlier: tuple[Attempt, ...] = ()
    if recorded.attempt.number > 1:
        rows = store.execute(
            f"SELECT {ATTEMPT} FROM attempts a WHERE a.key = ? AND a.number < ? ORDER BY a.number",
            (key, recorded.attempt.number),
        )
        earlier = tuple(recorded_of(store, *attempt_of(row)).attempt for row in rows)
    return replace(recorded.attempt, arguments=value(arguments, key), earlier=earlier)


def unfinished(store: Store, session: str) -> list[str]:
    """Return keys of the calls of a thread whose final state may be missing.

    See :meth:`~asyncguard.journal.port.Journal.unfinished`.
    """
    rows = store.execute(
        "SELECT key FROM calls WHERE session = ? AND state IN ('pending', 'in_doubt') "
        "AND (state = 'pending' OR resolution <> '') "
        "UNION SELECT c.key FROM attempts a CROSS JOIN calls c "
        "WHERE a.state = 'intent' AND c.key = a.key AND c.session = ? "
        "AND c.state IN ('done', 'resolved') AND c.resolution <> 'happened'",
        (plain(session), plain(session)),
    )
    return [str(key) for (key,) in rows]


RIVALS = (
    """SELECT c.key, c.label, c.state, c.resolution FROM calls c
       WHERE EXISTS (SELECT 1 FROM attempts a WHERE a.key = c.key AND a.fingerprint = ?)
       AND c.session = ? AND c.task = ? AND c.key <> ? AND c.state = 'in_doubt'
       AND c.resolution = ''""",
    # The cross join has SQLite begin with the few intents there are, and not with all calls of the
    # thread.
    """SELECT c.key, c.label, c.state, c.resolution FROM attempts a CROSS JOIN calls c
       WHERE a.fingerprint = ? AND a.state = 'intent' AND c.key = a.key
       AND c.session = ? AND c.task = ? AND c.key <> ? AND c.state = 'pending'""",
)
"""Queries for calls equal to a given one that may be in doubt; both use partial indexes."""


def _rival(store: Store, intent: Intent) -> str:
    """Return the label of an equal call in doubt, ``""`` if there is none.

    It is in doubt if its thread recorded that, or if its process has ended.
    """
    values = (intent.fingerprint, plain(intent.session), plain(intent.task), intent.key)
    for key, label, state, resolution in store.execute(
        " UNION ALL ".join(RIVALS), values * len(RIVALS)
    ):
        if in_doubt(CallState(state), resolution, latest(store, key)):
            return str(label)
    return ""


def _write_intent(store: Store, intent: Intent, arguments: str, recorded: Attempt | None) -> None:
    now = store.now()
    deadline = None if intent.timeout is None else now + intent.timeout
    names = (intent.session, intent.namespace, intent.task, intent.label, intent.tool)
    store.execute(
        "INSERT INTO calls (key, session, namespace, task, label, tool, state, resolution, error, "
        "arguments, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, 'pending', '', '', ?, ?, ?) "
        "ON CONFLICT (key) DO UPDATE SET state = 'pending', resolution = '', error = '', "
        "arguments = excluded.arguments, updated_at = excluded.updated_at",
        (intent.key, *map(plain, names), arguments, now, now),
    )
    if recorded is None:
        store.execute(
            "INSERT INTO attempts (key, number, tool, effect, fingerprint, state, epoch, begun_at, "
            "deadline) VALUES (?, ?, ?, ?, ?, 'intent', ?, ?, ?)",
            (
                intent.key,
                intent.attempt,
                plain(intent.tool),
                intent.effect.value,
                intent.fingerprint,
                store.process_id,
                now,
                deadline,
            ),
        )
    else:
        # Taken over, or asked a person before: the same attempt, begun again.
        begins = recorded.begun_before
        if recorded.state is AttemptState.INTENT:
            begins += (Begin(process_id=recorded.process_id, begun_at=recorded.begun_at),)
        store.execute(
            "UPDATE attempts SET state = 'intent', epoch = ?, effect = ?, begun_at = ?, "
            "deadline = ?, begun_before = ?, ended_at = NULL, result = NULL "
            "WHERE key = ? AND number = ?",
            (
                store.process_id,
                intent.effect.value,
                now,
                deadline,
                begins_to_json(begins) if begins else None,
                intent.key,
                intent.attempt,
            ),
        )
    if intent.token is not None:
        store.execute(
            "INSERT INTO tokens (hash, key, number) VALUES (?, ?, ?) ON CONFLICT (hash) DO NOTHING",
            (token_hash(intent.token), intent.key, intent.attempt),
        )


# -- end -------------------------------------------------------------------------------------------


def end(store: Store, outcome: Outcome) -> bool:
    """Write an outcome; the first one stays, and a later success is kept next to it.

    Returns:
        True if a signal was sent.

    Raises:
        CallerError: The attempt was never begun.
    """
    rows = store.execute(
        "SELECT a.state, a.result, a.late, c.state, c.resolution FROM attempts a "
        "JOIN calls c ON c.key = a.key WHERE a.key = ? AND a.number = ?",
        (outcome.key, outcome.attempt),
    )
    if not rows:
        raise CallerError(
            f"Attempt {outcome.attempt} of call {outcome.key} was never begun here; begin it first."
        )
    state, before, late, call_state, resolution = rows[0]
    content, newly = outcome.content, False
    # Also an attempt that another process has taken over: whichever of the two ends first counts.
    if state != AttemptState.ENDED:
        store.execute(
            "UPDATE attempts SET state = ?, ended_at = ?, result = ? WHERE key = ? AND number = ?",
            (outcome.state.value, store.now(), outcome.result, outcome.key, outcome.attempt),
        )
    else:
        if not outcome.running:
            _note_own_end(store, outcome, before)
        if content is not None:
            first = _success(store, outcome.key, outcome.attempt)
            first = late if first is None else first
            if first is None:
                store.execute(
                    "UPDATE attempts SET late = ? WHERE key = ? AND number = ?",
                    (content, outcome.key, outcome.attempt),
                )
                newly = True
            content = content if first is None else first
    if content is None:
        return False
    # A retry that was asked for and has not begun is answered by the result that came.
    if call_state == CallState.IN_DOUBT and resolution in ("", SignalKind.RETRY):
        _signal_success(store, outcome.key, outcome.attempt, content)
        return True
    if newly:
        _warn_if_resolved(store, outcome)
    return False


def _note_own_end(store: Store, outcome: Outcome, before: str) -> None:
    """Note that the tool of an attempt that was given up does not run any more."""
    result = value(before, outcome.key)
    if (result.get("symptom") or {}).get("running"):
        result["symptom"]["running"] = False
        store.execute(
            "UPDATE attempts SET result = ? WHERE key = ? AND number = ?",
            (to_json(result), outcome.key, outcome.attempt),
        )


def _warn_if_resolved(store: Store, outcome: Outcome) -> None:
    answers = [
        signal.kind.value
        for signal in signals_of_call(store, outcome.key)
        if signal.attempt >= outcome.attempt and signal.by != _LATE
    ]
    if answers:
        _log.warning(
            "Attempt %d of call %s gave a result after the call was answered (%s); the agent is "
            "not told of it. `asyncguard ledger show --payload` shows both.",
            outcome.attempt,
            outcome.key,
            answers[-1],
        )


def conclude(store: Store, outcome: Outcome) -> bool:
    """Write the outcome of an intent of this process; return True if a signal was sent."""
    # Own intents alone: the process that took the attempt over may have its effect under way.
    rows = store.execute(
        "SELECT 1 FROM attempts WHERE key = ? AND number = ? AND epoch = ? AND state = 'intent'",
        (outcome.key, outcome.attempt, store.process_id),
    )
    return bool(rows) and end(store, outcome)


def record_final_state(
    store: Store, key: str, state: CallState, error: str, *, stored: bool = False
) -> bool:
    """Record the final state of a call, if known here; return True if a signal was sent."""
    store.execute(
        "UPDATE calls SET state = ?, error = ?, updated_at = ? WHERE key = ?",
        (state.value, plain(error), store.now(), key),
    )
    orphaned = (
        stored
        and state in SUCCESS_STATES
        and store.execute(
            "SELECT 1 FROM attempts a CROSS JOIN calls c WHERE a.key = ? AND a.state = 'intent' "
            "AND a.epoch <> ? AND c.key = a.key AND c.resolution <> 'happened'",
            (key, store.process_id),
        )
    )
    # An intent of an ended process, whose outcome is missing while its thread has the call as done:
    # left open, it would count as lost. Where a person found that it happened, that signal answers
    # for the attempt, whose own outcome no process has seen.
    last = latest(store, key) if orphaned else None
    if last is not None and last.attempt.state is AttemptState.INTENT and not last.alive:
        end(store, outcome_of(key, last.attempt.number, Success(content=OUTCOME_MISSING)))
    return state is CallState.IN_DOUBT and _signal_known_success(store, key)


def _signal_known_success(store: Store, key: str) -> bool:
    """Signal a success that was written before the thread recorded its doubt."""
    resolved = store.execute("SELECT 1 FROM calls WHERE key = ? AND resolution <> ''", (key,))
    if resolved:
        return False
    for number, late in store.execute(
        "SELECT number, late FROM attempts WHERE key = ? ORDER BY number DESC", (key,)
    ):
        content = late if late is not None else _success(store, key, number)
        if content is not None:
            _signal_success(store, key, number, content)
            return True
    return False


def _success(store: Store, key: str, number: int) -> str | None:
    recorded = _recorded(store, key, number)
    result = recorded.attempt.result if recorded is not None else None
    return to_json(result.content) if isinstance(result, Success) else None


def _signal_success(store: Store, key: str, number: int, content: str) -> None:
    send(
        store,
        kind=SignalKind.HAPPENED,
        key=key,
        number=number,
        content=content,
        sender=_LATE,
    )


def withdraw(store: Store, begun: Iterable[tuple[str, int]]) -> None:
    """Remove intents of this process whose attempts certainly did not begin.

    Args:
        store: The database.
        begun: Key and number of each attempt.
    """
    for key, number in begun:
        if give_back(store, key, number):
            continue
        store.execute(
            "DELETE FROM attempts WHERE key = ? AND number = ? AND epoch = ? AND state = 'intent'",
            (key, number, store.process_id),
        )


def give_back(store: Store, key: str, number: int) -> bool:
    """Return an intent that this process took over, and did not begin, to the process before it.

    Only this process has not begun: the one before may have made the effect.

    Returns:
        True if the attempt is an intent that was taken over.
    """
    rows = store.execute(
        f"SELECT {ATTEMPT} FROM attempts a WHERE a.key = ? AND a.number = ? AND a.epoch = ? "
        "AND a.state = 'intent'",
        (key, number, store.process_id),
    )
    begins = attempt_of(rows[0])[0].begun_before if rows else ()
    if not begins:
        return False
    *earlier, last = begins
    store.execute(
        "UPDATE attempts SET epoch = ?, begun_at = ?, begun_before = ? "
        "WHERE key = ? AND number = ?",
        (last.process_id, last.begun_at, begins_to_json(earlier) if earlier else None, key, number),
    )
    return True
