"""Terms of the fate table: why it is asked, what is known of a call, and what may be done with it.

:mod:`asyncguard.core.resume_policy` is the table, and :mod:`asyncguard.runtime.resume` gathers the
facts and carries the fates out. Both modules of the core import the standard library and each other
alone, so that the rules can be enumerated and tested by themselves.
"""

from dataclasses import dataclass
from enum import StrEnum


class Why(StrEnum):
    """Reason to decide the fate of a call."""

    RESUMED = "resumed"
    """The thread is opened on a state of another process: after a crash, a fork or a takeover."""
    RUN_BEGINS = "run begins"
    """A run begins in ``create_agent``: the wrappers of an earlier run do not come again."""
    OVERTAKEN = "overtaken"
    """An input comes before other middleware of ``create_agent`` has let the call pass."""
    NEW_MESSAGE = "new message"
    """The user says something new."""
    CANCELLED = "cancelled"
    """The user cancels the task."""
    RELEASED = "released"
    """All calls that a deferred call waited for have ended."""
    APPROVED = "approved"
    """A person approves a held call."""
    REFUSED = "refused"
    """A person refuses a held call."""
    WRAPPERS_RETURNED = "wrappers returned"
    """In ``create_agent``, all wrappers of the model's message have returned."""
    WRAPPER_MISSING = "wrapper missing"
    """In ``create_agent``, the wrapper of an admitted call does not come in time."""
    ANSWERED = "answered"
    """A message that the guard did not write answers the call."""
    ISSUED = "issued"
    """The call is about to be issued."""
    REPORTED_LOST = "reported lost"
    """The journal answered an attempt with "begun by a process that has ended"."""
    RECOVERY_ENDS = "recovery ends"
    """Recovery wants to end the call as failed or in doubt."""


class Open(StrEnum):
    """State of an open call; the values are those of ``CallState``."""

    DEFERRED = "deferred"
    HELD = "held"
    QUEUED = "queued"
    PENDING = "pending"


class Effect(StrEnum):
    """Effect class of the attempt's tool; the values are those of ``EffectClass``."""

    PURE = "pure"
    IDEMPOTENT = "idempotent"
    KEYED = "keyed"
    PROBED = "probed"
    AT_MOST_ONCE = "at_most_once"


class Journal(StrEnum):
    """Knowledge of the journal about the attempts of a call."""

    SILENT = "silent"
    """No knowledge: no journal, another one, or a call that is not journaled; it may have begun."""
    COMPLETE = "complete"
    """No attempt beyond those in the state."""
    BEHIND = "behind"
    """Earlier attempts only: the current one was to be made after a back-off and never begun."""
    LATER = "later"
    """An attempt later than those in the state."""


class Here(StrEnum):
    """Memory of this process about the attempts of a call."""

    NOTHING = "nothing"
    """No attempt."""
    IN_HAND = "in hand"
    """The current attempt, which runs, has just ended, or has a next step; or a call not issued."""
    CURRENT = "current"
    """The current attempt was begun here, for another session of the thread."""
    LATER = "later"
    """An attempt later than those in the state was begun here, on another branch."""


class History(StrEnum):
    """Answer to the call in the message history."""

    NOTHING = "nothing"
    """No message."""
    PLACEHOLDER = "placeholder"
    """A placeholder: the wrapper of the call has returned."""
    ANSWER = "answer"
    """A message that the guard did not write, or whose event was lost."""
    DECISION = "decision"
    """The words of a person who decided that the call is not run."""


class Tool(StrEnum):
    """Ability of this process to run a call."""

    AT_HAND = "at hand"
    """It can, as the tool was called: by ``build_agent``, or in its wrapper in ``create_agent``."""
    KNOWN = "known"
    """Its wrapper is gone; the tool can be run alone."""
    UNMET = "unmet"
    """Its declaration is known; the tool itself is not before the next model turn."""
    UNDECLARED = "undeclared"
    """Not even its declaration is known before the next model turn."""
    MISSING = "missing"
    """The agent has no such tool any more."""


