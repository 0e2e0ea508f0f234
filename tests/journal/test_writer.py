"""The writer thread: one commit for many requests, whose failures stay apart."""

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from asyncguard.errors import CallerError, JournalError
from asyncguard.journal.sql.store import ConnectionLostError, Row, Store
from asyncguard.journal.sql.writer import Rounds, WriterThread

HANG = 60.0
"""Seconds after which a wait is given up; a busy machine stands still for five."""


class FakeStore:
    """A store that records its commits; a value that starts with ``bad`` cannot be committed."""

    id, epoch, pulse = "id", "epoch", None

    def __init__(self) -> None:
        self.commits: list[list[str]] = []
        self.closed = False
        self.error: JournalError | None = None
        self._open: list[str] | None = None

    def open(self) -> None:
        if self.error is not None:
            raise self.error

    def close(self) -> None:
        self.closed = True

    def begin(self) -> None:
        assert self._open is None
        self._open = []

    def commit(self) -> None:
        assert self._open is not None
        if any(value.startswith("bad") for value in self._open):
            raise self.error or JournalError("the disk is full")
        self.commits.append(self._open)
        self._open = None

    def rollback(self) -> None:
        self._open = None

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        assert self._open is not None
        self._open.append(sql)
        return []


def put(value: str) -> Callable[[Store], str]:
    """A request that writes a value and answers with it."""

    def work(store: Store) -> str:
        store.execute(value)
        return value

    return work


def failing(error: Exception) -> Callable[[Store], str]:
    """A request that writes something, and fails then."""

    def work(store: Store) -> str:
        store.execute("half")
        raise error

    return work


@contextmanager
def running(
    store: FakeStore, work: Callable[[Store], None] = lambda _: None, *, pause: float = 0.01
) -> Iterator[WriterThread]:
    """A writer that has started."""
    writer = WriterThread(store, Rounds(pause=lambda: pause, work=work))  # type: ignore[arg-type]
    writer.start()
    yield writer
    writer.stop(lambda _: None)
    assert store.closed
    assert not writer._thread.is_alive()


@contextmanager
def one_batch(writer: WriterThread) -> Iterator[None]:
    """Submit what the block submits to the writer in one batch."""
    begun, gate = threading.Event(), threading.Event()

    def block(_: Store) -> None:
        begun.set()
        assert gate.wait(HANG)

    busy = writer.submit(block)
    assert begun.wait(HANG)
    yield
    gate.set()
    busy.result(HANG)


def test_what_waits_is_committed_together() -> None:
    """One commit for all of it, in order, and each gets its answer."""
    store = FakeStore()
    with running(store) as writer:
        with one_batch(writer):
            futures = [writer.submit(put(str(number))) for number in range(100)]
        assert [future.result(HANG) for future in futures] == [str(number) for number in range(100)]
    assert store.commits[1] == [str(number) for number in range(100)]


def test_a_request_that_fails_is_undone_alone() -> None:
    """A request that fails is undone; others of its batch last. Foreign errors are wrapped."""
    store = FakeStore()
    odd = ZeroDivisionError("odd")
    with running(store) as writer:
        with one_batch(writer):
            futures = [
                writer.submit(work)
                for work in (put("a"), failing(CallerError("no")), put("b"), failing(odd), put("c"))
            ]
        errors = [future.exception(HANG) for future in futures]
        alone = writer.submit(failing(odd)).exception(HANG)
    assert store.commits[1:4] == [["a"], ["b"], ["c"]]
    assert [type(error) for error in errors] == [
        type(None),
        CallerError,
        type(None),
        JournalError,
        type(None),
    ]
    assert errors[3] is not None
    assert errors[3].__cause__ is odd
    assert isinstance(alone, JournalError)
    assert all("half" not in commit for commit in store.commits)


