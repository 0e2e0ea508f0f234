"""An asyncio event loop whose clock jumps instead of waiting.

Theory of operation. A selector loop blocks in exactly one place: its selector, when no callback is
ready. The loop here owns that selector. When nothing is ready and no real work is outstanding, the
selector moves the loop's clock to the next timer and returns at once; `asyncio.sleep(3600)` then
costs no real time and `loop.time()` grows by exactly 3600.

Rules:

- Computation, threads and sockets take no virtual time. Only timers move the clock.
- While real work is outstanding the clock stands still and the loop really blocks, however near the
  next timer is. Work started through `run_in_executor` and `asyncio.to_thread` counts by itself,
  and still counts after the waiting task was cancelled, until the thread ends. Anything else that
  wakes the loop from outside (a foreign thread calling `call_soon_threadsafe`, a socket) must be
  wrapped in `VirtualTimeLoop.real_work`, or be given `settle`.
- Timers due at one instant run in the order in which they were made (asyncio itself leaves that
  order open), so a program has the same interleaving on every run. Iteration over a set of tasks
  may still differ: that order is Python's, not the loop's.
- Nothing scheduled, nothing outstanding, and still something to wait for is a deadlock:
  `VirtualDeadlockError`.

Own code, not looptime: the test kit is shipped, and would depend on a package with one
maintainer.
"""

import asyncio
import contextlib
import itertools
import math
import selectors
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextvars import Context
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, TypeVarTuple, Unpack

from typing_extensions import override

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

HUNDRED_DAYS = 100 * 86_400.0


class VirtualDeadlockError(RuntimeError):
    """The virtual loop has nothing left that could ever wake it.

    Await something that a task, a timer or outstanding real work will complete; wrap work that
    foreign threads or sockets do in `loop.real_work()`.

    Attributes:
        time: Virtual time in seconds at which the loop stood still.
        waiting: One line for each task that still waits: its name and where it stands.
    """

    def __init__(self, reason: str, *, time: float, waiting: tuple[str, ...]) -> None:
        self.time = time
        self.waiting = waiting
        tasks = "".join(f"\n  {line}" for line in waiting) or "\n  (no task)"
        super().__init__(f"{reason} at virtual time {time:g} s. Still waiting:{tasks}")


class _Instant(float):
    """A due time that also knows its place among equal ones (heapq alone would not keep it)."""

    __slots__ = ("order",)
    order: int

    def __new__(cls, when: float, order: int) -> "_Instant":
        instant = super().__new__(cls, when)
        instant.order = order
        return instant

    @override
    def __lt__(self, other: float) -> bool:
        if isinstance(other, _Instant):
            return (float(self), self.order) < (float(other), other.order)
        return super().__lt__(other)


