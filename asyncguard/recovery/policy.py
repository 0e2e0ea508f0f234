"""From a failed attempt to one action: retry, fall back, or give up with an honest outcome.

The table, first match wins. *Safe* means that the effect cannot have begun or that the tool's effect class allows a
repetition; *left* that the stop rule and the budgets of call and run allow another attempt.

| transient | safe | left | sibling | action |
|---|---|---|---|---|
| yes | yes | yes | any | retry |
| any | yes | any | yes | fall back |
| any | no  | any | any | give up, in doubt; failed if the tool itself answered that it failed |
| any | yes | any | no  | give up, failed |
"""

import hashlib
from dataclasses import dataclass

from tenacity import RetryCallState, Retrying, stop_after_attempt, wait_exponential

from asyncguard.config import GuardConfig
from asyncguard.core.events import Outcome, RecoveryAction
from asyncguard.core.footprints import EffectClass
from asyncguard.core.hazards import Symptom
from asyncguard.core.records import CallRecord
from asyncguard.core.toolspec import ToolSpec
from asyncguard.recovery.diagnosis import is_transient, may_have_started


@dataclass(frozen=True, kw_only=True, slots=True)
class Recovery:
    """What to do about one failed attempt."""

    action: RecoveryAction
    """The action."""
    reason: str
    """Why, for the log."""
    delay: float = 0.0
    """Back-off in seconds (retry)."""
    tool: str = ""
    """The sibling (fallback)."""
    outcome: Outcome = Outcome.FAILED
    """What the call ends as (give up)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FailedAttempt:
    """All that the policy looks at."""

    symptom: Symptom
    """What was seen."""
    called: ToolSpec
    """Declaration of the tool that the model called: it names the siblings."""
    attempted: ToolSpec
    """Declaration of the tool that failed, a sibling after a fallback: its effect class counts."""
    record: CallRecord
    """The call; ``attempts`` counts the failed one."""


def decide(failed: FailedAttempt, config: GuardConfig, run_retries: int) -> Recovery:
    """The action for a failed attempt.

    Args:
        failed: The attempt.
        config: Budgets and back-off.
        run_retries: Retries of the run so far.
    """
    symptom, spec, record = failed.symptom, failed.called, failed.record
    transient = is_transient(symptom)
    safe = failed.attempted.effect.repeatable or not may_have_started(symptom)
    if transient and safe and run_retries < config.limits.max_run_retries:
        state = _attempt(record)
        if not stop_after_attempt(config.limits.max_attempts)(state):
            return Recovery(action=RecoveryAction.RETRY, reason="transient", delay=back_off(symptom, record, config))
    if safe and (sibling := next_fallback(spec, record)) is not None:
        return Recovery(action=RecoveryAction.FALLBACK, reason="sibling declared", tool=sibling)
    if not safe and not symptom.answered:
        return Recovery(action=RecoveryAction.GIVE_UP, reason="effect may have begun", outcome=Outcome.IN_DOUBT)
    reason = "attempts exhausted" if transient else "not transient"
    return Recovery(action=RecoveryAction.GIVE_UP, reason=reason)


def next_fallback(spec: ToolSpec, record: CallRecord) -> str | None:
    """The first declared sibling that was not tried: they are tried in order, each once."""
    return next(iter(left_fallbacks(spec, record)), None)


def left_fallbacks(spec: ToolSpec, record: CallRecord) -> list[str]:
    """The declared siblings that come after the tool of the latest attempt."""
    names = [fallback.tool for fallback in spec.fallbacks]
    return names[names.index(record.tool) + 1 :] if record.tool in names else names


def back_off(symptom: Symptom, record: CallRecord, config: GuardConfig) -> float:
    """Seconds before the next attempt: what the server asked for, else exponential with jitter.

    The jitter is drawn from key and attempt, so that a replay waits as long as the run did and two calls do not wait
    in step.
    """
    timing = config.timing
    if symptom.retry_after is not None:
        return max(0.0, symptom.retry_after)
    wait = wait_exponential(multiplier=timing.retry_initial, max=timing.retry_max)
    digest = hashlib.sha256(f"{record.key}|{record.attempts}".encode()).digest()
    jitter = int.from_bytes(digest[:8], "big") / 2**64 * timing.retry_jitter
    return float(wait(_attempt(record))) + jitter


def lost_outcome(spec: ToolSpec) -> Recovery:
    """What becomes of a call whose process died while it may have run."""
    if spec.effect.repeatable or spec.interrupts:
        return Recovery(action=RecoveryAction.RETRY, reason="process lost, repeatable")
    outcome = Outcome.IN_DOUBT if spec.effect is not EffectClass.PURE else Outcome.FAILED
    return Recovery(action=RecoveryAction.GIVE_UP, reason="process lost", outcome=outcome)


def _attempt(record: CallRecord) -> RetryCallState:
    state = RetryCallState(retry_object=Retrying(), fn=None, args=(), kwargs={})
    state.attempt_number = max(1, record.attempts)
    return state
