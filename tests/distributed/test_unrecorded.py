"""What a worker does about answers that the database refused, and about DBOS's log meanwhile."""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
import structlog
from sqlalchemy.exc import SQLAlchemyError
from structlog.testing import LogCapture

from asyncguard.distributed.database_url import database_url
from asyncguard.distributed.dbos_runtime import ToStructlog
from asyncguard.distributed.queue_tables import JobTables
from asyncguard.distributed.unrecorded import Unrecorded
from tests.distributed.bench import Shop


class Time:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    """The clock."""
    return Time()


@pytest.fixture
def written() -> LogCapture:
    """What was logged."""
    return LogCapture()


@pytest.fixture
def unrecorded(place: Shop, time: Time, written: LogCapture) -> Iterator[Unrecorded]:
    """Of the worker `me`, which has claimed `a.1` and `b.1`, while `other` has `c.1` and none has `d.1`."""
    tables = JobTables(database_url(place.database))
    tables.prepare()
    tables.post([(name, "{}") for name in ("a.1", "b.1", "c.1", "d.1")], queue="q", version="v")
    _change(
        place,
        "UPDATE workflow_status SET status = 'PENDING', name = 'asyncguard.call', "
        "executor_id = CASE workflow_uuid WHEN 'c.1' THEN 'other' ELSE 'me' END "
        "WHERE workflow_uuid <> 'd.1'",
    )
    log = structlog.wrap_logger(structlog.PrintLogger(), processors=[written])
    yield Unrecorded(tables, log, patience=10.0, now=time)
    tables.close()


def test_an_answer_that_was_not_written_in_time_brings_its_order_back(
    place: Shop, time: Time, unrecorded: Unrecorded, written: LogCapture
) -> None:
    """Once, when its time is over; orders of others and those that still run stay where they are."""
    assert unrecorded.look(["a.1", "c.1", "d.1"], "me") == 0
    time.now += 9.9
    assert unrecorded.look([], "me") == 0
    assert dict(place.rows())["a.1"] == "PENDING"
    time.now += 0.1
    assert unrecorded.look(["b.1"], "me") == 1
    assert dict(place.rows()) == {
        "a.1": "ENQUEUED",
        "b.1": "PENDING",
        "c.1": "PENDING",
        "d.1": "ENQUEUED",
    }
    assert [line["orders"] for line in written.entries] == [1]
    assert unrecorded.look([], "me") == 0


def test_an_answer_that_was_written_is_left_alone(
    place: Shop, time: Time, unrecorded: Unrecorded, written: LogCapture
) -> None:
    """The usual end: nothing is put back and nothing logged."""
    unrecorded.look(["a.1"], "me")
    with closing(sqlite3.connect(place.database)) as database, database:
        database.execute(
            "UPDATE workflow_status SET status = 'SUCCESS' WHERE workflow_uuid = 'a.1'"
        )
    time.now += 11
    assert unrecorded.look([], "me") == 0
    assert dict(place.rows())["a.1"] == "SUCCESS"
    assert not written.entries


def test_the_time_begins_again_when_the_database_is_back(
    place: Shop, time: Time, unrecorded: Unrecorded
) -> None:
    """DBOS repeats what failed while it was away; its next try may come a while after."""
    unrecorded.look(["a.1"], "me")
    time.now += 30
    unrecorded.hold()
    time.now += 9
    assert unrecorded.look([], "me") == 0
    time.now += 2
    assert unrecorded.look([], "me") == 1
    assert dict(place.rows())["a.1"] == "ENQUEUED"


def test_a_look_that_fails_is_made_again(place: Shop, time: Time, unrecorded: Unrecorded) -> None:
    """Which orders are due is not forgotten when the database does not answer."""
    unrecorded.look(["a.1"], "me")
    time.now += 11
    _change(place, "ALTER TABLE workflow_status RENAME TO elsewhere")
    with pytest.raises(SQLAlchemyError):
        unrecorded.look([], "me")
    _change(place, "ALTER TABLE elsewhere RENAME TO workflow_status")
    assert unrecorded.look([], "me") == 1
    assert dict(place.rows())["a.1"] == "ENQUEUED"


def _change(place: Shop, sql: str) -> None:
    with closing(sqlite3.connect(place.database)) as database, database:
        database.execute(sql)


def test_a_text_of_dbos_is_written_once_in_ten_seconds(time: Time, written: LogCapture) -> None:
    """Other texts and other errors are written beside it; the errors are named, their texts are not."""
    log = structlog.wrap_logger(structlog.PrintLogger(), processors=[written])
    dbos = logging.Logger("dbos-of-this-test")
    dbos.addHandler(ToStructlog(log, now=time))
    for _ in range(3):
        dbos.warning("no answer")
    for error in (ValueError("4111"), ValueError("4112"), KeyError("4113")):
        dbos.error("an exception", exc_info=error)
    time.now += 9
    dbos.warning("no answer")
    time.now += 1
    dbos.warning("no answer")
    assert [(line["said"], line.get("error")) for line in written.entries] == [
        ("no answer", None),
        ("an exception", "ValueError"),
        ("an exception", "KeyError"),
        ("no answer", None),
    ]
    assert "411" not in str(written.entries)
