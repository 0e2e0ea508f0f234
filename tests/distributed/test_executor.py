"""The executor and its queue, before a worker accepts an order."""

import asyncio
import json
import sqlite3
import stat
import threading
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError, OperationalError

from asyncguard.core.faults import Symptom
from asyncguard.core.footprints import EffectClass
from asyncguard.core.results import Failure, Result, Success
from asyncguard.distributed import queue_client
from asyncguard.distributed.database_url import database_url
from asyncguard.distributed.protocol import answer_to_json, order_of
from asyncguard.distributed.queue_client import QueueClient
from asyncguard.distributed.queue_tables import APPLICATION, JobTables
from asyncguard.errors import CallerError
from asyncguard.journal.open import open_journal
from asyncguard.journal.port import Journal
from asyncguard.runtime.executors.port import Job
from tests.distributed.bench import VERSION, Shop, begin, eventually, job_of, result_of

ONCE = EffectClass.AT_MOST_ONCE


async def test_orders_wait_in_a_private_file_until_the_executor_is_closed(
    place: Shop, journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    """Orders are logged as waiting if there is no worker; closing cancels them unbegun."""
    executor = place.executor(journal)
    jobs = [job_of("pay", {"amount": number}, effect=ONCE) for number in range(3)]
    futures = [begin(executor, job) for job in jobs]
    assert set(executor.pending()) == {job.key for job in jobs}
    await eventually(lambda: bool(executor.health().detail))
    await eventually(
        lambda: len(place.rows()) == len(jobs)
    )  # the first may be told of before the others are sent
    assert executor.health().alive
    assert executor.health().pending == 3
    assert "there was none at all" in executor.health().detail
    # The health knows it a moment before it is logged.
    await eventually(lambda: "there was none at all" in caplog.text)
    # On a busy machine other warnings come, too: of a database that was locked for a moment.
    told = [record for record in caplog.records if "there was none at all" in record.message]
    assert len(told) == 1
    assert await executor.recover([job.key for job in jobs]) == {job.key: 1 for job in jobs}
    assert stat.S_IMODE(place.file.stat().st_mode) == 0o600
    executor.close()
    for result in await asyncio.gather(*futures):
        assert isinstance(result, Failure)
        assert (result.symptom.error, result.symptom.started) == ("cancelled", False)
    assert {state for _, state in place.rows()} == {"CANCELLED"}
    assert not executor.health().alive


async def test_an_order_that_a_dead_worker_has_claimed_is_taken_back(
    place: Shop, journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing has begun, and no worker needs to be there; one that lives is about to begin its order."""
    executor = place.executor(journal)
    other = open_journal(place.journal)
    keys = [begun.key for begun in (job_of("pay", {}, effect=ONCE) for _ in range(3))]
    orders = [(f"{key}.1", "{}") for key in keys]
    tables = JobTables(database_url(place.database))
    tables.prepare()
    tables.post(orders, queue="q", version=VERSION)
    tables.close()
    with closing(sqlite3.connect(place.database)) as database, database:
        for key, owner in zip(keys, ("dead", other.process_id), strict=False):
            database.execute(
                "UPDATE workflow_status SET status = 'PENDING', executor_id = ? WHERE workflow_uuid = ?",
                (owner, f"{key}.1"),
            )
    assert await executor.take_back(keys) == {keys[1]: 1}
    assert place.rows() == [(f"{keys[1]}.1", "PENDING")]
    assert [record.message for record in caplog.records] == ["orders of lost workers put back"]
    other.close()
    assert await executor.take_back(keys) == {}
    assert place.rows() == []
    executor.close()


async def test_orders_that_no_worker_takes_any_more_say_so(
    place: Shop, journal: Journal, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers of their version were there, and none comes: after a while that is a word in health and log, once."""
    monkeypatch.setattr(queue_client, "_CHECK_EVERY", 0.05)
    monkeypatch.setattr(queue_client, "_LONG_WAIT", 0.3)
    executor = place.executor(journal)
    future = begin(executor, job_of("pay", {}, effect=ONCE))
    await eventually(lambda: bool(place.rows()))
    with closing(sqlite3.connect(place.database)) as database, database:
        database.execute(
            "INSERT INTO application_versions (version_id, version_name, version_timestamp, created_at,"
            " application_name) VALUES ('1', ?, 1, 1, ?)",
            (VERSION, APPLICATION),
        )
    await eventually(lambda: "see whether one runs" in executor.health().detail)
    await asyncio.sleep(0.2)
    said = [record.message for record in caplog.records]
    assert (
        len([text for text in said if "1 call waits" in text and "see whether one runs" in text])
        == 1
    )
    assert executor.health().alive
    executor.close()
    await future


async def test_gate_and_delay_are_kept_before_anything_is_sent(
    place: Shop, journal: Journal
) -> None:
    """A closed gate ends a job unsent; one that is cancelled in its delay is not sent either."""
    executor = place.executor(journal)
    closed = Failure(symptom=Symptom(error="circuit_open", message="no", started=False))
    assert await result_of(executor, job_of("pay", {}, effect=ONCE, gate=lambda: closed)) == closed
    delayed = job_of("pay", {}, effect=ONCE, delay=60.0)
    future = begin(executor, delayed)
    await asyncio.sleep(0)
    assert executor.cancel(delayed.key)
    result = await future
    assert isinstance(result, Failure)
    assert not result.symptom.started
    assert not executor.cancel(delayed.key)
    assert not place.file.exists()
    executor.close()


async def test_what_cannot_be_sent_is_refused_and_what_is_local_runs_here(
    place: Shop, journal: Journal
) -> None:
    """Arguments that are not JSON, and tokens, cannot be sent; a local tool runs here."""

    async def here() -> Result:
        return Success(content="here")

    executor = place.executor(journal, local=["ask"])
    odd = await result_of(executor, job_of("pay", {"amount": object()}))
    assert isinstance(odd, Failure)
    assert "local=" in odd.symptom.message
    assert not odd.symptom.started
    job = job_of("ask", {}, effect=ONCE, run=here)
    assert await result_of(executor, job) == Success(content="here")
    assert journal.entries(key=job.key)[0].attempts[0].result == Success(content="here")
    assert not place.file.exists()
    executor.close()


async def test_nothing_is_sent_for_a_thread_that_another_process_took_over(
    place: Shop, journal: Journal
) -> None:
    """No worker could know: it begins calls of threads that it does not hold. A pure call may continue.

    The failure is the one with which a run that lags behind ends: stored as the call's, it would stand beside the
    result that the heir's attempt has in the journal.
    """
    journal.release("thread")
    await journal.flush()
    other = open_journal(place.journal)
    executor = place.executor(journal)
    try:
        await other.acquire("thread", "", (), lambda _: None)
        assert await other.holds("thread")
        assert not await journal.holds("thread")
        assert not await journal.holds("never entered")
        result = await result_of(executor, job_of("pay", {}, effect=ONCE))
        assert isinstance(result, Failure)
        assert (result.symptom.error, result.symptom.started) == ("taken_over", False)
        assert not place.file.exists()
        future = begin(executor, job_of("look", {}))
        await eventually(lambda: bool(place.rows()))
        executor.close()
        await future
    finally:
        other.close()


async def test_an_order_that_somebody_removed_is_lost_and_not_waited_for(
    place: Shop, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have begun, so it is in doubt."""
    monkeypatch.setattr(queue_client, "_CHECK_EVERY", 0.1)
    executor = place.executor(journal)
    future = begin(executor, job_of("pay", {}, effect=ONCE))
    await eventually(lambda: bool(place.rows()))
    database = sqlite3.connect(place.database)
    database.execute("DELETE FROM workflow_status")
    database.commit()
    database.close()
    async with asyncio.timeout(10):
        result = await future
    assert isinstance(result, Failure)
    assert (result.symptom.error, result.symptom.started) == ("order_lost", True)
    executor.close()


async def test_a_queue_that_was_removed_is_made_anew(
    place: Shop, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its orders are gone and told so; the next are sent, and the health says what was wrong meanwhile."""
    monkeypatch.setattr(queue_client, "_CHECK_EVERY", 0.1)
    executor = place.executor(journal)
    lost = begin(executor, job_of("pay", {}, effect=ONCE))
    await eventually(lambda: bool(place.rows()))
    after = begin(executor, job_of("pay", {}, effect=ONCE))
    await eventually(
        lambda: len(place.rows()) > 1
    )  # orders are sent in turn: by now the first one counts as sent
    database = sqlite3.connect(place.database)
    for table in ("workflow_status", "dbos_migrations"):
        database.execute(f"ALTER TABLE {table} RENAME TO old_{table}")
    database.close()
    await eventually(lambda: not executor.health().alive)
    place.file.rename(place.file.with_suffix(".old"))
    for beside in place.folder.glob("calls.db-*"):
        beside.unlink()
    sent = begin(executor, job_of("pay", {}, effect=ONCE))
    await eventually(lambda: bool(place.rows()) and executor.health().alive)
    async with asyncio.timeout(20):
        result = await lost
    assert isinstance(result, Failure)
    assert result.symptom.error == "order_lost"
    executor.close()
    await asyncio.gather(sent, after)


async def test_an_order_that_the_database_refuses_does_not_hold_up_others(
    place: Shop, journal: Journal
) -> None:
    """An order whose id another application uses is refused; others of its transaction are sent."""
    tables = JobTables(database_url(place.database))
    tables.prepare()
    tables.close()
    database = sqlite3.connect(place.database)
    database.execute(
        "INSERT INTO workflow_status (workflow_uuid, status, name) VALUES ('taken.1', 'PENDING', 'theirs')"
    )
    database.commit()
    database.close()
    executor = place.executor(journal)
    refused = begin(executor, job_of("pay", {}, effect=ONCE, key="taken"))
    sent = begin(executor, job_of("pay", {}, effect=ONCE, key="free"))
    result = await refused
    assert isinstance(result, Failure)
    assert (result.symptom.error, result.symptom.started) == ("order_refused", False)
    await eventually(lambda: ("free.1", "ENQUEUED") in place.rows())
    assert not sent.done()
    executor.close()
    await sent
    assert ("taken.1", "PENDING") in place.rows(), "what belongs to others is left alone"


async def test_an_order_that_was_sent_is_not_told_as_refused_when_the_answers_cannot_be_asked(
    place: Shop, journal: Journal
) -> None:
    """What was sent is not sent again because the look for answers failed, so it cannot be refused then."""
    executor = place.executor(journal)
    first = begin(executor, job_of("pay", {}, effect=ONCE))
    await eventually(lambda: bool(place.rows()))
    _change(place, "ALTER TABLE workflow_output RENAME TO elsewhere")
    second = begin(executor, job_of("pay", {}, effect=ONCE))
    await eventually(lambda: len(place.rows()) == 2)
    _change(
        place,
        "CREATE TRIGGER refuse BEFORE INSERT ON workflow_status BEGIN SELECT RAISE(ABORT, 'no'); END",
    )
    await eventually(lambda: not executor.health().alive)
    await asyncio.sleep(1.0)
    _change(place, "ALTER TABLE elsewhere RENAME TO workflow_output")
    await eventually(lambda: executor.health().alive)
    assert not second.done()
    assert [state for _, state in place.rows()] == ["ENQUEUED", "ENQUEUED"]
    executor.close()
    await asyncio.gather(first, second)


async def test_an_order_that_was_told_as_refused_is_not_sent_with_those_that_are_kept(
    place: Shop, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database goes away after it has refused one order of a batch: that one never begins."""
    post, together = JobTables.post, threading.Event()
    tried: list[list[str]] = []

    def flaky(self: JobTables, orders: Sequence[tuple[str, str]], **options: Any) -> None:
        assert together.wait(10)
        names = [name for name, _ in orders]
        if names == ["first.1"]:
            return post(self, orders, **options)
        tried.append(names)
        if "bad.1" in names and len(tried) <= 2:
            raise IntegrityError("INSERT", {}, ValueError())
        if len(tried) == 3:
            raise OperationalError("INSERT", {}, ValueError())
        return post(self, orders, **options)

    monkeypatch.setattr(JobTables, "post", flaky)
    client, told = _client(place)
    for name in ("first.1", "bad.1", "good.1"):
        client.post(name, "{}")
        await asyncio.sleep(0.2)
    together.set()
    await eventually(lambda: ("good.1", "ENQUEUED") in place.rows())
    await eventually(lambda: not client.trouble)
    assert tried == [["bad.1", "good.1"], ["bad.1"], ["good.1"], ["good.1"]]
    assert [name for name, _ in told] == ["bad.1"]
    client.close()


async def test_an_order_that_is_being_sent_when_the_executor_is_closed_is_cancelled(
    place: Shop, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database takes its time; nothing begins after the end, and the call is told."""
    post, sending, closed = JobTables.post, threading.Event(), threading.Event()

    def slow(self: JobTables, orders: Sequence[tuple[str, str]], **options: Any) -> None:
        sending.set()
        assert closed.wait(10)
        return post(self, orders, **options)

    monkeypatch.setattr(JobTables, "post", slow)
    executor = place.executor(journal)
    future = begin(executor, job_of("pay", {}, effect=ONCE))
    await eventually(sending.is_set)
    executor.close()
    closed.set()
    async with asyncio.timeout(10):
        result = await future
    assert isinstance(result, Failure)
    assert (result.symptom.error, result.symptom.started) == ("cancelled", False)
    assert [state for _, state in place.rows()] == ["CANCELLED"]


async def test_an_order_whose_commit_was_not_confirmed_is_not_told_as_refused(
    place: Shop, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be in the queue: it is waited for, and found lost if it is not there."""
    monkeypatch.setattr(queue_client, "_CHECK_EVERY", 0.1)
    post = JobTables.post
    sent: list[str] = []

    def flaky(self: JobTables, orders: Sequence[tuple[str, str]], **options: Any) -> None:
        [(name, _)] = orders
        sent.append(name)
        if sent.count(name) > 1:
            raise IntegrityError("INSERT", {}, ValueError())
        if name == "there.1":
            post(self, orders, **options)
        raise OperationalError("COMMIT", {}, ValueError())

    monkeypatch.setattr(JobTables, "post", flaky)
    client, told = _client(place)
    client.post("there.1", "{}")
    # Sent again, or the second order would be sent together with it.
    await eventually(lambda: len(sent) > 1 and not client.trouble)
    assert place.rows()
    client.post("away.1", "{}")
    await eventually(lambda: bool(told))
    await asyncio.sleep(0.3)
    [(name, end)] = told
    assert isinstance(end, Failure)
    assert (name, end.symptom.error, end.symptom.started) == ("away.1", "order_lost", True)
    client.close()


async def test_what_an_earlier_worker_recorded_is_told_although_the_last_could_not_ask(
    place: Shop, journal: Journal
) -> None:
    """The agent asks the journal itself before it tells of a doubt."""
    executor = place.executor(journal)
    job = job_of("pay", {}, effect=ONCE, key="call")
    future = begin(executor, job)
    await eventually(lambda: bool(place.rows()))
    assert job.intent is not None
    await journal.begin(job.intent)
    await journal.end("call", 1, Success(content="paid"))
    _answer_unasked(place, job, journal, claims=2)
    assert await future == Success(content="paid")
    executor.close()


@pytest.mark.parametrize("claims", [1, 2])
async def test_a_worker_that_could_not_ask_the_journal_says_nothing_of_earlier_workers(
    place: Shop, journal: Journal, claims: int
) -> None:
    """The first claim alone shows that nothing began."""
    executor = place.executor(journal)
    job = job_of("pay", {}, effect=ONCE, key="call")
    future = begin(executor, job)
    await eventually(lambda: bool(place.rows()))
    _answer_unasked(place, job, journal, claims=claims)
    result = await future
    assert isinstance(result, Failure)
    assert (result.symptom.error, result.symptom.started) == ("journal_unavailable", claims > 1)
    assert ("not begun" in result.symptom.message) is (claims == 1)
    executor.close()


def _answer_unasked(place: Shop, job: Job, journal: Journal, *, claims: int) -> None:
    """Answer as a worker does that could not ask the journal."""
    order = order_of(job, journal.id)
    refused = Symptom(error="journal_unavailable", message="it was not begun", started=False)
    answer = json.dumps(answer_to_json(order.fingerprint, Failure(symptom=refused)))
    with closing(sqlite3.connect(place.database)) as database, database:
        database.execute(
            "INSERT INTO workflow_output (workflow_uuid, output) VALUES ('call.1', ?)", (answer,)
        )
        database.execute(
            "UPDATE workflow_status SET status = 'SUCCESS', recovery_attempts = ?", (claims,)
        )


def _client(place: Shop) -> tuple[QueueClient, list[tuple[str, object]]]:
    """A client whose first batch is sent when the test awaits, and what it has told."""
    told: list[tuple[str, object]] = []
    client = QueueClient(
        JobTables(database_url(place.database)),
        queue="q",
        version="v",
        poll=0.02,
        tell=lambda name, end: told.append((name, end)),
    )
    return client, told


def _change(place: Shop, sql: str) -> None:
    with closing(sqlite3.connect(place.database)) as database, database:
        database.execute(sql)


def test_orders_go_back_only_from_the_dead_and_only_ours(place: Shop) -> None:
    """Rows of other applications and of live workers stay; the count of claims does, too."""
    tables = JobTables(database_url(place.database))
    tables.prepare()
    tables.post([("a.1", "a"), ("b.1", "b"), ("c.1", "c")], queue="q", version="v")
    database = sqlite3.connect(place.database)
    database.execute(
        "UPDATE workflow_status SET status = 'PENDING', recovery_attempts = 4, "
        "executor_id = CASE workflow_uuid WHEN 'a.1' THEN 'dead' ELSE 'alive' END"
    )
    database.execute(
        "INSERT INTO workflow_status (workflow_uuid, status, name, executor_id, queue_name) "
        "VALUES ('x', 'PENDING', 'theirs', 'dead', 'q')"
    )
    database.commit()
    assert tables.owners() == {"dead", "alive"}
    assert tables.adopt(["b.1"], old="alive", new="dead") == 1
    assert tables.adopt(["b.1"], old="dead", new="alive") == 1
    assert tables.give_back({"dead"}) == 1
    assert tables.give_back({"dead"}) == 0
    kept = database.execute(
        "SELECT workflow_uuid, status, recovery_attempts FROM workflow_status ORDER BY 1"
    ).fetchall()
    assert kept == [
        ("a.1", "ENQUEUED", 4),
        ("b.1", "PENDING", 4),
        ("c.1", "PENDING", 4),
        ("x", "PENDING", 0),
    ]
    assert tables.latest(["a", "b", "."]) == {"a": 1, "b": 1}
    tables.cancel("b.1", begun=False)
    assert tables.cancelled(["a.1", "b.1"]) == set(), (
        "one that was taken is not cancelled as unbegun"
    )
    tables.cancel("b.1", begun=True)
    assert tables.cancelled(["a.1", "b.1"]) == {"b.1"}
    assert [(ended.id, ended.claims) for ended in tables.ended(["a.1", "b.1"])] == [("b.1", 4)]
    assert tables.prune(3600) == 0
    assert tables.prune(-3600) == 1
    assert tables.present(["a.1", "b.1", "x"]) == {"a.1", "x"}
    database.close()
    tables.close()


def test_settings_that_cannot_work_are_refused(place: Shop, journal: Journal) -> None:
    """Impossible settings are refused when the executor is made."""
    with pytest.raises(CallerError, match="version"):
        place.executor(journal, application_version=" ")
    with pytest.raises(CallerError, match="poll must be"):
        place.executor(journal, poll=0)
