"""Retry plans: whether a call is tried again, and after which wait.

Wait and stop strategies are tenacity's, or callables of its ``RetryCallState``. A tool brings its
own in :class:`~asyncguard.core.tool_spec.Retry`; the defaults are made of the configuration. Here
they are only asked: the attempt is made by an executor, under the guards, the ledger and the
journal, so tenacity's own loop has no part in it.

The state that strategies read is rebuilt from the events of the call. No clock is read, so a replay
of the events arrives at the same state.
"""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tenacity import RetryCallState, Retrying

from asyncguard.config import GuardConfig
from asyncguard.core.events import Aim, CallFound, CallRecovered, CallStarted
from asyncguard.core.records import CallRecord
from asyncguard.errors import ToolFault
from asyncguard.recovery.failure_case import Case

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """A further attempt."""

    delay: float
    """Seconds to wait before it."""
    complaint: str = ""
    """Sentence for the log if a strategy of the tool failed and the default decided instead."""


def plan(case: Case, config: GuardConfig, *, refused_here: bool = False) -> Plan | None:
    """Return the plan of the next attempt, ``None`` if the stop strategy ends the retries.

    The wait strategy is asked first and each strategy once, as in tenacity, so that a stop strategy
    can read the wait (``stop_before_delay``).

    Args:
        case: A call whose attempt failed or brought an unreadable answer.
        config: Default wait and number of attempts.
        refused_here: True if a circuit refused the attempt, so that none was made and none counts.
    """
    symptom, own = case.seen.symptom, case.attempted.retry
    requested = None if symptom is None else symptom.retry_after
    if own is None:
        delay = _default_wait(case.record, config) if requested is None else max(0.0, requested)
        stops = _default_stop(case.record, config)
        return Plan(delay=delay) if refused_here or not stops else None
    state, complaints = _state(case), []
    delay, failed = _ask("wait", own.wait, state, _seconds, _default_wait(case.record, config))
    complaints.append(failed)
    # The author's wait may be longer than the server asks for, never shorter: the server would
    # refuse again.
    state.upcoming_sleep = delay = max(delay, requested or 0.0)
    stops = False
    if not refused_here:
        stops, failed = _ask("stop", own.stop, state, bool, _default_stop(case.record, config))
        complaints.append(failed)
    return None if stops else Plan(delay=delay, complaint="; ".join(filter(None, complaints)))


def exponential(config: GuardConfig, attempt: int) -> float:
    """Return the default wait in seconds after an attempt, from 1, without jitter."""
    doubled = 2.0 ** min(attempt - 1, 64)  # a larger power overflows, and the longest wait counts
    return min(config.timing.retry_max, config.timing.retry_initial * doubled)


def _default_wait(record: CallRecord, config: GuardConfig) -> float:
    # The jitter is drawn from key and attempt, so that a replay waits as long as the run did and
    # two calls do not wait in step.
    digest = hashlib.sha256(f"{record.key}|{record.attempts}".encode()).digest()
    jitter = int.from_bytes(digest[:8], "big") / 2**64 * config.timing.retry_jitter
    return exponential(config, max(1, record.answer_attempts)) + jitter


def _default_stop(record: CallRecord, config: GuardConfig) -> bool:
    return record.answer_attempts >= config.limits.max_attempts


def _state(case: Case) -> RetryCallState:
    """Return the state of the attempts of the tool that was tried last.

    Attempts of a sibling do not count for this one. The time since the first attempt begins with
    the process: another one had another clock.
    """
    tool, history = case.attempted.name, case.record.history
    starts = [e for e in history if isinstance(e, CallStarted) and e.tool == tool]
    here = [e.at for e in starts if e.epoch == starts[-1].epoch]
    ends = [e.at for e in history if isinstance(e, CallFound) and e.aim is Aim.ANSWER]
    state = RetryCallState(retry_object=Retrying(), fn=None, args=(), kwargs={})
    state.attempt_number = max(1, len(starts))
    if case.seen.symptom is None:
        state.set_result(case.seen.content)
    else:
        seen = case.seen.symptom
        fault = ToolFault(
            seen.message,
            transient=seen.transient is True,
            started=seen.started,
            retry_after=seen.retry_after,
            status=seen.status,
        )
        fault.data["error"] = seen.error  # the exception itself is gone after a restart
        state.set_exception((type(fault), fault, None))
    # After the setters, which read a clock.
    state.start_time = here[0] if here else 0.0
    state.outcome_timestamp = max(state.start_time, ends[-1]) if ends else state.start_time
    state.idle_for = sum(
        e.delay for e in history if isinstance(e, CallRecovered) and e.aim is Aim.ANSWER
    )
    return state


def _ask(
    name: str,
    strategy: Callable[[RetryCallState], object] | None,
    state: RetryCallState,
    read: Callable[[object], T | None],
    default: T,
) -> tuple[T, str]:
    """Return the answer of a strategy and a complaint; the default if there is none to be had."""
    if strategy is None:
        return default, ""
    try:
        answer = strategy(state)
    except Exception as error:  # noqa: BLE001 - user code must not end a recovery
        return default, f"the tool's {name} strategy failed with {type(error).__name__}"
    if (value := read(answer)) is None:
        return default, f"the tool's {name} strategy answered with {type(answer).__name__}"
    return value, ""


def _seconds(answer: object) -> float | None:
    if isinstance(answer, bool) or not isinstance(answer, int | float):
        return None
    return float(answer) if math.isfinite(answer) and answer >= 0 else None
