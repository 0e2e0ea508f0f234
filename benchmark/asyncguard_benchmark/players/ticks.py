"""The message clock as the runtime's ports: calls go to the environment, waiting advances it tick by tick."""

import asyncio
from collections.abc import Callable, Collection

from asyncguard.engine.executors.port import Completion, Job, Success
from asyncguard_benchmark.environment import CallRecord, Environment
from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.players.translation import IDLE_TOOL, UNKNOWN_TOOL, UNREADABLE_TOOL


class StalledError(BenchmarkError):
    """The runtime waits although nothing is pending; this is a fault of the runtime, not of the agent."""


class TickExecutor:
    """Issues calls into an environment: effects happen at once, completions come when the environment says so."""

    def __init__(self, environment: Environment, *, idle_waits: bool = False) -> None:
        """Executes for one episode.

        Args:
            environment: Where the calls go.
            idle_waits: Whether an idle action lasts until the next result comes, if one is to come. It is that of a
                runtime which waits; of one that does not, it lasts one tick, as in the plain loop.
        """
        self.environment = environment
        """Where the calls go."""
        self._idle_waits = idle_waits
        self._resting: list[tuple[Job, Callable[[Completion], None]]] = []
        self._done: dict[int, tuple[Job, Callable[[Completion], None]]] = {}
        self._numbers: dict[str, int] = {}
        self._call_ids: dict[int, str] = {}

    def start(self, job: Job, done: Callable[[Completion], None]) -> None:
        """Make the call; what stands for an idle or unreadable action reaches no executor."""
        if job.tool == IDLE_TOOL and self._idle_waits and self.environment.pending():
            self._resting.append((job, done))
            return
        if job.tool in (IDLE_TOOL, UNREADABLE_TOOL):
            done(_noted(job))
            return
        tool, arguments = job.tool, job.arguments
        if tool == UNKNOWN_TOOL:
            tool, arguments = arguments["tool"], arguments["arguments"]
        record = self.environment.issue(job.task, tool, arguments)
        self._numbers[job.key] = self._numbers[job.call_id] = record.number
        self._call_ids[record.number] = job.call_id
        self._done[record.number] = (job, done)

    def poll(self) -> None:
        """Complete what is due in the present tick."""
        due = self.environment.due()
        for record in due:
            job, done = self._done.pop(record.number)
            done(Completion(key=job.key, attempt=job.attempt, result=Success(content=record.response)))
        while due and self._resting:
            job, done = self._resting.pop()
            done(_noted(job))

    def cancel(self, key: str) -> bool:
        """An issued call cannot be taken back: its effect has happened."""
        return False

    def pending(self) -> Collection[str]:
        """Keys of the calls without a result."""
        return tuple(job.key for job, _ in self._done.values())

    def number(self, name: str) -> int | None:
        """The environment's number of a call, by the runtime's key or the provider's call id."""
        return self._numbers.get(name)

    def record(self, name: str) -> CallRecord | None:
        """The environment's record of a call, by the runtime's key or the provider's call id."""
        number = self._numbers.get(name)
        return None if number is None else self.environment.trajectory[number]

    def call_id(self, number: int) -> str:
        """The provider's id of a call, by its number in the environment."""
        return self._call_ids[number]


def _noted(job: Job) -> Completion:
    content = job.arguments.get("reason", "noted")
    return Completion(key=job.key, attempt=job.attempt, result=Success(content=content))


class TickClock:
    """Time in ticks. Grace and linger are fractions of a tick and pass without advancing; a wait advances by one."""

    def __init__(self, environment: Environment, executor: TickExecutor) -> None:
        self._environment = environment
        self._executor = executor

    def now(self) -> float:
        """The present tick."""
        return float(self._environment.tick)

    async def sleep(self, seconds: float) -> None:
        """Back-offs do not occur: the environment answers faults as results."""
        raise StalledError(f"the runtime wants to sleep {seconds:g} ticks between attempts")

    async def wait(self, event: asyncio.Event, timeout: float | None) -> bool:
        """Let ticks pass until the event is set, or not at all if a time-out is given."""
        for _ in range(3):  # whoever is about to set the event is on the same loop
            await asyncio.sleep(0)
        while not event.is_set() and timeout is None:
            if not self._executor.pending():
                raise StalledError("the runtime waits although no call is pending")
            self._environment.advance()
            self._executor.poll()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        return event.is_set()
