"""Processes that come and go within one test: each has a journal of its own on one file, and can die.

Most are played within the process of the test; ``FORKED`` starts real ones.
"""

import asyncio
import multiprocessing
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from asyncguard import GuardConfig, Inbox, Ports, Timing, ToolSpec
from asyncguard.core.calls import CallState
from asyncguard.core.results import Result
from asyncguard.errors import JournalError
from asyncguard.journal.intent import Intent
from asyncguard.journal.port import Entry, LeaseGrant, Signal, Verdict
from asyncguard.journal.sql.journal import SqlJournal
from asyncguard.journal.sql.processes import ProcessKind
from asyncguard.journal.sql.sqlite import SqliteStore
from asyncguard.testing import ScriptedChatModel, Step
from tests.adapters.harness import Agent, AgentOf, Outcome, script

CONFIG = GuardConfig(timing=Timing(grace=0.0, linger=0.0, retry_initial=0.0, retry_jitter=0.0))
FORKED = multiprocessing.get_context("forkserver")
"""Starts copies of a process that has imported what they need, which takes 2 s."""
FORKED.set_forkserver_preload(
    [
        "tests.adapters.ag_ui.app",
        "tests.adapters.contender",
        "tests.adapters.lives",
        "tests.stored_state.orders",
        "asyncguard.distributed.worker",
        "tests.distributed.agent",
    ]
)
HANG = 60.0
"""Seconds after which a wait is given up; a busy machine stands still for five."""


def forked(main: Callable[..., object], *arguments: Any, output: Path, folder: Path) -> BaseProcess:
    """Start a process as a command does that was started here: with the environment of now, and nothing else of it.

    Args:
        main: The command, a function of a module; what it returns is the exit code, as of `sys.exit`.
        arguments: Its arguments.
        output: File that takes its output and its errors.
        folder: Where it works.
    """
    given = (main, arguments, output, folder, dict(os.environ))
    process = FORKED.Process(target=_as_command, args=given)
    process.start()
    return process


