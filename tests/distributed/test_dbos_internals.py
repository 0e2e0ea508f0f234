"""Each private use of DBOS, with whichever DBOS is installed: CI runs this at both ends of the range."""

import base64
import os
import pickle
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from dbos import DBOS, DBOSClient, DBOSPortableJSONSerializer, _serialization
from dbos._utils import GlobalParams

from asyncguard.distributed.database_url import database_url
from asyncguard.distributed.dbos_internals import claim_as, forbid_pickle
from asyncguard.distributed.queue_tables import JobTables
from tests.distributed.bench import Shop


@pytest.fixture
def tables(place: Shop) -> Iterator[JobTables]:
    """The tables of a queue on SQLite, with three orders of one call and one of another."""
    made = JobTables(database_url(place.database))
    made.prepare()
    made.post([(name, "{}") for name in ("a.1", "a.2", "a.10", "a%.7")], queue="q", version="v")
    yield made
    made.close()


def change(place: Shop, sql: str, *values: str) -> None:
    """Changes rows as DBOS, a worker or a stranger would."""
    with closing(sqlite3.connect(place.database)) as database, database:
        database.execute(sql, values)


def states(place: Shop) -> dict[str, str]:
    """The states of all orders by name."""
    return dict(place.rows())


class Bomb:
    """Value whose unpickling leaves a trace."""

    def __init__(self, mark: Path) -> None:
        self._mark = str(mark)

    def __reduce__(self) -> tuple[object, ...]:
        return (os.mkdir, (self._mark,))


def plant(place: Shop, mark: Path) -> None:
    """Makes one order answer with a pickle."""
    bomb = base64.b64encode(pickle.dumps(Bomb(mark))).decode()
    change(
        place,
        "UPDATE workflow_status SET status = 'SUCCESS', serialization = 'py_pickle' "
        "WHERE workflow_uuid = 'a.1'",
    )
    change(place, "INSERT INTO workflow_output (workflow_uuid, output) VALUES ('a.1', ?)", bomb)


def test_an_answer_is_read_as_plain_json_only(
    place: Shop, tables: JobTables, tmp_path: Path
) -> None:
    """A row that asks to be unpickled has no answer, in a process where DBOS would unpickle it."""
    plant(place, tmp_path / "mark")
    change(place, "UPDATE workflow_status SET status = 'SUCCESS' WHERE workflow_uuid = 'a.2'")
    change(
        place, """INSERT INTO workflow_output (workflow_uuid, output) VALUES ('a.2', '"said"')"""
    )
    found = {each.id: each.answer for each in tables.ended(["a.1", "a.2", "a.10"])}
    assert found == {"a.1": None, "a.2": "said"}
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("forbidden", [True, False], ids=["forbidden", "as-dbos-is"])
def test_dbos_unpickles_what_a_row_names_unless_it_is_forbidden(
    place: Shop,
    tables: JobTables,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    forbidden: bool,
) -> None:
    """If DBOS stops doing so by itself, the second case fails, and the replacement can go."""
    monkeypatch.setattr(
        _serialization, "DBOSDefaultSerializer", _serialization.DBOSDefaultSerializer
    )
    plant(place, tmp_path / "mark")
    if forbidden:
        forbid_pickle()
    client = DBOSClient(
        system_database_url=database_url(place.database), serializer=DBOSPortableJSONSerializer()
    )
    assert [found.workflow_id for found in client.list_workflows(workflow_ids=["a.1"])] == ["a.1"]
    client.destroy()
    assert (tmp_path / "mark").exists() is not forbidden


def test_an_order_is_cancelled_only_in_the_states_that_were_meant(
    place: Shop, tables: JobTables
) -> None:
    """A closed executor leaves what a worker has; neither way changes an order that was given up."""
    change(place, "UPDATE workflow_status SET status = 'PENDING' WHERE workflow_uuid = 'a.2'")
    given_up = "MAX_RECOVERY_ATTEMPTS_EXCEEDED"
    change(place, "UPDATE workflow_status SET status = ? WHERE workflow_uuid = 'a.10'", given_up)
    for name in ("a.1", "a.2", "a.10"):
        tables.cancel(name, begun=False)
    assert states(place) == {
        "a.1": "CANCELLED",
        "a.2": "PENDING",
        "a.10": given_up,
        "a%.7": "ENQUEUED",
    }
    for name in ("a.2", "a.10"):
        tables.cancel(name, begun=True)
    assert (states(place)["a.2"], states(place)["a.10"]) == ("CANCELLED", given_up)


def test_the_latest_attempt_of_a_call_is_found_by_its_exact_key(tables: JobTables) -> None:
    """Numbers are compared as numbers, and no character of a key is a wildcard."""
    assert tables.latest(["a", "a%", "b"]) == {"a": 10, "a%": 7}


