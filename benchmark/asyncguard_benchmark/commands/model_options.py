"""Arguments about real models, for every command that plays: which, how fast, for how much."""

import argparse
import json
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncguard_benchmark.harness.models.play import Asking
    from asyncguard_benchmark.harness.models.spec import ModelSpec
    from asyncguard_benchmark.harness.models.usage import Price


def add_model_arguments(made: Any) -> None:
    """Add the arguments, as a group of their own."""
    group = made.add_argument_group("real models")
    group.add_argument(
        "--model", metavar="NAME", help="provider:model, for example openai:gpt-4.1-mini"
    )
    group.add_argument(
        "--base-url", metavar="URL", help="a server that speaks the provider's wire format"
    )
    group.add_argument("--temperature", type=float, metavar="T", help="sampling temperature")
    group.add_argument("--top-p", type=float, metavar="P", help="nucleus sampling")
    group.add_argument(
        "--max-tokens", type=int, metavar="N", help="most output tokens of one answer"
    )
    group.add_argument(
        "--reasoning-effort", metavar="WORD", help="low, medium, high, or what the provider knows"
    )
    add_model_option(group, "any other option")
    group.add_argument("--requests-per-minute", type=_above_zero, metavar="N", help="rate limit")
    group.add_argument(
        "--tokens-per-minute", type=_above_zero, metavar="N", help="rate limit, input and output"
    )
    group.add_argument(
        "--dry-run", action="store_true", help="estimate tokens and cost, and ask nothing"
    )
    group.add_argument(
        "--prices", type=Path, metavar="FILE", help="JSON: dollars for a million tokens by model"
    )
    group.add_argument(
        "--max-cost", type=_above_zero, metavar="USD", help="most that the whole file may cost"
    )


def add_model_option(made: Any, text: str) -> None:
    """Add `--model-option`, which may be given several times.

    Args:
        made: A parser or a group of one.
        text: The line of the help.
    """
    made.add_argument(
        "--model-option", type=_option, action="append", default=[], metavar="NAME=VALUE", help=text
    )


def model_of(options: Namespace) -> "ModelSpec | None":
    """Return the model that the arguments name, or None.

    Raises:
        ModelError: the name is none.
    """
    from asyncguard_benchmark.harness.models.spec import ModelSpec  # noqa: PLC0415 - help must not load LangChain

    if options.model is None:
        return None
    given = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "max_tokens": options.max_tokens,
        "reasoning_effort": options.reasoning_effort,
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    return ModelSpec(
        name=options.model,
        base_url=options.base_url,
        options={**chosen, **dict(options.model_option)},
    )


def price_for(options: Namespace) -> "Price | None":
    """Return the price of the model, None if no file was given.

    Raises:
        PriceError: the file is broken or does not know the model, or a cost limit has no file.
    """
    from asyncguard_benchmark.harness.models.usage import PriceError, price_of, read_prices  # noqa: PLC0415

    if options.prices is None:
        if options.max_cost is not None:
            raise PriceError("--max-cost needs --prices FILE: without prices no cost is known")
        return None
    prices = read_prices(options.prices)
    price = price_of(prices, options.model)
    if price is None:
        raise PriceError(
            f"{options.prices} has no price for {options.model}; it knows {', '.join(prices) or 'none'}"
        )
    return price


def asking_of(options: Namespace, spent: float) -> "Asking":
    """Return quota and budget.

    Args:
        options: The command line.
        spent: Dollars that the file has cost so far.
    """
    from asyncguard_benchmark.harness.models.metered import Budget  # noqa: PLC0415
    from asyncguard_benchmark.harness.models.play import Asking  # noqa: PLC0415
    from asyncguard_benchmark.harness.models.quota import Quota  # noqa: PLC0415

    quota = Quota(
        requests_per_minute=options.requests_per_minute, tokens_per_minute=options.tokens_per_minute
    )
    return Asking(quota=quota, budget=Budget(price_for(options), options.max_cost, spent))


def check_model_options(options: Namespace) -> None:
    """Refuse options that would silently do nothing.

    Raises:
        ModelError: an option about a model is given and no model.
    """
    from asyncguard_benchmark.harness.models.spec import ModelError  # noqa: PLC0415

    if options.model is not None:
        return
    idle: Mapping[str, Any] = {
        "--base-url": options.base_url,
        "--temperature": options.temperature,
        "--top-p": options.top_p,
        "--max-tokens": options.max_tokens,
        "--reasoning-effort": options.reasoning_effort,
        "--model-option": options.model_option,
        "--requests-per-minute": options.requests_per_minute,
        "--tokens-per-minute": options.tokens_per_minute,
        "--dry-run": options.dry_run,
        "--prices": options.prices,
        "--max-cost": options.max_cost,
    }
    given = [name for name, value in idle.items() if value]
    if given:
        raise ModelError(f"{', '.join(given)}: without --model provider:name this means nothing")


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _above_zero(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not value > 0:
        raise argparse.ArgumentTypeError(f"must be a number above zero, not {text!r}")
    return value
