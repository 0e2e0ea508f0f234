"""Orders that wait when their agent dies: the next process of the thread takes them back, or waits for their worker.

Connections are cut between the claim of an order and the begin of its call, processes are killed there. Whatever
happens, a call is made at most once, is not made after it was told as not run, and is told if it was made.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import psycopg
import pytest

from asyncguard import DbosExecutor, cli
from asyncguard.core.footprints import EffectClass
from asyncguard.core.results import Success
from asyncguard.distributed import job_runner
from asyncguard.distributed import worker as worker_module
from asyncguard.distributed.protocol import RemoteJob
from asyncguard.distributed.queue_tables import JobTables
from asyncguard.errors import JournalError
from asyncguard.journal.open import open_journal
from asyncguard.runtime import kept_jobs
from tests.adapters.processes import forked
from tests.distributed import agent
from tests.distributed.bench import VERSION, Process, Shop, eventually, job_of, new_key, result_of
from tests.support.proxy import Proxy, proxy_of

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
ONCE = EffectClass.AT_MOST_ONCE
CLAIM, POST, TAKE_BACK = (
    b"workflow_status.recovery_attempts +",
    b"INSERT INTO dbos.workflow_status",
    b"DELETE FROM dbos.workflow_status",
)


@pytest.fixture
def proxy(postgres_url: str) -> Iterator[Proxy]:
    """The way to the database of those whose connections are cut."""
    with proxy_of(postgres_url) as made:
        yield made


@pytest.fixture
def remote(postgres_url: str, tmp_path: Path) -> Iterator[Shop]:
    """A queue and a journal in one database."""
    tables = JobTables(postgres_url)
    tables.prepare()
    tables.close()
    made = Shop(database=postgres_url, journal=postgres_url, folder=tmp_path)
    yield made
    made.end()


def rows(shop: Shop) -> list[tuple[str, str]]:
    """The orders in the queue and where they stand."""
    if not shop.database.startswith("postgresql"):
        return shop.rows()
    with psycopg.connect(shop.database) as connection:
        return connection.execute(
            "SELECT workflow_uuid, status FROM dbos.workflow_status ORDER BY 1"
        ).fetchall()


def states(shop: Shop) -> list[str]:
    """Where the orders stand."""
    return [state for _, state in rows(shop)]


def died(process: BaseProcess) -> None:
    """Kill an agent, and wait for its end."""
    process.kill()
    process.join()


def begun(shop: Shop, executor: type[DbosExecutor] = DbosExecutor, by: str = "") -> BaseProcess:
    """An agent in a process of its own that begins or continues the thread.

    Args:
        shop: Where.
        executor: Class of its executor.
        by: Address of the database, if it is another.
    """
    places = (by, by) if by else (shop.database, shop.journal)
    output = shop.folder / "agent.txt"
    return forked(agent.be, *places, shop.folder, executor, output=output, folder=ROOT)


async def run(shop: Shop, given: Any = None, **options: Any) -> list[str]:
    """Continue the thread in this process; its texts."""
    async with asyncio.timeout(40):
        return await agent.run(shop.database, shop.journal, shop.folder, given, **options)


def is_told_as_not_run(texts: list[str]) -> bool:
    """Return True if the payment is told so."""
    return "was not run" in " ".join(texts)


# -- workers that wait ---------------------------------------------------------------------------------------------


class Pause:
    """A place at which processes wait until the test lets them go on."""

    def __init__(self, folder: Path, name: str) -> None:
        self._reached, self._over = folder / f"{name}.reached", folder / f"{name}.over"

    async def wait(self) -> None:
        """Wait, in the process."""
        self._reached.touch()
        while not self._over.exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.01)

    async def reached(self) -> None:
        """Wait until the process is there."""
        await eventually(self._reached.exists, within=20.0)

    def end(self) -> None:
        """Let it go on."""
        self._over.touch()


def before_it_serves(pause: Pause, words: list[str]) -> int:
    """Run a worker that waits with an order that it has claimed and does not know yet."""
    serve = worker_module.Worker._serve

    async def wait(self: worker_module.Worker, text: str) -> str:
        await pause.wait()
        return await serve(self, text)

    worker_module.Worker._serve = wait  # type: ignore[method-assign]
    return cli.main(words)


def before_it_begins(pause: Pause, words: list[str]) -> int:
    """Run a worker that waits before it asks the journal."""
    begin = job_runner.JobRunner._begin

    async def wait(self: job_runner.JobRunner, order: RemoteJob) -> object:
        await pause.wait()
        return await begin(self, order)

    job_runner.JobRunner._begin = wait  # type: ignore[method-assign,assignment]
    return cli.main(words)


# -- a worker that is cut off --------------------------------------------------------------------------------------


@pytest.mark.parametrize("sent_again", [False, True], ids=["cancelled", "sent again"])
@pytest.mark.parametrize("main", [before_it_serves, before_it_begins])
async def test_a_worker_that_was_cut_off_does_not_begin_what_was_taken_back(
    remote: Shop, proxy: Proxy, main: Callable[[Pause, list[str]], int], sent_again: bool
) -> None:
    """It is taken for dead, and goes on under a new id. Who has the order now may make the call, in the same thread."""
    cut, other = Pause(remote.folder, "cut"), Pause(remote.folder, "other")
    off = Shop(database=proxy.url, journal=proxy.url, folder=remote.folder, workers=remote.workers)
    worker = await off.worker(main=partial(main, cut))
    first = begun(remote)
    await cut.reached()
    died(first)
    proxy.cut()
    if not sent_again:
        assert is_told_as_not_run(await run(remote, agent.CANCEL))
        assert rows(remote) == []
        await _back(worker, proxy, cut)
        assert remote.effects == []
        return
    second = asyncio.ensure_future(run(remote))
    await remote.worker(main=partial(before_it_begins, other))
    await other.reached()
    await _back(worker, proxy, cut)
    assert remote.effects == []
    other.end()
    assert "paid 1" in await second
    assert remote.effects == ["pay 1"]


async def _back(worker: Process, proxy: Proxy, pause: Pause) -> None:
    proxy.mend()
    await worker.said("worker renamed")
    pause.end()
    await worker.said("call ended")


@pytest.mark.parametrize("sent_again", [False, True], ids=["cancelled", "sent again"])
@pytest.mark.parametrize("committed", [True, False], ids=["answer lost", "not committed"])
async def test_a_claim_that_is_cut_off_leaves_its_order_to_be_taken_back(
    remote: Shop, proxy: Proxy, committed: bool, sent_again: bool
) -> None:
    """The worker knows nothing of it, and makes what it is sent when it is back."""
    off = Shop(database=proxy.url, journal=proxy.url, folder=remote.folder, workers=remote.workers)
    worker = await off.worker()
    lost = proxy.cut_at(CLAIM, committed=committed)
    first = begun(remote)
    await eventually(lost.is_set, within=20.0)
    died(first)
    assert states(remote) == (["PENDING"] if committed else ["ENQUEUED"])
    if sent_again:
        second = asyncio.ensure_future(run(remote))
        await eventually(lambda: states(remote) == ["ENQUEUED"])
        proxy.mend()
        assert "paid 1" in await second
        assert remote.effects == ["pay 1"]
        return
    assert is_told_as_not_run(await run(remote, agent.CANCEL))
    proxy.mend()
    await worker.said("worker renamed")
    journal = open_journal(remote.journal)
    await journal.acquire("thread", "", (), lambda _: None)
    executor = remote.executor(journal)
    paid = await result_of(executor, job_of("pay", {"amount": 2}, effect=ONCE))
    executor.close()
    journal.close()
    assert paid == Success(content="paid 2")
    assert remote.effects == ["pay 2"], "what was told as not run stays so"


@pytest.mark.parametrize("committed", [True, False])
async def test_a_claim_that_is_being_committed_is_waited_for(remote: Shop, committed: bool) -> None:
    """The order is the worker's if the transaction ends so, and is taken back if it does not."""
    journal, other = open_journal(remote.journal), open_journal(remote.journal)
    executor, key = remote.executor(journal), new_key()
    tables = JobTables(remote.database)
    tables.prepare()
    tables.post([(f"{key}.1", "{}")], queue="q", version=VERSION)
    tables.close()
    with psycopg.connect(remote.database) as claiming:
        claiming.execute(
            "UPDATE dbos.workflow_status SET status = 'PENDING', executor_id = %s",
            (other.process_id,),
        )
        taking = asyncio.ensure_future(executor.take_back([key]))
        await eventually(lambda: _waits_for_a_lock(remote))
        assert not taking.done()
        if not committed:
            claiming.rollback()
    assert await taking == ({key: 1} if committed else {})
    assert states(remote) == (["PENDING"] if committed else [])
    executor.close()
    journal.close()
    other.close()


