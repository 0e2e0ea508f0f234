"""The lease of a thread: a process acquires, renews and releases it by the journal."""

import asyncio
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from asyncguard import CallerError, GuardConfig, JournalError, ThreadBusyError, ToolSpec
from asyncguard.core import events as ev
from asyncguard.core.calls import CallState
from asyncguard.core.ledger import Ledger
from asyncguard.core.results import Success
from asyncguard.journal.intent import Intent
from asyncguard.journal.port import AttemptState, Journal, Signal, SignalKind
from asyncguard.journal.sql import leases
from asyncguard.journal.sql.journal import SqlJournal
from asyncguard.journal.sql.processes import ProcessKind
from asyncguard.journal.sql.sqlite import SqliteStore
from asyncguard.runtime.engine import Engine, Ports
from asyncguard.runtime.proposals import ParsedCall, propose_calls
from asyncguard.runtime.session.lease import Lease
from asyncguard.runtime.session.session import Session
from tests.adapters.processes import MortalJournal

SPECS = {"pay": ToolSpec(name="pay")}


class Clock:
    """Engine time that stands still until a test moves it."""

    time = 100.0

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += seconds

    async def wait(self, event: asyncio.Event, timeout: float | None) -> bool:
        return event.is_set()


class Tenant:
    """A lease's session, which records everything that the lease reports."""

    def __init__(self, thread: str, namespace: str) -> None:
        self.thread, self.namespace, self.thread_id = thread, namespace, ""
        self.ledger = Ledger()
        self.mail: list[Signal] = []
        self.heard: list[str] = []

    def receive(self, mail: Signal) -> None:
        self.mail.append(mail)

    def drop_fenced(self) -> None:
        self.heard.append("drop fenced")

    def lease_released(self) -> None:
        self.heard.append("released")


class Process:
    """An engine with a journal of its own, and one thread in it."""

    def __init__(
        self, journal: Journal | None, thread: str = "thread", namespace: str = ""
    ) -> None:
        self.clock = Clock()
        self.engine = Engine(GuardConfig(), SPECS, Ports(journal=journal, clock=self.clock))
        self.tenant = Tenant(thread, namespace)
        self.lease = Lease(self.engine, self.tenant)


class Unreadable(SqlJournal):
    """A journal that fails after it has leased the thread to the process."""

    async def unfinished(self, session: str) -> Collection[str]:
        raise JournalError("The disk is gone.")


class JournalOf(Protocol):
    """A factory of journals on the test's file, each of one process more."""

    def __call__(self, kind: type[SqlJournal] = SqlJournal) -> SqlJournal: ...


@pytest.fixture
def journal_of(tmp_path: Path) -> Iterator[JournalOf]:
    """Open journals on one file, as often as a test asks."""
    opened: list[SqlJournal] = []

    def another(kind: type[SqlJournal] = SqlJournal) -> SqlJournal:
        opened.append(kind(SqliteStore(tmp_path / "effects.db", ProcessKind.AGENT)))
        return opened[-1]

    yield another
    for journal in opened:
        journal.close()


def one_call(*, paid: bool = False) -> tuple[Ledger, str]:
    """Return the ledger of a thread with one call, and the call's key."""
    session = Session(Engine(GuardConfig(), SPECS, Ports()), "thread")
    session.record.run_started("r")
    session.record.task_opened("main", goal="Pay.")
    propose_calls(
        session, "m", [ParsedCall(tool="pay", arguments={"q": "x"}, call_id="c", task="main")]
    )
    (call,) = session.ledger.calls()
    if paid:
        session.record.started(call.key, attempt=1, tool="pay")
        session.record.retired(call.key, outcome=ev.Outcome.DONE, content="paid")
    assert call.open is not paid
    return session.ledger, call.key


