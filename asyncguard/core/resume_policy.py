"""The fate table: what is done with open calls after losses, forks, takeovers and user actions.

A call is open in the state of its thread while its end may be known elsewhere: in the journal, on
another branch, in this process's memory or in the message history. Each row of :data:`RULES` reads
the :class:`Facts` and names one :class:`Fate`; the first row that applies decides. Four principles
order the rows:

1. A call that is known to have begun is never decided again: its attempt answers for it.
2. A call that may have begun and must not be repeated is in doubt; no other call is.
3. A call that this process cannot run yet waits until the process has met the tools.
4. A call that cannot have begun ends without harm: it is squashed, cancelled, or judged again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

from asyncguard.core.resume_terms import (
    Effect,
    Facts,
    Fate,
    Here,
    History,
    Journal,
    Open,
    Tool,
    Why,
)

GONE = "the process that held it ended"
"""Reason shown to the model for a call whose wrapper is gone."""
CANCELLED = "the user cancelled the task"
"""Reason shown to the model for a call of a cancelled task."""
SUPERSEDED = "the user sent a new message before it began"
"""Reason shown to the model for a call that a new message ended."""
UNANSWERED = "the user sent a new message instead of an answer to its question"
"""Reason shown to the model for a call whose tool had asked a person."""
UNAPPROVED = "its tool was declared to need a person's approval"
"""Reason shown to the model for a call that an earlier version of the agent had admitted."""
ANSWERED = "answered by other middleware"
"""Reason in the ledger of a call that did not run because other middleware answered it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One row of the table."""

    name: str
    """Name of the case; unique."""
    whys: frozenset[Why]
    """Reasons to decide for which the row counts."""
    applies: Callable[[Facts], bool]
    """Condition of the row; reads the facts alone."""
    fate: Fate
    """Fate that it decides."""
    reason: str = ""
    """Text for the ledger and the model, empty if the fate implies it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """Fate of a call, and the row that decided it."""

    fate: Fate
    """Action on the call."""
    reason: str
    """Text for the ledger and the model, empty if the fate implies it."""
    rule: str
    """Name of the row, empty if none applied."""


def _row(
    name: str,
    whys: Why | tuple[Why, ...],
    fate: Fate,
    applies: Callable[[Facts], bool],
    reason: str = "",
) -> Rule:
    those = whys if isinstance(whys, tuple) else (whys,)
    return Rule(name=name, whys=frozenset(those), applies=applies, fate=fate, reason=reason)


_LOST = (Why.WRAPPERS_RETURNED, Why.WRAPPER_MISSING)

