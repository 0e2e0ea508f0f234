"""State of the calls of one thread that exists in this process only.

Everything here is by key of the call, and is lost with the process; events and the journal record
what a later process needs. Other modules read the mappings, and change them by the methods alone.
"""

from collections.abc import Collection, Mapping, Set
from typing import Any

from asyncguard.core.faults import HazardKind
from asyncguard.core.results import Interrupted
from asyncguard.recovery.decisions import Recovery
from asyncguard.recovery.failure_case import CallObservation
from asyncguard.runtime.clock import Pause


class LiveCalls:
    """Answers, pending decisions and restrictions of open calls; each field is its own property."""

    def __init__(self) -> None:
        """Start empty."""
        self._raw_results: dict[str, Any] = {}
        self._observations: dict[str, CallObservation] = {}
        self._hazards: dict[str, HazardKind] = {}
        self._recoveries: dict[str, Recovery] = {}
        self._interrupts: dict[str, Interrupted] = {}
        self._delivery_tokens: dict[str, str] = {}
        self._to_replay: set[str] = set()
        self._replays: dict[str, int] = {}
        self._no_further_attempts: set[str] = set()
        self._barred: dict[str, str] = {}
        self._pauses: dict[str, Pause] = {}

    def __bool__(self) -> bool:
        """Return True if anything is known of a call."""
        return any(vars(self).values())

    # -- answers -----------------------------------------------------------------------------------

    @property
    def raw_results(self) -> Mapping[str, Any]:
        """Answers as they came, with their state updates, until the model is shown the result."""
        return self._raw_results

    @property
    def observations(self) -> Mapping[str, CallObservation]:
        """Observations of the last attempt for the call's own result."""
        return self._observations

    def answered(self, key: str, raw: Any) -> None:
        """Keep an answer as it came."""
        self._raw_results[key] = raw

    def result_delivered(self, key: str) -> None:
        """Forget the answer of a call whose end the model was shown."""
        self._raw_results.pop(key, None)

    def saw(self, key: str, seen: CallObservation) -> None:
        """Keep the observation of an attempt."""
        self._observations[key] = seen

    def tried_again(self, key: str) -> None:
        """Forget the observation: another attempt for the call's own result follows."""
        self._observations.pop(key, None)

    def ended(self, key: str, *, used: bool) -> None:
        """Forget a call that was retired.

        Args:
            key: Key of the call.
            used: True if its answer counts; otherwise the state updates of the answer are dropped.
        """
        self._observations.pop(key, None)
        self._hazards.pop(key, None)
        self._delivery_tokens.pop(key, None)
        self._no_further_attempts.discard(key)
        self._barred.pop(key, None)
        self._pauses.pop(key, None)
        if not used:
            self._raw_results.pop(key, None)

    # -- recovery ----------------------------------------------------------------------------------

    @property
    def hazards(self) -> Mapping[str, HazardKind]:
        """Hazard of the last diagnosis."""
        return self._hazards

    @property
    def recoveries(self) -> Mapping[str, Recovery]:
        """Decisions of the recovery policy that were not carried out yet."""
        return self._recoveries

    def diagnosed(self, key: str, hazard: HazardKind) -> None:
        """Keep the diagnosis of a failure or an anomalous answer."""
        self._hazards[key] = hazard

    def decided(self, key: str, recovery: Recovery) -> None:
        """Keep a decision until it is carried out."""
        self._recoveries[key] = recovery

    def undecided(self, key: str) -> None:
        """Forget a decision that is carried out now, or void."""
        self._recoveries.pop(key, None)

    # -- questions to a person ---------------------------------------------------------------------

    @property
    def interrupts(self) -> Mapping[str, Interrupted]:
        """Interrupts that tools raised and the adapter has not raised to the graph yet."""
        return self._interrupts

    def interrupted(self, key: str, interrupt: Interrupted) -> None:
        """Keep the interrupt that a tool raised."""
        self._interrupts[key] = interrupt

    def take_interrupt(self, key: str) -> Interrupted:
        """Take the interrupt that a tool raised."""
        return self._interrupts.pop(key)

    # -- work outside the process ------------------------------------------------------------------

    @property
    def delivery_tokens(self) -> Mapping[str, str]:
        """Delivery tokens of work outside; the empty string if another process has issued it."""
        return self._delivery_tokens

    def token_issued(self, key: str, token: str) -> None:
        """Keep the delivery token of work outside."""
        self._delivery_tokens[key] = token

    def runs_outside(self, key: str) -> None:
        """Note that work outside was started, by this process or one that has ended."""
        self._delivery_tokens.setdefault(key, "")

    def attempt_over(self, key: str) -> None:
        """Forget the token of an attempt that has ended."""
        self._delivery_tokens.pop(key, None)

    # -- calls of a process that ended -------------------------------------------------------------

    @property
    def to_replay(self) -> Set[str]:
        """Calls to hand to the executor again with the same attempt number; the journal decides."""
        return self._to_replay

    @property
    def replays(self) -> Mapping[str, int]:
        """Numbers of the attempts that a process which has ended may have begun."""
        return self._replays

    def replay(self, key: str) -> None:
        """Schedule a call to be handed to the executor again with the same attempt number."""
        self._to_replay.add(key)

    def drain_replays(self) -> Collection[str]:
        """Take the calls that are scheduled to be handed out again."""
        taken, self._to_replay = self._to_replay, set()
        return taken

    def replayed(self, key: str, attempt: int) -> None:
        """Note that a process which has ended may have begun the attempt of this number."""
        self._replays[key] = attempt

    # -- words of the user -------------------------------------------------------------------------

    @property
    def no_further_attempts(self) -> Set[str]:
        """Calls of which no further attempt begins, because the user sent a new message."""
        return self._no_further_attempts

    @property
    def barred(self) -> Mapping[str, str]:
        """Calls of which no attempt begins at all, with the text for the model."""
        return self._barred

    def makes_no_further(self, key: str) -> bool:
        """Return True if no further attempt of a call begins, for either reason."""
        return key in self._no_further_attempts or key in self._barred

    def stop(self, key: str) -> None:
        """Let no further attempt of a call begin, except one that a lost process has begun."""
        self._no_further_attempts.add(key)
        if (pause := self._pauses.pop(key, None)) is not None:
            pause.end()  # what is not tried again need not be waited for

    def pauses(self, key: str) -> Pause:
        """Return the pause before the call's next attempt; it ends if the call is stopped."""
        self._pauses[key] = pause = Pause()
        return pause

    def bar(self, key: str, message: str) -> None:
        """Let no attempt of a call begin, not even one that a lost process has begun.

        Args:
            key: Key of the call.
            message: Text for the model.
        """
        self._barred[key] = message

    # -- another ledger ----------------------------------------------------------------------------

    def ledger_folded(self, current: Collection[str]) -> None:
        """Forget what may not hold for a ledger that was rebuilt from the state.

        Args:
            current: Calls whose history in the state is a prefix of the one known here. Decisions
                about other calls are void.
        """
        self._to_replay.clear()
        self._observations.clear()
        self._hazards.clear()
        for kept in (self._recoveries, self._interrupts):
            for key in kept.keys() - current:
                kept.pop(key)
