"""Workers as processes of their own, on SQLite."""

import asyncio
import base64
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from asyncguard import cli
from asyncguard.core.footprints import EffectClass
from asyncguard.core.results import Failure, Success
from asyncguard.distributed import worker as worker_module
from asyncguard.distributed.job_runner import JobRunner
from asyncguard.journal.open import open_journal
from asyncguard.journal.port import Journal
from tests.distributed.bench import (
    Shop,
    begin,
    check_takeover,
    eventually,
    job_of,
    new_key,
    result_of,
)

ONCE = EffectClass.AT_MOST_ONCE


async def test_a_call_is_made_by_a_worker_and_answered_again_from_what_is_known(
    place: Shop, journal: Journal
) -> None:
    """The effect happens once, however often the call is handed out; what a worker cannot do is refused."""
    executor = place.executor(journal)
    early = begin(
        executor, job_of("pay", {"amount": 1}, effect=ONCE)
    )  # before there is a worker, or a table
    worker = await place.worker()
    assert await early == Success(content="paid 1")

    key = new_key()
    paid = await result_of(executor, job_of("pay", {"amount": 2}, effect=ONCE, key=key))
    assert paid == Success(content="paid 2")
    another = place.executor(journal)
    assert await another.recover([key, "unknown"]) == {key: 1}
    again = await result_of(another, job_of("pay", {"amount": 2}, effect=ONCE, key=key))
    assert again == paid
    other = await result_of(another, job_of("pay", {"amount": 3}, effect=ONCE, key=key))
    assert isinstance(other, Failure)
    assert other.symptom.error == "conflicting_order"
    assert not other.symptom.started
    reserved = await result_of(
        executor, job_of("reserve", {"item": "7"}, effect=EffectClass.KEYED, key="the-key")
    )
    assert reserved == Success(content="reserved 7 the-key")
    assert place.effects == ["pay 1", "pay 2", "reserve 7 the-key"]

    seen = await result_of(executor, job_of("look", {"name": "it"}))
    assert seen == Success(content=f"seen it by {worker.process.pid}")
    moved = await result_of(executor, job_of("move", {}))
    assert isinstance(moved, Success)
    assert "left on the worker" in moved.content
    told = await result_of(executor, job_of("tell", {"size": 2**21}))
    assert isinstance(told, Success)
    assert len(told.content) <= 2**16
    assert "truncated; 2097152 bytes" in told.content
    for tool, arguments, said in [("fly", {}, "no tool 'fly'"), ("pay", {"amount": "x"}, "amount")]:
        refused = await result_of(executor, job_of(tool, arguments, effect=ONCE))
        assert isinstance(refused, Failure)
        assert said in refused.symptom.message
        assert refused.symptom.answered or not refused.symptom.started

    log = worker.log_file.read_text()
    assert "paid" not in log
    assert "amount" not in log
    executor.close()
    another.close()


@pytest.mark.slow
async def test_a_crafted_row_is_neither_unpickled_nor_answered(
    place: Shop, journal: Journal, tmp_path: Path
) -> None:
    """A row that asks to be unpickled, as order and as answer: no code of it runs, in agent or worker."""
    mark = tmp_path / "unpickled"
    bomb = base64.b64encode(pickle.dumps(_Bomb(str(mark)))).decode()
    executor = place.executor(journal)
    waits = begin(executor, job_of("look", {"name": "a"}, key="order"))
    answered = begin(executor, job_of("look", {"name": "b"}, key="answer"))
    await eventually(lambda: len(place.rows()) == 2)
    with closing(sqlite3.connect(place.database)) as database, database:
        database.execute("UPDATE workflow_status SET serialization = 'py_pickle'")
        database.execute(
            "UPDATE workflow_input SET inputs = ? WHERE workflow_uuid = 'order.1'", (bomb,)
        )
        database.execute(
            "UPDATE workflow_status SET status = 'SUCCESS', recovery_attempts = 1 WHERE workflow_uuid = 'answer.1'"
        )
        database.execute(
            "INSERT INTO workflow_output (workflow_uuid, output) VALUES ('answer.1', ?)", (bomb,)
        )
    database.close()
    worker = await place.worker()
    for future in (waits, answered):
        async with asyncio.timeout(20):
            result = await future
        assert isinstance(result, Failure)
    assert not mark.exists()
    assert await result_of(executor, job_of("look", {"name": "c"})) == Success(
        content=f"seen c by {worker.process.pid}"
    ), "the worker goes on"
    executor.close()


class _Bomb:
    def __init__(self, mark: str) -> None:
        self._mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return (os.mkdir, (self._mark,))


