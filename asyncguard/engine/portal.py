"""Sync entry: one event loop in a thread of its own, on which the async runtime runs for callers that have none."""

import asyncio
import contextlib
import contextvars
import threading
import weakref
from collections.abc import Coroutine
from typing import Any, TypeVar

from asyncguard.errors import CallerError

T = TypeVar("T")


class Portal:
    """Runs coroutines on a private loop and waits for them; the loop starts at first use and ends with the portal."""

    def __init__(self) -> None:
        """Make a portal; no thread is started yet."""
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine with the caller's context and return its result.

        Raises:
            CallerError: Called from the portal's own loop, which would wait for itself; use the async entry there.
        """
        loop = self._started()
        try:
            if asyncio.get_running_loop() is loop:
                coroutine.close()
                raise CallerError("A sync entry was called on the loop that would have to run it; use the async entry.")
        except RuntimeError:
            pass
        context = contextvars.copy_context()
        done = threading.Event()
        box: list[asyncio.Task[T]] = []

        def begin() -> None:
            task = loop.create_task(coroutine, context=context)
            box.append(task)
            task.add_done_callback(lambda _: done.set())

        loop.call_soon_threadsafe(begin)
        try:
            done.wait()
        except BaseException:  # a signal hit the waiting thread: do not leave the coroutine behind
            loop.call_soon_threadsafe(lambda: box and box[0].cancel())
            raise
        return box[0].result()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                # A loop keeps the context that it was made in. The caller's holds its run, and with it the agent whose
                # portal this is: neither would ever be collected.
                loop = contextvars.Context().run(asyncio.new_event_loop)
                thread = threading.Thread(target=_serve, args=(loop,), name="asyncguard-portal", daemon=True)
                thread.start()
                weakref.finalize(self, _stop, loop, thread)
                self._loop = loop
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        _run_until_stopped(loop)
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
    finally:
        loop.close()


def _run_until_stopped(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop on where a task wants to end the interpreter: whoever waits for the task gets that, and ends it."""
    while True:
        with contextlib.suppress(SystemExit, KeyboardInterrupt):
            loop.run_forever()
            return


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(loop.stop)
    if thread is not threading.current_thread():
        thread.join(timeout=5)
