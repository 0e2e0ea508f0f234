"""Tasks with chained slow calls, and how long they must take: bounds and schedules in virtual time.

A model turn takes `model` seconds and may act on every result that was there when it began.
"""

import heapq
import math
import random
from collections.abc import Iterable
from dataclasses import dataclass

LOGNORMAL_SIGMA = 1.0


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Independent tasks, each a chain: a call's argument is the result of the one before it."""

    tool: tuple[tuple[float, ...], ...]
    """Seconds of every call, by task and link; every task has as many links."""
    model: float
    """Seconds of a model turn."""

    @property
    def tasks(self) -> int:
        """Return the number of tasks."""
        return len(self.tool)

    @property
    def links(self) -> int:
        """Return the number of calls in a task."""
        return len(self.tool[0])

    def critical_path(self) -> float:
        """Return the seconds of the longest task, with a turn before each call, and of the final turn."""
        return max(self._alone(calls) for calls in self.tool) + self.model

    def sequential(self) -> float:
        """Return the seconds if one task follows the other, each with a final turn."""
        return sum(self._alone(calls) + self.model for calls in self.tool)

    def barrier(self) -> float:
        """Return the seconds if every turn calls for all tasks and the next one waits for all results."""
        links: Iterable[tuple[float, ...]] = zip(*self.tool, strict=True)
        return sum(self.model + max(calls) for calls in links) + self.model

    def asynchronous(self) -> float:
        """Seconds if a turn begins as soon as any result is there, and nothing but model and tools takes time."""
        now = 0.0
        links = [0] * self.tasks
        pending: list[tuple[float, int]] = []
        ready = list(range(self.tasks))
        while ready:
            now += self.model
            for task in ready:
                if links[task] < self.links:
                    heapq.heappush(pending, (now + self.tool[task][links[task]], task))
                    links[task] += 1
            ready = []
            if pending:
                now = max(now, pending[0][0])
            while pending and pending[0][0] <= now:
                ready.append(heapq.heappop(pending)[1])
        return now

    def _alone(self, calls: tuple[float, ...]) -> float:
        return sum(calls) + len(calls) * self.model


def fixed(*, tasks: int, links: int, tool: float, model: float) -> Workload:
    """Return a workload in which every call takes the same time."""
    return Workload(tool=((tool,) * links,) * tasks, model=model)


def lognormal(*, tasks: int, links: int, tool: float, model: float, seed: int) -> Workload:
    """Return a workload whose calls take `tool` seconds on average, with a long tail; equal seeds, equal latencies."""
    draw = random.Random(seed)
    mu = math.log(tool) - LOGNORMAL_SIGMA * LOGNORMAL_SIGMA / 2
    latencies = tuple(
        tuple(draw.lognormvariate(mu, LOGNORMAL_SIGMA) for _ in range(links)) for _ in range(tasks)
    )
    return Workload(tool=latencies, model=model)
