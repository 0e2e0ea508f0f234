"""Play of episodes with real models: several at once, under one quota and budget, and failures kept apart."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import islice
from typing import Any, TypeVar

from langchain_core.language_models import BaseChatModel

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

_Cell = TypeVar("_Cell")
_Outcome = TypeVar("_Outcome")
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

    def metered(self, name: str, inner: BaseChatModel) -> MeteredModel:
        """Return a model that is asked under quota and budget, with a record of its own.

        Args:
            name: Name of the model.
            inner: Its client.
        """
        return MeteredModel(
            name=name, inner=inner, quota=self.quota, budget=self.budget, record=Record()
        )

    def usage(self, model: MeteredModel) -> dict[str, Any]:
        """Return what a metered model has used, as an episode saves it."""
        return model.record.to_json(self.budget.cost(model.record.usage))

    def played(self, cell: Cell) -> Played:
        """Play one episode with the cell's model.

        Raises:
            BudgetExhaustedError: it would cost more than is left.
            InfrastructureError: the model could not be asked.
        """
        condition = cell.condition
        inner = condition.agent.make(cell.composition, condition.seed)
        model = self.metered(condition.agent.label, inner)
        played = play(cell, agent=model)
        settings = {**played.episode.settings, "usage": self.usage(model)}
        episode = replace(played.episode, settings=settings)
        return replace(played, episode=episode)


def play_models(cells: Iterable[Cell], asking: Asking, jobs: int) -> Iterator[Played | Failed]:
    """Play episodes on threads; see `at_once`."""

    def error(outcome: Played | Failed) -> str | None:
        return outcome.error if isinstance(outcome, Failed) else None

    return at_once(cells, asking.play, error, jobs)


def at_once(
    todo: Iterable[_Cell],
    play: Callable[[_Cell], _Outcome],
    error: Callable[[_Outcome], str | None],
    jobs: int,
) -> Iterator[_Outcome]:
    """Play episodes on threads, as they finish; waiting for answers is all that takes time.

    Args:
        todo: Episodes to play.
        play: Plays one of them.
        error: Says why an episode failed; None if it did not.
        jobs: Episodes at once.

    Raises:
        BudgetExhaustedError: the budget is spent; what was under way and could be finished has been yielded.
        ModelUnreachableError: too many episodes failed in a row.
    """
    # OpenAI's client looks at sys.modules["httpx"] at every request, without the lock of the import. The first player
    # with a runtime imports it in the thread that it plays in, and the requests of the other threads failed meanwhile.
    import_module("httpx")
    left = iter(todo)
    ended: BudgetExhaustedError | None = None
    failures = 0
    with ThreadPoolExecutor(jobs, thread_name_prefix="episode") as pool:
        running: set[Future[_Outcome]] = {pool.submit(play, each) for each in islice(left, jobs)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                try:
                    outcome = future.result()
                except BudgetExhaustedError as spent:
                    ended = spent
                    continue
                problem = error(outcome)
                failures = 0 if problem is None else failures + 1
                yield outcome
                if failures >= MOST_FAILURES:
                    raise ModelUnreachableError(
                        f"{failures} episodes in a row failed, the last with {problem}"
                    )
            if ended is None:
                running |= {pool.submit(play, each) for each in islice(left, jobs - len(running))}
    if ended is not None:
        raise ended
