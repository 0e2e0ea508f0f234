"""Random interleavings of several processes on one file, which begin, end, die and take over.

The model knows what really happened: which process was allowed to begin, and which outcome came
first. The journal must agree.
"""

import asyncio
import shutil
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from asyncguard.core.calls import CallState
from asyncguard.core.faults import Symptom
from asyncguard.core.footprints import EffectClass
from asyncguard.core.results import Failure, Result, Started, Success
from asyncguard.errors import CallerError, ThreadBusyError, UnknownTokenError
from asyncguard.journal.port import (
    Fresh,
    Known,
    Lost,
    Refused,
    Running,
    Signal,
    SignalKind,
    Verdict,
)
from asyncguard.journal.sql.journal import SqlJournal
from tests.journal.conftest import memory
from tests.journal.desk import intent, journal_at

SEATS = st.integers(0, 2)
KEYS = st.sampled_from(["a", "b", "c", "d"])
EFFECTS = {
    "a": EffectClass.AT_MOST_ONCE,
    "b": EffectClass.AT_MOST_ONCE,
    "c": EffectClass.PROBED,
    "d": EffectClass.KEYED,
}
ARGUMENTS = {"a": {"n": 1}, "b": {"n": 1}, "c": {"n": 2}, "d": {"n": 3}}  # a and b are equal calls
RESULTS = st.sampled_from(
    [
        Success(content="done"),
        Success(content="other"),
        Failure(symptom=Symptom(error="timeout", message="No answer.")),
        Failure(symptom=Symptom(error="ToolFault", message="No.", started=False)),
        Started(),
    ]
)


