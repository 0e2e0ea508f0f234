"""Measure what it costs to have a call made: in the agent's process, and by a worker over a queue.

The sections are
  dispatch  one call at a time, from start() to its completion, of a tool that does nothing: local with a journal, and
            queued to a worker process, for a tool with an effect (journal asked) and a pure one (not asked)
  burst     the same for many calls at once, per call
  takeover  time from `kill -9` of the worker that runs a call to the call's result from another worker

SQLite lies in the folder for temporary files: set TMPDIR to a disk, as in memory a flush costs nothing. PostgreSQL is
measured where --postgres names a database; the tables of queue and journal are made in it.
"""

import argparse
import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

import dispatch_tools
from asyncguard.adapters.tools.worker_tools import application_version
from asyncguard.core.calls import fingerprint
from asyncguard.core.footprints import EffectClass
from asyncguard.core.results import Result, Success
from asyncguard.distributed.executor import DbosExecutor
from asyncguard.journal.intent import Intent
from asyncguard.journal.open import open_journal
from asyncguard.journal.port import Journal
from asyncguard.runtime.clock import LoopClock
from asyncguard.runtime.executors.local import LocalExecutor
from asyncguard.runtime.executors.port import Completion, Executor, Job

VERSION = application_version(dispatch_tools.TOOLS)
_EFFECTS = {"effect": EffectClass.AT_MOST_ONCE, "hold": EffectClass.KEYED}


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One line of the table."""

    section: str
    """Part of the table."""
    case: str
    """Setting of the measurement."""
    samples: Sequence[float]
    """Seconds."""
    limit: float | None = None
    """Seconds that the quantile may take, None where no target is set."""
    quantile: int = 50
    """Quantile that the target is about."""

    def at(self, quantile: int) -> float:
        """Return a quantile of the samples."""
        ordered = sorted(self.samples)
        return ordered[min(len(ordered) - 1, len(ordered) * quantile // 100)]

    @property
    def met(self) -> bool | None:
        """Return True if the target is met."""
        return None if self.limit is None else self.at(self.quantile) <= self.limit


async def _here() -> Result:
    return Success(content="done")


def _job(tool: str, number: int) -> Job:
    key, arguments = f"{time.time_ns():x}-{number}", {"number": number}
    effect = _EFFECTS.get(tool)
    intent = None
    if effect is not None:
        intent = Intent(
            session="dispatch",
            namespace="",
            task="task",
            label=f"{tool}#{number}",
            key=key,
            attempt=1,
            tool=tool,
            effect=effect,
            arguments=arguments,
            fingerprint=fingerprint(tool, arguments),
        )
    return Job(
        key=key,
        attempt=1,
        tool=tool,
        task="task",
        call_id="call",
        arguments=arguments,
        run=_here,
        intent=intent,
    )


def _start(executor: Executor, job: Job) -> "asyncio.Future[Result]":
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def done(completion: Completion) -> None:
        loop.call_soon_threadsafe(future.set_result, completion.result)

    executor.start(job, done)
    return future


async def _timed(executor: Executor, tool: str, number: int) -> float:
    begin = time.perf_counter()
    result = await _start(executor, _job(tool, number))
    if not isinstance(result, Success):
        raise SystemExit(f"the call failed: {result}")
    return time.perf_counter() - begin


class Workers:
    """Worker processes on one queue."""

    def __init__(self, database: str, journal: str, folder: Path) -> None:
        self.folder = folder
        self._command = [
            *(sys.executable, "-m", "asyncguard.cli", "worker", "--tools", "dispatch_tools:TOOLS"),
            *("--database-url", database, "--journal", journal),
        ]
        self._running: list[subprocess.Popen[bytes]] = []

    async def add(self) -> None:
        """Start one, and wait until it takes calls."""
        health = self.folder / f"health{time.time_ns()}"
        process = self._launch(health)
        while (
            not health.exists()
            or json.loads(health.read_text(encoding="utf-8"))["state"] != "serving"
        ):
            if process.poll() is not None:
                raise SystemExit((self.folder / "log").read_text(encoding="utf-8"))
            await asyncio.sleep(0.05)

    def _launch(self, health: Path) -> "subprocess.Popen[bytes]":
        environment = {**os.environ, "DISPATCH_FOLDER": str(self.folder)}
        with (self.folder / "log").open("ab") as log:
            command = [*self._command, "--health-file", str(health)]
            process = subprocess.Popen(
                command, cwd=Path(__file__).parent, env=environment, stderr=log
            )
        self._running.append(process)
        return process

    def kill(self, pid: int) -> None:
        """Kill one."""
        os.kill(pid, signal.SIGKILL)
        self._running = [
            process for process in self._running if process.pid != pid or process.wait() is None
        ]

    def end(self) -> None:
        """Kill all."""
        for process in self._running:
            process.kill()
            process.wait()


@asynccontextmanager
async def _place(target: str | None) -> AsyncIterator[tuple[str, Journal, Workers]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        database, where = (
            (target, target)
            if target
            else (str(folder / "calls.db"), str(folder / "calls.journal"))
        )
        journal, workers = open_journal(where), Workers(database, where, folder)
        try:
            yield database, journal, workers
        finally:
            workers.end()
            journal.close()


async def _measure(name: str, target: str | None, options: argparse.Namespace) -> list[Figure]:
    figures: list[Figure] = []
    async with _place(target) as (database, journal, workers):
        await journal.acquire("dispatch", "", (), lambda _: None)
        local = LocalExecutor(LoopClock(), journal)
        queued = DbosExecutor(database, journal=journal, application_version=VERSION)
        await workers.add()
        for case, executor, tool, limit in (
            ("local, effect", local, "effect", 0.010),
            ("queued, effect", queued, "effect", 0.050),
            ("queued, pure", queued, "reading", 0.050),
        ):
            await _timed(executor, tool, 0)
            samples = [await _timed(executor, tool, number) for number in range(options.calls)]
            figures.append(
                Figure(section="dispatch", case=f"{name}, {case}", samples=samples, limit=limit)
            )
            begin = time.perf_counter()
            await asyncio.gather(
                *(_timed(executor, tool, number) for number in range(options.calls))
            )
            each = (time.perf_counter() - begin) / options.calls
            figures.append(Figure(section="burst", case=f"{name}, {case}", samples=[each]))
        if options.kills:
            await workers.add()
            samples = [await _takeover(queued, workers, number) for number in range(options.kills)]
            figures.append(
                Figure(section="takeover", case=name, samples=samples, limit=5.0, quantile=95)
            )
        queued.close()
    return figures


async def _takeover(executor: Executor, workers: Workers, number: int) -> float:
    job = _job("hold", number)
    future = _start(executor, job)
    mark = workers.folder / job.key
    while not (mark.exists() and mark.read_text(encoding="utf-8")):  # noqa: ASYNC110 - another process writes it
        await asyncio.sleep(0.01)
    workers.kill(int(mark.read_text(encoding="utf-8")))
    begin = time.perf_counter()
    await future
    took = time.perf_counter() - begin
    await workers.add()
    return took


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 1 if `--check` was given and a target was missed."""
    options = _parser().parse_args(arguments)
    places = [("SQLite", None), *([("PostgreSQL", options.postgres)] if options.postgres else [])]
    figures = [
        figure for name, target in places for figure in asyncio.run(_measure(name, target, options))
    ]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("section", "case", "samples", "mean", "p50", "p95", "max", "target"):
        table.add_column(
            heading,
            no_wrap=True,
            justify="left" if heading in ("section", "case", "target") else "right",
        )
    for figure in figures:
        mean, *rest = (
            statistics.fmean(figure.samples),
            figure.at(50),
            figure.at(95),
            max(figure.samples),
        )
        target = "" if figure.limit is None else f"p{figure.quantile} <= {1000 * figure.limit:g} ms"
        verdict = {True: " met", False: " MISSED", None: ""}[figure.met]
        shown = [f"{1000 * value:,.1f} ms" for value in (mean, *rest)]
        table.add_row(
            figure.section, figure.case, str(len(figure.samples)), *shown, target + verdict
        )
    Console(width=160).print(table)
    return int(options.check and any(figure.met is False for figure in figures))


def _parser() -> argparse.ArgumentParser:
    summary, _, details = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=200, help="calls per case (200)")
    parser.add_argument(
        "--kills", type=int, default=20, help="workers to kill per database, 0 for none (20)"
    )
    parser.add_argument("--postgres", metavar="URL", help="a PostgreSQL database to measure, too")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    return parser


if __name__ == "__main__":
    sys.exit(main())
