"""Play of episodes with real models: several at once, under one quota and budget, and failures kept apart."""

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from itertools import islice

from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.campaign import Cell, Failed, Played, key_of, play
from asyncguard_benchmark.harness.models.metered import (
    Budget,
    BudgetExhaustedError,
    InfrastructureError,
    MeteredModel,
    Record,
)
from asyncguard_benchmark.harness.models.quota import Quota
from asyncguard_benchmark.harness.sandbox import SandboxError

MOST_FAILURES = 5
"""Failures in a row after which a run stops: a wrong key or address fails every time."""


class ModelUnreachableError(BenchmarkError):
    """So many episodes failed in a row that the next ones would, too."""


@dataclass(frozen=True, kw_only=True)
class Asking:
    """Quota and budget that all episodes of a run share."""

    quota: Quota
    budget: Budget

    def play(self, cell: Cell) -> Played | Failed:
        """Play one episode with the cell's model.

        Raises:
            BudgetExhaustedError: it would cost more than is left.
        """
        try:
            return self.played(cell)
        except (InfrastructureError, SandboxError) as problem:
            return Failed(key=key_of(cell), error=str(problem))

    def played(self, cell: Cell) -> Played:
        """Play one episode with the cell's model.

        Raises:
            BudgetExhaustedError: it would cost more than is left.
            InfrastructureError: the model could not be asked.
        """
        condition, record = cell.condition, Record()
        model = MeteredModel(
            name=condition.agent.label,
            inner=condition.agent.make(cell.composition, condition.seed),
            quota=self.quota,
            budget=self.budget,
            record=record,
        )
        played = play(cell, agent=model)
        usage = record.to_json(self.budget.cost(record.usage))
        episode = replace(played.episode, settings={**played.episode.settings, "usage": usage})
        return replace(played, episode=episode)


def play_models(cells: Iterable[Cell], asking: Asking, jobs: int) -> Iterator[Played | Failed]:
    """Play episodes on threads, as they finish; waiting for answers is all that takes time.

    Args:
        cells: Episodes to play.
        asking: Quota and budget.
        jobs: Episodes at once.

    Raises:
        BudgetExhaustedError: the budget is spent; what was under way and could be finished has been yielded.
        ModelUnreachableError: too many episodes failed in a row.
    """
    todo = iter(cells)
    ended: BudgetExhaustedError | None = None
    failures = 0
    with ThreadPoolExecutor(jobs, thread_name_prefix="episode") as pool:
        running: set[Future[Played | Failed]] = {
            pool.submit(asking.play, cell) for cell in islice(todo, jobs)
        }
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                try:
                    outcome = future.result()
                except BudgetExhaustedError as problem:
                    ended = problem
                    continue
                failures = failures + 1 if isinstance(outcome, Failed) else 0
                yield outcome
                if isinstance(outcome, Failed) and failures >= MOST_FAILURES:
                    raise ModelUnreachableError(
                        f"{failures} episodes in a row failed, the last with {outcome.error}"
                    )
            if ended is None:
                running |= {
                    pool.submit(asking.play, cell) for cell in islice(todo, jobs - len(running))
                }
    if ended is not None:
        raise ended
