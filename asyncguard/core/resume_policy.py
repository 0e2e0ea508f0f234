"""Decide what becomes of an open call: one table for losses, forks, takeovers, cancellations and new messages.

A call is open in the state of its thread while what happened to it may be known elsewhere: the journal, another branch,
this process's memory or the message history. Each row of :data:`RULES` reads these :class:`Facts` and names one
:class:`Fate`; the first row that applies counts. Four principles order the rows:

1. What is known to have begun is never decided again: the attempt that was made answers for the call.
2. What may have begun and must not be repeated is in doubt; nothing else is.
3. What this process cannot run yet waits until it has met the tools, and only then.
4. What cannot have begun ends without harm: it is squashed, cancelled, or judged by the guards once more.

:mod:`asyncguard.runtime.resume` gathers the facts and carries the fates out. This module imports the standard library
alone, so that its rules can be read, enumerated and tested without anything else.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Why(StrEnum):
    """The reason to ask what becomes of a call."""

    RESUMED = "resumed"
    """The thread is opened on a state that this process has not written: after a crash, on a fork, after a takeover."""
    RUN_BEGINS = "run begins"
    """A run begins in ``create_agent``: no wrapper of an earlier run comes again."""
    NEW_MESSAGE = "new message"
    """The user says something new."""
    CANCELLED = "cancelled"
    """The user cancels the task."""
    RELEASED = "released"
    """All calls that a deferred one waited for have ended."""
    APPROVED = "approved"
    """A person approves a held call."""
    REFUSED = "refused"
    """A person refuses a held call."""
    WRAPPERS_RETURNED = "wrappers returned"
    """In ``create_agent`` all wrappers of the model's message have returned."""
    WRAPPER_MISSING = "wrapper missing"
    """In ``create_agent`` the wrapper of an admitted call does not come in time."""
    ANSWERED = "answered"
    """A message that the guard did not write answers the call."""
    ISSUED = "issued"
    """The call is about to be issued."""
    REPORTED_LOST = "reported lost"
    """The journal answered an attempt with "begun by a process that has ended"."""
    RECOVERY_ENDS = "recovery ends"
    """Recovery wants to end the call as failed or in doubt."""


class Open(StrEnum):
    """The state of an open call; the values are those of ``CallState``."""

    DEFERRED = "deferred"
    HELD = "held"
    QUEUED = "queued"
    PENDING = "pending"


class Effect(StrEnum):
    """The effect class of the attempt's tool; the values are those of ``EffectClass``."""

    PURE = "pure"
    IDEMPOTENT = "idempotent"
    KEYED = "keyed"
    PROBED = "probed"
    AT_MOST_ONCE = "at_most_once"


class Journal(StrEnum):
    """What the journal knows of the attempts of a call."""

    SILENT = "silent"
    """Nothing: there is none, or it holds no such calls, or another one was in use. An attempt may have begun."""
    COMPLETE = "complete"
    """No attempt that the state does not tell of."""
    BEHIND = "behind"
    """Not the current attempt of a pending call: it was to be made after a back-off, and never begun."""
    LATER = "later"
    """An attempt later than those of the state."""


class Here(StrEnum):
    """What this process has in memory of the attempts of a call."""

    NOTHING = "nothing"
    """No attempt."""
    IN_HAND = "in hand"
    """The current attempt: it runs, has just ended, or its next step is decided; an admitted call was not issued."""
    CURRENT = "current"
    """The current attempt was begun here, for another session of the thread."""
    LATER = "later"
    """An attempt later than those of the state was begun here, on another branch."""


class History(StrEnum):
    """What answers the call in the message history."""

    NOTHING = "nothing"
    """No message."""
    PLACEHOLDER = "placeholder"
    """A placeholder: the wrapper of the call has returned."""
    ANSWER = "answer"
    """A message that the guard did not write, or whose event was lost."""


class Tool(StrEnum):
    """Whether this process can run a call."""

    AT_HAND = "at hand"
    """As it was called: by ``build_agent``, or with its wrapper in ``create_agent``."""
    KNOWN = "known"
    """Its wrapper is gone; the tool can be run alone."""
    UNMET = "unmet"
    """Its declaration is known, the tool itself not before the model is asked."""
    UNDECLARED = "undeclared"
    """Not even its declaration is known before the model is asked."""
    MISSING = "missing"
    """The agent has no such tool any more."""


