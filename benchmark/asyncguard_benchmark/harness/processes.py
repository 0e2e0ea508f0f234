"""Worker processes that end with the process that started them.

A worker of the standard library waits for its next job on a pipe that it holds open itself, so it would wait for ever
if the process that gives the jobs were killed.
"""

import multiprocessing
import os
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any


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


def _begin(prepare: Callable[..., Any] | None, *arguments: Any) -> None:
    threading.Thread(target=_end_with_parent, name="end-with-parent", daemon=True).start()
    if prepare is not None:
        prepare(*arguments)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)  # the result of the job at hand is lost anyway
