"""Estimate of a run's usage, before a model is asked.

The estimate is that of simulated agents which make no mistake: the oracle, which takes the fewest rounds there are, and
the serial agent, which waits for every result. A model that errs takes more. Tokens are characters divided by
`CHARACTERS_PER_TOKEN`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from asyncguard_benchmark.harness.agents.plan import plan_of
from asyncguard_benchmark.harness.agents.schedulers import OracleAgent, SerialAgent
from asyncguard_benchmark.harness.agents.simulated import SimulatedAgent
from asyncguard_benchmark.harness.campaign import Cell, play
from asyncguard_benchmark.harness.models.usage import Price, Usage, tokens_in
from asyncguard_benchmark.harness.protocol.surfaces import native_tools
from asyncguard_benchmark.harness.scenario import Surface

_KINDS: Mapping[str, type[SimulatedAgent]] = {"oracle": OracleAgent, "serial": SerialAgent}


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Estimated usage of some episodes if the model were this agent."""

    agent: str
    usage: Usage
    """With every repeated beginning of a conversation counted as cached."""
    dollars: float | None
    """With caching; None without a price."""
    dollars_uncached: float | None


def estimate(cells: Sequence[Cell], price: Price | None) -> list[Estimate]:
    """Return one estimate for each of the two agents.

    Args:
        cells: Episodes that would be played.
        price: Of the model; None if unknown.
    """
    return [_estimate(cells, price, name) for name in _KINDS]


def _estimate(cells: Iterable[Cell], price: Price | None, name: str) -> Estimate:
    usage = Usage()
    for cell in cells:
        agent = _KINDS[name](plan=plan_of(cell.composition), name=name)
        usage += usage_in(play(cell, agent=agent).episode.messages, _tools(cell))
    return priced(name, usage, price)


def priced(agent: str, usage: Usage, price: Price | None) -> Estimate:
    """Return the estimate for some usage.

    Args:
        agent: Name of the agent whose usage it is.
        usage: Its usage, with what repeats counted as cached.
        price: Of the model; None if unknown.
    """
    cold = replace(usage, cached_tokens=0)
    return Estimate(
        agent=agent,
        usage=usage,
        dollars=None if price is None else price.cost(usage),
        dollars_uncached=None if price is None else price.cost(cold),
    )


def _tools(cell: Cell) -> int:
    native = cell.condition.surface is Surface.NATIVE
    return tokens_in(json.dumps(native_tools(cell.composition))) if native else 0


def usage_in(messages: Sequence[Mapping[str, Any]], before: int) -> Usage:
    """Return the usage of a conversation: every answer is asked for with all that stands before it.

    Args:
        messages: The conversation, in the form that episodes save.
        before: Tokens that every request begins with: tools, and messages that were not asked for.
    """
    usage, cached = Usage(), 0
    for message in messages:
        size = tokens_in(message["content"]) + tokens_in(message.get("tool_calls") or "")
        if message["role"] == "assistant":
            usage += Usage(calls=1, input_tokens=before, cached_tokens=cached, output_tokens=size)
            cached = before
        before += size
    return usage
