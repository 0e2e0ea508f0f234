"""Execution of one order in a worker.

The journal is asked, the tool runs, the end is recorded, the answer goes back. The journal decides,
not the queue: an order that comes twice is answered with what is known of it. A journal that does
not answer is waited for, before the tool and after it, because the outcome of an effect must not be
lost.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Any, Protocol

from asyncguard.core.faults import ErrorCode, Symptom
from asyncguard.core.results import CANCELLED_BEFORE_START, Failure, Result, Success
from asyncguard.distributed.protocol import (
    RemoteJob,
    answer_to_json,
    order_from_json,
)
from asyncguard.errors import CallerError, JournalError
from asyncguard.journal.port import Fresh, Journal
from asyncguard.runtime.clock import Backoff, Clock
from asyncguard.runtime.executors.journal_gate import begin_in, told_of
from asyncguard.runtime.executors.port import Job

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0
_FIRST = Fresh()
_GIVEN_ON = Failure(
    symptom=Symptom(
        error=ErrorCode.ORDER_LOST,
        message="The worker that had taken the call lost its database and the order with it; "
        "the call was not begun.",
        transient=True,
        started=False,
    )
)
"""Outcome of an attempt that others may have taken back; an agent that sends it again is told, too.

So it says nothing about the thread, which may be run by the same process all the time.
"""


class Toolbox(Protocol):
    """Tools of a worker."""

    def refusal(self, tool: str, *, unapproved: bool = False) -> str | None:
        """Return why a tool may not be run here, as a sentence for the model; ``None`` if it may.

        Args:
            tool: Name of the tool.
            unapproved: True if no person has approved the call.
        """
        ...

    async def run(self, order: RemoteJob) -> Result:
        """Run a tool once; never raise but for cancellation.

        A tool that occupies an OS thread does not heed cancellation.
        """
        ...


@dataclass(kw_only=True, eq=False)
class _Running:
    loop: asyncio.AbstractEventLoop
    task: asyncio.Task[Result]


class JobRunner:
    """Server of the orders of one worker."""

    def __init__(
        self,
        journal: Journal,
        tools: Toolbox,
        clock: Clock,
        log: Any,
        *,
        has_claimed: Callable[[str, Collection[str]], Awaitable[bool]],
        patience: float = 60.0,
    ) -> None:
        """Create a server.

        Args:
            journal: Asked before a tool with an effect runs.
            tools: The tools.
            clock: Times the pauses.
            log: A structlog logger; it gets names, numbers and classes of errors, no arguments and
                no results.
            has_claimed: Returns True if the queue still has an order of this name as claimed under
                one of some ids of this process.
            patience: Seconds to wait for a journal that cannot be read or written.
        """
        self._journal, self._tools = journal, tools
        self._clock, self._log = clock, log
        self._has_claimed, self._patience = has_claimed, patience
        self._accepted: dict[str, RemoteJob] = {}
        """Orders that were accepted and not answered, by name."""
        self._running: dict[str, _Running] = {}
        """Tools that run, by name of their order; a subset of the accepted orders."""
        self._cancelled: set[str] = set()
        """Names of accepted orders that were cancelled, perhaps before their tool began."""
        self._late: set[asyncio.Task[None]] = set()
        """Tasks that wait for tools past their time limit, or for a journal that refuses outcomes.

        Without a reference, asyncio would let them be collected.
        """
        self._unwritten: dict[str, tuple[RemoteJob, Result]] = {}
        """Outcomes that the journal refused for too long, by name of their order."""

    def accepted(self) -> Collection[RemoteJob]:
        """Return the orders that were accepted and not answered."""
        return tuple(self._accepted.values())

    def unwritten(self) -> int:
        """Return how many outcomes the journal has refused and not taken since."""
        return len(self._unwritten)

    async def write_rest(self) -> None:
        """Try once more to write those outcomes; on any event loop, as theirs ends in a drain."""
        with contextlib.suppress(JournalError):
            for name in tuple(self._unwritten):
                await self._write_late(name)

    def cancel(self, name: str) -> None:
        """Ask a running tool to stop, and keep a waiting order from beginning.

        It may be called from any OS thread.
        """
        # Marked before the look for its tool: one that begins meanwhile sees the mark, or is found.
        if name in self._accepted:
            self._cancelled.add(name)
        running = self._running.get(name)
        if running is not None and not running.loop.is_closed():
            running.loop.call_soon_threadsafe(running.task.cancel)

    async def serve(self, text: str, claimed_as: Collection[str]) -> str:
        """Answer one order.

        Args:
            text: The order as JSON.
            claimed_as: Process ids under which this process has claimed orders.

        Returns:
            The answer as JSON.
        """
        try:
            order = order_from_json(text)
        except CallerError as error:
            self._log.error("order unreadable", error=str(error))
            return answer_to_json("", _failure(ErrorCode.UNREADABLE_ORDER, str(error)))
        began = self._clock.now()
        self._accepted[order.id] = order
        try:
            result = await self._result(order, claimed_as)
        finally:
            # Also if it was cancelled: a drain waits for the accepted orders.
            self._accepted.pop(order.id, None)
            self._cancelled.discard(order.id)
        seconds = round(self._clock.now() - began, 3)
        write = self._log.info if isinstance(result, Success) else self._log.warning
        outcome = result.symptom.error if isinstance(result, Failure) else "done"
        write("call ended", **_names(order), outcome=outcome, seconds=seconds)
        return answer_to_json(order.fingerprint, result)

    async def _result(self, order: RemoteJob, claimed_as: Collection[str]) -> Result:
        if order.effect is not None and order.effect.journal != self._journal.id:
            refusal: str | None = (
                "The worker writes another journal than the agent, so it cannot be known whether "
                "the call was made before; give both the same one (--journal)."
            )
        else:
            refusal = self._tools.refusal(order.tool, unapproved=order.unapproved)
        if refusal is not None:
            return _failure(ErrorCode.REFUSED_BY_WORKER, refusal)
        if order.effect is None:  # it may be repeated, so there is nothing to ask and to record
            return await self._made(order)
        permission = await self._begin(order)
        if not isinstance(permission, Fresh):
            return permission
        # It has had another id: others may have taken it for dead, and the order back. They look
        # into the journal after that; this process wrote there before it looks at the queue.
        ids = {*claimed_as, self._journal.process_id}
        if len(ids) == 1 or await self._has_claimed(order.id, ids):
            made = await self._made(order, permission)
        else:
            made = _GIVEN_ON
        result = told_of(permission, made)
        await self._end(order, result)
        return result

    async def _begin(self, order: RemoteJob) -> Result | Fresh:
        """Ask the journal; return the known result, or its permission if the tool is to run."""
        job = Job(
            key=order.key,
            attempt=order.attempt,
            tool=order.tool,
            task=order.task,
            call_id=order.call_id,
            arguments=order.arguments,
            run=lambda: self._tools.run(order),
            intent=order.intent(),
        )
        backoff = self._backoff()
        while True:
            answer = await begin_in(self._journal, job, self._clock)
            away = (
                isinstance(answer, Failure)
                and answer.symptom.error == ErrorCode.JOURNAL_UNAVAILABLE
            )
            if not away or backoff.over:
                return answer  # given up: the failure says that nothing was begun
            self._log.warning("journal unavailable", **_names(order))
            await backoff.pause()

    async def _made(self, order: RemoteJob, permission: Fresh = _FIRST) -> Result:
        """Run the tool within its time limit.

        The end of a tool that outlives its time limit is still awaited.
        """
        if order.id in self._cancelled:
            return _failure(ErrorCode.CANCELLED, CANCELLED_BEFORE_START)
        self._log.info("call begun", **_names(order))
        task = asyncio.ensure_future(self._tools.run(order))
        self._running[order.id] = _Running(loop=asyncio.get_running_loop(), task=task)
        try:
            # Not wait_for(), which would cancel the tool when its time is over.
            await asyncio.wait({task}, timeout=order.timeout)
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            self._running.pop(order.id, None)
        if not task.done():
            if order.effect is None or order.effect.effect.repeatable:
                task.cancel()  # a call with an effect continues: its end shows what became of it
            late = asyncio.ensure_future(self._record_late_end(order, task, permission))
            self._late.add(late)
            late.add_done_callback(self._late.discard)
            return _failure(
                ErrorCode.TIMEOUT,
                f"No answer within {order.timeout:g} s.",
                started=True,
                running=True,
            )
        return _result(task)

    async def _record_late_end(
        self, order: RemoteJob, task: asyncio.Task[Result], permission: Fresh
    ) -> None:
        """Record the end after the time limit: a success resolves the doubt about the call."""
        await asyncio.wait({task})
        result = told_of(permission, _result(task))
        if order.effect is not None:
            self._log.info("call ended late", **_names(order))
            await self._end(order, result)

    async def _end(self, order: RemoteJob, result: Result) -> None:
        backoff = self._backoff()
        while True:
            try:
                await self._journal.end(order.key, order.attempt, result)
                return
            except JournalError as error:
                if backoff.over:
                    # The outcome is not lost: the answer carries it to the thread. The journal gets
                    # it later: a second claim of the order would wait for it without end.
                    self._log.error("outcome not written", **_names(order), error=str(error))
                    self._unwritten[order.id] = order, result
                    late = asyncio.ensure_future(self._end_later(order.id))
                    self._late.add(late)
                    late.add_done_callback(self._late.discard)
                    return
                self._log.warning("journal unavailable", **_names(order))
            except CallerError as error:  # the attempt was pruned, or the journal is another file
                self._log.error("outcome not written", **_names(order), error=str(error))
                return
            await backoff.pause()

    async def _end_later(self, name: str) -> None:
        while name in self._unwritten:
            await self._clock.sleep(_LONGEST_PAUSE)
            with contextlib.suppress(JournalError):
                await self._write_late(name)

    async def _write_late(self, name: str) -> None:
        kept = self._unwritten.get(name)
        if kept is None:
            return
        order, result = kept
        try:
            await self._journal.end(order.key, order.attempt, result)
            self._log.info("outcome written late", **_names(order))
        except CallerError:  # the attempt was pruned
            self._log.error("outcome not written", **_names(order))
        if self._unwritten.get(name) is kept:  # not the end of a tool past its time limit
            del self._unwritten[name]

    def _backoff(self) -> Backoff:
        """Return a new back-off for waiting for the journal."""
        return Backoff(
            first=_FIRST_PAUSE, longest=_LONGEST_PAUSE, patience=self._patience, clock=self._clock
        )


def _result(task: asyncio.Task[Result]) -> Result:
    if task.cancelled():
        return _failure(
            ErrorCode.CANCELLED, "The call was cancelled while it ran.", started=True, running=True
        )
    error = task.exception()
    if error is not None:  # a toolbox must not raise; if one does, the call fails like any other
        return _failure(type(error).__name__, f"{type(error).__name__}: {error}", started=True)
    return task.result()


def _failure(error: str, message: str, *, started: bool = False, running: bool = False) -> Failure:
    transient = None if started else False
    symptom = Symptom(
        error=error, message=message, transient=transient, started=started, running=running
    )
    return Failure(symptom=symptom)


def _names(order: RemoteJob) -> dict[str, Any]:
    return {"key": order.key, "attempt": order.attempt, "tool": order.tool}