@pytest.mark.slow
async def test_what_runs_is_cancelled_timed_out_and_still_heard_of(
    place: Shop, journal: Journal
) -> None:
    """A waiting call has not begun; a running one is stopped; one in a thread continues, and its outcome is written."""
    executor = place.executor(journal)
    waiting = job_of("pay", {"amount": 1}, effect=ONCE)
    future = begin(executor, waiting)
    await asyncio.sleep(0.2)
    assert executor.cancel(waiting.key)
    result = await future
    assert isinstance(result, Failure)
    assert not result.symptom.started
    worker = await place.worker()
    assert place.effects == []

    slow = job_of("pay_slowly", {"amount": 2, "seconds": 60}, effect=ONCE)
    future = begin(executor, slow)
    await worker.said("call begun", key=slow.key)
    assert executor.cancel(slow.key)
    result = await future
    assert isinstance(result, Failure)
    assert result.symptom.started
    await worker.said("call ended", key=slow.key, outcome="cancelled")
    assert journal.entries(key=slow.key)[0].attempts[0].result is not None, (
        "the outcome is in the journal"
    )

    late = job_of("pay_in_thread", {"amount": 3, "seconds": 1.5}, effect=ONCE, timeout=0.3)
    began = time.monotonic()
    result = await result_of(executor, late)
    assert isinstance(result, Failure)
    assert result.symptom.error == "timeout"
    assert time.monotonic() - began < 1.4
    await worker.said("call ended late", key=late.key)

    closing = job_of("pay", {"amount": 4}, effect=ONCE, delay=60.0)
    future = begin(executor, closing)
    executor.close()
    result = await future
    assert isinstance(result, Failure)
    assert not result.symptom.started
    assert place.effects == ["pay 2", "pay 3"]


@pytest.mark.slow
async def test_a_drain_lets_calls_end_and_says_what_it_left(
    place: Shop, journal: Journal, tmp_path: Path
) -> None:
    """Calls that end in time are drained; the others are named, and lost as in a dead process."""
    executor = place.executor(journal)
    health = tmp_path / "health.json"
    worker = await place.worker("--drain-timeout", "4", "--health-file", str(health))
    short = job_of("pay_slowly", {"amount": 1, "seconds": 1.5}, effect=ONCE)
    endless = job_of("pay_in_thread", {"amount": 2, "seconds": 60}, effect=ONCE)
    futures = [begin(executor, short), begin(executor, endless)]
    await worker.said("call begun", key=endless.key)
    worker.tell(signal.SIGTERM)
    await worker.said("worker drains")
    assert await futures[0] == Success(content="paid 1")
    after = begin(executor, job_of("pay", {"amount": 3}, effect=ONCE))
    assert await worker.ended() == 1
    assert (await worker.said("call left running"))["key"] == endless.key
    assert '"state": "ended"' in health.read_text()
    assert not after.done(), "a worker that drains takes nothing new"

    await place.worker()
    async with asyncio.timeout(10):
        result = await futures[1]
        assert await after == Success(content="paid 3")
    assert isinstance(result, Failure)
    assert result.symptom.error == "process_lost"
    assert result.symptom.started
    assert sorted(place.effects) == ["pay 1", "pay 2", "pay 3"]
    executor.close()


@pytest.mark.slow
async def test_a_drain_writes_outcomes_that_were_refused(place: Shop, journal: Journal) -> None:
    """Journal and queue take them again in the time to drain: the call is told as paid, not in doubt."""
    executor = place.executor(journal)
    worker = await place.worker("--drain-timeout", "15", main=_impatient)
    job = job_of("pay_slowly", {"amount": 1, "seconds": 0.5}, effect=ONCE)
    future = begin(executor, job)
    await worker.said("call begun", key=job.key)
    tables = {place.journal: "attempts", place.database: "workflow_status"}
    for file, table in tables.items():
        _change(
            file,
            f"CREATE TRIGGER refuse BEFORE UPDATE ON {table} BEGIN SELECT RAISE(ABORT, 'no'); END",
        )
    await worker.said("outcome not written")
    await worker.said("call ended")
    await asyncio.sleep(0.5)
    worker.tell(signal.SIGTERM)
    await worker.said("worker drains")
    await asyncio.sleep(2.0)
    for file in tables:
        _change(file, "DROP TRIGGER refuse")
    assert await worker.ended() == 0
    await place.worker()
    async with asyncio.timeout(20):
        assert await future == Success(content="paid 1")
    assert place.effects == ["pay 1"]
    executor.close()


def _impatient(words: list[str]) -> int:
    """Run a worker that hardly waits for a journal that refuses an outcome."""
    worker_module.JobRunner = partial(JobRunner, patience=0.1)  # type: ignore[assignment,attr-defined]
    return cli.main(words)


def _change(file: str, sql: str) -> None:
    with closing(sqlite3.connect(file)) as database, database:
        database.execute(sql)