def test_a_commit_that_fails_is_tried_request_by_request() -> None:
    """A batch that cannot be committed is retried by request: only the one that fails is lost."""
    store = FakeStore()
    with running(store) as writer:
        with one_batch(writer):
            futures = [writer.submit(put(value)) for value in ("a", "bad", "b")]
        errors = [future.exception(HANG) for future in futures]
    assert [error is None for error in errors] == [True, False, True]
    assert store.commits[1:3] == [["a"], ["b"]]


def test_a_connection_that_breaks_fails_all_at_once() -> None:
    """A broken connection fails all requests at once, as each retry would wait for the server."""
    store = FakeStore()
    store_error = ConnectionLostError("gone")
    with running(store) as writer:
        store.error = store_error
        with one_batch(writer):
            futures = [writer.submit(put(value)) for value in ("a", "bad", "b")]
        assert [future.exception(HANG) for future in futures] == [store_error] * 3


class Leaving(FakeStore):
    """A server that ends the session in the middle of a transaction, so and so often."""

    def __init__(self, losses: int) -> None:
        super().__init__()
        self.losses = losses

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        if self.losses:
            self.losses -= 1
            raise ConnectionLostError("gone")
        return super().execute(sql, values)


@pytest.mark.parametrize(("losses", "lasts"), [(1, True), (2, False)])
def test_a_transaction_that_lost_its_server_before_its_commit_is_run_once_more(
    losses: int, lasts: bool
) -> None:
    """It has changed nothing; a server that is really away is told."""
    store = Leaving(losses)
    with running(store) as writer:
        with one_batch(writer):
            futures = [writer.submit(put(value)) for value in ("a", "b")]
        errors = [future.exception(HANG) for future in futures]
    assert [error is None for error in errors] == [lasts, lasts]
    assert (["a", "b"] in store.commits) is lasts


def test_what_follows_a_commit_comes_before_the_answer() -> None:
    """A follow-up of a commit runs before the answer; its error is the answer of its request."""
    seen: list[str] = []

    def broken(_: str) -> None:
        raise ValueError("broken")

    with running(FakeStore()) as writer:
        with one_batch(writer):
            first = writer.submit(put("a"), seen.append)
            second = writer.submit(put("b"), broken)
            third = writer.submit(put("c"), seen.append)
        assert first.result(HANG) == "a"
        assert seen[0] == "a"
        assert isinstance(second.exception(HANG), JournalError)
        assert third.result(HANG) == "c"


def test_a_request_that_was_cancelled_in_time_is_not_run() -> None:
    """A request that was cancelled in time is not run."""
    store = FakeStore()
    with running(store) as writer:
        with one_batch(writer):
            cancelled = writer.submit(put("a"))
            kept = writer.submit(put("b"))
            assert cancelled.cancel()
        kept.result(HANG)
    assert store.commits[1] == ["b"]


async def test_what_nobody_waits_for_keeps_its_place() -> None:
    """A request that nothing awaits keeps its place among the others."""
    store = FakeStore()
    with running(store) as writer:
        with one_batch(writer):
            for name in "aBcDe":
                (writer.post_later if name.isupper() else writer.post)(name, put(name))
            last = writer.submit(put("last"))
        last.result(HANG)
        writer.post_later("lonely", put("lonely"))
        until(lambda: len(store.commits) == 3)  # no transaction follows, but a round does
    assert store.commits[1:3] == [[*"aBcDe", "last"], ["lonely"]]


async def test_a_flush_waits_for_what_was_posted() -> None:
    """A flush waits for all posted requests, in any number of batches, but not for later ones."""
    store = FakeStore()
    with running(store) as writer:
        await writer.flush()
        for number in range(1000):
            writer.post("a number", put(str(number)))
        writer.post_later("later", put("later"))
        await writer.flush()
        assert {str(number) for number in range(1000)} <= {
            value for commit in store.commits for value in commit
        }
        commits = len(store.commits)
        await writer.flush()
        assert len(store.commits) == commits