def test_orders_are_taken_back_unless_a_worker_has_claimed_them(
    place: Shop, tables: JobTables
) -> None:
    """They are gone, so that the call can be sent again; a claimed attempt is told."""
    change(
        place,
        "UPDATE workflow_status SET executor_id = 'w', "
        "status = CASE workflow_uuid WHEN 'a.1' THEN 'SUCCESS' ELSE 'PENDING' END "
        "WHERE workflow_uuid IN ('a.1', 'a.2')",
    )
    assert tables.take_back(["a", "b"]) == {"a": 2}
    assert states(place) == {"a.1": "SUCCESS", "a.2": "PENDING", "a%.7": "ENQUEUED"}
    assert tables.waiting("q").keys() == {"v"}
    tables.post([("a.10", "{}"), ("c.1", "{}")], queue="q", version="next")
    assert {version: found.orders for version, found in tables.waiting("q").items()} == {
        "v": 2,
        "next": 1,
    }, "an order keeps its version"


def test_an_order_that_was_sent_again_is_not_taken_back_late(
    place: Shop, tables: JobTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by a process that stood still when it had looked: it may be another's, or a later run's."""
    change(place, "UPDATE workflow_status SET created_at = created_at - 1000")
    other, remove = JobTables(database_url(place.database)), tables._change
    other.prepare()

    def late(text: str, **values: object) -> int:
        other.take_back(["a"])
        other.post([("a.1", "{}")], queue="q", version="v")
        return remove(text, **values)

    monkeypatch.setattr(tables, "_change", late)
    assert tables.take_back(["a"]) == {"a": 1}, "it is not the taker's"
    assert states(place) == {"a.1": "ENQUEUED", "a%.7": "ENQUEUED"}
    other.close()


def test_a_claimed_order_names_who_has_it(place: Shop, tables: JobTables) -> None:
    """One that waits or has ended names no process, and so does one that is not there."""
    change(
        place,
        "UPDATE workflow_status SET executor_id = 'w', "
        "status = CASE workflow_uuid WHEN 'a.1' THEN 'SUCCESS' ELSE 'PENDING' END "
        "WHERE workflow_uuid IN ('a.1', 'a.2')",
    )
    assert [tables.claimant(name) for name in ("a.1", "a.2", "a.10", "b.1")] == [
        None,
        "w",
        None,
        None,
    ]


def test_claimed_orders_follow_the_new_id_of_their_worker(place: Shop, tables: JobTables) -> None:
    """Only those that the worker names, and only while they are claimed under its old id."""
    change(
        place,
        "UPDATE workflow_status SET executor_id = 'old', "
        "status = CASE workflow_uuid WHEN 'a.10' THEN 'SUCCESS' ELSE 'PENDING' END",
    )
    assert tables.owners() == {"old"}
    assert tables.adopt(["a.1", "a.10"], old="old", new="new") == 1
    assert tables.owners() == {"old", "new"}
    assert tables.give_back(["old"]) == 2
    assert tables.owners() == {"new"}
    assert states(place) == {
        "a.1": "PENDING",
        "a.2": "ENQUEUED",
        "a.10": "SUCCESS",
        "a%.7": "ENQUEUED",
    }


def test_waiting_orders_are_counted_by_version(place: Shop, tables: JobTables) -> None:
    """With the age of the oldest, by the clock of the database."""
    change(place, "UPDATE workflow_status SET created_at = created_at - 5000")
    tables.post([("b.1", "{}")], queue="q", version="w")
    waiting = tables.waiting("q")
    assert {version: found.orders for version, found in waiting.items()} == {"v": 4, "w": 1}
    assert 5.0 <= waiting["v"].longest < 60.0
    assert 0.0 <= waiting["w"].longest < 55.0


def test_the_public_id_shows_what_was_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """DBOS tells the id under which it claims."""
    monkeypatch.setattr(GlobalParams, "executor_id", "first")
    claim_as("second")
    assert DBOS.executor_id == "second"


CLAIMS = """
import asyncio, sys, time
from asyncguard.distributed.dbos_runtime import DbosRuntime
from asyncguard.distributed.queue_tables import JobTables

async def serve(text):
    return text

url = sys.argv[1]
tables = JobTables(url)
tables.prepare()
tables.register_queue("q", concurrency=1, poll=0.02)
runtime = DbosRuntime(url, queue="q", version="v", owner="first", serve=serve)
runtime.launch()
names = []
for owner in ("first", "second"):
    runtime.rename(owner)
    # The first of two may be claimed by a look that was under way when the name changed.
    for number in (1, 2):
        names.append(f"{owner}.{number}")
        tables.post([(names[-1], owner)], queue="q", version="v")
        until = time.monotonic() + 30
        while not tables.ended(names[-1:]) and time.monotonic() < until:
            time.sleep(0.02)
print(sorted((order.id, order.answer) for order in tables.ended(names)))
runtime.stop(1.0).join()
"""


def test_a_renamed_worker_claims_under_its_new_id(place: Shop) -> None:
    """DBOS reads the id at each look into the queue, so no restart is needed."""
    url = database_url(place.database)
    ran = subprocess.run(
        [sys.executable, "-c", CLAIMS, url], capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout.splitlines()[-1] == str(
        [(f"{owner}.{number}", owner) for owner in ("first", "second") for number in (1, 2)]
    )
    with closing(sqlite3.connect(place.database)) as database:
        claimed = dict(
            database.execute("SELECT workflow_uuid, executor_id FROM workflow_status").fetchall()
        )
    assert (claimed["first.2"], claimed["second.2"]) == ("first", "second")
