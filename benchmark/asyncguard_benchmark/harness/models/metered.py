"""A model that is asked under quota and budget, and whose use is recorded."""

import asyncio
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable
from pydantic import SkipValidation
from typing_extensions import override

from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.chat_model import DelegatingChatModel
from asyncguard_benchmark.harness.models.money import dollars
from asyncguard_benchmark.harness.models.quota import Quota
from asyncguard_benchmark.harness.models.usage import Price, Usage, prompt_tokens, usage_of

ASSUMED_OUTPUT = 500
"""Output tokens that a call is taken to use before it has answered."""


class InfrastructureError(BenchmarkError):
    """The model could not be asked: no fault of what is measured, so the episode counts for nothing."""


class BudgetExhaustedError(BenchmarkError):
    """The next request could cost more than is left."""


class Budget:
    """Dollars that may be spent, shared by everything that asks; without a price or a limit it only counts."""

    def __init__(
        self, price: Price | None = None, limit: float | None = None, spent: float = 0.0
    ) -> None:
        """Start with what was spent before.

        Args:
            price: Of the model; None if unknown.
            limit: Most that may be spent in all, with `spent`.
            spent: Dollars that earlier runs of the same file have spent.

        Raises:
            ValueError: there is a limit and no price.
        """
        if limit is not None and price is None:
            raise ValueError("a cost limit needs a price")
        self._price = price
        self._limit = limit
        self._spent = spent
        self._reserved = 0.0
        self._lock = threading.Lock()

    @property
    def spent(self) -> float:
        """Dollars so far."""
        return self._spent

    def reserve(self, prompt: int) -> float:
        """Set aside what a request of this many tokens may cost.

        Raises:
            BudgetExhaustedError: it could go beyond the limit.
        """
        if self._price is None:
            return 0.0
        amount = self._price.cost(Usage(input_tokens=prompt, output_tokens=ASSUMED_OUTPUT))
        with self._lock:
            if self._limit is not None and self._spent + self._reserved + amount > self._limit:
                raise BudgetExhaustedError(
                    f"${dollars(self._spent, 4)} of ${dollars(self._limit, 4)} are spent, "
                    f"and the next request may cost ${dollars(amount, 4)}; "
                    "what is finished is saved: the same command with a larger --max-cost goes on"
                )
            self._reserved += amount
        return amount

    def settle(self, reserved: float, usage: Usage) -> None:
        """Give a reservation back and spend what was used."""
        with self._lock:
            self._reserved -= reserved
            if self._price is not None:
                self._spent += self._price.cost(usage)

    def cost(self, usage: Usage) -> float | None:
        """Return the dollars for some usage, None without a price."""
        return None if self._price is None else self._price.cost(usage)


@dataclass(kw_only=True)
class Record:
    """Usage of the calls of one episode."""

    usage: Usage = field(default_factory=Usage)
    models: dict[str, None] = field(default_factory=dict)
    """Snapshots that answered, as the provider names them, in order of first answer."""
    seconds: float = 0.0
    """Time spent waiting for answers."""

    def add(self, said: AIMessage, usage: Usage, seconds: float) -> None:
        """Count one answer."""
        self.usage += usage
        self.seconds += seconds
        told = said.response_metadata
        name = "/".join(
            str(told[key]) for key in ("model_name", "system_fingerprint") if told.get(key)
        )
        self.models.setdefault(name or "not told")

    def to_json(self, cost: float | None) -> dict[str, Any]:
        """Return the usage as an episode saves it."""
        return {
            **asdict(self.usage),
            "snapshots": list(self.models),
            "seconds": round(self.seconds, 3),
            "dollars": cost,
        }


class MeteredModel(DelegatingChatModel):
    """Model that passes requests on to another: waits for the quota, keeps to the budget, records the usage."""

    quota: SkipValidation[Quota]
    budget: SkipValidation[Budget]
    record: SkipValidation[Record]
    tools: SkipValidation[Sequence[Any]] = ()
    """Tools that were bound; counted as part of every prompt."""

    @override
    def bind_tools(
        self, tools: Sequence[Any], **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the same with tools bound to the model, and counted."""
        bound = super().bind_tools(tools, **kwargs)
        assert isinstance(bound, MeteredModel)
        return bound.model_copy(update={"tools": tools})

    @override
    def say(self, messages: list[BaseMessage]) -> AIMessage:
        """Return the model's answer, as soon as the quota allows it."""
        call = _Call(self, messages)
        time.sleep(call.wait)
        try:
            said = self.inner.invoke(messages)
        except Exception as problem:
            raise call.lost(problem) from problem
        return call.taken(said)

    @override
    async def asay(self, messages: list[BaseMessage]) -> AIMessage:
        """Return the same on an event loop."""
        call = _Call(self, messages)
        await asyncio.sleep(call.wait)
        try:
            # Not `ainvoke`: clients keep connections of the event loop they were first used in, and every episode has a
            # loop of its own.
            said = await asyncio.to_thread(self.inner.invoke, messages)
        except Exception as problem:
            raise call.lost(problem) from problem
        return call.taken(said)


class _Call:
    """One request under way."""

    def __init__(self, model: MeteredModel, messages: Sequence[BaseMessage]) -> None:
        self._model = model
        self._prompt = prompt_tokens(messages, model.tools)
        self._asked = self._prompt + ASSUMED_OUTPUT
        self._reserved = model.budget.reserve(self._prompt)
        self.wait = model.quota.ask(self._asked)
        self._started = time.monotonic() + self.wait

    def taken(self, said: AIMessage) -> AIMessage:
        usage = usage_of(said, self._prompt)
        self._model.quota.settle(self._asked, usage.tokens)
        self._model.budget.settle(self._reserved, usage)
        self._model.record.add(said, usage, time.monotonic() - self._started)
        return said

    def lost(self, problem: Exception) -> InfrastructureError:
        self._model.budget.settle(self._reserved, Usage())
        return InfrastructureError(f"{type(problem).__name__}: {str(problem)[:300]}")