async def test_a_flush_has_no_transaction_of_its_own() -> None:
    """A flush ends with the commit of what it waits for; what may come later is not in it."""
    store, begun, gate = FakeStore(), threading.Event(), threading.Event()

    def slow(store: Store) -> None:
        begun.set()
        assert gate.wait(HANG)
        store.execute("posted")

    with running(store, pause=HANG) as writer:
        writer.post("slow", slow)
        assert begun.wait(HANG)
        waits = asyncio.create_task(writer.flush())
        await asyncio.sleep(0)
        assert not waits.done()
        writer.post_later("later", put("later"))
        gate.set()
        await asyncio.wait_for(waits, HANG)
        assert store.commits == [["posted"]]
    assert store.commits == [["posted"], ["later"]]


async def test_a_flush_ends_with_the_writer() -> None:
    """A flush returns if what it waits for has failed, and at once after the end."""
    store = FakeStore()
    with running(store) as writer:
        with one_batch(writer):
            writer.post("a", put("bad"))
            waits = asyncio.create_task(writer.flush())
            await asyncio.sleep(0)
        await asyncio.wait_for(waits, HANG)
        writer.post("b", put("b"))
        given_up = asyncio.create_task(writer.flush())
        await asyncio.sleep(0)
        given_up.cancel()
    assert ["b"] in store.commits
    await asyncio.wait_for(writer.flush(), HANG)


def test_who_hears_an_answer_need_not_wait_for_what_was_posted_before_it() -> None:
    """An answer of the writer thread includes earlier posts: a flush then needs no transaction."""
    waited: list[bool] = []

    def flush(_: object) -> None:  # runs on the writer thread, within the answer
        try:
            writer.flush().send(None)
        except StopIteration:
            waited.append(False)
        except RuntimeError:  # it would have asked, which needs a loop
            waited.append(True)

    with running(FakeStore()) as writer:
        with one_batch(writer):
            writer.post("a", put("a"))
            last = writer.submit(put("b"))
            last.add_done_callback(flush)
        last.result(HANG)
    assert waited == [False]