def intent(key: str) -> Intent:
    """Return the intent of the first attempt of a call."""
    return Intent(
        session="thread",
        namespace="",
        task="main",
        label="c1",
        key=key,
        attempt=1,
        tool="pay",
        effect=SPECS["pay"].effect,
        arguments={"q": "x"},
        fingerprint="f",
    )


async def test_a_thread_is_taken_once(journal_of: JournalOf) -> None:
    """The second time nothing is asked, and the tenant is told nothing."""
    process = Process(journal_of())
    tenure = await process.lease.acquire("t")
    assert tenure is not None
    assert process.lease.acquired
    assert process.lease.fencing_token == tenure.fencing_token > 0
    assert await process.lease.acquire("t") is None
    assert process.tenant.heard == ["drop fenced"]


async def test_a_thread_that_was_folded_anew_is_asked_about_again(journal_of: JournalOf) -> None:
    """A refolded thread is read from the journal again, without a new lease or a fenced attempt."""
    process = Process(journal_of())
    await process.lease.acquire("t")
    process.tenant.ledger, key = one_call()
    await process.lease.journal.begin(intent(key))
    assert process.lease.begun_before == {}
    assert await process.lease.acquire("t", again=True) is None
    assert set(process.lease.begun_before) == {key}
    assert process.tenant.heard == ["drop fenced"]


async def test_two_processes_do_not_hold_one_thread(journal_of: JournalOf) -> None:
    """The second one is refused until the first releases the thread, and gets a higher number then."""
    first, second = Process(journal_of()), Process(journal_of())
    await first.lease.acquire("t")
    with pytest.raises(ThreadBusyError):
        await second.lease.acquire("t")
    assert not second.lease.acquired
    first.lease.release()
    await first.lease.journal.flush()
    assert await second.lease.acquire("t") is not None
    assert second.lease.fencing_token > first.lease.fencing_token


@pytest.mark.parametrize(
    ("name", "callers", "others", "busy"),
    [("t", "", "", True), ("t", "", "helper", False), ("", "helper", "helper", False)],
    ids=["same agent", "agent that is a tool", "no name"],
)
async def test_an_agent_that_is_a_tool_is_a_thread_of_its_own(
    journal_of: JournalOf, name: str, callers: str, others: str, *, busy: bool
) -> None:
    """An agent inside a tool has a thread of its own, with its caller's thread id."""
    caller, other = Process(journal_of(), "caller", callers), Process(journal_of(), "other", others)
    await caller.lease.acquire(name)
    if busy:
        with pytest.raises(ThreadBusyError):
            await other.lease.acquire(name)
    else:
        assert await other.lease.acquire(name) is not None


async def test_the_number_goes_beyond_the_one_in_the_state(journal_of: JournalOf) -> None:
    """A journal may have forgotten the thread; what this process stores is later than the state it read."""
    process = Process(journal_of())
    await process.lease.acquire("t", known=7)
    assert process.lease.fencing_token == 8


async def test_mail_goes_to_the_tenant(journal_of: JournalOf) -> None:
    """The journal tells it what was found out about a call while no process held the thread."""
    first, second = Process(journal_of()), Process(journal_of())
    _, key = one_call()
    await first.lease.acquire("t")
    await first.lease.journal.begin(intent(key))
    first.lease.journal.record_final_state(key, CallState.IN_DOUBT, "TIMEOUT")
    first.lease.release()
    await first.lease.journal.flush()
    await asyncio.to_thread(first.lease.journal.resolve, key, SignalKind.HAPPENED, "paid", by="Ann")
    await second.lease.acquire("t")
    assert [(mail.key, mail.content) for mail in second.tenant.mail] == [(key, "paid")]


