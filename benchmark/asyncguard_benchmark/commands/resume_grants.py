"""Decide which arguments a results file may bring along when it is resumed.

A results file names the command that wrote it, and it may come from another person. An argument that can name a host, a
proxy, a header, a path or code is therefore taken only if it stands on the command line of `bench resume`, too. The
lists below say what needs no such word; every other argument, one that is added later included, needs it.
"""

import json
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from asyncguard_benchmark.harness.suites import registry

HARMLESS = frozenset(
    {
        "arms",
        "compliance",
        "compositions",
        "contract",
        "distractor_rate",
        "dry_run",
        "few_shot",
        "lucky_rate",
        "max_cost",
        "max_tokens",
        "member",
        "messages",
        "module",
        "players",
        "reasoning_effort",
        "regimes",
        "repeats",
        "requests_per_minute",
        "seeds",
        "suite",
        "surfaces",
        "temperature",
        "tokens_per_minute",
        "tools",
        "top_p",
    }
)
"""Arguments of `bench run` whose values are numbers or words of a fixed list."""
REPLACED = frozenset({"argv", "database_url", "jobs", "json", "out", "workers"})
"""Arguments that `bench resume` sets itself, whatever the file says."""
SAMPLING = frozenset(
    {
        "frequency_penalty",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_output_tokens",
        "max_retries",
        "max_tokens",
        "min_p",
        "num_ctx",
        "num_predict",
        "parallel_tool_calls",
        "presence_penalty",
        "random_seed",
        "reasoning",
        "reasoning_effort",
        "repetition_penalty",
        "seed",
        "service_tier",
        "stop",
        "stop_sequences",
        "streaming",
        "temperature",
        "thinking",
        "timeout",
        "top_k",
        "top_logprobs",
        "top_p",
        "use_responses_api",
        "verbosity",
    }
)
"""Values of `--model-option` that say how an answer is drawn; others may name a server, a proxy, headers or a class."""


def outside_words(asked: Namespace, standard: Namespace) -> list[tuple[str, str]]:
    """Return the arguments that reach outside this process, each as option and value.

    Args:
        asked: A command line of `bench run`.
        standard: The same without arguments, for the defaults.
    """
    return [
        (f"--{name.replace('_', '-')}", _word(value)) for name, value in _outside(asked, standard)
    ]


def _outside(asked: Namespace, standard: Namespace) -> Iterator[tuple[str, Any]]:
    for name, value in vars(asked).items():
        if name in HARMLESS or name in REPLACED or value == getattr(standard, name, None):
            continue
        for item in value if isinstance(value, list | tuple) else [value]:
            bundled = name == "agents" and (":" not in item or item in registry().personas)
            if not bundled and not (name == "model_option" and item[0] in SAMPLING):
                yield name, item


def _word(value: Any) -> str:
    match value:
        case (name, option):
            return f"{name}={option if isinstance(option, str) else json.dumps(option)}"
        case _:
            return str(value)