def test_what_nobody_waits_for_says_in_the_log_that_it_failed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A failed request that nothing awaits is logged, also after the end; its batch lasts."""
    store = FakeStore()
    failed: list[str] = []
    with running(store) as writer:
        with one_batch(writer):
            writer.post("a", put("a"))
            writer.post_later("b", put("bad"))
            writer.post(
                "c", failing(CallerError("no")), failed=lambda error: failed.append(str(error))
            )
            last = writer.submit(put("d"))
        last.result(HANG)
    writer.post("late", put("late"), failed=lambda error: failed.append(str(error)))
    assert store.commits[1:3] == [["a"], ["d"]]
    said = ["b was not written: the disk is full", "c was not written: no"]
    assert [record.message for record in caplog.records] == [
        *said,
        "late was not written: " + failed[1],
    ]
    assert failed == ["no", "The journal was closed; open it again."]


class Busy(queue.SimpleQueue[Any]):
    """A queue on which another request is put while the writer takes one."""

    more: Callable[[], None] | None = None

    def get(self, *args: Any, **options: Any) -> Any:
        try:
            return super().get(*args, **options)
        finally:
            more, self.more = self.more, None
            if more is not None:
                more()


@pytest.mark.parametrize("idle", [False, True])
def test_nothing_overtakes_what_came_while_the_writer_took_something(idle: bool) -> None:
    """A request for the next transaction runs after those that were queued before it."""
    store = FakeStore()
    writer = WriterThread(store, Rounds(pause=lambda: 0.05, work=lambda _: None))  # type: ignore[arg-type]
    busy = writer._queue = Busy()
    writer.start()

    def ask() -> None:
        writer.post("b", put("b"))
        writer.post_later("C", put("C"))

    if not idle:
        with one_batch(writer):
            busy.more = ask
            writer.submit(put("a"))
    else:
        busy.more = ask
    until(lambda: sum(map(len, store.commits)) == (2 if idle else 3))
    writer.stop(lambda _: None)
    assert [value for commit in store.commits for value in commit] == [
        *(() if idle else ("a",)),
        "b",
        "C",
    ]


async def test_an_answer_that_nobody_hears_harms_nobody() -> None:
    """An answer whose coroutine was cancelled, or whose loop is gone, is dropped."""
    store = FakeStore()
    begun, gate = threading.Event(), threading.Event()

    def slow(_: Store) -> str:
        begun.set()
        gate.wait(HANG)
        return "slow"

    with running(store) as writer:
        running_then = writer.ask(slow)
        await asyncio.to_thread(begun.wait, HANG)
        queued_then = writer.ask(put("never"))
        running_then.cancel()
        queued_then.cancel()
        gate.set()
        assert await writer.ask(put("a")) == "a"
        gate.clear()

        async def asks_and_goes() -> None:
            writer.ask(slow)
            writer.ask(failing(CallerError("no")))

        await asyncio.to_thread(lambda: asyncio.run(asks_and_goes()))
        gate.set()
        assert await writer.ask(put("b")) == "b"
    assert [commit for commit in store.commits if commit] == [["a"], ["b"]]


def until(true: Callable[[], bool]) -> None:
    """Wait for the writer thread; five seconds are for ever."""
    give_up = time.monotonic() + HANG
    while not true():
        assert time.monotonic() < give_up
        time.sleep(0.001)


def test_a_round_that_fails_is_said_and_not_the_end(caplog: pytest.LogCaptureFixture) -> None:
    """A journal that is away for a while is not given up, and a log is not filled with that."""

    def fail(_: Store) -> None:
        raise JournalError("away")

    with running(FakeStore(), fail) as writer:
        time.sleep(0.05)
        assert writer.submit(put("a")).result(HANG) == "a"
    assert [record.message for record in caplog.records] == [
        "the maintenance of the journal failed: away"
    ]


def test_an_error_that_nobody_foresaw_is_answered_and_not_the_end() -> None:
    """An unforeseen error, as of the database's driver, is the answer of its request alone."""

    class Odd(FakeStore):
        def commit(self) -> None:
            raise ZeroDivisionError("odd")

    with running(Odd()) as writer:
        assert isinstance(writer.submit(put("a")).exception(HANG), JournalError)
        assert isinstance(writer.submit(put("b")).exception(HANG), JournalError)


def test_nothing_waits_for_a_thread_that_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect ends the writer thread; later requests raise and do not wait."""

    def fail(_: Store) -> None:
        raise ZeroDivisionError

    store = FakeStore()
    raised: list[type[BaseException]] = []
    monkeypatch.setattr(threading, "excepthook", lambda said: raised.append(said.exc_type))
    writer = WriterThread(store, Rounds(pause=lambda: fail(store), work=lambda _: None))  # type: ignore[arg-type]
    writer.start()
    writer._thread.join(HANG)
    with pytest.raises(JournalError, match="closed"):
        writer.submit(put("b"))
    assert store.closed
    assert raised == [ZeroDivisionError]


def test_a_round_that_fails_answers_requests_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    """A damaged row breaks the look after leases and signals, which is logged, not the thread."""

    def fail(_: Store) -> None:
        raise ZeroDivisionError

    writer = WriterThread(FakeStore(), Rounds(pause=lambda: None, work=fail))  # type: ignore[arg-type]
    writer.start()
    writer.submit(put("a")).result(HANG)
    writer.submit(put("b")).result(HANG)
    writer.stop(lambda _: None)
    assert [
        record.message.count("the maintenance of the journal failed") for record in caplog.records
    ] == [1]


def test_a_store_that_does_not_open_is_whoever_opens_its_to_hear() -> None:
    """An error on opening is raised to the caller, and no thread is left running."""
    store = FakeStore()
    store.error = JournalError("no such file")
    writer = WriterThread(store, Rounds(pause=lambda: None, work=lambda _: None))  # type: ignore[arg-type]
    with pytest.raises(JournalError, match="no such file"):
        writer.start()
    writer._thread.join(HANG)
    with pytest.raises(JournalError, match="closed"):
        writer.submit(put("a"))
