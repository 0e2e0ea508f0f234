"""Sync entry: the runtime's coroutines on a private loop, user code in the caller's thread.

State and decisions have one implementation, which is async. For a caller without a loop it runs on
the agent's portal, with the caller's context. Models, tools and checkpointers are called by their
sync sides there: clients that are shared between calls belong to the loop that used them first, so
user code never moves to the portal's loop. The OS thread that waits in :meth:`Portal.run` runs it
in the meantime. A tool without a sync side runs on one loop that all sync entries of the process
share. The portal's own loop never runs code that could block it.
"""

import asyncio
import contextlib
import contextvars
import os
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Executor, Future
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

from typing_extensions import override

from asyncguard.errors import CallerError
from asyncguard.runtime.clock import running_loop

T = TypeVar("T")

_ENTRY: contextvars.ContextVar["SyncEntry | None"] = contextvars.ContextVar(
    "asyncguard_sync_entry", default=None
)
_DEPTH: contextvars.ContextVar[int] = contextvars.ContextVar("asyncguard_tool_loop", default=0)
"""Index of the first tool loop that no tool around this code blocks."""


def in_context(function: Callable[[], T]) -> Callable[[], T]:
    """Bind a function that an OS thread will run to the current context.

    A ``StopIteration`` becomes a ``RuntimeError``, as in a coroutine: a future cannot carry it, and
    its waiter would never wake.
    """
    context = contextvars.copy_context()

    def run() -> T:
        try:
            return context.run(function)
        except StopIteration as error:
            raise RuntimeError("The call raised StopIteration.") from error

    return run


def sync_entry() -> "SyncEntry | None":
    """Return the sync entry that the running code serves, ``None`` on a loop of the caller's."""
    entry = _ENTRY.get()
    # Tasks and threads started within inherit the context; code on another loop has no sync entry.
    return entry if entry is not None and entry.loop is asyncio.get_running_loop() else None


class SyncEntry(Executor):
    """One call of :meth:`Portal.run`: its waiting OS thread as an executor."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Make an entry.

        Args:
            loop: Loop of the portal.
        """
        self.loop = loop
        # ``None`` ends the work.
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    async def call(self, function: Callable[[], T]) -> T:
        """Run a function in the OS thread that waits for the entry, with the current context."""
        return await self.loop.run_in_executor(self, in_context(function))

    @override
    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:  # noqa: BLE001 - raised again where the result is awaited
                future.set_exception(error)
            else:
                future.set_result(result)

        self._work.put(work)
        return future

    def serve(self) -> None:
        """Do the work until :meth:`end`."""
        while (work := self._work.get()) is not None:
            work()

    def end(self) -> None:
        """End :meth:`serve`; called from any OS thread."""
        self._work.put(None)


async def off_portal(function: Callable[[], Awaitable[T]]) -> T:
    """Await user code on the running loop, or on the tool loop if the running loop is a portal's.

    A cancellation is passed on to the call, and the end of the call is awaited, as in a plain
    ``await``.

    Args:
        function: Makes the call.
    """
    if sync_entry() is None:
        return await function()
    depth = _DEPTH.get()
    loop = _tool_loop(depth)
    ended: Future[T] = Future()
    task: list[asyncio.Task[T]] = []

    async def call() -> T:
        return await function()

    def begin() -> None:
        task.append(loop.create_task(call()))
        task[0].add_done_callback(partial(_copy_result, ended))

    loop.call_soon_threadsafe(begin)
    here = asyncio.wrap_future(ended)
    while not here.done():
        try:
            # Not awaited itself: that would cancel this copy, and the call would run on unseen.
            await asyncio.wait([here])
        except asyncio.CancelledError:
            loop.call_soon_threadsafe(lambda: task[0].cancel())
    return here.result()


