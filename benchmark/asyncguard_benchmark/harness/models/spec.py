"""Specification of a model: everything about it that belongs to the name of an episode."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel

from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.scenario import Composition

CLIENT_RETRIES = 5
"""Repeats of a refused or lost request by a provider's client itself, unless the options say
otherwise."""


class ModelError(BenchmarkError):
    """A model cannot be made: its integration is not installed, or its options are wrong."""


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """A model by name, as ``langchain.chat_models.init_chat_model`` takes it."""

    name: str
    """``provider:model``."""
    base_url: str | None = None
    """Address of a service that speaks the provider's wire format; None for the provider's own."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Sampling and the like, by the integration's names; all of them are part of an episode's name. No secrets."""

    def __post_init__(self) -> None:
        provider, _, model = self.name.partition(":")
        if not provider or not model:
            raise ModelError(
                f"{self.name!r} is not a model name: say provider:model, for example openai:gpt-4.1-mini"
            )

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return the settings of the agent that an episode records."""
        address = {} if self.base_url is None else {"base_url": self.base_url}
        return {"model": self.name, **address, **self.options}

    @property
    def label(self) -> str:
        """Name and options as one name."""
        return ",".join(
            [self.name, *(f"{key}={_shown(value)}" for key, value in sorted(self.options.items()))]
        )

    def client(self) -> BaseChatModel:
        """Return a client of the model; keys come from the provider's environment variables.

        Raises:
            ModelError: the integration is not installed or refuses the options.
        """
        address = {} if self.base_url is None else {"base_url": self.base_url}
        options: dict[str, Any] = {"max_retries": CLIENT_RETRIES, **address, **self.options}
        try:
            made = init_chat_model(self.name, **options)
        except Exception as problem:
            raise ModelError(
                f"{self.name} cannot be made: {type(problem).__name__}: {problem}"
            ) from problem
        if not isinstance(made, BaseChatModel):
            raise ModelError(f"{self.name} is not a chat model")
        return made

    def make(self, composition: Composition, seed: int) -> BaseChatModel:
        """Return a client; composition and seed mean nothing to a model."""
        return self.client()


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