async def test_the_journal_is_told_of_calls_that_the_state_has_settled(
    journal_of: JournalOf,
) -> None:
    """A process stored the end of a call and died before it wrote to the journal: the next one writes it."""
    first, second = Process(journal_of()), Process(journal_of())
    second.tenant.ledger, key = one_call(paid=True)
    await first.lease.acquire("t")
    await first.lease.journal.begin(intent(key))
    await first.lease.journal.end(key, 1, Success(content="paid"))
    first.lease.release()
    await first.lease.journal.flush()
    assert list(await first.lease.journal.unfinished("thread")) == [key]
    await second.lease.acquire("t")
    assert list(await second.lease.journal.unfinished("thread")) == []


async def test_an_attempt_of_a_process_that_died_has_ended_if_the_state_says_so(
    tmp_path: Path,
) -> None:
    """Its outcome was stored and never written down: the journal takes the state's word, and waits for it no more."""
    late, heir = MortalJournal(tmp_path / "effects.db"), MortalJournal(tmp_path / "effects.db")
    first, second = Process(late), Process(heir)
    second.tenant.ledger, key = one_call(paid=True)
    await first.lease.acquire("t")
    await late.begin(intent(key))
    late.die()
    await second.lease.acquire("t")
    await heir.flush()
    (entry,) = await asyncio.to_thread(heir.entries)
    assert (entry.state, entry.attempts[-1].state) == (CallState.DONE, AttemptState.ENDED)
    heir.close()
    late.close()


async def test_a_thread_is_given_free_if_the_rest_of_the_journal_cannot_be_read(
    journal_of: JournalOf,
) -> None:
    """The run ends there, and another process may take the thread."""
    process = Process(journal_of(Unreadable))
    with pytest.raises(JournalError):
        await process.lease.acquire("t")
    assert not process.lease.acquired
    assert process.tenant.heard == ["drop fenced", "released"]


@pytest.mark.parametrize(
    "asked", [False, True], ids=["since it was taken", "since the last answer"]
)
async def test_the_journal_is_asked_once_in_a_renewal(
    journal_of: JournalOf, monkeypatch: pytest.MonkeyPatch, *, asked: bool
) -> None:
    """Within the renewal the journal is not asked; after it, it is, and a thread that was taken ends the run."""
    monkeypatch.setattr(leases, "LEASE", 0.0)
    first, heir = Process(journal_of()), Process(journal_of())
    await first.lease.acquire("t")
    if asked:
        first.clock.time += leases.RENEWAL
        await first.lease.ensure_held()
    await heir.lease.acquire("t")
    first.clock.time += leases.RENEWAL / 2
    await first.lease.ensure_held()
    first.clock.time += leases.RENEWAL / 2
    with pytest.raises(
        ThreadBusyError, match=r"did not renew its lease.* with None .*before you give that again"
    ):
        await first.lease.ensure_held()


async def test_a_thread_is_given_free_once(journal_of: JournalOf) -> None:
    """The tenant hears of it when the thread was held, and not again; then nothing is asked any more."""
    process = Process(journal_of())
    process.lease.release()
    assert process.tenant.heard == []
    await process.lease.acquire("t")
    process.lease.release()
    process.lease.release()
    assert process.tenant.heard == ["drop fenced", "released"]
    process.clock.time += leases.RENEWAL
    await process.lease.ensure_held()


async def test_without_a_journal_no_thread_is_taken() -> None:
    """Without a journal no lease is needed."""
    process = Process(None)
    assert await process.lease.acquire("t") is None
    async with process.lease.acquisition(again=True) as wanted:
        assert not wanted
    await process.lease.ensure_held()
    assert (process.lease.acquired, process.tenant.heard) == (False, [])


async def test_messages_name_the_thread_as_its_caller_does(journal_of: JournalOf) -> None:
    """The minted id stands in a message only where the caller gave none."""
    process = Process(journal_of(), "minted")
    await process.lease.acquire("order-7")
    for thread_id, named in (("order-7", "order-7"), ("", "minted")):
        process.tenant.thread_id = thread_id
        with process.lease.inside(), pytest.raises(CallerError, match=f"thread '{named}'"):
            process.lease.claim()
