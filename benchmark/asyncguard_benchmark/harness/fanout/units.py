"""Units of an ablation on workers: a thread each decides what is to be played, workers play it."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from asyncguard_benchmark.harness.ablation.units import Task, UnitResult, play_unit
from asyncguard_benchmark.harness.fanout.pool import WorkerPool


def play_units_on(pool: WorkerPool, tasks: Sequence[Task]) -> Iterator[UnitResult]:
    """Play units, in the order given.

    Args:
        pool: The workers.
        tasks: Units to play.

    Raises:
        WorkersError: workers cannot be reached, are of another version, or end again and again.
    """
    with ThreadPoolExecutor(pool.settings.in_flight, thread_name_prefix="unit") as threads:
        try:
            yield from threads.map(partial(play_unit, player=pool.play), tasks)
        except BaseException:
            # An interrupted run waits for its threads, and they must not wait for episodes of no
            # use.
            pool.give_up()
            raise
