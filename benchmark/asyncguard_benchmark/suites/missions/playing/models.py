"""Missions played by real models: asked under quota and budget, their use recorded, failures kept apart."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from asyncguard_benchmark.harness.episode import message_to_json
from asyncguard_benchmark.harness.models.estimate import Estimate, priced, usage_in
from asyncguard_benchmark.harness.models.metered import InfrastructureError
from asyncguard_benchmark.harness.models.play import Asking, at_once
from asyncguard_benchmark.harness.models.usage import Price, Usage, tokens_in
from asyncguard_benchmark.harness.sandbox import SandboxError
from asyncguard_benchmark.suites.missions.played_rows import LostRun
from asyncguard_benchmark.suites.missions.playing.grid import Cell, play
from asyncguard_benchmark.suites.missions.playing.plain import schemas_of

_ESTIMATED_BY = ("oracle", "serial")
"""Agents without a mistake: the one takes the fewest messages there are, the other one for each call."""


def play_models(
    cells: Iterable[Cell], asking: Asking, jobs: int
) -> Iterator[dict[str, Any] | LostRun]:
    """Play runs of models on threads, and yield the row of each or what ended it.

    Args:
        cells: Runs; each has a model.
        asking: Quota and budget.
        jobs: Runs at once.

    Raises:
        BudgetExhaustedError: the budget is spent; what was under way and could be finished has been yielded.
        ModelUnreachableError: too many runs failed in a row.
        ModelError: the client of a model cannot be made.
    """

    def error(outcome: dict[str, Any] | LostRun) -> str | None:
        return outcome.error if isinstance(outcome, LostRun) else None

    return at_once(cells, lambda cell: _play(cell, asking), error, jobs)


def _play(cell: Cell, asking: Asking) -> dict[str, Any] | LostRun:
    if cell.model is None:
        raise ValueError(f"{cell.agent} is a simulated agent")
    model = asking.metered(cell.agent, cell.model.client())
    try:
        row = play(cell, model)
    except InfrastructureError as problem:
        return LostRun(key=cell.key, error=str(problem))
    if isinstance(row, LostRun):
        return row
    return {**row, "model": dict(cell.model.settings), "usage": asking.usage(model)}


def estimates(cells: Sequence[Cell], price: Price | None) -> list[Estimate]:
    """Return what runs of a model would use if it worked like each of two agents that make no mistake.

    Args:
        cells: Runs of the model.
        price: Of the model; None if unknown.
    """
    return [_estimate(cells, price, name) for name in _ESTIMATED_BY]


def _estimate(cells: Iterable[Cell], price: Price | None, agent: str) -> Estimate:
    usage = Usage()
    for cell in cells:
        said = map(message_to_json, cell.case.opening())
        before = tokens_in(json.dumps(schemas_of(cell.case.stand)))
        before += sum(tokens_in(each["content"]) + _calls(each) for each in said)
        row = play(replace(cell, agent=agent, model=None))
        if isinstance(row, LostRun):
            raise SandboxError(f"{row.key.dialogue}: {row.error}")
        usage += usage_in(row["messages"], before)
    return priced(agent, usage, price)


def _calls(message: dict[str, Any]) -> int:
    return tokens_in(message["tool_calls"]) if "tool_calls" in message else 0
