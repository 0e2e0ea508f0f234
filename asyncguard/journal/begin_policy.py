"""The begin policy: judges whether an attempt may begin, as a pure function of recorded facts.

The rules apply in the order in which they are written here. :mod:`asyncguard.journal.sql.attempts`
gathers the facts, in the transaction that also writes the decision.
"""

from dataclasses import dataclass
from enum import StrEnum

from asyncguard.core.calls import CallState
from asyncguard.core.faults import ErrorCode, Symptom
from asyncguard.core.footprints import EffectClass
from asyncguard.core.results import Failure, Started, Success
from asyncguard.errors import JournalError
from asyncguard.journal.intent import Intent
from asyncguard.journal.port import (
    Attempt,
    AttemptState,
    Fresh,
    Known,
    Lost,
    Refused,
    Running,
    Signal,
    SignalKind,
    Verdict,
)

CONFIRMED = "It happened, as a person who checked has confirmed; its result is not known."
"""Result of an effect of which only the success is known."""
OUTCOME_MISSING = "It took effect; its result was shown in its thread and could not be recorded."
"""Result of an attempt that succeeded in its thread, and whose outcome could not be written."""


def not_happened(by: str) -> str:
    """Return the text for the model about a call that did not happen.

    Args:
        by: Name of the person who found that, empty if it is not known.
    """
    return (
        f"It did not happen, as {by or 'an operator'} found. Call it again if it is still wanted."
    )


_ANSWERED = Failure(
    symptom=Symptom(
        error=ErrorCode.INTERRUPT, message="A person was asked, and answered.", started=False
    )
)


