"""Usage of model calls, as the provider reports it, and its cost."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.json_lines import whole_content

CHARACTERS_PER_TOKEN = 4
"""For estimates before a call, and where a provider tells no counts."""
_MILLION = 1_000_000


class PriceError(BenchmarkError):
    """A price file cannot be used."""


@dataclass(frozen=True, kw_only=True)
class Price:
    """US dollars for a million tokens."""

    input: float
    output: float
    cached_input: float | None = None
    """None: cached tokens cost what others do."""

    def cost(self, usage: "Usage") -> float:
        """Return the dollars for what was used."""
        cached = self.input if self.cached_input is None else self.cached_input
        fresh = usage.input_tokens - usage.cached_tokens
        return (
            fresh * self.input + usage.cached_tokens * cached + usage.output_tokens * self.output
        ) / _MILLION


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Tokens of some model calls."""

    calls: int = 0
    input_tokens: int = 0
    """Cached ones included."""
    cached_tokens: int = 0
    output_tokens: int = 0
    """Reasoning included."""
    reasoning_tokens: int = 0
    estimated_calls: int = 0
    """Calls of which the provider told no counts; theirs are estimated from the length of the text."""

    def __add__(self, other: "Usage") -> "Usage":
        """Return the sum of both usages."""
        return Usage(**{name: count + getattr(other, name) for name, count in asdict(self).items()})

    @property
    def tokens(self) -> int:
        """All tokens."""
        return self.input_tokens + self.output_tokens


def tokens_in(value: Any) -> int:
    """Return roughly how many tokens a text or JSON value has."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def prompt_tokens(messages: Sequence[BaseMessage], tools: Any = None) -> int:
    """Return roughly how many tokens a request has."""
    said = sum(
        tokens_in(message.content) + tokens_in(getattr(message, "tool_calls", None) or "")
        for message in messages
    )
    return said + (tokens_in(tools) if tools else 0)


def usage_of(said: AIMessage, prompt: int) -> Usage:
    """Return the usage of one answer.

    Args:
        said: The answer.
        prompt: The estimate of the request, for a provider that tells no counts.
    """
    told = said.usage_metadata
    if told is None:
        output = tokens_in(said.content) + tokens_in(said.tool_calls or "")
        return Usage(calls=1, input_tokens=prompt, output_tokens=output, estimated_calls=1)
    return Usage(
        calls=1,
        input_tokens=told["input_tokens"],
        cached_tokens=told.get("input_token_details", {}).get("cache_read", 0),
        output_tokens=told["output_tokens"],
        reasoning_tokens=told.get("output_token_details", {}).get("reasoning", 0),
    )


def read_prices(path: Path) -> dict[str, Price]:
    """Prices by model name, from a JSON file such as ``{"gpt-4.1": {"input": 2, "cached_input": 0.5, "output": 8}}``.

    Raises:
        PriceError: the file cannot be read or says something else.
    """
    try:
        value = json.loads(whole_content(path).decode())
        return {name: _price(each) for name, each in value.items()}
    except (OSError, ValueError, TypeError, AttributeError) as problem:
        raise PriceError(
            f"{path}: {problem}; a price file holds dollars for a million tokens by model name: "
            '{"gpt-4.1": {"input": 2, "cached_input": 0.5, "output": 8}}'
        ) from problem


def _price(value: Mapping[str, Any]) -> Price:
    price = Price(**value)
    for name, amount in asdict(price).items():
        if amount is not None and (
            isinstance(amount, bool) or not isinstance(amount, int | float) or amount < 0
        ):
            raise ValueError(f"{name} is {amount!r}, not a number of dollars")
    return price


def price_of(prices: Mapping[str, Price], model: str) -> Price | None:
    """Return the price of ``provider:model``, by that name or without the provider."""
    return prices.get(model) or prices.get(model.partition(":")[2])


def total(usages: Iterable[Usage]) -> Usage:
    """Return the sum of several usages."""
    return sum(usages, Usage())
