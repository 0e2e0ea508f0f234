"""Whether an attempt may begin: a pure function of what the journal knows.

The rules are asked in the order in which they stand here. What they need to know is gathered in
:mod:`asyncguard.journal.sql.attempts`, in the transaction that also writes what they decide.
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

CONFIRMED = "It happened, as somebody who looked confirmed; what it answered is not known."
"""The result of an effect of which only that is known."""
TOLD = "It took effect; what it answered was told in its thread, and could not be written down."
"""The result of an attempt that its thread has as done, and whose outcome found no room."""

_ANSWERED = Failure(
    symptom=Symptom(
        error=ErrorCode.INTERRUPT, message="A person was asked, and answered.", started=False
    )
)


class Write(StrEnum):
    """What is written with a verdict."""

    NOTHING = "nothing"
    """The journal stays as it is."""
    TAKE_OVER = "take_over"
    """The attempt is this process's now, and an intent again."""
    NEW = "new"
    """The attempt, and its call if that is new."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorded:
    """An attempt that is in the journal."""

    attempt: Attempt
    """As the journal knows it."""
    effect: EffectClass
    """What may be repeated, as it was declared then."""
    alive: bool
    """Whether the process that began it lives; only asked of an intent."""

    @property
    def lost(self) -> bool:
        """Whether a process that is gone had begun it, and it must not be repeated."""
        return (
            self.attempt.state is AttemptState.INTENT
            and not self.alive
            and not self.effect.repeatable
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """What the journal knows when it is asked."""

    process_id: str
    """Of the process that asks."""
    ended: bool
    """Whether that process was declared dead."""
    holder: str
    """Epoch that holds the thread, empty if none does."""
    recorded: Recorded | None
    """The attempt, if it is known."""
    mail: tuple[Signal, ...]
    """What was told of the call from outside."""
    followed: bool
    """Whether the call has a later attempt."""
    rival: str
    """Label of an equal call of the same thread and task that is in doubt, empty if there is none."""


def judge(intent: Intent, facts: Facts) -> tuple[Verdict, Write]:
    """The answer to an intent, and what is written with it.

    Args:
        intent: What is asked for.
        facts: What is known.
    """
    if facts.ended:
        return _fenced(
            "This process was taken for dead, and its calls were given to others; it begins nothing more."
        )
    if not intent.remote and facts.holder != facts.process_id:
        return _fenced(
            "The conversation is carried on by another process now; nothing more begins in this one."
        )
    if facts.recorded is not None:
        return _judge_again(intent, facts, facts.recorded)
    if facts.rival and not intent.effect.renewable:
        return _refused(
            f"An equal call, {facts.rival}, was begun and nobody knows yet whether it took effect. "
            "It is not made a second time before that is known."
        )
    return Fresh(), Write.NEW


def _judge_again(intent: Intent, facts: Facts, recorded: Recorded) -> tuple[Verdict, Write]:
    attempt = recorded.attempt
    told = _told(attempt.number, facts.mail)
    if attempt.fingerprint != intent.fingerprint:
        if recorded.lost and told is None and recorded.effect is EffectClass.AT_MOST_ONCE:
            # What it did is unknown, whatever is wanted now. (A probe knows, but only of the call that was begun.)
            return Lost(process_id=attempt.process_id, other=True), Write.NOTHING
        return _refused(
            "This call was begun before with another tool or other arguments; make it as a new call."
        )
    if told is not None:
        return told, Write.NOTHING
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
            # With the answer it is run anew, once: as the attempt that follows, if there is one.
            return (
                (Known(result=_ANSWERED), Write.NOTHING)
                if facts.followed
                else (Fresh(), Write.TAKE_OVER)
            )
        case AttemptState.INTENT:
            if recorded.alive:
                return Running(process_id=attempt.process_id), Write.NOTHING
            # Declared anew since, perhaps: what is repeated has to be repeatable by both words.
            if recorded.effect.repeatable and intent.effect.repeatable:
                return Fresh(), Write.TAKE_OVER
            return Lost(process_id=attempt.process_id), Write.NOTHING


def _told(number: int, mail: tuple[Signal, ...]) -> Known | None:
    happened = next((item for item in mail if item.kind is SignalKind.HAPPENED), None)
    if happened is not None:
        return Known(
            result=Success(content=CONFIRMED if happened.content is None else happened.content)
        )
    denied = (SignalKind.NOT_HAPPENED, SignalKind.RETRY)
    last = next(
        (item for item in reversed(mail) if item.kind in denied and item.attempt == number), None
    )
    if last is None:
        return None
    text = "Somebody looked, and found that it did not happen."
    again = last.kind is SignalKind.RETRY
    return Known(
        result=Failure(
            symptom=Symptom(
                error=ErrorCode.NOT_HAPPENED, message=text, started=False, transient=again
            )
        )
    )


def in_doubt(state: CallState, resolution: str, latest: Recorded | None) -> bool:
    """Whether nobody knows what became of a call.

    Args:
        state: What its thread made of it.
        resolution: What was told of it from outside, empty if nothing was.
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
