"""The contract of executors, kept by the one that sends jobs to workers."""

import asyncio
import itertools
import threading
from collections.abc import Awaitable, Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import structlog
from dbos import _serialization

from asyncguard.core.results import Result
from asyncguard.distributed.database_url import database_url
from asyncguard.distributed.executor import DbosExecutor
from asyncguard.distributed.protocol import RemoteJob
from asyncguard.distributed.worker import Worker, WorkerSettings
from asyncguard.journal.open import open_journal
from asyncguard.journal.port import Journal
from asyncguard.runtime.executors.port import Completion, Job
from asyncguard.testing.conformance import check_executor

Codes = dict[str, Callable[[], Awaitable[Result]]]


class Returned:
    """The tools of a worker in the agent's own process: each order runs the code of its job, on the agent's loop."""

    def __init__(self, codes: Codes, loop: asyncio.AbstractEventLoop) -> None:
        self._codes, self._loop = codes, loop

    def refusal(self, tool: str, *, unapproved: bool = False) -> str | None:
        return None

    async def run(self, order: RemoteJob) -> Result:
        async def code() -> Result:
            return await self._codes[order.id]()

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(code(), self._loop))


class Sending(DbosExecutor):
    """Leaves the code of its jobs with the worker, and has keys of its own: the rules share one queue."""

    def __init__(self, prefix: str, codes: Codes, place: Path, journal: Journal) -> None:
        super().__init__(place, journal=journal, application_version="test")
        self._prefix, self._codes = prefix, codes

    def start(self, job: Job, done: Callable[[Completion], None]) -> None:
        key = f"{self._prefix}{job.key}"
        self._codes[f"{key}.{job.attempt}"] = job.run
        super().start(replace(job, key=key), lambda end: done(replace(end, key=job.key)))

    def cancel(self, key: str) -> bool:
        return super().cancel(f"{self._prefix}{key}")

    def pending(self) -> Collection[str]:
        return [key.removeprefix(self._prefix) for key in super().pending()]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """One for agent and worker: they are one process here."""
    made = open_journal(tmp_path / "calls.journal")
    yield made
    made.close()


@pytest.mark.slow
async def test_the_executor_of_workers_keeps_the_contract(
    tmp_path: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All rules hold through queue and worker."""
    # The worker forbids pickle in this process, for the tests after this one, too.
    unpickles = _serialization.DBOSDefaultSerializer
    monkeypatch.setattr(_serialization, "DBOSDefaultSerializer", unpickles)
    codes: Codes = {}
    place, stop = tmp_path / "calls.db", threading.Event()
    settings = WorkerSettings(
        url=database_url(place),
        queue="asyncguard",
        application_version="test",
        concurrency=2000,
        drain_timeout=1.0,
    )
    log = structlog.wrap_logger(
        structlog.PrintLogger(), processors=[lambda *_: (_ for _ in ()).throw(structlog.DropEvent)]
    )
    worker = Worker(settings, journal, Returned(codes, asyncio.get_running_loop()), log)
    thread = threading.Thread(target=worker.run, args=(stop,))
    thread.start()
    numbers = itertools.count()
    try:
        await check_executor(
            lambda: Sending(f"{next(numbers)}-", codes, place, journal), latency=0.5
        )
    finally:
        stop.set()
        await asyncio.to_thread(thread.join)
