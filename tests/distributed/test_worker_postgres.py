"""Workers on PostgreSQL: several at once, killed, frozen, and without their server for a while."""

import asyncio
import contextlib
import json
import signal
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.exc import SQLAlchemyError

from asyncguard import cli
from asyncguard.core.footprints import EffectClass
from asyncguard.core.results import Failure, Success
from asyncguard.distributed import worker as worker_module
from asyncguard.distributed.executor import DbosExecutor
from asyncguard.distributed.queue_tables import JobTables, ReadOnlyDatabaseError
from asyncguard.distributed.unserved import Unserved
from asyncguard.journal.open import open_journal
from asyncguard.journal.port import Journal
from tests.distributed.bench import (
    Process,
    Shop,
    begin,
    check_takeover,
    eventually,
    job_of,
    result_of,
)
from tests.support.postgres import Server

pytestmark = pytest.mark.slow
ONCE = EffectClass.AT_MOST_ONCE


@contextlib.asynccontextmanager
async def shop_at(url: str, folder: Path) -> AsyncIterator[tuple[Shop, Journal]]:
    """A queue and a journal in one database."""
    shop, journal = Shop(database=url, journal=url, folder=folder), open_journal(url)
    await journal.acquire("thread", "", (), lambda _: None)
    try:
        yield shop, journal
    finally:
        shop.end()
        journal.close()


async def test_calls_of_killed_workers_are_taken_over(postgres_url: str, tmp_path: Path) -> None:
    """The next worker makes the calls within seconds; a payment that had begun is not repeated."""
    async with shop_at(postgres_url, tmp_path) as (shop, journal):
        executor = shop.executor(journal)
        await check_takeover(shop, executor, kills=2)
        executor.close()


async def test_a_frozen_worker_that_was_replaced_begins_nothing(
    postgres_url: str, tmp_path: Path
) -> None:
    """Its connections are cut as a machine's are that is gone; when it comes back, its call was made by another."""
    async with shop_at(postgres_url, tmp_path) as (shop, journal):
        executor = shop.executor(journal)
        frozen = await shop.worker("--concurrency", "1")
        first = job_of("pay_slowly", {"amount": 1, "seconds": 1.0}, effect=ONCE)
        running = begin(executor, first)
        await eventually(lambda: shop.effects == ["pay 1"])
        frozen.tell(signal.SIGSTOP)
        await shop.worker("--concurrency", "1")
        _cut(postgres_url, frozen)
        async with asyncio.timeout(15):
            lost = await running
        assert isinstance(lost, Failure)
        assert lost.symptom.error == "process_lost"
        assert await result_of(executor, job_of("pay", {"amount": 2}, effect=ONCE)) == Success(
            content="paid 2"
        )
        frozen.tell(signal.SIGCONT)
        await frozen.said("call ended", key=first.key)
        await frozen.said("worker renamed")
        later = [job_of("pay", {"amount": number}, effect=ONCE) for number in range(3, 13)]
        results = await asyncio.gather(*(result_of(executor, job) for job in later))
        assert all(isinstance(result, Success) for result in results)
        assert sorted(shop.effects) == sorted(f"pay {number}" for number in range(1, 13)), (
            "each was made once"
        )
        executor.close()


def _cut(url: str, worker: Process) -> None:
    """End the server's sessions of a process: what the network does to a machine that is gone."""
    with psycopg.connect(url, autocommit=True) as connection:
        assert worker.process.pid is not None
        ports = _ports(worker.process.pid)
        rows = connection.execute(
            "SELECT pid, client_port FROM pg_stat_activity WHERE client_port > 0"
        ).fetchall()
        mine = [pid for pid, port in rows if port in ports]
        assert mine, "the worker has connections"
        for pid in mine:
            connection.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))


def _ports(pid: int) -> set[int]:
    """Local ports of a process's connections, from what Linux tells of it."""
    sockets = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            target = str(link.readlink())
            if target.startswith("socket:["):
                sockets.add(target[8:-1])
    ports = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[9] in sockets:
                ports.add(int(fields[1].rpartition(":")[2], 16))
    return ports


async def test_calls_end_although_the_server_is_restarted(
    postgres_server: Server, tmp_path: Path
) -> None:
    """At once, without a word: those that ran, those that waited, and those that come meanwhile."""
    async with shop_at(postgres_server.url(), tmp_path) as (shop, journal):
        executor = shop.executor(journal)
        await shop.worker()
        await shop.worker()
        jobs = [
            job_of("pay_slowly", {"amount": number, "seconds": 2.0}, effect=ONCE)
            for number in range(20)
        ]
        futures = [begin(executor, job) for job in jobs]
        await shop.worker_of(jobs[0], "pay 0")
        await asyncio.to_thread(postgres_server.stop)
        jobs += [job_of("pay", {"amount": number}, effect=ONCE) for number in range(20, 25)]
        futures += [begin(executor, job) for job in jobs[20:]]
        await asyncio.sleep(1.0)
        assert not executor.health().alive
        await asyncio.to_thread(postgres_server.start)
        async with asyncio.timeout(60):
            results = await asyncio.gather(*futures)
        assert executor.health().alive
        assert [result for result in results if not isinstance(result, Success)] == []
        assert sorted(shop.effects) == sorted(f"pay {number}" for number in range(25)), (
            "each was made once"
        )
        executor.close()


