"""The journal in PostgreSQL: a server that goes away, broken connections, dead processes."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import psycopg
import pytest

from asyncguard.core.calls import CallState
from asyncguard.core.faults import ErrorCode, Symptom
from asyncguard.core.footprints import EffectClass
from asyncguard.core.results import Failure, Success
from asyncguard.errors import CallerError, JournalError, JournalLockedError, ThreadBusyError
from asyncguard.journal.open import open_journal
from asyncguard.journal.port import Fresh, Known, Lost, Refused, Running, SignalKind, Verdict
from asyncguard.journal.sql import postgres, schema
from asyncguard.journal.sql.journal import SqlJournal
from asyncguard.journal.sql.postgres import PostgresStore
from asyncguard.journal.sql.processes import ProcessKind
from asyncguard.journal.sql.store import ConnectionLostError, Row, Store
from asyncguard.testing.conformance.journal.fixture import wait_for
from tests.journal.desk import Actor, entered, intent
from tests.support.postgres import Server

pytestmark = pytest.mark.slow


@contextmanager
def opened(url: str, count: int = 1) -> Iterator[list[SqlJournal]]:
    """Some journals on one database."""
    journals = [open_journal(url) for _ in range(count)]
    yield journals
    for journal in journals:
        journal.close()


def cut(url: str) -> None:
    """End all sessions of the database but our own, as an administrator does."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


async def comes_back(journal: SqlJournal, before: str) -> None:
    """Wait until a journal that lost its connection has a new process id."""
    give_up = time.monotonic() + 10.0
    while journal.process_id == before and time.monotonic() < give_up:  # noqa: ASYNC110 - its thread connects
        await asyncio.sleep(0.02)
    assert journal.process_id != before


GIVEN_UP = Failure(
    symptom=Symptom(error=ErrorCode.TIMEOUT, message="No answer within 1 s.", running=True)
)


@contextmanager
def kept_away(journal: SqlJournal) -> Iterator[None]:
    """Keep a journal from looking for its connection, as a busy machine does."""
    inside, looked = threading.Event(), threading.Event()

    def hold(_: Store) -> None:
        inside.set()
        looked.wait(60.0)

    held = journal._writer.submit(hold)
    assert inside.wait(10.0)
    yield
    looked.set()
    with pytest.raises(ConnectionLostError):
        held.result(60.0)


@pytest.mark.parametrize("crash", [Server.stop, Server.kill])
async def test_a_server_that_comes_back_is_found_again(
    postgres_server: Server, crash: object
) -> None:
    """Nothing begins while the server is away; then the process continues with a new id."""
    with opened(postgres_server.url()) as (journal,):
        epoch = journal.process_id
        await entered(journal)
        await journal.begin(intent("before"))
        crash(postgres_server)  # type: ignore[operator]
        with pytest.raises(JournalError, match="cannot be reached"):
            await journal.begin(intent("meanwhile"))
        with pytest.raises(JournalError):
            await journal.end("before", 1, Success(content="done"))
        postgres_server.start()
        assert await journal.begin(intent("before")) == Running(process_id=journal.process_id)
        assert journal.process_id != epoch
        assert isinstance(await journal.begin(intent("meanwhile")), Fresh)
        await journal.end("before", 1, Success(content="done"))
        assert await journal.begin(intent("before")) == Known(result=Success(content="done"))


async def test_what_was_written_outlives_a_crash_of_the_server(postgres_server: Server) -> None:
    """An intent that was answered with Fresh is there after ``kill -9``, whatever the database's own setting."""
    with psycopg.connect(postgres_server.url(), autocommit=True) as connection:
        connection.execute("ALTER DATABASE postgres SET synchronous_commit = off")
    with opened(postgres_server.url()) as (journal,):
        for number in range(20):
            await journal.begin(intent(f"k{number}", remote=True))
            if number == 19:
                postgres_server.kill()
        postgres_server.start()
        assert len(journal.entries()) == 20