def from_thread(
    function: Callable[[], Awaitable[T]], begun: Callable[[Callable[[], object]], None]
) -> T:
    """Wait in the OS thread of a sync entry for async user code, which the tool loop runs.

    Args:
        function: Makes the call.
        begun: Receives the function that cancels the call; that may be called from any OS thread.
    """
    loop = _tool_loop(_DEPTH.get())
    context = contextvars.copy_context()
    ended: Future[T] = Future()

    async def call() -> T:
        return await function()

    def begin() -> None:
        task = loop.create_task(call(), context=context)
        task.add_done_callback(partial(_copy_result, ended))
        begun(partial(loop.call_soon_threadsafe, task.cancel))

    loop.call_soon_threadsafe(begin)
    return ended.result()


def _copy_result(ended: Future[T], task: asyncio.Task[T]) -> None:
    """Copy the end of a task to a future that another OS thread or loop waits for."""
    if task.cancelled():
        ended.set_exception(asyncio.CancelledError())
    elif (error := task.exception()) is not None:
        ended.set_exception(error)
    else:
        ended.set_result(task.result())


class Portal:
    """Private loop for coroutines of sync callers; starts at first use, ends with the portal."""

    def __init__(self) -> None:
        """Make a portal; no OS thread is started yet."""
        # Several OS threads may enter an agent at once; one of them starts the loop.
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        # Process that started the loop's thread; a fork copies the loop and not the thread.
        self._process = 0

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine with the caller's context, and return its result.

        The calling OS thread runs the user code of the coroutine meanwhile.

        Raises:
            CallerError: Called from the portal's own loop, which would wait for itself; use the
                async entry there.
        """
        loop = self.loop()
        around = running_loop()
        if around is loop:
            coroutine.close()
            raise CallerError(
                "A sync entry was called on the loop that has to run it; use the async entry there."
            )
        entry = SyncEntry(loop)
        context = contextvars.copy_context()
        context.run(_ENTRY.set, entry)
        if (blocked := _depth_of(around)) is not None:
            context.run(_DEPTH.set, blocked + 1)
        # Filled on the loop: empty if a signal hits this thread before the task is made.
        box: list[asyncio.Task[T]] = []

        def begin() -> None:
            task = loop.create_task(coroutine, context=context)
            box.append(task)
            task.add_done_callback(lambda _: entry.end())

        loop.call_soon_threadsafe(begin)
        try:
            entry.serve()
        except BaseException:  # a signal hit the waiting thread; the coroutine must not run on
            loop.call_soon_threadsafe(lambda: box and box[0].cancel())
            raise
        return box[0].result()

    def loop(self) -> asyncio.AbstractEventLoop:
        """Return the portal's loop, which its thread runs."""
        with self._lock:
            if self._loop is None or self._process != os.getpid():
                # A loop keeps the context that it was made in. The caller's context holds its run,
                # and thus the agent of this portal: neither would ever be collected.
                loop = contextvars.Context().run(asyncio.new_event_loop)
                thread = threading.Thread(
                    target=_serve, args=(loop,), name="asyncguard-portal", daemon=True
                )
                thread.start()
                weakref.finalize(self, _stop, loop, thread)
                self._loop, self._process = loop, os.getpid()
            return self._loop


# -- loops for tools that have no sync side ------------------------------------------------------

_TOOL_LOOPS: list[Portal] = []
"""Tool loops by depth. The first serves all sync entries of the process. Each further one serves
entries that a tool on the loop before it calls: that tool waits for them and blocks its loop."""
_LOCK = threading.Lock()


def _tool_loop(depth: int) -> asyncio.AbstractEventLoop:
    with _LOCK:
        while len(_TOOL_LOOPS) <= depth:
            _TOOL_LOOPS.append(Portal())
        return _TOOL_LOOPS[depth].loop()


def _depth_of(loop: asyncio.AbstractEventLoop | None) -> int | None:
    """Return the index of a tool loop, ``None`` for another loop."""
    if loop is None:
        return None
    with _LOCK:
        return next(
            (depth for depth, portal in enumerate(_TOOL_LOOPS) if portal.loop() is loop), None
        )


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        while True:
            # A task that raises one of these ends run_forever; its waiter gets the exception and
            # ends the interpreter. The loop continues for the others.
            with contextlib.suppress(SystemExit, KeyboardInterrupt):
                loop.run_forever()
                break
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
    finally:
        loop.close()


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(loop.stop)
    if thread is not threading.current_thread():
        thread.join(timeout=5)