def _as_command(
    main: Callable[..., object],
    arguments: Sequence[Any],
    output: Path,
    folder: Path,
    environment: Mapping[str, str],
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    said = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(said, 1)
    os.dup2(said, 2)
    sys.exit(main(*arguments))  # type: ignore[arg-type]


async def until(true: Callable[[], bool]) -> None:
    """Wait for a condition that another thread or process fulfils; fail if it hangs."""
    async with asyncio.timeout(HANG):
        while not await asyncio.to_thread(true):  # noqa: ASYNC110 - the other side knows no event of this loop
            await asyncio.sleep(0.01)


class _MortalStore(SqliteStore):
    """A store whose process can die: what was queued and not begun is lost."""

    dead = False

    def begin(self) -> None:
        if self.dead:
            raise JournalError("This process is dead.")
        super().begin()


class MortalJournal:
    """A journal whose process can die: its lock is free then, and nothing more is written or told."""

    def __init__(self, path: Path) -> None:
        self._store = _MortalStore(path, ProcessKind.AGENT)
        self._journal = SqlJournal(self._store)
        self.dead = self.lost = self.reconnected = False
        self.begun: list[Intent] = []

    def on_disk(self, sql: str) -> None:
        """Change something about the file, by SQL."""
        self._journal._writer.submit(lambda store: store.execute(sql)).result()

    def die(self) -> None:
        """Release the lock and write nothing more, as if the operating system had killed it."""
        self.dead = self._store.dead = True
        assert self._store._lock is not None
        self._store._lock.release()

    @property
    def id(self) -> str:
        return self._journal.id

    def lose_session(self) -> None:
        """Lose the threads, as where a server has ended the session."""
        self.on_disk("UPDATE threads SET epoch = ''")

    @property
    def process_id(self) -> str:
        return f"{self._journal.process_id}{'-again' if self.reconnected else ''}"

    async def acquire(
        self,
        session: str,
        thread: str,
        keys: Collection[str],
        receive: Callable[[Signal], None],
        *,
        known: int = 0,
        stands_on: str = "",
    ) -> LeaseGrant:
        await self._alive()
        grant = await self._journal.acquire(
            session, thread, keys, receive, known=known, stands_on=stands_on
        )
        return replace(grant, has_lapsed=lambda: self.lost)

    async def unfinished(self, session: str) -> Collection[str]:
        await self._alive()
        return await self._journal.unfinished(session)

    async def holds(self, session: str) -> bool:
        await self._alive()
        return await self._journal.holds(session)

    def gone(self, process_ids: Collection[str]) -> Collection[str]:
        return self._journal.gone(process_ids)

    def release(self, session: str, *, stands_on: str | None = None, ends: bool = False) -> None:
        if not self.dead:
            self._journal.release(session, stands_on=stands_on, ends=ends)

    def keep_alive(self, session: str) -> None:
        self._journal.keep_alive(session)

    def stop_keep_alive(self, session: str) -> None:
        self._journal.stop_keep_alive(session)

    async def begin(self, intent: Intent) -> Verdict:
        await self._alive()
        self.begun.append(intent)
        return await self._journal.begin(intent)

    async def end(self, key: str, attempt: int, result: Result) -> None:
        await self._alive()
        await self._journal.end(key, attempt, result)

    def end_soon(self, key: str, attempt: int, result: Result) -> None:
        if not self.dead:
            self._journal.end_soon(key, attempt, result)

    async def flush(self) -> None:
        if self.dead:
            return  # its run has to end, so that a test may go on
        await self._journal.flush()

    def conclude(self, key: str, attempt: int, result: Result) -> None:
        if not self.dead:
            self._journal.conclude(key, attempt, result)

    def record_final_state(
        self, key: str, state: CallState, error: str = "", *, stored: bool = False
    ) -> None:
        if not self.dead:
            self._journal.record_final_state(key, state, error, stored=stored)

    def deliver(self, token: str, content: Any) -> None:
        self._journal.deliver(token, content)

    def resolve(self, *given: Any, **named: Any) -> Entry:
        return self._journal.resolve(*given, **named)

    def entries(
        self, *, states: Collection[CallState] = (), session: str = "", key: str = ""
    ) -> Sequence[Entry]:
        return self._journal.entries(states=states, session=session, key=key)

    def prune(self, older_than: float) -> int:
        return self._journal.prune(older_than)

    def close(self) -> None:
        self._journal.close()

    async def _alive(self) -> None:
        if self.dead:
            await asyncio.Event().wait()


@dataclass(kw_only=True)
class Process:
    """A process with an agent."""

    agent: Agent
    journal: MortalJournal
    inbox: Inbox
    thread: str = "t"
    run: "asyncio.Task[Outcome] | None" = None

    async def say(self, said: str, **options: Any) -> Outcome:
        """A new message."""
        return await self._go(self.agent.input(said, None), options)

    async def go_on(self, **options: Any) -> Outcome:
        """Resume the thread where it was left."""
        state = await self.agent.graph.aget_state({"configurable": {"thread_id": self.thread}})
        payload = Command(resume=True) if state.interrupts else None
        return await self._go(payload, options)

    async def _go(self, payload: Any, options: Mapping[str, Any]) -> Outcome:
        place: Any = {"configurable": {"thread_id": self.thread}}
        state = await self.agent.graph.ainvoke(payload, place, **options)
        return self.agent._noted(state, 0.0)

    def begin(self, said: str, **options: Any) -> None:
        """Start a run that may never end."""
        self.run = asyncio.get_running_loop().create_task(self.say(said, **options))

    async def killed(self) -> None:
        """Kill the process after recording the calls that ended; the run has to end by itself."""
        if not self.journal.dead:
            await self.journal.flush()
        self.journal.die()

    async def die(self) -> None:
        """Kill the process; calls that ended are recorded first, as chance would decide it else."""
        await self.killed()
        if self.run is not None:
            self.run.cancel()
            await asyncio.gather(self.run, return_exceptions=True)


@dataclass(kw_only=True)
class Machine:
    """Checkpoints and the journal's file, which outlive the processes."""

    agent_of: AgentOf
    path: Path
    saver: BaseCheckpointSaver[Any] = field(default_factory=InMemorySaver)
    made: list[Process] = field(default_factory=list)

    def process(
        self,
        tools: Sequence[Any],
        specs: Sequence[ToolSpec],
        *steps: Step,
        journal: Path | None = None,
        **options: Any,
    ) -> Process:
        """A new process."""
        number = len(self.made)
        mortal, inbox = MortalJournal(journal or self.path), Inbox()
        model = ScriptedChatModel(script(*steps), id_prefix=f"p{number}")
        given = {"config": CONFIG, "checkpointer": self.saver, **options}
        ports = Ports(inbox=inbox, journal=mortal)
        agent = self.agent_of(model, tools, specs=specs, ports=ports, **given)
        self.made.append(Process(agent=agent, journal=mortal, inbox=inbox))
        return self.made[-1]

    def close(self) -> None:
        """Close the processes that are still alive."""
        for process in self.made:
            process.journal.close()