async def test_who_lost_its_connection_and_was_taken_for_dead_begins_nothing_more(
    postgres_url: str,
) -> None:
    """Another process saw its lock free: the thread is not continued, but what runs still runs, and counts."""
    with opened(postgres_url, 2) as (journal, other):
        await entered(journal)
        await journal.begin(intent("k"))
        epoch = journal.process_id
        # The other one loses its connection, too, and comes back first: the writer of the journal is kept from looking.
        with kept_away(journal):
            cut(postgres_url)
            assert epoch in other.gone([epoch])
        assert isinstance(await journal.begin(intent("k2")), Refused)
        running = Running(process_id=journal.process_id)
        assert await other.begin(intent("k", remote=True)) == running
        await journal.end("k", 1, Success(content="done"))
        assert await other.begin(intent("k", remote=True)) == Known(result=Success(content="done"))
        await entered(journal)
        assert isinstance(await journal.begin(intent("k2")), Fresh)


async def test_an_attempt_that_was_given_up_still_runs_after_a_lost_connection(
    postgres_url: str,
) -> None:
    """Its tool has not ended with the connection, so the "no" of a probe does not count yet."""
    symptom = Symptom(error=ErrorCode.TIMEOUT, message="No answer within 1 s.", running=True)
    with opened(postgres_url, 2) as (journal, other):
        await entered(journal)
        await journal.begin(intent("k"))
        await journal.end("k", 1, Failure(symptom=symptom))
        before = journal.process_id
        cut(postgres_url)
        await comes_back(journal, before)
        (entry,) = other.entries()
        assert entry.attempts[-1].process_id == journal.process_id
        answer = await other.begin(intent("k", remote=True))
        assert answer == Known(result=Failure(symptom=symptom))
        journal.close()
        answer = await other.begin(intent("k", remote=True))
        assert answer == Known(result=Failure(symptom=replace(symptom, running=False)))


@pytest.mark.parametrize("given_up", [True, False])
async def test_a_doubt_is_not_denied_while_its_process_may_come_back(
    postgres_url: str, *, given_up: bool
) -> None:
    """A free lock may be a lost connection of a process that lives, and whose tool goes on."""
    with opened(postgres_url, 2) as (journal, other):
        await entered(journal)
        await journal.begin(intent("k"))
        if given_up:
            await journal.end("k", 1, GIVEN_UP)
            journal.record_final_state("k", CallState.IN_DOUBT)
            assert await journal.holds("s")  # with this it is written
        before = journal.process_id
        with kept_away(journal):
            cut(postgres_url)
            (entry,) = other.entries()
            assert entry.state is CallState.IN_DOUBT
            for kind in (SignalKind.RETRY, SignalKind.NOT_HAPPENED):
                with pytest.raises(CallerError, match=r"answer again in \d+ s.*--ended"):
                    await asyncio.to_thread(other.resolve, "k", kind)
        await comes_back(journal, before)
        (entry,) = other.entries()
        assert entry.attempts[-1].running_in
        with pytest.raises(CallerError, match=r"may still take effect|process that is alive"):
            await asyncio.to_thread(other.resolve, "k", SignalKind.RETRY)
        await journal.end("k", 1, Success(content="paid"))
        answer = await other.begin(intent("k", remote=True))
        (entry,) = other.entries()
        if given_up:
            assert [signal.content for signal in entry.signals] == ["paid"]
        else:
            assert answer == Known(result=Success(content="paid"))


async def test_a_doubt_is_answered_once_the_end_of_its_process_is_certain(
    postgres_url: str,
) -> None:
    """After the time in which a process reconnects; at once if it closed, or if a person knows."""
    with Actor(postgres_url) as actor, opened(postgres_url, 2) as (journal, other):
        actor.ask("enter", "s")
        for key in ("told", "later"):
            actor.ask("begin", key, "at_most_once")
        await entered(other, "closed")
        await other.begin(intent("closed", session="closed"))
        actor.kill()
        start = time.monotonic()
        while journal.gone([actor.epoch]) != {actor.epoch}:
            assert time.monotonic() - start < 2.0
        other.close()
        for key in ("told", "later"):
            with pytest.raises(CallerError, match="--ended"):
                await asyncio.to_thread(journal.resolve, key, SignalKind.RETRY)
        assert journal.resolve("told", SignalKind.RETRY, ended=True).resolution
        assert journal.resolve("closed", SignalKind.RETRY).resolution
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(
                "UPDATE asyncguard.processes SET ended_at = ended_at - %s",
                (PostgresStore.reconnect_time,),
            )
        assert journal.resolve("later", SignalKind.RETRY).resolution


