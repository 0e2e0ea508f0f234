"""Orders that a worker has claimed and does not serve, and DBOS's log while its database fails."""

import logging
import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import closing

import pytest
import structlog
from sqlalchemy.exc import SQLAlchemyError
from structlog.testing import LogCapture

from asyncguard.distributed.database_url import database_url
from asyncguard.distributed.dbos_runtime import ToStructlog
from asyncguard.distributed.queue_tables import JobTables
from asyncguard.distributed.unserved import Unserved
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
def unserved(place: Shop, time: Time, written: LogCapture) -> Iterator[Unserved]:
    """Of the worker `me`, which has claimed `a.1` and `b.1`, while `other` has `c.1` and none has `d.1`."""
    tables = JobTables(database_url(place.database))
    tables.prepare()
    tables.post([(name, "{}") for name in ("a.1", "b.1", "c.1", "d.1")], queue="q", version="v")
    _change(
        place,
        "UPDATE workflow_status SET status = 'PENDING', "
        "executor_id = CASE workflow_uuid WHEN 'c.1' THEN 'other' ELSE 'me' END "
        "WHERE workflow_uuid <> 'd.1'",
    )
    log = structlog.wrap_logger(structlog.PrintLogger(), processors=[written])
    yield Unserved(tables, log, patience=10.0, now=time)
    tables.close()


def _serving(*names: str) -> Callable[[], Collection[str]]:
    return lambda: names


def test_an_order_that_is_not_served_for_too_long_goes_back(
    place: Shop, time: Time, unserved: Unserved, written: LogCapture
) -> None:
    """Once, when its time is over; orders of others and those that still run stay where they are."""
    assert unserved.look("me", _serving("b.1")) == 0
    time.now += 9.9
    assert unserved.look("me", _serving("b.1")) == 0
    assert dict(place.rows())["a.1"] == "PENDING"
    time.now += 0.1
    assert unserved.look("me", _serving("b.1")) == 1
    assert dict(place.rows()) == {
        "a.1": "ENQUEUED",
        "b.1": "PENDING",
        "c.1": "PENDING",
        "d.1": "ENQUEUED",
    }
    assert [line["orders"] for line in written.entries] == [1]
    time.now += 9.9
    assert unserved.look("me", _serving()) == 0, "the time of b.1 begins when it is not served"
    assert len(written.entries) == 1


def test_an_order_that_its_worker_claims_again_has_the_whole_time(
    place: Shop, time: Time, unserved: Unserved
) -> None:
    """It may not be served yet when the worker looks, or its answer may just be written."""
    unserved.look("me", _serving("b.1"))
    time.now += 10.0
    assert unserved.look("me", _serving("b.1")) == 1
    _change(
        place,
        "UPDATE workflow_status SET status = 'PENDING', executor_id = 'me' WHERE workflow_uuid = 'a.1'",
    )
    time.now += 1.0
    assert unserved.look("me", _serving("b.1")) == 0
    time.now += 10.0
    assert unserved.look("me", _serving("b.1")) == 1


def test_an_order_that_ended_or_is_served_meanwhile_stays(
    place: Shop, time: Time, unserved: Unserved, written: LogCapture
) -> None:
    """The usual ends of the moment between claiming and serving, and of that before the answer is written."""
    unserved.look("me", _serving())
    _change(place, "UPDATE workflow_status SET status = 'SUCCESS' WHERE workflow_uuid = 'a.1'")
    time.now += 5
    unserved.look("me", _serving("b.1"))
    time.now += 6
    assert unserved.look("me", _serving()) == 0
    assert dict(place.rows())["a.1"] == "SUCCESS"
    assert dict(place.rows())["b.1"] == "PENDING"
    assert not written.entries


def test_the_time_begins_again_when_the_database_is_back(
    place: Shop, time: Time, unserved: Unserved
) -> None:
    """DBOS repeats what failed while it was away; its next try may come a while after."""
    unserved.look("me", _serving())
    time.now += 30
    unserved.hold()
    assert unserved.look("me", _serving()) == 0
    time.now += 9
    assert unserved.look("me", _serving()) == 0
    time.now += 2
    assert unserved.look("me", _serving()) == 2
    assert {dict(place.rows())[name] for name in ("a.1", "b.1")} == {"ENQUEUED"}


def test_a_look_that_fails_is_made_again(place: Shop, time: Time, unserved: Unserved) -> None:
    """Which orders are due is not forgotten when the database does not answer."""
    unserved.look("me", _serving("b.1"))
    time.now += 11
    _change(place, "ALTER TABLE workflow_status RENAME TO elsewhere")
    with pytest.raises(SQLAlchemyError):
        unserved.look("me", _serving("b.1"))
    _change(place, "ALTER TABLE elsewhere RENAME TO workflow_status")
    assert unserved.look("me", _serving("b.1")) == 1
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
