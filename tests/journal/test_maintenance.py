"""Maintenance between requests: lease renewals, and signals to receivers that may raise."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from asyncguard.errors import JournalError
from asyncguard.journal.port import Signal, SignalKind
from asyncguard.journal.sql.leases import RENEWAL, acquire
from asyncguard.journal.sql.maintenance import LOOK, Maintenance, with_transaction
from asyncguard.journal.sql.processes import ProcessKind
from asyncguard.journal.sql.sqlite import SqliteStore


class Times:
    """Two clocks that a test moves."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def times() -> Times:
    """The time."""
    return Times()


@pytest.fixture
def store(file: Path, times: Times) -> Iterator[SqliteStore]:
    """An open store, used on this thread."""
    opened = SqliteStore(file, ProcessKind.AGENT, wall_clock=times)
    opened.open()
    yield opened
    opened.close()


def enter(maintenance: Maintenance, store: SqliteStore, session: str) -> None:
    """Enter a thread as the journal does."""
    with_transaction(store, lambda: acquire(store, session, ""))
    maintenance.thread_acquired(session, lambda _: None, [], 0)


def signs(store: SqliteStore) -> dict[str, float]:
    """Last sign of life per thread."""
    return dict(store.execute("SELECT session, seen_at FROM threads"))


def test_a_held_thread_gets_a_sign_in_time_and_another_one_does_not(
    store: SqliteStore, times: Times
) -> None:
    """A lease is renewed in time while it is held, and not after it was released."""
    maintenance = Maintenance(None, clock=times)
    for session in ("held", "entered", "let go"):
        enter(maintenance, store, session)
    for session in ("held", "let go", "never entered"):
        maintenance.start_renewing(session)
    maintenance.stop_renewing("let go")
    times.now += RENEWAL - 0.1
    maintenance.work(store)
    assert set(signs(store).values()) == {1000.0}
    times.now += LOOK
    maintenance.work(store)
    assert signs(store) == {"held": times.now, "entered": 1000.0, "let go": 1000.0}
    maintenance.thread_released("held")
    seen = times.now
    times.now += RENEWAL
    maintenance.work(store)
    assert signs(store)["held"] == seen


def test_rounds_are_made_while_there_is_something_to_look_after(store: SqliteStore) -> None:
    """An idle journal in a file makes no rounds."""
    maintenance = Maintenance(None)
    assert maintenance.pause() is None
    enter(maintenance, store, "s")
    assert maintenance.pause() == LOOK
    maintenance.thread_released("s")
    assert maintenance.pause() is None
    assert Maintenance(1.0).pause() == 1.0


def test_a_receiver_that_raises_keeps_no_mail_from_others(caplog: pytest.LogCaptureFixture) -> None:
    """A receiver that raises is logged without the signal's content; others get their signals."""
    got: list[Signal] = []

    def receive(mail: Signal) -> None:
        got.append(mail)
        raise ZeroDivisionError

    mail = [
        Signal(kind=SignalKind.DELIVERY, key=key, attempt=1, content="hunter2")
        for key in ("a", "b")
    ]
    Maintenance(None).thread_acquired("s", receive, mail, 2)
    assert got == mail
    assert len(caplog.records) == 2
    assert "hunter2" not in caplog.text


def test_a_transaction_that_fails_is_undone(store: SqliteStore) -> None:
    """A transaction that fails is rolled back, and the next one can begin."""

    def half() -> None:
        acquire(store, "s", "")
        raise JournalError

    with pytest.raises(JournalError):
        with_transaction(store, half)
    assert signs(store) == {}
    with_transaction(store, lambda: acquire(store, "s", ""))
    assert set(signs(store)) == {"s"}
