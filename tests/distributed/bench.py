"""Shared tools of the tests of workers: jobs with intents, awaited calls, worker processes."""

import asyncio
import contextlib
import itertools
import json
import os
import signal
import sqlite3
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from asyncguard import cli
from asyncguard.adapters.tools.worker_tools import application_version
from asyncguard.core.calls import fingerprint
from asyncguard.core.footprints import EffectClass
from asyncguard.core.results import Failure, Result, Success
from asyncguard.distributed.executor import DbosExecutor
from asyncguard.journal.intent import Intent
from asyncguard.runtime.executors.port import Completion, Executor, Job
from tests.adapters.processes import forked
from tests.distributed import shop

HERE = Path(__file__).parent
VERSION = application_version(shop.TOOLS)
_numbers = itertools.count(1)


async def nobody() -> Result:
    """The code of a job that a worker runs: it stays behind."""
    raise AssertionError("the tool ran in the process of the agent")


def new_key() -> str:
    """A key that no other call has."""
    return f"{next(_numbers)}x{time.time_ns():x}"


def job_of(tool: str, arguments: Mapping[str, Any], **changes: Any) -> Job:
    """A job; one with ``effect=`` has an intent."""
    effect: EffectClass | None = changes.pop("effect", None)
    key = changes.pop("key", None) or new_key()
    attempt = changes.pop("attempt", 1)
    intent = None
    if effect is not None:
        intent = Intent(
            session=changes.pop("session", "thread"),
            namespace="",
            task="task",
            label=f"{tool}#1",
            key=key,
            attempt=attempt,
            tool=tool,
            effect=effect,
            arguments=arguments,
            fingerprint=fingerprint(tool, arguments),
        )
    job = Job(
        key=key,
        attempt=attempt,
        tool=tool,
        task="task",
        call_id="c1",
        arguments=arguments,
        run=nobody,
        intent=intent,
    )
    return Job(**{name: getattr(job, name) for name in Job.__dataclass_fields__} | changes)


def begin(executor: Executor, job: Job) -> "asyncio.Future[Result]":
    """Start a job and return the future of its result."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def done(completion: Completion) -> None:
        assert (completion.key, completion.attempt) == (job.key, job.attempt)
        loop.call_soon_threadsafe(future.set_result, completion.result)

    executor.start(job, done)
    return future


async def result_of(executor: Executor, job: Job, within: float = 30.0) -> Result:
    """Start a job and return its result."""
    async with asyncio.timeout(within):
        return await begin(executor, job)


async def eventually(true: Callable[[], bool], within: float = 60.0) -> None:
    """Wait until something is true that another thread or process makes true."""
    async with asyncio.timeout(within):
        while not true():  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.02)


@dataclass(kw_only=True)
class Shop:
    """A queue with its journal and its effects, and the workers of the test."""

    database: str
    journal: str
    folder: Path
    workers: list["Process"] = field(default_factory=list)

    @property
    def effects(self) -> list[str]:
        """The effects so far, without who had them."""
        return shop.effects()

    @property
    def file(self) -> Path:
        """The queue, on SQLite."""
        return Path(self.database)

    def rows(self) -> list[tuple[str, str]]:
        """The orders in the queue and where they stand, on SQLite; none while there are no tables."""
        database = sqlite3.connect(self.database)
        try:
            return database.execute(
                "SELECT workflow_uuid, status FROM workflow_status ORDER BY 1"
            ).fetchall()
        except sqlite3.OperationalError:
            return []
        finally:
            database.close()

    async def worker(
        self,
        *options: str,
        tools: str = "shop:TOOLS",
        wait: bool = True,
        main: Callable[..., object] = cli.main,
    ) -> "Process":
        """Start a worker, and wait until it takes calls.

        Args:
            options: Of the command.
            tools: The tools, as ``module:attribute``.
            wait: False to return at once.
            main: The command.
        """
        words = ["worker", "--database-url", self.database, "--journal", self.journal]
        words += [*options, "--tools", tools]
        started = Process(self, main, words, number=len(self.workers))
        self.workers.append(started)
        if wait:
            await started.said("worker ready")
        return started

    async def worker_of(self, job: Job, effect: str) -> "Process":
        """Wait until a call has had its effect; the worker that runs it."""
        await eventually(lambda: effect in self.effects)
        for worker in self.workers:
            if any(
                line["event"] == "call begun" and line["key"] == job.key for line in worker.log()
            ):
                return worker
        raise AssertionError(f"no worker began {job.key}")

    def executor(self, journal: Any, **options: Any) -> DbosExecutor:
        """An executor that sends here."""
        return DbosExecutor(
            self.database, journal=journal, **{"application_version": VERSION, **options}
        )

    def end(self) -> None:
        """End all workers."""
        for worker in self.workers:
            worker.kill()


class Process:
    """A worker process, a copy of one that has imported the library."""

    def __init__(
        self, place: Shop, main: Callable[..., object], words: list[str], number: int
    ) -> None:
        self.log_file = place.folder / f"worker{number}.log"
        self.log_file.touch()
        self.process = forked(main, words, output=self.log_file, folder=HERE)

    def log(self) -> list[dict[str, Any]]:
        """The lines that it has logged so far."""
        lines = self.log_file.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    async def said(self, event: str, within: float = 30.0, **names: Any) -> dict[str, Any]:
        """Wait until it has logged an event with these values."""
        until = time.monotonic() + within
        while time.monotonic() < until:
            for line in self.log():
                if line["event"] == event and all(
                    line.get(name) == value for name, value in names.items()
                ):
                    return line
            if self.process.exitcode is not None and not any(
                line["event"] == event for line in self.log()
            ):
                break
            await asyncio.sleep(0.02)
        raise AssertionError(
            f"the worker did not say {event!r} {names}:\n{self.log_file.read_text()}"
        )

    def tell(self, number: signal.Signals) -> None:
        """Send it a signal."""
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def kill(self) -> None:
        """End it at once, if it has not ended."""
        if self.process.exitcode is None:
            with contextlib.suppress(ProcessLookupError):
                self.tell(signal.SIGCONT)
            self.process.kill()
        self.process.join(10)

    async def ended(self, within: float = 30.0) -> int:
        """Wait for its end; its exit code."""
        await asyncio.to_thread(self.process.join, within)
        assert self.process.exitcode is not None
        return self.process.exitcode


async def check_takeover(place: Shop, executor: Executor, kills: int) -> None:
    """Kill workers in the middle of calls: another makes the call again where that does no harm, within seconds."""
    await place.worker()
    await place.worker()
    for number in range(kills):
        paying = job_of(
            "pay_slowly", {"amount": number, "seconds": 600}, effect=EffectClass.AT_MOST_ONCE
        )
        holding = job_of("hold", {"item": str(number)}, effect=EffectClass.KEYED)
        for job, effect in ((paying, f"pay {number}"), (holding, f"hold {number} {holding.key}")):
            future = begin(executor, job)
            (await place.worker_of(job, effect)).kill()
            killed = time.monotonic()
            async with asyncio.timeout(15):
                result = await future
            assert time.monotonic() - killed < 5
            if job is paying:
                assert isinstance(result, Failure)
                assert (result.symptom.error, result.symptom.started) == ("process_lost", True)
            else:
                assert result == Success(content=f"held {number}")
            await place.worker()
    assert [line for line in place.effects if line.startswith("pay")] == [
        f"pay {number}" for number in range(kills)
    ]