class World(RuleBasedStateMachine):
    """Three processes, which are replaced when they die, one thread, four calls with two attempts each."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=memory()))
        self.loop = asyncio.new_event_loop()
        self.seats: list[SqlJournal] = []
        self.dead: set[str] = set()
        self.begun: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
        """Processes that were allowed to begin an attempt."""
        self.outcomes: dict[tuple[str, int], Result] = {}
        """First outcome of each attempt."""
        self.late: set[tuple[str, int]] = set()
        """Attempts of calls that succeeded after a failure was written, or while they were in doubt."""
        self.told: list[tuple[SignalKind, str, Any]] = []
        """Deliveries and resolutions that returned."""
        self.tokens: set[str] = set()
        self.used: set[str] = set()
        """Tokens that delivered; a real one is never issued again."""
        self.owner: str | None = None
        """Process that entered the thread last."""
        self.holder: str | None = None
        """The same process, until it leaves or dies."""
        self.mail: list[Signal] = []
        """Signals of the process that entered last."""

    @initialize()
    def open(self) -> None:
        """Start three processes."""
        self.seats = [self._journal() for _ in range(3)]

    def _journal(self) -> SqlJournal:
        return journal_at(self.folder / "journal.db")

    def _run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    @rule(seat=SEATS)
    def enter(self, seat: int) -> None:
        """Enter the thread: refused while another process that lives holds it."""
        journal = self.seats[seat]
        mail: list[Signal] = []
        try:
            self._run(journal.acquire("s", "t", (), mail.append))
        except ThreadBusyError:
            assert self.holder not in (None, journal.process_id)
            return
        assert self.holder in (None, journal.process_id)
        self.owner = self.holder = journal.process_id
        self.mail = mail

    @rule(seat=SEATS)
    def leave(self, seat: int) -> None:
        """Release the thread; a process that does not hold it releases nothing."""
        journal = self.seats[seat]
        journal.release("s")
        if self.holder == journal.process_id:
            self.holder = None
        journal.entries(key="-")  # written by then

    @rule(
        seat=SEATS, key=KEYS, attempt=st.integers(1, 2), remote=st.booleans(), forged=st.booleans()
    )
    def begin(self, seat: int, key: str, attempt: int, remote: bool, forged: bool) -> None:
        """Fresh once, Known if it ended, Running while its process lives, Lost or again after its death."""
        journal = self.seats[seat]
        begun, outcome = self.begun[key, attempt], self.outcomes.get((key, attempt))
        forged = forged and bool(begun)  # the first intent says what the call is
        changes = {"fingerprint": "forged"} if forged else {}
        asked = intent(
            key,
            attempt=attempt,
            remote=remote,
            effect=EFFECTS[key],
            arguments=ARGUMENTS[key],
            token=f"{key}{attempt}",
            **changes,
        )
        verdict: Verdict = self._run(journal.begin(asked))
        match verdict:
            case Fresh():
                assert not forged
                assert remote or self.owner == journal.process_id
                self._may_begin(journal, key, attempt)
                begun.append(journal.process_id)
                self.tokens |= {f"{key}{attempt}"} - self.used
            case Known(result=result):
                assert not forged
                resolved = [
                    kind
                    for kind, told, content in self.told
                    if told == key
                    and (kind is not SignalKind.DELIVERY or content == f"{key}{attempt}")
                ]
                late = isinstance(result, Success) and (key, attempt) in self.late
                assert result == outcome or resolved or late, (
                    f"{result} is known, {outcome} came first"
                )
            case Running(process_id=process_id):
                assert begun[-1] == process_id
                assert process_id not in self.dead
                assert outcome is None
            case Lost(process_id=process_id):
                assert begun[-1] == process_id
                assert process_id in self.dead
                assert outcome is None
                assert not EFFECTS[key].repeatable
            case Refused():
                fenced = not remote and self.owner != journal.process_id
                rival = not begun and key in ("a", "b")
                assert forged or fenced or rival, verdict

    def _may_begin(self, journal: SqlJournal, key: str, attempt: int) -> None:
        begun, outcome = self.begun[key, attempt], self.outcomes.get((key, attempt))
        if begun:
            assert EFFECTS[key].repeatable, (
                f"attempt {attempt} of {key} was begun twice: {begun}, {journal.process_id}"
            )
            assert outcome is None
            assert begun[-1] in self.dead

    @rule(seat=SEATS, key=KEYS, attempt=st.integers(1, 2), result=RESULTS)
    def end(self, seat: int, key: str, attempt: int, result: Result) -> None:
        """The first outcome stays; work that was started may end once more."""
        if not self.begun[key, attempt]:
            with pytest.raises(CallerError):
                self._run(self.seats[seat].end(key, attempt, result))
            return
        (entry,) = self.seats[seat].entries(key=key)
        self._run(self.seats[seat].end(key, attempt, result))
        first = self.outcomes.setdefault((key, attempt), result)
        if isinstance(first, Started):
            self.outcomes[key, attempt] = result
        elif isinstance(result, Success) and (
            isinstance(first, Failure) or entry.state is CallState.IN_DOUBT
        ):
            self.late |= {(key, 1), (key, 2)}  # it is told of the call

    @rule(
        seat=SEATS,
        key=KEYS,
        state=st.sampled_from([CallState.DONE, CallState.IN_DOUBT, CallState.FAILED]),
    )
    def settle(self, seat: int, key: str, state: CallState) -> None:
        """Record the final state of a call, as its thread does."""
        self.seats[seat].record_final_state(key, state)
        self.seats[seat].entries(key="-")  # written by then

    @rule(seat=SEATS, token=st.sampled_from(["a1", "a2", "b1", "c1", "d1", "d2", "x"]))
    def deliver(self, seat: int, token: str) -> None:
        """Deliver a result; each token is accepted once, and none for what is answered or has ended."""
        (entry,) = self.seats[seat].entries(key=token[0]) or (None,)
        waits = (
            entry is not None
            and entry.state in (CallState.PENDING, CallState.IN_DOUBT)
            and entry.resolution in (None, SignalKind.RETRY)
        )
        try:
            self.seats[seat].deliver(token, token)
        except UnknownTokenError:
            assert token not in self.tokens
            return
        except CallerError:
            assert token in self.tokens
            assert not waits
            return
        assert token in self.tokens
        assert entry is not None
        # No thread begins an attempt after a later one was delivered; here that one is open again.
        assert waits or (token[1:] == "1" and f"{token[0]}2" in self.used)
        self.tokens.remove(token)
        self.used.add(token)
        retried = entry.resolution is SignalKind.RETRY
        kind = SignalKind.HAPPENED if retried else SignalKind.DELIVERY
        self.told.append((kind, token[0], token))

    @rule(
        seat=SEATS,
        key=KEYS,
        kind=st.sampled_from([SignalKind.HAPPENED, SignalKind.NOT_HAPPENED, SignalKind.RETRY]),
    )
    def resolve(self, seat: int, key: str, kind: SignalKind) -> None:
        """Resolve a call; only a call in doubt can be resolved."""
        journal = self.seats[seat]
        before = {entry.key: entry.state for entry in journal.entries()}
        resolutions = {entry.key: entry.resolution for entry in journal.entries()}
        told = [entry.signals for entry in journal.entries(key=key)]
        try:
            entry = journal.resolve(key, kind, "x" if kind is SignalKind.HAPPENED else None)
        except CallerError:
            return
        assert before[key] is CallState.IN_DOUBT
        assert resolutions[key] is None
        assert entry.signals[:-1] == told[0]
        self.told.append((kind, key, entry.signals[-1].content))

    @precondition(lambda self: self.seats)
    @rule(seat=SEATS, goodbye=st.booleans())
    def die(self, seat: int, goodbye: bool) -> None:
        """End a process, orderly or not, and start another one."""
        journal = self.seats[seat]
        self.dead.add(journal.process_id)
        if self.holder == journal.process_id:
            self.holder = None
        if not goodbye:
            journal._writer.stop(lambda _: None)  # its lock is free, and nothing was written
        journal.close()
        self.seats[seat] = self._journal()

    @invariant()
    def nothing_is_lost(self) -> None:
        """Each signal is in the journal, in order, and the lease holder has received it."""
        if not self.seats:
            return
        entries = self.seats[0].entries()
        written = {
            entry.key: [(mail.kind, mail.content) for mail in entry.signals] for entry in entries
        }
        for key in EFFECTS:
            told = [(kind, content) for kind, about, content in self.told if about == key]
            own = [item for item in written.get(key, []) if item in told]
            assert own == told, f"{told} was told of {key}, and {own} is written"
        if self.holder is not None:
            journal = next(each for each in self.seats if each.process_id == self.holder)
            journal._maintenance.signals_were_sent()
            for _ in range(2):  # the round after the first has looked
                journal.entries(key="-")
            assert len(self.mail) == sum(map(len, written.values())), "mail was lost or came twice"

    def teardown(self) -> None:
        """End all processes."""
        for journal in self.seats:
            journal.close()
        self.loop.close()
        shutil.rmtree(self.folder)


def machine(examples: int, steps: int) -> None:
    """Return the state machine."""
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
    run_state_machine_as_test(
        World,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=checks,
        ),
    )


def test_a_world_of_processes_agrees_with_its_journal() -> None:
    """Few histories of processes agree with their journal; runs with every test run."""
    machine(6, 20)


@pytest.mark.full
def test_many_worlds_of_processes_agree_with_their_journals() -> None:
    """Many histories of processes agree with their journal."""
    machine(150, 50)