async def test_calls_end_although_the_database_is_read_only_for_a_while(
    postgres_server: Server, tmp_path: Path
) -> None:
    """As after a failover to a standby, or on a full disk: the health file says so, and nothing is made twice."""
    health = tmp_path / "health.json"

    def database() -> str:
        return str(json.loads(health.read_text("utf-8"))["database"])

    async with shop_at(postgres_server.url(), tmp_path) as (shop, journal):
        executor = shop.executor(journal)
        worker = await shop.worker("--health-file", str(health))
        await eventually(lambda: health.exists() and database() == "ok")
        jobs = [
            job_of("pay_slowly", {"amount": number, "seconds": 2.0}, effect=ONCE)
            for number in range(4)
        ]
        futures = [begin(executor, job) for job in jobs]
        await shop.worker_of(jobs[0], "pay 0")
        _make_read_only(postgres_server.url(), "on")
        await worker.said("database read-only")
        await eventually(lambda: database() == "read-only", within=3.0)
        jobs += [job_of("pay", {"amount": number}, effect=ONCE) for number in range(4, 8)]
        futures += [begin(executor, job) for job in jobs[4:]]
        await asyncio.sleep(3.0)  # the payments end meanwhile, and their results cannot be stored
        assert database() == "read-only"
        _make_read_only(postgres_server.url(), "off")
        await worker.said("database back")
        async with asyncio.timeout(60):
            results = await asyncio.gather(*futures)
        await eventually(lambda: database() == "ok", within=3.0)
        assert [result for result in results if not isinstance(result, Success)] == []
        assert sorted(shop.effects) == sorted(f"pay {number}" for number in range(8)), (
            "each was made once"
        )
        executor.close()


@pytest.mark.parametrize(
    "refused",
    [
        pytest.param("'SUCCESS', 'ERROR'", id="claimed for ever"),
        pytest.param("'SUCCESS'", id="ended without an answer"),
    ],
)
async def test_calls_whose_answer_is_refused_are_told_by_the_journal(
    postgres_url: str, tmp_path: Path, refused: str
) -> None:
    """An answer that the server cancels is not written again by itself; the payment is not made again, either."""
    async with shop_at(postgres_url, tmp_path) as (shop, journal):
        executor = shop.executor(journal)
        worker = await shop.worker(main=_impatient)
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(_REFUSE % refused)  # type: ignore[arg-type]
            job = job_of("pay", {"amount": 1}, effect=ONCE)
            told = begin(executor, job)
            await worker.said("call ended", key=job.key)
            await worker.said("queue", level="error")  # the answer was refused
            connection.execute("DROP TRIGGER refuse ON dbos.workflow_status")
        async with asyncio.timeout(30):
            assert await told == Success(content="paid 1")
        assert shop.effects == ["pay 1"]
        executor.close()


_REFUSE = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'canceling statement due to statement timeout' USING ERRCODE = 'query_canceled'; END $$;
CREATE TRIGGER refuse BEFORE UPDATE ON dbos.workflow_status
FOR EACH ROW WHEN (NEW.status IN (%s)) EXECUTE FUNCTION refuse();
"""


def _impatient(words: list[str]) -> int:
    """Run a worker that lets an order be claimed and not served for one second."""
    worker_module.Unserved = partial(Unserved, patience=1.0)  # type: ignore[misc,assignment]
    return cli.main(words)


def test_a_role_without_rights_takes_no_changes(postgres_server: Server) -> None:
    """As a read-only database: a worker that may only read, or not even that, serves no calls."""
    tables = JobTables(postgres_server.url())
    tables.prepare()
    tables.close()
    with psycopg.connect(postgres_server.url(), autocommit=True) as connection:
        connection.execute("CREATE ROLE app LOGIN")
        connection.execute("GRANT USAGE ON SCHEMA dbos TO app")
        connection.execute("GRANT SELECT, INSERT, UPDATE ON dbos.workflow_status TO app")
        of_app = JobTables(postgres_server.url().replace("postgres@", "app@"))
        of_app.check_writable()
        for right in ("INSERT", "UPDATE"):
            connection.execute(f"REVOKE {right} ON dbos.workflow_status FROM app")
            with pytest.raises(ReadOnlyDatabaseError):
                of_app.check_writable()
            connection.execute(f"GRANT {right} ON dbos.workflow_status TO app")
            of_app.check_writable()
        connection.execute("REVOKE USAGE ON SCHEMA dbos FROM app")
        with pytest.raises(SQLAlchemyError):
            of_app.check_writable()
        of_app.close()


def _make_read_only(url: str, state: str) -> None:
    """Let every session of a server refuse changes, also those that are open, or take them again."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")
        connection.execute(f"ALTER SYSTEM SET default_transaction_read_only = {state}")
        connection.execute("SELECT pg_reload_conf()")


async def test_an_executor_waits_for_a_server_that_is_away(tmp_path: Path) -> None:
    """Nothing is lost and nothing hangs: the health says why, and a call that was not sent can be cancelled."""
    journal = open_journal(tmp_path / "journal")
    await journal.acquire("thread", "", (), lambda _: None)
    executor = DbosExecutor(
        "postgresql://nobody@127.0.0.1:9/none", journal=journal, application_version="v"
    )
    future = begin(executor, job_of("pay", {"amount": 1}, effect=ONCE))
    await eventually(lambda: not executor.health().alive)
    assert "does not answer" in executor.health().detail
    assert not future.done()
    executor.close()
    result = await future
    assert isinstance(result, Failure)
    assert not result.symptom.started
    journal.close()