RULES: tuple[Rule, ...] = (
    # -- the history or the journal holds the answer already ---------------------------------------
    _row("edited", Why.ISSUED, Fate.REFUSE, lambda f: f.edited and not f.side_query),
    _row(
        "answered instead of run, its event lost",
        (Why.RESUMED, Why.WRAPPER_MISSING),
        Fate.CANCEL,
        # A reviewer's words say so themselves, or the journal knows that no attempt was begun.
        lambda f: (
            (f.history is History.DECISION or (f.history is History.ANSWER and f.journaled))
            and f.state is not Open.PENDING
            and not f.begun_later
        ),
        ANSWERED,
    ),
    _row(
        "begun on another branch",
        Why.ISSUED,
        Fate.TAKE_OVER,
        lambda f: f.here is Here.LATER and not f.side_query,
    ),
    _row("recovered further", Why.RECOVERY_ENDS, Fate.FOLLOW, lambda f: f.journal is Journal.LATER),
    _row(
        "answered by a lost process",  # its wrapper's answer was stored, and its event was not
        Why.ANSWERED,
        Fate.ACCEPT_ANSWER,
        lambda f: f.state is not Open.PENDING and f.begun_later and f.history is History.ANSWER,
    ),
    _row(
        "answered instead of run",
        Why.ANSWERED,
        Fate.CANCEL,
        lambda f: f.state is not Open.PENDING,
        ANSWERED,
    ),
    _row(
        "answered while it ran", Why.ANSWERED, Fate.ACCEPT_ANSWER, lambda f: f.state is Open.PENDING
    ),
    _row(
        "answer stored, its event lost",
        Why.RESUMED,
        Fate.ACCEPT_ANSWER,
        lambda f: (
            f.history in (History.ANSWER, History.DECISION)
            and (
                f.state is Open.PENDING
                or f.unwrapped
                # For effects the journal has the result; of a pure call only this answer remains.
                or (f.state is Open.QUEUED and (f.begun_later or f.effect is Effect.PURE))
            )
        ),
    ),
    # -- the agent that admitted it did not need a person's approval, and this one does ------------
    # It is not held: its arguments may rest on what is old by now. The model proposes it again.
    _row(
        "needs approval by now",
        Why.ISSUED,
        Fate.CANCEL,
        lambda f: f.waits_for_approval and (f.harmless or f.renewable or not f.begun),
        UNAPPROVED,
    ),
    _row(
        "needs approval by now, may have begun",
        Why.ISSUED,
        Fate.ABANDON,
        lambda f: f.waits_for_approval,
        UNAPPROVED,
    ),
    # -- other middleware, or a person whom it asks, has not let the call pass ---------------------
    # Its wrapper is outside the guard's. Without a journal a process that is gone may have begun
    # the call all the same, if the step that let it pass was never stored.
    _row(
        "never let pass, held back",
        Why.OVERTAKEN,
        Fate.SQUASH,
        lambda f: f.held_back and not f.begun_later,
        SUPERSEDED,
    ),
    _row(
        "never let pass",
        Why.OVERTAKEN,
        Fate.CANCEL,
        lambda f: (
            not f.begun_later
            and (f.effect is Effect.PURE or (f.here is Here.IN_HAND and not f.begun))
        ),
        SUPERSEDED,
    ),
    # -- undecidable before this process has met the tools -----------------------------------------
    # What may be repeated depends on declarations, so the rows below cannot decide without them.
    _row(
        "undeclared here",
        Why.RESUMED,
        Fate.WAIT,
        lambda f: f.tool is Tool.UNDECLARED and not (f.held_back and f.said),
    ),
    _row(
        "held back, to be run here",
        Why.RESUMED,
        Fate.WAIT,
        lambda f: f.tool is Tool.UNMET and f.held_back and f.repeatable and not f.outside,
    ),
    _row(
        "more can be done with its tools",
        Why.RESUMED,
        Fate.WAIT,
        lambda f: (
            f.tool is Tool.UNMET
            and not (f.held_back or f.outside)
            and (
                f.side_query
                or f.wanted_again
                or f.effect is not Effect.AT_MOST_ONCE
                or f.helped
                or f.never_begun
            )
        ),
    ),
    # -- an attempt that was begun answers for the call --------------------------------------------
    _row(
        "cancelled, continues outside",
        Why.CANCELLED,
        Fate.ABANDON,
        # In create_agent no state has the start of a call whose step has not ended.
        lambda f: (
            f.outside and (f.state is Open.PENDING or (f.begun_later and not f.stopped_at_question))
        ),
        CANCELLED,
    ),
    _row(
        "begun, and not wanted any more",
        (Why.CANCELLED, Why.REFUSED),
        Fate.STOP_AFTER,
        lambda f: f.begun_later and f.state is not Open.PENDING and not f.stopped_at_question,
    ),
    _row(
        "pure, held back",
        Why.NEW_MESSAGE,
        Fate.KEEP,
        lambda f: f.held_back and f.effect is Effect.PURE,
    ),
    _row(
        "begun, never shown",
        (Why.RELEASED, Why.APPROVED, Why.NEW_MESSAGE),
        Fate.TAKE_UP,
        lambda f: f.begun_later and f.held_back,
    ),
    _row(
        "begun, and no wrapper comes",
        (Why.RUN_BEGINS, *_LOST),
        Fate.ADOPT,
        lambda f: (
            f.begun_later
            and f.state is not Open.PENDING
            and (f.why is Why.RUN_BEGINS or f.unwrapped)
        ),
    ),
    _row(
        "begun, its wrapper returned",
        Why.RESUMED,
        Fate.ADOPT,
        lambda f: f.begun_later and f.returned,
    ),
    # -- the user, an approver or the blockers decide ----------------------------------------------
    _row(
        "perhaps released, cancelled",
        Why.CANCELLED,
        Fate.ABANDON,
        lambda f: f.perhaps_released,
        CANCELLED,
    ),
    _row(
        "cancelled before it was admitted",
        Why.CANCELLED,
        Fate.SQUASH,
        lambda f: f.held_back,
        CANCELLED,
    ),
    _row(
        "cancelled before it had an effect",
        Why.CANCELLED,
        Fate.CANCEL,
        # An earlier process may have begun what this one has not decided about yet.
        lambda f: (
            f.state is Open.QUEUED
            and f.harmless
            and (f.here is Here.IN_HAND or f.journaled or f.renewable)
        ),
        CANCELLED,
    ),
    _row(
        "asked a person, cancelled",
        Why.CANCELLED,
        Fate.CANCEL,
        lambda f: f.stopped_at_question,
        CANCELLED,
    ),
    _row(
        "cancelled, may have begun",
        Why.CANCELLED,
        Fate.ABANDON,
        lambda f: f.state is Open.QUEUED,
        CANCELLED,
    ),
    _row("cancelled while it ran", Why.CANCELLED, Fate.INTERRUPT, lambda f: True),
    _row(
        "perhaps released, the user spoke",
        Why.NEW_MESSAGE,
        Fate.IN_DOUBT,
        lambda f: f.perhaps_released,
    ),
    _row("superseded", Why.NEW_MESSAGE, Fate.SQUASH, lambda f: f.held_back, SUPERSEDED),
    _row(
        "admitted and not begun, the user spoke",
        Why.NEW_MESSAGE,
        Fate.CANCEL,
        lambda f: (
            f.here is Here.IN_HAND
            and f.state is Open.QUEUED
            and f.effectful
            and not (f.begun or f.begun_later or f.wanted_again)
        ),
        SUPERSEDED,
    ),
    _row(
        "asked a person, the user spoke",
        Why.NEW_MESSAGE,
        Fate.CANCEL,
        lambda f: f.stopped_at_question and f.effectful and not f.wanted_again,
        UNANSWERED,
    ),
    _row(
        "admitted, the user spoke",
        Why.NEW_MESSAGE,
        Fate.STOP,
        lambda f: f.effectful and not f.wanted_again,
    ),
    _row("refused by a person", Why.REFUSED, Fate.REJECT, lambda f: True),
    _row("blocker failed", Why.RELEASED, Fate.SQUASH, lambda f: f.blocker_failed),
    _row("may be admitted", (Why.RELEASED, Why.APPROVED), Fate.JUDGE, lambda f: True),
    # -- wrappers that are gone --------------------------------------------------------------------
    # In ``create_agent`` a call runs inside its wrapper, and a wrapper that has returned does not
    # come again. It may have released a deferred or held call after the last stored state.
    _row(
        "released by its wrapper, perhaps",
        Why.RESUMED,
        Fate.IN_DOUBT,
        lambda f: (
            f.unwrapped
            and f.held_back
            and not (f.begun_later or f.renewable or f.journaled)
            # A new call has another key: a keyed one would be made twice if it was told as not run.
            and not (f.repeatable and (f.history is not History.PLACEHOLDER or f.runs_alone))
            and (f.state is Open.DEFERRED or f.history is History.PLACEHOLDER)
        ),
    ),
    _row(
        "approved in its wrapper, perhaps",
        Why.RUN_BEGINS,
        Fate.IN_DOUBT,
        lambda f: (
            f.unwrapped
            and f.state is Open.HELD
            and f.history is not History.PLACEHOLDER
            and not (f.renewable or f.journaled)
        ),
    ),
    _row(
        "runs without its wrapper",
        Why.RESUMED,
        Fate.RUN_ALONE,
        lambda f: f.returned and f.runs_alone and (f.held_back or f.journaled or f.replayable),
    ),
    _row(
        "runs without its wrapper, or its probe does",
        (Why.RESUMED, Why.WRAPPERS_RETURNED),
        Fate.RUN_ALONE,
        lambda f: f.left_alone and (f.wanted_again or f.side_query or f.runs_alone),
    ),
    _row(
        "runs instead of its wrapper",
        Why.WRAPPER_MISSING,
        Fate.RUN_ALONE,
        lambda f: f.unwrapped and f.tool is Tool.KNOWN and f.repeatable,
    ),
    _row(
        "cannot be run, had no effect",
        (Why.RESUMED, *_LOST),
        Fate.CANCEL,
        lambda f: f.left_alone and f.state is Open.QUEUED and f.harmless,
        GONE,
    ),
    _row(
        "cannot be run, may have begun",
        (Why.RESUMED, *_LOST),
        Fate.ABANDON,
        lambda f: f.left_alone and f.state is Open.QUEUED,
        GONE,
    ),
    _row(
        "cannot be run, held back", Why.WRAPPERS_RETURNED, Fate.SQUASH, lambda f: f.unwrapped, GONE
    ),
    _row(
        "held back, its wrapper returned",
        Why.RESUMED,
        Fate.SQUASH,
        lambda f: f.returned and f.held_back,
        GONE,
    ),
    # -- attempts of a process that has ended ------------------------------------------------------
    # The journal comes first, because it knows what was begun; without it the effect class decides.
    # What it reports is decided by these two rows, everything else by the rows below them.
    _row("lost as another call", Why.REPORTED_LOST, Fate.ABANDON, lambda f: f.edited),
    _row("lost", Why.REPORTED_LOST, Fate.IN_DOUBT, lambda f: True),
    _row(
        "nothing is lost",
        Why.RESUMED,
        Fate.KEEP,
        lambda f: f.held_back or f.here is Here.IN_HAND,
    ),
    _row(
        "begun in this process",
        Why.RESUMED,
        Fate.TAKE_OVER,
        lambda f: f.state is Open.PENDING and f.here is Here.CURRENT and not f.side_query,
    ),
    _row(
        "continues outside",
        Why.RESUMED,
        Fate.AWAIT,
        lambda f: f.state is Open.PENDING and f.journaled and f.outside,
    ),
    _row(
        "the journal answers",
        Why.RESUMED,
        Fate.REPLAY,
        lambda f: f.state is Open.PENDING and f.journaled,
    ),
    _row(
        "the state tells its end",
        Why.RESUMED,
        Fate.RECONSIDER,
        lambda f: f.state is Open.PENDING and f.attempt_ended,
    ),
    _row(
        "to be made again without its wrapper",
        Why.RESUMED,
        Fate.RUN_ALONE,
        lambda f: f.returned and f.wanted_again and (f.journaled or f.replayable),
    ),
    _row(
        "journaled, never begun, cannot be run",
        Why.RESUMED,
        Fate.CANCEL,
        lambda f: f.returned and f.journaled and f.harmless,
        GONE,
    ),
    _row(
        "journaled, tried before, cannot be run",
        Why.RESUMED,
        Fate.ABANDON,
        lambda f: f.returned and f.journaled,
        GONE,
    ),
    _row(
        "the journal is asked when it is issued",
        Why.RESUMED,
        Fate.KEEP,
        lambda f: f.state is Open.QUEUED and (f.journaled or f.begun_later),
    ),
    _row(
        "repeatable without its wrapper",
        Why.RESUMED,
        Fate.RUN_ALONE,
        lambda f: (
            f.returned
            and f.replayable
            and (f.side_query or (f.tool is Tool.KNOWN and f.repeatable))
        ),
    ),
    _row(
        "repeatable, cannot be run",
        Why.RESUMED,
        Fate.CANCEL,
        lambda f: f.returned and f.replayable and f.renewable,
        GONE,
    ),
    _row(
        "may have begun, cannot be run",
        Why.RESUMED,
        Fate.ABANDON,
        lambda f: f.returned and f.replayable,
        GONE,
    ),
    _row(
        "repeatable, admitted",
        Why.RESUMED,
        Fate.EXPECT,
        lambda f: f.state is Open.QUEUED and f.replayable,
    ),
    _row("repeatable, begun", Why.RESUMED, Fate.REQUEUE, lambda f: f.replayable),
    _row("may have begun, not to be repeated", Why.RESUMED, Fate.IN_DOUBT, lambda f: True),
)
"""The table: the first row that counts for the reason and whose condition holds decides."""

_BY_WHY = MappingProxyType({why: tuple(rule for rule in RULES if why in rule.whys) for why in Why})
_NO_ROW = Decision(fate=Fate.KEEP, reason="", rule="")


def decide(facts: Facts) -> Decision:
    """Return the fate of a call.

    Args:
        facts: Facts about the call.

    Returns:
        The decision of the first row that applies; ``Fate.KEEP`` without a row if none does.
    """
    for rule in _BY_WHY[facts.why]:
        if rule.applies(facts):
            return Decision(fate=rule.fate, reason=rule.reason, rule=rule.name)
    return _NO_ROW
