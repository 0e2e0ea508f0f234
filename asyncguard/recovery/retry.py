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
from asyncguard.core.faults import ErrorCode
from asyncguard.core.records import CallRecord
from asyncguard.errors import ToolFault
from asyncguard.recovery.diagnosis import is_transient
from asyncguard.recovery.failure_case import Case

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """A further attempt, or the end of the retries."""

    delay: float = 0.0
    """Seconds to wait before it."""
    stops: bool = False
    """True if the stop strategy ends the retries."""
    complaint: str = ""
    """Sentence for the log if a strategy of the tool failed and the default decided instead."""


def plan(case: Case, config: GuardConfig, *, refused_here: bool = False) -> Plan:
    """Return the plan of the next attempt.

    The wait strategy is asked first and each strategy once, as in tenacity, so that a stop strategy
    can read the wait (``stop_before_delay``).

    Args:
        case: A call whose attempt failed or brought an unreadable answer.
        config: Default wait and number of attempts.
        refused_here: True if a circuit refused the attempt: none was made, so none counts, and the
            circuit says how long to wait.
    """
    symptom, own = case.seen.symptom, case.attempted.retry
    requested = None if symptom is None else symptom.retry_after
    delay = _default_wait(case.record, config) if requested is None else max(0.0, requested)
    refused = sum(
        found.aim is Aim.ANSWER and found.error == ErrorCode.CIRCUIT_OPEN
        for found in case.record.findings
    )
    made = _tried(case.record) - refused
    ended = not refused_here and made >= config.limits.max_attempts
    if own is None:
        return Plan(delay=delay, stops=ended)
    state, failures = _state(case), []
    if own.wait is not None and not refused_here:
        asked, failed = _ask("wait", own.wait, state, _seconds, _default_wait(case.record, config))
        failures.append(failed)
        # The author's wait may be longer than the server asks for, never shorter: the server would
        # refuse again.
        delay = max(asked, requested or 0.0)
    state.upcoming_sleep = delay
    if own.stop is not None:
        ended, failed = _ask("stop", own.stop, state, bool, ended)
        failures.append(failed)
    return Plan(delay=delay, stops=ended, complaint="; ".join(filter(None, failures)))


def exponential(config: GuardConfig, attempt: int) -> float:
    """Return the default wait in seconds after an attempt, from 1, without jitter."""
    doubled = 2.0 ** min(attempt - 1, 64)  # a larger power overflows, and the longest wait counts
    return min(config.timing.retry_max, config.timing.retry_initial * doubled)


def _default_wait(record: CallRecord, config: GuardConfig) -> float:
    # The jitter is drawn from key and attempt, so that a replay waits as long as the run did and
    # two calls do not wait in step.
    digest = hashlib.sha256(f"{record.key}|{record.attempts}".encode()).digest()
    jitter = int.from_bytes(digest[:8], "big") / 2**64 * config.timing.retry_jitter
    return exponential(config, max(1, _tried(record))) + jitter


def _tried(record: CallRecord) -> int:
    """Return the attempts that did not end with a question to a person."""
    asked = {
        each.attempt for each in record.history if isinstance(each, CallRecovered) and each.asked
    }
    return record.answer_attempts - len(asked)


def _state(case: Case) -> RetryCallState:
    """Return the state of the attempts of the tool that was tried last.

    Attempts of a sibling do not count for this one, nor do those that a circuit refused or that
    ended with a question to a person. The time since the first attempt begins with the process:
    another one had another clock.
    """
    tool, history = case.attempted.name, case.record.history
    starts: list[CallStarted] = []
    waits: list[float] = []
    delay = idle = ended_at = 0.0
    refusals = 0
    for event in history:
        match event:
            case CallRecovered(asked=True):
                if starts and starts[-1].attempt == event.attempt:
                    starts.pop()
                    idle += waits.pop()
            case CallRecovered():
                delay = event.delay
            case CallStarted(tool=started) if started == tool:
                starts.append(event)
                waits.append(delay)
                delay = 0.0
            case CallFound(aim=Aim.ANSWER):
                ended_at = event.at
                refusals += event.tool == tool and event.error == ErrorCode.CIRCUIT_OPEN
    state = RetryCallState(retry_object=Retrying(), fn=None, args=(), kwargs={})
    state.attempt_number = len(starts) - refusals
    if case.seen.symptom is None:
        state.set_result(case.seen.content)
    else:
        seen = case.seen.symptom
        fault = ToolFault(
            seen.message,
            transient=is_transient(seen),
            started=seen.started,
            retry_after=seen.retry_after,
            status=seen.status,
        )
        fault.data["error"] = seen.error  # the exception itself is gone after a restart
        state.set_exception((type(fault), fault, None))
    # After the setters, which read a clock. A start is recorded before its wait.
    here = [
        start.at + wait
        for start, wait in zip(starts, waits, strict=True)
        if start.epoch == starts[-1].epoch
    ]
    state.start_time = here[0] if here else ended_at
    state.outcome_timestamp = max(state.start_time, ended_at)
    state.idle_for = idle + sum(waits)
    return state


def _ask(
    name: str,
    strategy: Callable[[RetryCallState], object],
    state: RetryCallState,
    read: Callable[[object], T],
    default: T,
) -> tuple[T, str]:
    """Return the answer of a strategy; the default and a complaint if it has none."""
    try:
        return read(strategy(state)), ""
    except _UnusableError as error:
        return default, f"the tool's {name} strategy answered with {error}"
    except Exception as error:  # noqa: BLE001 - user code must not end a recovery
        return default, f"the tool's {name} strategy failed with {type(error).__name__}"


class _UnusableError(Exception):
    """An answer that is not a number of seconds."""


def _seconds(answer: object) -> float:
    if isinstance(answer, bool) or not isinstance(answer, int | float):
        raise _UnusableError(type(answer).__name__)
    seconds = float(answer)
    if not math.isfinite(seconds) or seconds < 0:
        raise _UnusableError(repr(seconds))
    return seconds