def _waits_for_a_lock(shop: Shop) -> bool:
    with psycopg.connect(shop.database) as connection:
        found = connection.execute(
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() "
            "AND wait_event_type = 'Lock'"
        )
        return found.fetchone() is not None


# -- a worker that is about to begin -------------------------------------------------------------------------------


@pytest.mark.parametrize("killed", [False, True], ids=["goes on", "is killed"])
async def test_a_worker_that_has_an_order_is_waited_for(
    place: Shop, killed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message came, so the call is told as not run unless it was made: the worker must begin it first, or end.

    It may have ended when it is looked for again.
    """
    pause = Pause(place.folder, "worker")
    worker = await place.worker(main=partial(before_it_begins, pause))
    first = begun(place)
    await pause.reached()
    died(first)
    monkeypatch.setattr(Looks, "looks", 0)
    second = asyncio.ensure_future(run(place, agent.say("And?"), executor=Looks))
    await eventually(lambda: Looks.looks > 1, within=10.0)
    assert not second.done()
    if killed:
        worker.kill()
        await eventually(lambda: states(place) == ["ENQUEUED"])
        await place.worker()  # the model has called again
    else:
        pause.end()
    texts = await second
    assert "paid 1" in " ".join(texts)
    assert is_told_as_not_run(texts) is killed
    assert place.effects == ["pay 1"]


async def test_a_worker_that_does_not_begin_what_it_has_is_reported(
    place: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is decided then, and the next run waits again."""
    monkeypatch.setattr(kept_jobs, "_PATIENCE", 0.2)
    pause = Pause(place.folder, "worker")
    await place.worker(main=partial(before_it_begins, pause))
    first = begun(place)
    await pause.reached()
    died(first)
    for given in (agent.CANCEL, agent.say("And?")):
        with pytest.raises(JournalError, match="has not begun it"):
            await run(place, given)
    pause.end()
    await eventually(lambda: states(place) == ["SUCCESS"])
    assert "paid 1" in " ".join(await run(place, agent.CANCEL))
    assert place.effects == ["pay 1"]


class Looks(DbosExecutor):
    """Executor that counts its looks."""

    looks = 0

    async def take_back(self, keys: Collection[str]) -> Mapping[str, int]:
        """Look."""
        found = await super().take_back(keys)
        type(self).looks += 1
        return found


class LooksLate(DbosExecutor):
    """Executor that looks for an order when a worker has made its call."""

    shop: Shop

    async def take_back(self, keys: Collection[str]) -> Mapping[str, int]:
        """Let a worker make the call, and look."""
        await self.shop.worker()
        await eventually(lambda: states(self.shop) == ["SUCCESS"])
        return await super().take_back(keys)


async def test_a_call_that_ends_before_its_order_is_looked_for_is_told_with_its_result(
    place: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal was asked before that, so it is asked once more, although no order is left."""
    first = begun(place)
    await eventually(lambda: states(place) == ["ENQUEUED"])
    died(first)
    monkeypatch.setattr(LooksLate, "shop", place, raising=False)
    texts = await run(place, agent.say("And?"), executor=LooksLate)
    assert "paid 1" in " ".join(texts)
    assert not is_told_as_not_run(texts)
    assert place.effects == ["pay 1"]


# -- an agent that dies, or is cut off -----------------------------------------------------------------------------


class Hangs(DbosExecutor):
    """Executor of an agent that is killed when it has taken an order back."""

    async def take_back(self, keys: Collection[str]) -> Mapping[str, int]:
        """Take them back, and hang."""
        await super().take_back(keys)
        await Pause(Path(os.environ["SHOP_EFFECTS"]).parent, "taken").wait()
        raise AssertionError


@pytest.mark.parametrize("given", [None, agent.CANCEL], ids=["resumed", "cancelled"])
async def test_an_agent_that_is_killed_when_it_has_taken_an_order_back_loses_no_call(
    place: Shop, given: object
) -> None:
    """The next one sends it again, or tells that it was not run."""
    first = begun(place)
    await eventually(lambda: states(place) == ["ENQUEUED"])
    died(first)
    second = begun(place, Hangs)
    await Pause(place.folder, "taken").reached()
    died(second)
    assert rows(place) == []
    await place.worker()
    texts = await run(place, given)
    assert is_told_as_not_run(texts) is bool(given)
    assert place.effects == ([] if given else ["pay 1"])


@pytest.mark.parametrize("committed", [True, False], ids=["answer lost", "not committed"])
async def test_an_agent_that_is_cut_off_while_it_takes_back_does_so_in_the_end(
    remote: Shop, proxy: Proxy, committed: bool
) -> None:
    """And what it sends again still waits for the former version."""
    journal = open_journal(remote.journal)
    executor = DbosExecutor(proxy.url, journal=journal, application_version=VERSION)
    key = new_key()
    tables = JobTables(remote.database)
    tables.prepare()
    tables.post([(f"{key}.1", "{}")], queue="q", version="former")
    lost = proxy.cut_at(TAKE_BACK, committed=committed)
    taking = asyncio.ensure_future(executor.take_back([key]))
    await eventually(lost.is_set)
    assert states(remote) == ([] if committed else ["ENQUEUED"])
    proxy.mend()
    assert await taking == {}
    assert rows(remote) == []
    executor._tables.post([(f"{key}.1", "{}")], queue="q", version=VERSION)
    assert tables.waiting("q").keys() == {"former"}
    tables.close()
    executor.close()
    journal.close()


@pytest.mark.parametrize("committed", [True, False], ids=["answer lost", "not committed"])
async def test_an_agent_that_is_cut_off_while_it_sends_does_not_send_for_another(
    remote: Shop, proxy: Proxy, committed: bool
) -> None:
    """The next one has told the call as not run; the first ends when it is back."""
    lost = proxy.cut_at(POST, committed=committed)
    first = begun(remote, by=proxy.url)
    await eventually(lost.is_set, within=20.0)
    assert states(remote) == (["ENQUEUED"] if committed else [])
    assert is_told_as_not_run(await run(remote, agent.CANCEL))
    await remote.worker()
    proxy.mend()
    await asyncio.to_thread(first.join, 20)
    assert first.exitcode == 1
    assert "is run by another process now" in (remote.folder / "agent.txt").read_text()
    assert rows(remote) == []
    assert remote.effects == []


async def test_several_take_back_at_once_while_workers_claim(remote: Shop) -> None:
    """Each order is gone or a worker's, and all find those that are a worker's; none is in the way of another."""
    keys = [new_key() for _ in range(400)]
    tables = [JobTables(remote.database) for _ in range(3)]
    tables[0].prepare()
    tables[0].post([(f"{key}.1", "{}") for key in keys], queue="q", version=VERSION)
    ready = threading.Barrier(len(tables) + 1)

    def claim() -> None:
        with psycopg.connect(remote.database, autocommit=True) as connection:
            ready.wait()
            for key in keys[::2]:
                connection.execute(
                    "UPDATE dbos.workflow_status SET status = 'PENDING', executor_id = 'w' "
                    "WHERE workflow_uuid = %s AND status = 'ENQUEUED'",
                    (f"{key}.1",),
                )

    def take(one: JobTables) -> Mapping[str, int]:
        ready.wait()
        return one.take_back(keys)

    claiming = asyncio.to_thread(claim)
    *found, _ = await asyncio.gather(*(asyncio.to_thread(take, one) for one in tables), claiming)
    left = rows(remote)
    assert {state for _, state in left} <= {"PENDING"}
    claimed = {name.removesuffix(".1"): 1 for name, _ in left}
    assert found == [claimed] * len(tables)
    for one in tables:
        one.close()