async def test_a_restart_of_the_server_is_no_death(
    postgres_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that was there before and has not come back keeps its thread and attempts for a while."""
    with opened(postgres_server.url(), 2) as (journal, other):
        await entered(journal)
        await journal.begin(intent("k"))
        await journal.begin(intent("late"))
        await journal.end("late", 1, GIVEN_UP)
        journal.record_final_state("late", CallState.IN_DOUBT)
        assert await journal.holds("s")  # with this it is written
        before = journal.process_id
        with kept_away(journal):
            postgres_server.restart()
            await comes_back(other, other.process_id)
            with pytest.raises(ThreadBusyError):
                await entered(other)
            assert await other.begin(intent("k", remote=True)) == Running(process_id=before)
            assert all(entry.attempts[-1].running_in for entry in other.entries())
            assert other.gone([before]) == frozenset()
            with pytest.raises(CallerError, match="may still take effect"):
                await asyncio.to_thread(other.resolve, "late", SignalKind.RETRY)
        await comes_back(journal, before)
        assert isinstance(await journal.begin(intent("next")), Fresh)
        before = journal.process_id
        with kept_away(journal):
            postgres_server.restart()
            monkeypatch.setattr(PostgresStore, "reconnect_time", 0.0)
            await comes_back(other, other.process_id)
            assert other.gone([before]) == {before}, "one that does not come back is dead"


async def test_an_idle_process_comes_back_unasked(postgres_url: str) -> None:
    """An idle process reconnects on its own, so that it is not declared dead during a long call."""
    with opened(postgres_url, 2) as (journal, other):
        before = journal.process_id
        cut(postgres_url)
        await comes_back(journal, before)
        assert other.gone([journal.process_id]) == frozenset()


async def test_a_process_whose_registration_was_refused_comes_back_with_its_lock(
    postgres_url: str,
) -> None:
    """It would go on under its old id, whose lock it has lost: others would take it for dead."""
    change = "ALTER TABLE asyncguard.processes {} CONSTRAINT refused {}"
    with opened(postgres_url, 2) as (journal, other):
        await entered(journal)
        await journal.begin(intent("k"))
        before = journal.process_id
        with psycopg.connect(postgres_url) as connection:
            connection.execute(change.format("ADD", "CHECK (false) NOT VALID"))
        cut(postgres_url)
        with pytest.raises(JournalError, match="refused"):
            await journal.begin(intent("meanwhile"))
        with psycopg.connect(postgres_url) as connection:
            connection.execute(change.format("DROP", ""))
        assert isinstance(await journal.begin(intent("next")), Fresh)
        assert journal.process_id != before
        assert other.gone([journal.process_id]) == frozenset()
        assert await other.begin(intent("k", remote=True)) == Running(process_id=journal.process_id)


async def test_tables_that_are_locked_hold_each_caller_up_once(postgres_url: str) -> None:
    """The requests that wait do not each wait for the lock after the other."""
    with opened(postgres_url) as (journal,), psycopg.connect(postgres_url) as connection:
        await entered(journal)
        journal._writer.submit(lambda store: store.execute("SET lock_timeout = '1s'")).result(10.0)
        connection.execute("LOCK TABLE asyncguard.attempts")
        start = time.monotonic()
        begun = (journal.begin(intent(f"k{number}")) for number in range(6))
        answers = await asyncio.gather(*begun, return_exceptions=True)
        assert [type(answer) for answer in answers] == [JournalLockedError] * 6
        assert "try again" in str(answers[-1])
        assert time.monotonic() - start < 3.5
        connection.rollback()
        assert isinstance(await journal.begin(intent("k0")), Fresh)


async def test_a_standby_that_was_promoted_is_used(postgres_server: Server) -> None:
    """It refuses LISTEN, and with it all settings of the session."""
    with opened(postgres_server.url()) as (journal,):
        await entered(journal)
        with (
            postgres_server.standing_by(),
            pytest.raises(JournalError, match=r"during recovery.*takes writes"),
        ):
            await journal.begin(intent("k"))
        assert isinstance(await journal.begin(intent("k")), Fresh)


async def test_a_killed_worker_is_dead_at_once(postgres_url: str) -> None:
    """Its session ends with it; what it had begun is judged by effect class."""
    with Actor(postgres_url) as actor, opened(postgres_url) as (journal,):
        actor.ask("enter", "s")
        for effect in ("keyed", "at_most_once"):
            actor.ask("begin", effect, effect)
        assert await journal.begin(intent("keyed", remote=True)) == Running(process_id=actor.epoch)
        actor.kill()
        start = time.monotonic()
        while journal.gone([actor.epoch]) != {actor.epoch}:
            assert time.monotonic() - start < 2.0
        keyed = intent("keyed", effect=EffectClass.KEYED, remote=True)
        assert isinstance(await journal.begin(keyed), Fresh)
        assert await journal.begin(intent("at_most_once", remote=True)) == Lost(
            process_id=actor.epoch
        )


async def test_a_process_that_freezes_in_a_transaction_holds_nobody_up_for_long(
    postgres_url: str,
) -> None:
    """The server ends its session after five seconds; when it wakes, it is told that it was declared dead."""
    with Actor(postgres_url) as actor, opened(postgres_url) as (journal,):
        assert actor.ask("freeze", "k") == "inside"
        actor.stop()
        start = time.monotonic()
        assert isinstance(await journal.begin(intent("k", remote=True)), Fresh)
        assert time.monotonic() - start < 8.0
        # The server frees the lock of the transaction before that of the session.
        while journal.gone([actor.epoch]) != {actor.epoch}:
            assert time.monotonic() - start < 10.0
        actor.go_on()
        assert "Refused" in actor.ask("begin", "k2", "at_most_once")


async def test_a_session_that_ends_in_a_transaction_loses_nothing(postgres_url: str) -> None:
    """The server ends an idle session, as on a busy machine, and its transaction is run again."""
    with opened(postgres_url) as (journal,):
        await entered(journal)
        lost: list[bool] = []

        def stopped(store: Store) -> list[Row]:
            if not lost:
                lost.append(True)
                cut(postgres_url)
            return store.execute("SELECT 1")

        assert journal._writer.submit(stopped).result(20.0)
        assert isinstance(await journal.begin(intent("k")), Fresh)


async def test_a_process_that_stands_still_right_before_its_commit_loses_nothing(
    postgres_url: str,
) -> None:
    """The answer to COMMIT is that the session had been idle for too long: nothing was committed."""
    with opened(postgres_url) as (journal,):
        await entered(journal)
        late: list[bool] = []

        def stopped(store: Store) -> list[Row]:
            rows = store.execute("SELECT 1")
            if not late:
                late.append(True)
                store.execute("SET idle_in_transaction_session_timeout = 50")
                time.sleep(0.5)
            return rows

        assert journal._writer.submit(stopped).result(20.0)
        assert isinstance(await journal.begin(intent("k")), Fresh)


class Broken(PostgresStore):
    """A connection that breaks right before or after a commit, so that its outcome is unknown here."""

    armed = False
    committed = True

    def commit(self) -> None:
        if self.committed or not self.armed:
            super().commit()
        if self.armed:
            self.armed = False
            assert self._connection is not None
            self._connection.close()
            raise ConnectionLostError("the answer to the commit got lost")


async def test_an_intent_whose_commit_got_lost_is_taken_back(postgres_url: str) -> None:
    """The caller was told that nothing began, so the row that may be there must not stand in the way."""
    store = Broken(postgres_url, ProcessKind.AGENT)
    journal = SqlJournal(store)
    await entered(journal)
    running = intent("running")
    await journal.begin(running)
    store.armed = True
    with pytest.raises(JournalError):
        await journal.begin(intent("new"))
    give_up = time.monotonic() + 3.0
    answer: Verdict | None = None
    while not isinstance(answer, Fresh) and time.monotonic() < give_up:
        answer = await journal.begin(intent("new"))
    assert isinstance(answer, Fresh)
    store.armed = True
    with pytest.raises(JournalError):
        await journal.begin(running)
    await asyncio.sleep(0.6)
    assert await journal.begin(running) == Running(process_id=journal.process_id), (
        "one that does run was taken back"
    )
    journal.close()


@pytest.mark.parametrize("committed", [True, False])
async def test_a_reconnection_that_fails_at_its_commit_loses_no_attempts(
    postgres_url: str, *, committed: bool
) -> None:
    """The server may go once more as a process comes back: it may be known under either id."""
    store = Broken(postgres_url, ProcessKind.AGENT)
    store.committed = committed
    journal = SqlJournal(store)
    with opened(postgres_url) as (other,):
        await entered(journal)
        await journal.begin(intent("k"))
        before = journal.process_id
        store.armed = True
        cut(postgres_url)
        await comes_back(journal, before)
        assert not store.armed
        answer = await other.begin(intent("k", remote=True))
        assert answer == Running(process_id=journal.process_id)
        assert isinstance(await journal.begin(intent("next")), Fresh)
    journal.close()


async def test_mail_is_announced_and_found_without_announcement(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A notification brings it within a look; one that got lost costs a few seconds, and no signal."""
    for lost in (False, True):
        if lost:
            monkeypatch.setattr(PostgresStore, "notify", lambda _: None)
            monkeypatch.setattr(postgres, "_NET", 1.5)
        with opened(postgres_url, 2) as (journal, other):
            session = f"s{lost}"
            mail = await entered(journal, session)
            await journal.begin(intent(session, session=session, token=session))
            await asyncio.to_thread(other.deliver, session, "x")
            start = time.monotonic()
            await wait_for(mail, 1)
            assert [item.content for item in mail] == ["x"]
            # Without notifications it looks every 5 s, and every 1.5 s in the round where they get lost.
            assert time.monotonic() - start < 4.0


async def test_it_keeps_to_its_schema(postgres_url: str) -> None:
    """Nothing is made outside of it, and a checkpoint beside it does not matter."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE calls (x int)")
        with opened(postgres_url) as (journal,):
            await journal.begin(intent(remote=True))
            journal.record_final_state("k", CallState.DONE)
        sql = "SELECT schemaname, tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        found = connection.execute(sql).fetchall()
        assert [name for name in found if name[0] != "asyncguard"] == [("public", "calls")]
        assert len(found) == 8
        assert connection.execute("SELECT count(*) FROM calls").fetchone() == (0,)


def test_a_newer_version_and_another_schema_are_left_alone(postgres_url: str) -> None:
    """It says what to do, and changes nothing."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        with pytest.raises(JournalError, match="holds no journal"):
            open_journal(postgres_url, create=False)
        connection.execute("CREATE SCHEMA asyncguard")
        connection.execute("CREATE TABLE asyncguard.other (x int)")
        with pytest.raises(JournalError, match="does not hold a journal"):
            open_journal(postgres_url)
        connection.execute("DROP TABLE asyncguard.other")
        open_journal(postgres_url).close()
        connection.execute(
            "UPDATE asyncguard.meta SET value = %s WHERE name = 'version'",
            (str(schema.VERSION + 1),),
        )
        with pytest.raises(JournalError, match="newer asyncguard"):
            open_journal(postgres_url)


def test_an_address_that_leads_nowhere_is_told_without_its_password() -> None:
    """The error for an unreachable or unreadable address repeats no secret."""
    for url in (
        "postgresql://u:hunter2@127.0.0.1:1/d",
        "postgresql://u:hunter2@[::1/d",
        "postgres://u:hunter2@h:x/d",
    ):
        with pytest.raises((JournalError, CallerError)) as caught:
            open_journal(url)
        assert "hunter2" not in str(caught.value)


FORKING = """
import asyncio, os, signal, sys, time
from asyncguard.journal.open import open_journal
journal = open_journal(sys.argv[1])
asyncio.run(journal.acquire("thread", "", (), print))
child = os.fork()
if not child:
    time.sleep(60)
    os._exit(0)
print(journal.process_id, child, flush=True)
sys.stdin.read()
assert journal.entries() == []
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_forked_child_does_not_keep_a_dead_process_alive(postgres_url: str) -> None:
    """It has the socket of its parent, and with it the lock; the parent continues without noticing, and dies."""
    command = [sys.executable, "-c", FORKING, postgres_url]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        epoch, child = parent.stdout.readline().split()
        try:
            with opened(postgres_url) as (journal,):
                assert list(journal.gone([epoch])) == []
                parent.stdin.close()
                assert parent.wait(10) == -signal.SIGKILL
                give_up = time.monotonic() + 5
                while list(journal.gone([epoch])) != [epoch]:
                    assert time.monotonic() < give_up
                    time.sleep(0.05)
        finally:
            os.kill(int(child), signal.SIGKILL)
