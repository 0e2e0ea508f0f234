"""Worker processes that end with the process that started them.

A worker of the standard library waits for its next job on a pipe that it holds open itself, so it would wait for ever
if the process that gives the jobs were killed.
"""

import gc
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

_THRESHOLD = 10_000
"""New objects between two collections of the garbage of a worker."""


def worker_pool(
    jobs: int, prepare: Callable[..., Any] | None = None, *arguments: Any
) -> ProcessPoolExecutor:
    """Return a pool of fresh processes; a fork would copy the locks of threads that are not there any more.

    Args:
        jobs: Number of processes.
        prepare: Called in each process before its first job.
        arguments: Arguments of the call.
    """
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(
        jobs, mp_context=context, initializer=_begin, initargs=(prepare, *arguments)
    )


@contextmanager
def shared_pool(jobs: int, open_pool: Executor | None = None) -> Iterator[Executor | None]:
    """Yield a pool for several rounds of work, or None for one job at a time, which needs no process of its own.

    Processes start with the first work they get; a fresh one imports for two seconds. Work that is not begun when the
    block is left is cancelled.

    Args:
        jobs: Number of processes.
        open_pool: A pool of the caller, which is yielded instead and left open.
    """
    if open_pool is not None or jobs == 1:
        yield open_pool
        return
    with worker_pool(jobs) as pool:
        try:
            yield pool
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _begin(prepare: Callable[..., Any] | None, *arguments: Any) -> None:
    threading.Thread(target=_end_with_parent, name="end-with-parent", daemon=True).start()
    if prepare is not None:
        prepare(*arguments)
    # Imported modules stay: looking through them at each collection takes a tenth of an episode.
    gc.collect()
    gc.freeze()
    gc.set_threshold(_THRESHOLD, 20, 50)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)  # the result of the job at hand is lost anyway
