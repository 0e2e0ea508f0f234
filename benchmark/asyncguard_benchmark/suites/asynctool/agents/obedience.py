"""Scripted agents that do what they are told as often as they are asked to."""

from random import Random

from pydantic import Field

from asyncguard_benchmark.harness.agents.progress import TaskProgress
from asyncguard_benchmark.harness.agents.simulated import SimulatedAgent


class ObedientAgent(SimulatedAgent):
    """Agent with a rate at which it does what a refusal or a reminder says; otherwise it goes on as before."""

    seed: int = 0
    """Seed of its draws; each depends on seed, composition, sub-task, step and attempt only."""
    compliance: float = Field(default=1.0, ge=0, le=1)
    """Share of the refusals and reminders that it heeds."""

    def heeds(self, task_id: str, position: int, number: int) -> bool:
        """Return True if it does what it was told; asked again of the same thing it says the same."""
        key = (self.seed, self.plan.composition_id, task_id, position, number, "heeds")
        return self.compliance >= 1 or Random(repr(key)).random() < self.compliance

    def has_heeded(self, task: TaskProgress, position: int) -> bool:
        """Return True if it heeds one of the refusals of a step; each is another occasion."""
        return any(
            self.heeds(task.plan.task_id, position, number)
            for number in range(task.refusals(position))
        )
