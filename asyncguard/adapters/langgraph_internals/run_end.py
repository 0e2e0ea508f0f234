"""End of a run, in whichever way: functions are called with it, and it comes whole."""

import asyncio
import contextlib
import gc
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from types import AsyncGeneratorType
from typing import Any

from asyncguard.adapters.langgraph_internals.run import Run
from asyncguard.runtime.clock import running_loop

_PATIENCE = 5.0
"""Seconds that the end of a run without a loop waits for one."""
_UNWINDING: set[asyncio.Task[Any]] = set()
"""Ends of runs that are under way; the event loop alone would not keep them."""


def when_over(run: Run, act: Callable[..., object], *arguments: Any) -> None:
    """Call a function when a run ends in any way: result, interrupt, error, cancellation, close.

    Why: there is no event for it, and a node does not see the end. Without the stack a claim would
    outlive its run; an ``AttributeError`` comes first.
    """
    run.stack.callback(act, *arguments)  # type: ignore[attr-defined]


def before_over(run: Run, act: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Have the end of a run, in any way, wait for a coroutine on the loop of its node.

    Why: see :func:`when_over`. What was passed here or there first comes last.
    """
    stack = run.stack  # type: ignore[attr-defined]
    if isinstance(stack, AsyncExitStack):
        stack.push_async_callback(act)
    else:
        stack.callback(_wait_from_thread, asyncio.get_running_loop(), act)


def _wait_from_thread(
    loop: asyncio.AbstractEventLoop, act: Callable[[], Coroutine[Any, Any, None]]
) -> None:
    # Garbage collection may close a stream anywhere: on that very loop, or when it has ended.
    if running_loop() is not loop and loop.is_running():
        with contextlib.suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(act(), loop).result(_PATIENCE)


def when_over_with(run: Run, act: Callable[[BaseException | None], object]) -> None:
    """Call a function with the exception that ended a run, ``None`` for any other end.

    Why: see :func:`when_over`.
    """

    def ended(_: object, error: BaseException | None, __: object) -> None:
        act(error)

    run.stack.push(ended)  # type: ignore[attr-defined]


def end_whole(run: Run, act: Callable[..., object], *arguments: Any) -> None:
    """Have a run come to its end even if it is cancelled again and again, as anyio does.

    Why: LangGraph ends a run in a task of its own and waits for it, and a cancellation of the wait
    cancels that task, perhaps before its first step. Without the function a client that goes away
    leaves the nodes running, and the thread claimed, for as long as the process lives.

    Args:
        run: LangGraph's run.
        act: Called once no node of the run is running and all that it has put is stored, which is
            later than :func:`when_over`.
        arguments: Of that function.
    """
    stack = run.stack  # type: ignore[attr-defined]
    unwind: Any = stack.__aexit__ if isinstance(stack, AsyncExitStack) else stack.__exit__
    whole = False

    def leave(*error: Any) -> bool | None:
        nonlocal whole
        whole = True
        try:
            return unwind(*error)  # type: ignore[no-any-return]
        finally:
            act(*arguments)

    async def leave_on_loop(*error: Any) -> bool | None:
        try:
            return await unwind(*error)  # type: ignore[no-any-return]
        finally:
            act(*arguments)

    def leave_whole(*error: Any) -> Coroutine[Any, Any, bool | None]:
        nonlocal whole
        whole = True
        ends = asyncio.create_task(leave_on_loop(*error))
        _UNWINDING.add(ends)
        ends.add_done_callback(_unwound)
        return _shielded(ends)

    def leave_unasked() -> None:
        # A run that is cancelled while its first node is about to begin unwinds as it would have
        # without that node.
        if whole:
            return
        task = asyncio.current_task() if isinstance(stack, AsyncExitStack) else None
        if task is None:
            act(*arguments)
        else:
            task.add_done_callback(lambda _: act(*arguments))

    stack.callback(leave_unasked)
    if isinstance(stack, AsyncExitStack):
        stack.__aexit__ = leave_whole  # type: ignore[method-assign]
    else:
        stack.__exit__ = leave


async def end_abandoned(run: Run, living: Run) -> bool:
    """End a run that LangGraph has left without unwinding it; call it in a task of its own.

    Why: the task in which LangGraph unwinds a run may be cancelled before its first step, as anyio
    cancels at every step. The first node then begins, claims the thread, and nothing follows.

    Args:
        run: The run in question, on this event loop.
        living: The run that asks. LangGraph's generator refers to it; if that cannot be seen,
            nothing is known of the other run either. It can be seen while the generator waits, so
            from another task.

    Returns:
        True if the run is ending now.
    """
    if not isinstance(run.stack, AsyncExitStack):  # type: ignore[attr-defined]
        return False
    if _is_driven(run) or not _is_driven(living):
        return False
    ends = asyncio.ensure_future(run.stack.__aexit__(None, None, None))  # type: ignore[attr-defined]
    _UNWINDING.add(ends)
    ends.add_done_callback(_unwound)
    return True


def _is_driven(run: Run) -> bool:
    return any(isinstance(each, AsyncGeneratorType) for each in gc.get_referrers(run))


def _unwound(ends: asyncio.Task[Any]) -> None:
    _UNWINDING.discard(ends)
    if not ends.cancelled():
        ends.exception()  # the run raises it, if anything still waits for that


async def _shielded(ends: asyncio.Task[bool | None]) -> bool | None:
    return await asyncio.shield(ends)
