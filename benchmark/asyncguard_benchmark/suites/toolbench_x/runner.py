"""Runner of many episodes of ToolBench-X, several at once, and reader of saved ones."""

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.models.metered import (
    BudgetExhaustedError,
    InfrastructureError,
    MeteredModel,
    Record,
)
from asyncguard_benchmark.harness.models.play import Asking
from asyncguard_benchmark.harness.models.spec import ModelSpec
from asyncguard_benchmark.harness.sandbox import SandboxError
from asyncguard_benchmark.suites.toolbench_x.download import Instance
from asyncguard_benchmark.suites.toolbench_x.play import Outcome, Playing, play
from asyncguard_benchmark.suites.toolbench_x.scorer import KEY


@dataclass(frozen=True, kw_only=True)
class Episode:
    """One task, played in one way."""

    instance: Instance
    playing: Playing


@dataclass(frozen=True, kw_only=True)
class Cast:
    """Model that plays, and the limits of its cost."""

    model: ModelSpec
    asking: Asking

    def play(self, episode: Episode) -> tuple[Outcome, Mapping[str, Any]]:
        """Play an episode.

        Returns:
            Its outcome, and the usage of the model.

        Raises:
            BudgetExhaustedError: it would cost more than is left.
            InfrastructureError: the model could not be asked.
            SandboxError: the module could not be loaded.
        """
        record = Record()
        metered = MeteredModel(
            name=self.model.label,
            inner=self.model.client(),
            quota=self.asking.quota,
            budget=self.asking.budget,
            record=record,
        )
        outcome = play(episode.instance, metered, episode.playing)
        return outcome, record.to_json(self.asking.budget.cost(record.usage))


def outcomes(
    cast: Cast, episodes: Sequence[Episode], jobs: int
) -> Iterator[tuple[Episode, tuple[Outcome, Mapping[str, Any]] | Exception]]:
    """Episodes as they finish; each has a process for its tools, and its thread does little but wait for the model.

    Raises:
        BudgetExhaustedError: the budget is spent; what was under way and could be finished has been yielded.
    """
    todo = iter(episodes)
    ended: BudgetExhaustedError | None = None
    with ThreadPoolExecutor(jobs, thread_name_prefix="episode") as pool:
        running = {pool.submit(cast.play, each): each for each in islice(todo, jobs)}
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                episode = running.pop(future)
                try:
                    yield episode, future.result()
                except (InfrastructureError, SandboxError) as problem:
                    yield episode, problem
                except BudgetExhaustedError as problem:
                    ended = problem
                if ended is None:
                    running |= {pool.submit(cast.play, each): each for each in islice(todo, 1)}
    if ended is not None:
        raise ended


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file of results, none if there is no file.

    Raises:
        DataError: a line does not hold a row.
    """
    rows = []
    for number, line in enumerate(
        path.read_text(encoding="utf-8").splitlines() if path.exists() else (), 1
    ):
        try:
            row = json.loads(line)
        except ValueError as problem:
            text = f"{problem}; expected a JSON object. Take the line away to have its episode played again"
            raise DataError(f"{path}, line {number}", text) from problem
        lacking = [
            name
            for name in (*KEY, "usage", "ending")
            if not isinstance(row, dict) or name not in row
        ]
        if lacking:
            raise DataError(f"{path}, line {number}", f"expected a row with {', '.join(lacking)}")
        rows.append(row)
    return rows