class Fate(StrEnum):
    """What is done with a call."""

    KEEP = "keep"
    """Nothing: what is under way goes on."""
    WAIT = "wait"
    """Nothing before this process has met its tools; then the question is put once more."""
    ACCEPT_ANSWER = "accept answer"
    """The message in the history is its result."""
    TAKE_UP = "take up"
    """Queue it; the attempt that was begun answers for it."""
    STOP_AFTER = "stop after"
    """As ``TAKE_UP``, and no attempt follows that one."""
    ADOPT = "adopt"
    """As ``TAKE_UP``, and run it without its wrapper where the journal asks for that."""
    RUN_ALONE = "run alone"
    """Keep it queued, and run its tool without its wrapper."""
    TAKE_OVER = "take over"
    """The attempt of this process answers to this session from now on."""
    AWAIT = "await"
    """The work outside goes on; its result is delivered."""
    REPLAY = "replay"
    """Hand it out under the number of its attempt: the journal answers for what was begun."""
    RECONSIDER = "reconsider"
    """Its attempt had ended: ask the recovery policy again."""
    EXPECT = "expect"
    """Keep it queued, and remember that its next attempt may have been begun already."""
    REQUEUE = "requeue"
    """Make the attempt again, under the same key."""
    FOLLOW = "follow"
    """Go on to the later attempt of the journal."""
    JUDGE = "judge"
    """Put it before the guards once more."""
    STOP = "stop"
    """What has begun goes on; no attempt follows it."""
    INTERRUPT = "interrupt"
    """Ask the running attempt to stop; none follows it."""
    IN_DOUBT = "in doubt"
    """Ask the probe of its effect, if it has one; else end it in doubt."""
    ABANDON = "abandon"
    """End it in doubt; no probe can be asked about it from here."""
    SQUASH = "squash"
    """End a call that was held back; the model is told why."""
    CANCEL = "cancel"
    """End an admitted call that has had no effect."""
    REJECT = "reject"
    """End it as rejected, at a person's word."""
    REFUSE = "refuse"
    """End it as failed: it was begun as another call."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """What is known of one open call; the fields without a default are always asked for."""

    why: Why
    """The reason to ask."""
    state: Open
    """Its state in the thread."""
    effect: Effect
    """Of the tool of its current or next attempt, by the more cautious of two declarations."""
    replayable: bool = False
    """Whether every tool that may have been tried for it can be run again, or stops at a question before it acts."""
    helped: bool = False
    """Whether its tool declares a probe, sources or fallbacks, so that more can be done about a lost attempt."""
    effectful: bool = False
    """Whether its tool or one of the fallbacks has an effect."""
    side_query: bool = False
    """Whether the current attempt asks somebody else for its sake: a contract, a source, a probe."""
    wanted_again: bool = False
    """Whether a person found that it did not happen and wants it made again."""
    journal: Journal = Journal.SILENT
    """What the journal knows."""
    outside: bool = False
    """Whether its work goes on outside, where no process of the agent can end it."""
    here: Here = Here.NOTHING
    """What this process has in memory."""
    edited: bool = False
    """Whether it was begun with another tool or other arguments: its message was edited and kept its id."""
    attempt_ended: bool = False
    """Whether the state tells how the current attempt ended."""
    history: History = History.NOTHING
    """What answers it in the messages."""
    tool: Tool = Tool.AT_HAND
    """Whether it can be run here."""
    begun: bool = False
    """Whether an attempt was made, or may have been made by a process that has ended."""
    harmless: bool = False
    """Whether nothing that was attempted, as far as the state tells, can have had an effect the model must know of."""
    said: bool = False
    """Whether the run begins with something new from the user."""
    blocker_failed: bool = False
    """Whether a call that it waited for gave no usable result."""

    @property
    def held_back(self) -> bool:
        """Whether the call has not been admitted."""
        return self.state in (Open.DEFERRED, Open.HELD)

    @property
    def repeatable(self) -> bool:
        """Whether an attempt that may have begun can be made again."""
        return self.effect in (Effect.PURE, Effect.IDEMPOTENT, Effect.KEYED)

    @property
    def renewable(self) -> bool:
        """Whether even a new call may do the same once more."""
        return self.effect in (Effect.PURE, Effect.IDEMPOTENT)

    @property
    def journaled(self) -> bool:
        """Whether the journal knows each attempt that was begun."""
        return self.journal is not Journal.SILENT

    @property
    def begun_later(self) -> bool:
        """Whether an attempt was begun of which the state does not tell."""
        return self.journal is Journal.LATER or self.here is Here.LATER

    @property
    def never_begun(self) -> bool:
        """Whether the current attempt of a pending call was not begun by any process."""
        return self.journal is Journal.BEHIND and self.here is Here.NOTHING

    @property
    def unwrapped(self) -> bool:
        """Whether the wrapper of an open call that is not under way is gone."""
        return self.tool is not Tool.AT_HAND and self.state is not Open.PENDING

    @property
    def returned(self) -> bool:
        """Whether the wrapper of the call has returned and is gone."""
        return self.unwrapped and self.history is History.PLACEHOLDER

    @property
    def left_alone(self) -> bool:
        """Whether no wrapper will bring the call, which no other process had: all of them have returned."""
        if self.why is Why.RESUMED:
            return self.returned and self.here is Here.IN_HAND
        return self.unwrapped

    @property
    def runs_alone(self) -> bool:
        """Whether the tool may be run without the wrapper: it is pure, or it may have begun and is repeatable."""
        return self.tool is Tool.KNOWN and (
            self.effect is Effect.PURE or (self.repeatable and self.begun)
        )


GONE = "the process that held it ended"
"""The reason that the model reads of a call whose wrapper is gone."""
CANCELLED = "the user cancelled the task"
"""The reason that the model reads of a call of a cancelled task."""
SUPERSEDED = "the user sent a new message before it was issued"
"""The reason that the model reads of a call that a new message ended."""
ANSWERED = "answered by other middleware"
"""The reason in the ledger of a call that was never run because other middleware answered it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One row of the table."""

    name: str
    """What the row is about; unique."""
    whys: frozenset[Why]
    """Reasons to ask for which it counts."""
    applies: Callable[[Facts], bool]
    """Whether it decides; reads the facts alone."""
    fate: Fate
    """What is decided."""
    reason: str = ""
    """What the ledger and the model are told, empty where the fate says it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """What becomes of a call, and by which row."""

    fate: Fate
    """What is done."""
    reason: str
    """What the ledger and the model are told, empty where the fate says it."""
    rule: str
    """Name of the row."""


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
    # -- what the history or the journal has said already ---------------------------------------------------------
    _row("edited", Why.ISSUED, Fate.REFUSE, lambda f: f.edited and not f.side_query),
    _row(
        "begun on another branch",
        Why.ISSUED,
        Fate.TAKE_OVER,
        lambda f: f.here is Here.LATER and not f.side_query,
    ),
    _row("lost as another call", Why.REPORTED_LOST, Fate.ABANDON, lambda f: f.edited),
    _row("lost", Why.REPORTED_LOST, Fate.IN_DOUBT, lambda f: True),
    _row("recovered further", Why.RECOVERY_ENDS, Fate.FOLLOW, lambda f: f.journal is Journal.LATER),
    _row(
        "answered instead of run",
        Why.ANSWERED,
        Fate.CANCEL,
        lambda f: f.state is Open.QUEUED,
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
            f.history is History.ANSWER
            and (
                f.state is Open.PENDING
                or f.unwrapped
                # The journal tells it of effects. Of a pure call the answer is all that is left.
                or (f.state is Open.QUEUED and (f.begun_later or f.effect is Effect.PURE))
            )
        ),
    ),
    # -- what nothing can be decided about before this process has met the tools ------------------------------------
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
    # -- what was begun answers for the call ------------------------------------------------------------------------
    _row(
        "begun, and not wanted any more",
        (Why.CANCELLED, Why.REFUSED),
        Fate.STOP_AFTER,
        lambda f: f.begun_later and f.state is not Open.PENDING,
    ),
    _row(
        "pure, held back",
        Why.NEW_MESSAGE,
        Fate.KEEP,
        lambda f: f.held_back and f.effect is Effect.PURE,
    ),
    _row(
        "begun, never told",
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
    # -- what the user, a person or its blockers say ----------------------------------------------------------------
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
        lambda f: f.state is Open.QUEUED and f.harmless,
        CANCELLED,
    ),
    _row(
        "cancelled, may have begun",
        Why.CANCELLED,
        Fate.ABANDON,
        lambda f: f.state is Open.QUEUED,
        CANCELLED,
    ),
    _row("cancelled, goes on outside", Why.CANCELLED, Fate.ABANDON, lambda f: f.outside, CANCELLED),
    _row("cancelled while it ran", Why.CANCELLED, Fate.INTERRUPT, lambda f: True),
    _row("superseded", Why.NEW_MESSAGE, Fate.SQUASH, lambda f: f.held_back, SUPERSEDED),
    _row(
        "admitted, the user spoke",
        Why.NEW_MESSAGE,
        Fate.STOP,
        lambda f: f.effectful and not f.wanted_again,
    ),
    _row("refused by a person", Why.REFUSED, Fate.REJECT, lambda f: True),
    _row("blocker failed", Why.RELEASED, Fate.SQUASH, lambda f: f.blocker_failed),
    _row("may be admitted", (Why.RELEASED, Why.APPROVED), Fate.JUDGE, lambda f: True),
    # -- wrappers that are gone -------------------------------------------------------------------------------------
    _row(
        "released by its wrapper, perhaps",
        Why.RESUMED,
        Fate.IN_DOUBT,
        lambda f: (
            f.unwrapped
            and f.held_back
            and not (f.begun_later or f.repeatable or f.journaled)
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
            and not (f.repeatable or f.journaled)
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
    # -- attempts of a process that has ended -----------------------------------------------------------------------
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
        "goes on outside",
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
"""The table: the first row that counts for the reason and applies to the facts decides."""

_BY_WHY = MappingProxyType({why: tuple(rule for rule in RULES if why in rule.whys) for why in Why})
_NO_ROW = Decision(fate=Fate.KEEP, reason="", rule="")


def decide(facts: Facts) -> Decision:
    """Return what becomes of a call.

    Args:
        facts: What is known of it.

    Returns:
        The decision of the first row that applies; ``Fate.KEEP`` of no row where none does.
    """
    for rule in _BY_WHY[facts.why]:
        if rule.applies(facts):
            return Decision(fate=rule.fate, reason=rule.reason, rule=rule.name)
    return _NO_ROW