class _IdleSelector(selectors.DefaultSelector):
    """The operating system's selector, asking its loop what to do instead of waiting."""

    def __init__(self, loop: "VirtualTimeLoop") -> None:
        super().__init__()
        self._loop = loop

    @override
    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        # Read before polling: work that ends in between has already written to the wake-up socket,
        # so the poll sees it.
        outstanding = self._loop.outstanding
        events = super().select(0)
        if events or (timeout is not None and timeout <= 0):
            return events
        wait = self._loop.patience if outstanding else self._loop.settle
        if wait > 0:
            events = super().select(wait)
        if not events:
            self._loop.move_on(silent=outstanding)
        return events


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A selector event loop with virtual time, starting at 0.0 seconds.

    Args:
        settle: Real seconds that the loop must have been idle before it jumps. 0 (the default)
            jumps at once; a few milliseconds let code run whose threads cannot be marked by
            `real_work`, at that price for each jump.
        patience: Real seconds that outstanding real work may stay silent before the loop gives up
            on it.
        horizon: Virtual seconds after which the loop gives up: a task that sleeps in a circle would
            keep a deadlock alive for ever.
    """

    # Declared by asyncio.base_events and by nothing public; every release since 3.4 keeps the next
    # timer at its head.
    _scheduled: list[asyncio.TimerHandle]

    def __init__(
        self, *, settle: float = 0.0, patience: float = 30.0, horizon: float = HUNDRED_DAYS
    ) -> None:
        self._now = 0.0
        # Numbers the timers; equal times run in this order.
        self._order = itertools.count()
        self.settle = settle
        self.patience = patience
        self._horizon = horizon
        # Pieces of real work under way; counted from any OS thread, hence the lock.
        self._outstanding = 0
        self._count_lock = threading.Lock()
        super().__init__(_IdleSelector(self))

    @override
    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self._now

    @override
    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Schedule a callback; among equal times the one scheduled first runs first."""
        return super().call_at(_Instant(when, next(self._order)), callback, *args, context=context)

    @contextlib.contextmanager
    def real_work(self) -> Iterator[None]:
        """Hold the clock while something outside the loop works: a thread, a socket, a process.

        It may be entered in any OS thread, and several times. The clock stands still until every
        block was left.
        """
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)
            # Wake a blocked loop, so that it looks again. A loop that was closed need not know.
            with contextlib.suppress(RuntimeError):
                self.call_soon_threadsafe(lambda: None)

    @override
    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Ts]], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """Run `func` in the executor as real work.

        It counts until it was answered and its OS thread is free.
        """
        # A process pool would have to pickle the counting wrapper; there only the answer counts.
        threads = executor is None or isinstance(executor, ThreadPoolExecutor)

        def counted(*given: *Ts) -> T:
            with self.real_work():
                return func(*given)

        # Counted until the answer; the thread counts itself, also after its waiter was cancelled.
        self._count(1)
        try:
            future = super().run_in_executor(executor, counted if threads else func, *args)
        except BaseException:
            self._count(-1)
            raise
        future.add_done_callback(lambda _: self._count(-1))
        return future

    @override
    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Join the default executor's OS threads.

        It is real work of an OS thread that asyncio starts for it.
        """
        with self.real_work():
            if sys.version_info >= (3, 12):
                await super().shutdown_default_executor(timeout)
            else:
                await super().shutdown_default_executor()

    @property
    def outstanding(self) -> int:
        """Number of pieces of real work that are under way."""
        with self._count_lock:
            return self._outstanding

    def move_on(self, *, silent: int) -> None:
        """Move the clock to the next timer. The selector calls this when the loop is idle.

        Args:
            silent: Pieces of real work that gave no sign for as long as patience lasts.

        Raises:
            VirtualDeadlockError: Real work is silent, there is no timer, or it lies beyond the
                horizon.
        """
        if silent:
            self._give_up(
                f"{silent} piece(s) of real work gave no sign for {self.patience:g} real seconds"
            )
        due = self._scheduled[0].when() if self._scheduled else math.inf
        if math.isinf(due):
            self._give_up("Nothing is scheduled and no real work is outstanding")
        if due > self._horizon:
            self._give_up(
                f"The next timer lies beyond the horizon of {self._horizon:g} virtual seconds"
            )
        # A timer may be due in the past, and time does not go back.
        self._now = max(self._now, float(due))

    def _give_up(self, reason: str) -> None:
        waiting = tuple(sorted(_where(task) for task in asyncio.all_tasks(self)))
        raise VirtualDeadlockError(reason, time=self._now, waiting=waiting)

    def _count(self, change: int) -> None:
        with self._count_lock:
            self._outstanding += change


@dataclass(frozen=True, kw_only=True)
class VirtualRun(Generic[T]):
    """Result of a coroutine, and its duration in virtual time."""

    result: T
    """The coroutine's return value."""
    elapsed: float
    """Virtual seconds from start to return."""


def run_virtual(
    main: Coroutine[Any, Any, T],
    *,
    settle: float = 0.0,
    patience: float = 30.0,
    horizon: float = HUNDRED_DAYS,
    debug: bool | None = None,
) -> VirtualRun[T]:
    """Run a coroutine to its end on a fresh `VirtualTimeLoop` and close the loop.

    As `asyncio.run`, it cancels remaining tasks when `main` returns, and it cannot be called from a
    running loop.

    Args:
        main: The coroutine.
        settle: See `VirtualTimeLoop`.
        patience: See `VirtualTimeLoop`.
        horizon: See `VirtualTimeLoop`.
        debug: asyncio's debug mode; None leaves it to the interpreter.

    Raises:
        VirtualDeadlockError: `main` waits for something that cannot happen.
    """
    loop = VirtualTimeLoop(settle=settle, patience=patience, horizon=horizon)
    results: list[T] = []

    async def keep_result() -> None:
        results.append(await main)

    with asyncio.Runner(debug=debug, loop_factory=lambda: loop) as runner:
        # As the task's result it would be printed: a runner looks up its own signal handler, which
        # holds the task, in an enum of handlers, and the error that it drops has the task's repr.
        runner.run(keep_result())
        return VirtualRun(result=results[0], elapsed=loop.time())


def _where(task: asyncio.Task[Any]) -> str:
    frames = task.get_stack(limit=1)
    if not frames:
        return task.get_name()
    frame = frames[0]
    place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    return f"{task.get_name()}: {frame.f_code.co_qualname} ({place})"