class Write(StrEnum):
    """Change of the journal that comes with a verdict."""

    NOTHING = "nothing"
    """No change."""
    TAKE_OVER = "take_over"
    """The attempt becomes an intent of this process."""
    NEW = "new"
    """The attempt is added, and its call if that is new."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorded:
    """An attempt that is in the journal, with the facts that decide about it."""

    attempt: Attempt
    """The attempt."""
    effect: EffectClass
    """Effect class of its tool, as it was declared when it began."""
    alive: bool
    """True if it is an intent and the process that began it lives."""

    @property
    def lost(self) -> bool:
        """True if a process that has ended began it, and it must not be repeated."""
        return (
            self.attempt.state is AttemptState.INTENT
            and not self.alive
            and not self.effect.repeatable
        )

    @property
    def running(self) -> bool:
        """True if its effect may still happen: its process lives, and its own end is not known."""
        result = self.attempt.result
        given_up = isinstance(result, Failure) and result.symptom.running
        return (self.alive or given_up) and not self.effect.renewable


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """Facts about an intent, as recorded in the journal."""

    process_id: str
    """Id of the process that asks."""
    ended: bool
    """True if that process was declared dead."""
    holder: str
    """Id of the process that holds the thread, empty if none does."""
    recorded: Recorded | None
    """The attempt, if it is known."""
    signals: tuple[Signal, ...]
    """Signals about the call, in order."""
    followed: bool
    """True if the call has a later attempt."""
    rival: str
    """Label of an equal call of the same thread and task that is in doubt, empty if none is."""


def judge(intent: Intent, facts: Facts) -> tuple[Verdict, Write]:
    """Judge an intent, and return the verdict and the change of the journal.

    Args:
        intent: The attempt that is about to begin.
        facts: Facts about it.
    """
    if facts.ended:
        return _fenced(
            "This process was declared dead, and its calls were given to others; "
            "it begins nothing more."
        )
    if not intent.remote and facts.holder != facts.process_id:
        return _fenced(
            "The conversation is run by another process now; this one begins nothing more."
        )
    if facts.recorded is not None:
        return _judge_again(intent, facts, facts.recorded)
    if (happened := _happened(facts.signals)) is not None:
        # A retry was asked for, and the result came before it began.
        return happened, Write.NOTHING
    if facts.rival and not intent.effect.renewable:
        return _refused(
            f"An equal call, {facts.rival}, was begun, and it is not known yet whether it took "
            "effect. It is not made a second time before that is known."
        )
    return Fresh(), Write.NEW


def _judge_again(intent: Intent, facts: Facts, recorded: Recorded) -> tuple[Verdict, Write]:
    attempt = recorded.attempt
    resolved = _resolution(attempt.number, facts.signals)
    if attempt.fingerprint != intent.fingerprint:
        if recorded.lost and resolved is None and recorded.effect is EffectClass.AT_MOST_ONCE:
            # Its outcome is unknown, whatever is wanted now. (A probe could find it, but only with
            # the arguments of the call that was begun.)
            return Lost(process_id=attempt.process_id, other=True), Write.NOTHING
        return _refused(
            "This call was begun before with another tool or other arguments; "
            "make it as a new call."
        )
    if resolved is not None:
        return resolved, Write.NOTHING
    return _judge_state(intent, facts, recorded)


def _judge_state(intent: Intent, facts: Facts, recorded: Recorded) -> tuple[Verdict, Write]:
    attempt = recorded.attempt
    match attempt.state:
        case AttemptState.ENDED:
            if attempt.result is None:
                raise JournalError(
                    f"Attempt {attempt.number} of call {intent.key} ended without a result."
                )
            return Known(result=attempt.result), Write.NOTHING
        case AttemptState.STARTED:
            return Known(result=Started()), Write.NOTHING
        case AttemptState.ASKED:
            # It runs again with the answer, once: as the attempt that follows, if there is one.
            if facts.followed:
                return Known(result=_ANSWERED), Write.NOTHING
            return Fresh(again=bool(attempt.begun_before)), Write.TAKE_OVER
        case AttemptState.INTENT:
            if recorded.alive:
                return Running(process_id=attempt.process_id), Write.NOTHING
            # The tool may have been redeclared since; both declarations must allow a repetition.
            if recorded.effect.repeatable and intent.effect.repeatable:
                return _begun_again(attempt.number, facts.signals)
            return Lost(process_id=attempt.process_id), Write.NOTHING


def _begun_again(number: int, signals: tuple[Signal, ...]) -> tuple[Verdict, Write]:
    for signal in signals:
        if (signal.kind, signal.attempt) == (SignalKind.DELIVERY, number):
            # Begun again, the work outside would have a second token and a second result.
            return Known(result=Success(content=signal.content)), Write.NOTHING
    return Fresh(again=True), Write.TAKE_OVER


def _resolution(number: int, signals: tuple[Signal, ...]) -> Known | None:
    """Return the result that signals give to an attempt, ``None`` if they give none."""
    if (happened := _happened(signals)) is not None:
        return happened
    denied = (SignalKind.NOT_HAPPENED, SignalKind.RETRY)
    last = next(
        (item for item in reversed(signals) if item.kind in denied and item.attempt == number), None
    )
    if last is None:
        return None
    symptom = Symptom(
        error=ErrorCode.NOT_HAPPENED,
        message=not_happened(last.by),
        started=False,
        transient=last.kind is SignalKind.RETRY,
    )
    return Known(result=Failure(symptom=symptom))


def _happened(signals: tuple[Signal, ...]) -> Known | None:
    for signal in signals:
        if signal.kind is SignalKind.HAPPENED:
            content = CONFIRMED if signal.content is None else signal.content
            return Known(result=Success(content=content))
    return None


def in_doubt(state: CallState, resolution: str, latest: Recorded | None) -> bool:
    """Return True if the outcome of a call is unknown.

    Args:
        state: State of the call in its thread.
        resolution: Kind of the signal that resolved it, empty if there is none.
        latest: Its latest attempt.
    """
    if resolution:
        return False
    if state is CallState.IN_DOUBT:
        return True
    if state is not CallState.PENDING or latest is None:
        return False
    return latest.lost


def _fenced(reason: str) -> tuple[Verdict, Write]:
    return Refused(reason=reason, fenced=True), Write.NOTHING


def _refused(reason: str) -> tuple[Verdict, Write]:
    return Refused(reason=reason), Write.NOTHING
