"""Workers of a killed process."""

import os
import signal
import subprocess
import sys
import time

from asyncguard_benchmark.harness.processes import shared_pool

SCRIPT = """
import os, time
from asyncguard_benchmark.harness.processes import worker_pool
from tests.benchmark.test_processes import number

if __name__ == "__main__":
    with worker_pool(2) as pool:
        print(*sorted({each for each in pool.map(number, range(8))}), flush=True)
        time.sleep(600)
"""


def number(_: int) -> int:
    """The process that does the job; slow enough that every worker gets one."""
    time.sleep(0.2)
    return os.getpid()


def alive(process: int) -> bool:
    """Return True if a process is running; one that was not reaped does not count."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as file:  # noqa: PTH123 - a file of the kernel's
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_workers_end_with_the_process_that_started_them() -> None:
    """Killed without a chance to say goodbye: its idle workers are gone soon after."""
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        workers = [int(word) for word in parent.stdout.readline().split()]
        assert workers
        assert all(alive(each) for each in workers)
        parent.send_signal(signal.SIGKILL)
    until = time.monotonic() + 30
    while any(alive(each) for each in workers) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(alive(each) for each in workers)


def test_several_rounds_of_work_share_their_processes() -> None:
    """Also within a block that is given the pool, which stays open after it; one job has none."""
    with shared_pool(1) as outer:
        assert outer is None
    with shared_pool(2) as outer:
        assert outer is not None
        before = set(outer.map(number, range(4)))
        with shared_pool(2, outer) as inner:
            assert inner is outer
        after = set(outer.map(number, range(4)))
    assert os.getpid() not in before
    assert len(before | after) <= 2
