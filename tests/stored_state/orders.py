"""Agents whose calls workers make: `python -m tests.stored_state.orders FRONT CASE FOLDER [URL]` runs one."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any

import sqlalchemy
from langchain.agents import create_agent

from asyncguard import (
    AsyncGuardMiddleware,
    DbosExecutor,
    GuardConfig,
    Ports,
    Timing,
    application_version,
    build_agent,
    cli,
    open_journal,
)
from tests.stored_state.agents import TASK, THREAD, Clerk
from tests.stored_state.play import open_saver
from tests.stored_state.tools import Ground, for_workers

CASES = {
    "ordered_pure": "look_up",
    "ordered_once": "pay_once",
    "taken_pure": "look_up",
    "taken_idempotent": "set_limit",
    "taken_keyed": "pay_keyed",
    "taken_probed": "pay_probed",
    "taken_once": "pay_once",
    "answered_once": "pay_once",
}
"""Tool by the state of the order: not accepted, its worker died, or answered."""
ROOT = Path(__file__).parents[2]


def queue_in(folder: Path, url: str) -> str:
    """Return the address of the queue."""
    return url or str(folder / "calls.db")


def journal_in(folder: Path, url: str) -> str:
    """Return the address of the journal that agent and workers share."""
    return url or str(folder / "calls.db.journal")


@asynccontextmanager
async def agent_with_workers(
    front: str, case: str, folder: Path, url: str = "", version: str = ""
) -> AsyncIterator[tuple[Any, DbosExecutor]]:
    """Build an agent whose calls go to workers.

    Args:
        front: The adapter.
        case: One of `CASES`.
        folder: Where effects and SQLite files are.
        url: Address of a database, empty for SQLite.
        version: The application version, by default that of the tools.
    """
    tools = for_workers(Ground(folder=folder, die=False))
    journal = open_journal(journal_in(folder, url))
    executor = DbosExecutor(
        queue_in(folder, url),
        journal=journal,
        application_version=version or application_version(tools),
    )
    options: dict[str, Any] = {
        "config": GuardConfig(
            timing=Timing(grace=0.0, linger=0.0, retry_initial=0.0, retry_jitter=0.0)
        ),
        "journal": journal,
        "ports": Ports(executor=executor),
    }
    model = Clerk(tool=CASES[case])
    async with open_saver(folder, url) as saver:
        if front == "graph":
            yield build_agent(model, tools, checkpointer=saver, **options), executor
        else:
            yield (
                create_agent(
                    model, tools, middleware=[AsyncGuardMiddleware(**options)], checkpointer=saver
                ),
                executor,
            )
    executor.close()
    journal.close()


def worker_arguments(folder: Path, url: str) -> list[str]:
    """Return the command line of a worker, after `asyncguard`."""
    where = ["--database-url", queue_in(folder, url), "--journal", journal_in(folder, url)]
    return ["worker", "--tools", "tests.stored_state.shop:TOOLS", *where]


def worker(folder: Path, url: str, log: IO[bytes], dies: bool) -> "subprocess.Popen[bytes]":
    """Start a worker.

    Args:
        folder: Where effects and SQLite files are.
        url: Address of a database, empty for SQLite.
        log: Takes what it says.
        dies: Whether it dies after its first effect.
    """
    command = [sys.executable, "-m", "asyncguard.cli", *worker_arguments(folder, url)]
    environment = {**os.environ, "STORED_FOLDER": str(folder)} | (
        {"STORED_DIES": "yes"} if dies else {}
    )
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)


def serve(folder: Path, url: str, log: Path, options: Sequence[str]) -> None:
    """Be a worker: what a process does that was started for nothing else.

    Args:
        folder: Where effects and SQLite files are.
        url: Address of a database, empty for SQLite.
        log: Takes what it says.
        options: More of its command line.
    """
    said = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 1)
    os.dup2(said, 2)
    os.environ["STORED_FOLDER"] = str(folder)
    sys.exit(cli.main([*worker_arguments(folder, url), *options]))


def states(folder: Path, url: str) -> list[str]:
    """Return where the orders of a queue stand; none while there are no tables."""
    target = (
        url.replace("postgresql:", "postgresql+psycopg:") or f"sqlite:///{queue_in(folder, url)}"
    )
    engine = sqlalchemy.create_engine(target)
    try:
        with engine.connect() as connection:
            table = "dbos.workflow_status" if url else "workflow_status"
            return [
                state
                for (state,) in connection.execute(sqlalchemy.text(f"SELECT status FROM {table}"))
            ]
    except (sqlalchemy.exc.OperationalError, sqlalchemy.exc.ProgrammingError):
        return []
    finally:
        engine.dispose()


async def _begin(front: str, case: str, folder: Path, url: str = "") -> None:
    async with agent_with_workers(front, case, folder, url) as (agent, _):
        await agent.ainvoke({"messages": [("user", TASK)]}, THREAD, durability="sync")


if __name__ == "__main__":
    asyncio.run(_begin(sys.argv[1], sys.argv[2], Path(sys.argv[3]), *sys.argv[4:]))