class Fate(StrEnum):
    """Action on a call."""

    KEEP = "keep"
    """Do nothing: the call continues as it is."""
    WAIT = "wait"
    """Do nothing before this process has met its tools; then decide again."""
    ACCEPT_ANSWER = "accept answer"
    """Accept the message in the history as its result."""
    TAKE_UP = "take up"
    """Queue it; the attempt that was begun gives its result."""
    STOP_AFTER = "stop after"
    """Do as for ``TAKE_UP``, and make no attempt after that one."""
    ADOPT = "adopt"
    """Do as for ``TAKE_UP``, and run it without its wrapper if the journal requires a run."""
    RUN_ALONE = "run alone"
    """Keep it queued, and run its tool without its wrapper."""
    TAKE_OVER = "take over"
    """Deliver the result of this process's attempt to this session from now on."""
    AWAIT = "await"
    """Wait for the work outside, which continues; its result is delivered."""
    REPLAY = "replay"
    """Issue it under the number of its attempt: the journal returns the recorded result."""
    RECONSIDER = "reconsider"
    """Apply the recovery policy again: its attempt had ended."""
    EXPECT = "expect"
    """Keep it queued, and remember that its next attempt may have been begun already."""
    REQUEUE = "requeue"
    """Repeat the attempt under the same key."""
    FOLLOW = "follow"
    """Continue with the later attempt of the journal."""
    JUDGE = "judge"
    """Submit it to the guards again."""
    STOP = "stop"
    """Let a running attempt continue, and make none after it."""
    INTERRUPT = "interrupt"
    """Ask the running attempt to stop, and make none after it."""
    IN_DOUBT = "in doubt"
    """Ask the probe of its effect, if it has one; else end it in doubt."""
    ABANDON = "abandon"
    """End it in doubt without a probe."""
    SQUASH = "squash"
    """End a call that was held back; the model is shown the reason."""
    CANCEL = "cancel"
    """End an admitted call that has had no effect."""
    REJECT = "reject"
    """End it as rejected by a person."""
    REFUSE = "refuse"
    """End it as failed: it was begun as another call."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """Facts about one open call; the fields without a default are always needed."""

    why: Why
    """Reason to decide."""
    state: Open
    """State of the call in the thread."""
    effect: Effect
    """Effect class of the current or next attempt's tool, the more cautious of two declarations."""
    replayable: bool = False
    """True if each tool that may have been tried can run again, or asks a person before it acts."""
    helped: bool = False
    """True if its tool declares a probe, sources or fallbacks, which can recover a lost attempt."""
    effectful: bool = False
    """True if its tool or one of the fallbacks has an effect."""
    side_query: bool = False
    """True if the current attempt is a side query for the call: a contract, a source or a probe."""
    wanted_again: bool = False
    """True if a person found that it did not happen and wants it repeated."""
    unapproved: bool = False
    """True if its tool needs an approval that it has not: it was admitted when none was needed."""
    journal: Journal = Journal.SILENT
    """Knowledge of the journal."""
    outside: bool = False
    """True if its work continues outside, where no process of the agent can end it."""
    here: Here = Here.NOTHING
    """Memory of this process."""
    edited: bool = False
    """True if it was begun with other content: its message was edited and kept its id."""
    attempt_ended: bool = False
    """True if the state holds the end of the current attempt."""
    history: History = History.NOTHING
    """Answer to it in the messages."""
    tool: Tool = Tool.AT_HAND
    """Ability of this process to run it."""
    begun: bool = False
    """True if an attempt was made, or may have been made by a process that has ended."""
    asked: bool = False
    """True if each attempt that was begun has stopped at its tool's question to a person."""
    harmless: bool = False
    """True if no attempt in the state can have had an effect that the model must know of."""
    said: bool = False
    """True if the run begins with something new from the user."""
    blocker_failed: bool = False
    """True if a call that it waited for gave no usable result."""
    undecided: bool = False
    """True if it is held back, its wrapper in an ended process may have released it, and this
    process waits for its tools to decide so."""

    @property
    def held_back(self) -> bool:
        """Return True if the call has not been admitted."""
        return self.state in (Open.DEFERRED, Open.HELD)

    @property
    def repeatable(self) -> bool:
        """Return True if an attempt that may have begun can be repeated."""
        return self.effect in (Effect.PURE, Effect.IDEMPOTENT, Effect.KEYED)

    @property
    def renewable(self) -> bool:
        """Return True if even a new call may do the same again."""
        return self.effect in (Effect.PURE, Effect.IDEMPOTENT)

    @property
    def journaled(self) -> bool:
        """Return True if the journal knows each attempt that was begun."""
        return self.journal is not Journal.SILENT

    @property
    def begun_later(self) -> bool:
        """Return True if an attempt was begun that is not in the state."""
        return self.journal is Journal.LATER or self.here is Here.LATER

    @property
    def waits_for_approval(self) -> bool:
        """Return True if no attempt answers for the call, and its next one needs an approval."""
        return self.unapproved and not (self.side_query or self.begun_later)

    @property
    def stopped_at_question(self) -> bool:
        """Return True if the call's tool has asked a person, and got no answer."""
        known = self.here is Here.IN_HAND or (self.journaled and self.here is not Here.LATER)
        return self.asked and self.state is Open.QUEUED and known

    @property
    def perhaps_released(self) -> bool:
        """Return True if a held-back call may have begun, and a new one would do it twice."""
        safe = self.begun_later or self.renewable or self.journaled
        return self.undecided and self.held_back and not safe

    @property
    def never_begun(self) -> bool:
        """Return True if no process began the current attempt of a pending call."""
        return self.journal is Journal.BEHIND and self.here is Here.NOTHING

    @property
    def unwrapped(self) -> bool:
        """Return True if the call is not pending and its wrapper is gone."""
        return self.tool is not Tool.AT_HAND and self.state is not Open.PENDING

    @property
    def returned(self) -> bool:
        """Return True if the wrapper of the call has returned and is gone."""
        return self.unwrapped and self.history is History.PLACEHOLDER

    @property
    def left_alone(self) -> bool:
        """Return True if no wrapper will bring the call: all of them have returned."""
        if self.why is Why.RESUMED:
            # On resumption this holds for this process's calls alone.
            return self.returned and self.here is Here.IN_HAND
        return self.unwrapped

    @property
    def runs_alone(self) -> bool:
        """Return True if the tool may run without its wrapper.

        It has to be pure, or repeatable and possibly begun.
        """
        return self.tool is Tool.KNOWN and (
            self.effect is Effect.PURE or (self.repeatable and self.begun)
        )
