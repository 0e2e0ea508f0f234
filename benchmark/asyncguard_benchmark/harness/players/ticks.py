"""The message clock as the runtime's ports: calls go to the environment, waiting advances it tick by tick."""

import asyncio
import math
from collections.abc import Callable, Collection
from dataclasses import dataclass

from langchain_core.messages import ToolMessage

from asyncguard.adapters.tools.invoke import result_of, symptom_of
from asyncguard.core.results import Failure, Result, Success
from asyncguard.errors import ToolFault
from asyncguard.runtime.executors.port import Completion, Health, Job
from asyncguard_benchmark.errors import BenchmarkError, ToolFailure
from asyncguard_benchmark.harness import fault_modes
from asyncguard_benchmark.harness.environment import CallRecord, MessageClock
from asyncguard_benchmark.harness.players.translation import (
    IDLE_TOOL,
    UNKNOWN_TOOL,
    UNREADABLE_TOOL,
)

LONGEST_BACK_OFF = 2
"""Ticks: a back-off of more seconds lasts no longer, for a tick is a whole message."""


class StalledError(BenchmarkError):
    """The runtime waits although nothing is pending; this is a fault of the runtime, not of the agent."""


class NotSentError(ToolFault):
    """A request was not sent, in the words in which a tool tells the runtime so."""


Done = Callable[[Completion], None]


@dataclass(frozen=True, kw_only=True)
class _Resting:
    """An attempt that is to begin later."""

    tick: int
    job: Job
    done: Done


class TickExecutor:
    """Executor over an environment: effects happen at once, completions come when the environment says so."""

    def __init__(self, environment: MessageClock, *, idle_waits: bool = False) -> None:
        """Make an executor for one episode.

        Args:
            environment: The environment that takes the calls.
            idle_waits: True if an idle action lasts until the next result comes, if one is to come.
                So it does for a runtime that waits; otherwise it lasts one tick, as in the plain loop.
        """
        self.environment = environment
        """Environment that takes the calls."""
        self._idle_waits = idle_waits
        self._idle: list[tuple[Job, Done]] = []
        self._resting: list[_Resting] = []
        self._done: dict[int, tuple[Job, Done]] = {}
        self._attempts: dict[str, list[int]] = {}

    def start(self, job: Job, done: Done) -> None:
        """Make the call, after its back-off; what stands for an idle or unreadable action reaches no executor."""
        if job.tool == IDLE_TOOL and self._idle_waits and self.pending():
            self._idle.append((job, done))
        elif job.tool in (IDLE_TOOL, UNREADABLE_TOOL):
            done(_noted(job))
        elif job.delay > 0:
            ticks = min(math.ceil(job.delay), LONGEST_BACK_OFF)
            self._resting.append(_Resting(tick=self.environment.tick + ticks, job=job, done=done))
        else:
            self._issue(job, done)

    def _issue(self, job: Job, done: Done) -> None:
        tool, arguments = job.tool, job.arguments
        if tool == UNKNOWN_TOOL:
            tool, arguments = arguments["tool"], arguments["arguments"]
        record = self.environment.issue(job.task, tool, arguments)
        for name in (job.key, job.call_id):
            self._attempts.setdefault(name, []).append(record.number)
        self._done[record.number] = (job, done)

    def poll(self) -> None:
        """Begin what has rested, and complete what is due in the present tick."""
        rested = [each for each in self._resting if each.tick <= self.environment.tick]
        self._resting = [each for each in self._resting if each.tick > self.environment.tick]
        for each in rested:
            self._issue(each.job, each.done)
        due = self.environment.due()
        for record in due:
            job, done = self._done.pop(record.number)
            done(Completion(key=job.key, attempt=job.attempt, result=self.result(record)))
        while due and self._idle:
            job, done = self._idle.pop()
            done(_noted(job))

    def result(self, record: CallRecord) -> Result:
        """Return the result that a real tool would have given: its answer, or the symptom of its exception."""
        raised = self.environment.raised(record.number)
        match raised:
            case None:
                return Success(content=record.response)
            case ToolFailure():
                return result_of(ToolMessage(str(raised), tool_call_id="", status="error"), "")
            case fault_modes.NotSentError():
                return Failure(
                    symptom=symptom_of(NotSentError(str(raised), transient=True, started=False))
                )
            case _:
                return Failure(symptom=symptom_of(raised))

    def cancel(self, key: str) -> bool:
        """Return False: an issued call cannot be taken back, as its effect has happened."""
        return False

    def health(self) -> Health:
        """Return the health of the executor: alive for as long as the episode."""
        return Health(alive=True, pending=len(self.pending()))

    def close(self) -> None:
        """Do nothing: an episode that is over issues nothing."""

    def pending(self) -> Collection[str]:
        """Return the keys of the calls without a result, those that rest before another attempt among them."""
        return (
            *(job.key for job, _ in self._done.values()),
            *(each.job.key for each in self._resting),
        )

    def number(self, name: str) -> int | None:
        """Return the environment's number of a call's first attempt, by the runtime's key or the provider's call id."""
        return next(iter(self._attempts.get(name, ())), None)

    def attempts(self, name: str) -> tuple[CallRecord, ...]:
        """Return the environment's records of all attempts of a call, by runtime's key or provider's call id."""
        return tuple(self.environment.trajectory[number] for number in self._attempts.get(name, ()))


def _noted(job: Job) -> Completion:
    content = job.arguments.get("reason", "noted")
    return Completion(key=job.key, attempt=job.attempt, result=Success(content=content))


class TickClock:
    """Time in ticks. Grace and linger are fractions of a tick and pass without advancing; a wait advances by one."""

    def __init__(self, environment: MessageClock, executor: TickExecutor) -> None:
        self._environment = environment
        self._executor = executor

    def now(self) -> float:
        """Return the present tick."""
        return float(self._environment.tick)

    async def sleep(self, seconds: float) -> None:
        """Reject every sleep: a back-off is a delay of its job, which the executor lets pass."""
        raise StalledError(f"the runtime wants to sleep {seconds:g} ticks between attempts")

    async def wait(self, event: asyncio.Event, timeout: float | None) -> bool:
        """Let ticks pass until the event is set, or not at all if a time-out is given."""
        for _ in range(3):  # a task that is about to set the event is on the same loop
            await asyncio.sleep(0)
        while not event.is_set() and timeout is None:
            if not self._executor.pending():
                raise StalledError("the runtime waits although no call is pending")
            self._environment.advance()
            self._executor.poll()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        return event.is_set()
