"""The chat model that plays a persona."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from pydantic import PrivateAttr
from typing_extensions import override

from asyncguard_benchmark.errors import UnknownNameError
from asyncguard_benchmark.harness.agents.simulated import Decision, PlanningAgent
from asyncguard_benchmark.harness.agents.transcript import reminders
from asyncguard_benchmark.suites.asynctool.agents.personas.draws import Draws
from asyncguard_benchmark.suites.asynctool.agents.personas.policy import Mind, Sight
from asyncguard_benchmark.suites.asynctool.agents.personas.rates import Rates
from asyncguard_benchmark.suites.asynctool.agents.personas.shipped import PREFIX, shipped_personas


class PersonaAgent(PlanningAgent):
    """Simulated agent with rates fitted to figures published for a model; nothing of that model was run.

    It holds the plan, and takes every value from messages or guesses it. It is
    not a model of how a language model works. It fails as often as the model did by what was
    published, and its failures correlate as published; `bench calibrate --held-out` says what it
    foretells beyond that. A guard that helps it would help a model that errs in these ways; whether
    a given model errs so is not known.
    """

    rates: Rates = Rates()
    """Rates of its errors, by kind."""
    seed: int = 0
    """Seed of all its draws."""
    _mind: Mind = PrivateAttr()

    @classmethod
    @override
    def fields_of(cls, kind: str, settings: Mapping[str, float]) -> dict[str, Any]:
        """Return the rates of a member of the ensemble that the name stands for, at a compliance.

        Raises:
            UnknownNameError: there are other settings than `member` and `compliance`.
            UnknownPersonaError: the ensemble has no such member.
        """
        unknown = sorted(set(settings) - {"member", "compliance"})
        if unknown:
            raise UnknownNameError(f"a persona has member and compliance, not {', '.join(unknown)}")
        member, compliance = int(settings.get("member", 0)), settings.get("compliance", 1.0)
        model = kind.removeprefix(PREFIX)
        return {"rates": shipped_personas().rates(model, member, compliance)}

    @override
    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self._mind = Mind(self.plan, self.rates, Draws(self.seed, self.plan.composition_id))

    @override
    def answer(self, messages: Sequence[BaseMessage]) -> Decision:
        """Decide from what it believes of its calls and from what it was told in words."""
        tasks = self.progress(messages, self._mind.believe)
        return self._mind.decide(Sight(tasks=tasks, reminders=reminders(messages)))
