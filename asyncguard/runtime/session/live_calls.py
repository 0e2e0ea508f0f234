"""Knowledge of the calls of one thread that this process has and no graph state holds.

Everything here is by key of the call. It is lost with the process; what matters after that is told by events, or by the
journal. Other modules read the mappings and change them by the methods alone.
"""

from collections.abc import Collection, Mapping, Set
from typing import Any

from asyncguard.core.faults import HazardKind
from asyncguard.recovery.decisions import Recovery
from asyncguard.recovery.failure_case import CallObservation


class LiveCalls:
    """Answers, decisions and orders of calls that are being made."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._raw: dict[str, Any] = {}
        self._seen: dict[str, CallObservation] = {}
        self._hazards: dict[str, HazardKind] = {}
        self._recoveries: dict[str, Recovery] = {}
        self._escapes: dict[str, BaseException] = {}
        self._tokens: dict[str, str] = {}
        self._again: set[str] = set()
        self._replays: dict[str, int] = {}
        self._stopped: set[str] = set()
        self._barred: dict[str, str] = {}

    # -- answers ---------------------------------------------------------------------------------------------------

    @property
    def raw_results(self) -> Mapping[str, Any]:
        """Answers as they came, with the state updates that belong to them, until the model is told."""
        return self._raw

    @property
    def observations(self) -> Mapping[str, CallObservation]:
        """What was seen of the last attempt for the call's own result."""
        return self._seen

    def answered(self, key: str, raw: Any) -> None:
        """Keep an answer as it came."""
        self._raw[key] = raw

    def result_delivered(self, key: str) -> None:
        """Forget the answer of a call whose end the model was told."""
        self._raw.pop(key, None)

    def saw(self, key: str, seen: CallObservation) -> None:
        """Keep what was seen of an attempt."""
        self._seen[key] = seen

    def tried_again(self, key: str) -> None:
        """Forget what was seen: another attempt for the call's own result follows."""
        self._seen.pop(key, None)

    def ended(self, key: str, *, used: bool) -> None:
        """Forget a call that was retired.

        Args:
            key: Key of the call.
            used: Whether its answer counts; if not, the state updates that came with it are dropped, too.
        """
        self._seen.pop(key, None)
        self._hazards.pop(key, None)
        self._tokens.pop(key, None)
        self._stopped.discard(key)
        self._barred.pop(key, None)
        if not used:
            self._raw.pop(key, None)

    # -- recovery --------------------------------------------------------------------------------------------------

    @property
    def hazards(self) -> Mapping[str, HazardKind]:
        """The last diagnosis."""
        return self._hazards

    @property
    def recoveries(self) -> Mapping[str, Recovery]:
        """Decisions of the policy that were not carried out yet."""
        return self._recoveries

    def diagnosed(self, key: str, hazard: HazardKind) -> None:
        """Keep what a failure or a strange answer is taken to mean."""
        self._hazards[key] = hazard

    def decided(self, key: str, recovery: Recovery) -> None:
        """Keep a decision until it is carried out."""
        self._recoveries[key] = recovery

    def undecided(self, key: str) -> None:
        """Forget a decision: it is carried out now, or void."""
        self._recoveries.pop(key, None)

    # -- questions to a person -------------------------------------------------------------------------------------

    @property
    def interrupts(self) -> Mapping[str, BaseException]:
        """What tools raised for the front end."""
        return self._escapes

    def interrupted(self, key: str, error: BaseException) -> None:
        """Keep what a tool raised for the front end."""
        self._escapes[key] = error

    def take_interrupt(self, key: str) -> BaseException:
        """Take what a tool raised for the front end."""
        return self._escapes.pop(key)

    # -- work outside the process ----------------------------------------------------------------------------------

    @property
    def delivery_tokens(self) -> Mapping[str, str]:
        """Delivery tokens of work that was started outside; empty where another process has issued it."""
        return self._tokens

    def token_issued(self, key: str, token: str) -> None:
        """Keep the token under which the result of work outside will be delivered."""
        self._tokens[key] = token

    def runs_outside(self, key: str) -> None:
        """Note that work outside was started, by this process or by one that has ended."""
        self._tokens.setdefault(key, "")

    def attempt_over(self, key: str) -> None:
        """Forget the token of an attempt that has ended."""
        self._tokens.pop(key, None)

    # -- calls of a process that ended -----------------------------------------------------------------------------

    @property
    def to_replay(self) -> Set[str]:
        """Calls to be handed to the executor again under the number of their attempt; the journal decides."""
        return self._again

    @property
    def replays(self) -> Mapping[str, int]:
        """Attempts that a process which has ended may have begun, by number."""
        return self._replays

    def replay(self, key: str) -> None:
        """Have a call handed to the executor again under the number of its attempt."""
        self._again.add(key)

    def drain_replays(self) -> Collection[str]:
        """Take the calls that are to be handed out again."""
        taken, self._again = self._again, set()
        return taken

    def replayed(self, key: str, attempt: int) -> None:
        """Note that an attempt of that number may have been begun before."""
        self._replays[key] = attempt

    # -- words of the user -----------------------------------------------------------------------------------------

    @property
    def no_further_attempts(self) -> Set[str]:
        """Calls of which no further attempt begins, because the user has spoken."""
        return self._stopped

    @property
    def barred(self) -> Mapping[str, str]:
        """Calls of which no attempt begins at all, and what the model is told."""
        return self._barred

    def stop(self, key: str) -> None:
        """Let no further attempt of a call begin; what a lost process has begun is made again all the same."""
        self._stopped.add(key)

    def bar(self, key: str, told: str) -> None:
        """Let no attempt of a call begin, also none that a lost process has begun.

        Args:
            key: Key of the call.
            told: Told to the model.
        """
        self._barred[key] = told

    # -- another ledger --------------------------------------------------------------------------------------------

    def ledger_folded(self, current: Collection[str]) -> None:
        """Forget what a ledger that was folded anew does not bear out.

        Args:
            current: Calls of which the state tells the beginning of the story that is known here. What was decided
                about another is void.
        """
        self._again.clear()
        self._seen.clear()
        self._hazards.clear()
        for kept in (self._recoveries, self._escapes):
            for key in kept.keys() - current:
                kept.pop(key)