@pytest.mark.slow
async def test_calls_of_another_version_wait_and_are_reported(
    place: Shop, journal: Journal
) -> None:
    """They are taken by no worker of this version, and log and executor say so."""
    worker = await place.worker()
    executor = place.executor(journal, application_version="2026-11")
    future = begin(executor, job_of("look", {"name": "it"}))
    said = await worker.said("orders for another version")
    assert said["version"] == "2026-11"
    await eventually(lambda: "for workers of version '2026-11'" in executor.health().detail)
    assert "there were workers of 'asyncguard-" in executor.health().detail
    assert not future.done()
    await place.worker("--application-version", "2026-11")
    assert isinstance(await future, Success)
    worker.tell(signal.SIGTERM)
    assert await worker.ended() == 0, "a worker without calls ends well"
    assert (await worker.said("worker ended"))["left"] == 0
    executor.close()


@pytest.mark.slow
async def test_a_worker_with_another_journal_begins_nothing(
    place: Shop, journal: Journal, tmp_path: Path
) -> None:
    """Two journals would let an effect happen twice, once in each."""
    elsewhere = Shop(
        database=place.database, journal=str(tmp_path / "other.journal"), folder=tmp_path
    )
    open_journal(elsewhere.journal).close()
    try:
        await elsewhere.worker()
        executor = place.executor(journal)
        result = await result_of(executor, job_of("pay", {"amount": 1}, effect=ONCE))
        assert isinstance(result, Failure)
        assert "another journal" in result.symptom.message
        assert not result.symptom.started
        assert isinstance(await result_of(executor, job_of("look", {"name": "it"})), Success)
        executor.close()
    finally:
        elsewhere.end()
    assert place.effects == []


@pytest.mark.slow
async def test_a_call_that_kills_its_workers_is_given_up(place: Shop, journal: Journal) -> None:
    """It survives some deaths, as each of them may be chance, and goes to the next worker with its count."""
    executor = place.executor(journal)
    future = begin(executor, job_of("die", {"times": 2}))
    for _ in range(2):
        await (await place.worker()).ended()
    await place.worker()
    assert await future == Success(content="survived")
    with closing(sqlite3.connect(place.database)) as database, database:
        assert database.execute("SELECT recovery_attempts FROM workflow_status").fetchall() == [
            (3,)
        ]
        poison = begin(executor, job_of("look", {"name": "it"}, key="poison", delay=0.1))
        database.execute(
            "CREATE TRIGGER killed_often AFTER INSERT ON workflow_status "
            "BEGIN UPDATE workflow_status SET recovery_attempts = 21 WHERE workflow_uuid = 'poison.1'; END"
        )
    database.close()
    result = await poison
    assert isinstance(result, Failure)
    assert (result.symptom.error, result.symptom.started) == ("workers_gave_up", True)
    executor.close()


@pytest.mark.slow
async def test_a_module_that_makes_a_dbos_of_its_own_is_refused(
    place: Shop, tmp_path: Path
) -> None:
    """DBOS would silently keep the first one: the worker would listen to nothing."""
    (tmp_path / "their_own.py").write_text(
        "from dbos import DBOS\nDBOS(config={'name': 'their-own', 'system_database_url': 'sqlite:///x.db'})\n"
        "def look(name: str) -> str:\n    'Look.'\n    return name\nTOOLS = [look]\n"
    )
    command = [
        sys.executable,
        "-m",
        "asyncguard.cli",
        "worker",
        "--database-url",
        "c.db",
        "--tools",
        "their_own:TOOLS",
    ]
    done = await asyncio.to_thread(
        subprocess.run,
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "a DBOS of its own" in done.stderr


@pytest.mark.slow
async def test_the_calls_of_a_killed_worker_are_taken_over(place: Shop, journal: Journal) -> None:
    """After kill -9: repeatable calls are made again, others are lost and not made again, within seconds."""
    executor = place.executor(journal)
    await check_takeover(place, executor, kills=2)
    executor.close()


@pytest.mark.slow
async def test_a_log_that_cannot_be_written_costs_no_call(
    place: Shop, journal: Journal, tmp_path: Path
) -> None:
    """Lines are lost, not the calls that they are about, nor the worker, which also ends when it is told to."""
    executor = place.executor(journal)
    health = tmp_path / "nowhere" / "health.json"  # an error to log each second
    worker = await place.worker("--health-file", str(health), main=_without_a_log, wait=False)
    assert await result_of(executor, job_of("pay", {"amount": 1}, effect=ONCE)) == Success(
        content="paid 1"
    )
    await asyncio.sleep(1.5)
    assert isinstance(await result_of(executor, job_of("look", {"name": "it"})), Success)
    worker.tell(signal.SIGTERM)
    await worker.ended()
    assert place.effects == ["pay 1"]
    executor.close()


def _without_a_log(words: list[str]) -> int:
    """Run a worker whose log lies on a full disk."""
    os.dup2(os.open("/dev/full", os.O_WRONLY), 2)
    return cli.main(words)
