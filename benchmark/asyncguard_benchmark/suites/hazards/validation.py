"""Proof of the suite by executing it: tasks are sound and solvable, and the claims of every instance hold."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from asyncguard_benchmark.harness.agents.plan import plan_of
from asyncguard_benchmark.harness.agents.schedulers import OracleAgent
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.players.plain import play_plain
from asyncguard_benchmark.harness.runner import run_episode
from asyncguard_benchmark.harness.scenario import Composition, Domain, Regime, Workflow
from asyncguard_benchmark.harness.task_quality import problems as task_problems
from asyncguard_benchmark.services.catalogue import tools_of
from asyncguard_benchmark.services.declarations import Effect, Tool
from asyncguard_benchmark.suites.hazards.composition_sets import benign
from asyncguard_benchmark.suites.hazards.fault_sites import matters, sign_of, solves, with_faults
from asyncguard_benchmark.suites.hazards.instances import (
    Instance,
    instance_to_json,
    shipped_instances,
)
from asyncguard_benchmark.suites.hazards.mode_table import MODES
from asyncguard_benchmark.suites.hazards.sampling import drawn_instances
from asyncguard_benchmark.suites.hazards.solvability_proof import replayed
from asyncguard_benchmark.suites.hazards.tasks import HazardTask, load_hazard_tasks

LEAST_TASKS = 120
LEAST_DOMAINS = 8
LEAST_OF_A_WORKFLOW = 30
"""Tasks of each workflow."""
LEAST_OF_A_HAZARD = 100
"""Instances of each hazard."""
REGIMES = (Regime.SYNC, Regime.RANDOM12)
"""Delays under which plans are replayed: none, and such that results overtake each other."""


@dataclass(kw_only=True)
class Validation:
    """Counts of the validation, and the problems that it found."""

    problems: list[str] = field(default_factory=list)
    tasks: Counter[str] = field(default_factory=Counter)
    """By domain."""
    workflows: Counter[str] = field(default_factory=Counter)
    hazards: Counter[str] = field(default_factory=Counter)
    """Faults of all instances."""
    ways: Counter[str] = field(default_factory=Counter)
    """Instances that can be survived so."""
    parts: Counter[str] = field(default_factory=Counter)
    benign: int = 0
    replayed: int = 0
    """Plans, under every regime."""

    def steps(self, domains: Sequence[Domain] | None) -> int:
        """Return the number of steps of `validated`."""
        tasks = sum(len(load_hazard_tasks(domain)) for domain in domains or Domain)
        return 2 * tasks + len(_instances(domains)) + (1 if domains is None else 0)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        counts = {
            "tasks": self.tasks,
            "workflows": self.workflows,
            "hazards": self.hazards,
            "ways": self.ways,
            "parts": self.parts,
        }
        told = {name: dict(counted) for name, counted in counts.items()}
        return {**told, "benign": self.benign, "replayed": self.replayed, "problems": self.problems}

    def lines(self) -> list[str]:
        """Return the lines for people."""
        return [
            f"{self.tasks.total()} tasks: {_said(self.tasks)}; {_said(self.workflows)}",
            f"{self.parts.total()} instances: {_said(self.parts)}; faults: {_said(self.hazards)}",
            f"{self.replayed} plans replayed; survived by {_said(self.ways)}",
            f"{self.benign} benign variations that break no declaration",
            f"{len(self.problems)} problems"
            if self.problems
            else "sound, solved by the oracle, and every instance can be survived under every regime",
        ]


def validated(found: Validation, domains: Sequence[Domain] | None = None) -> Iterator[str | None]:
    """Look at everything, step by step, and yield what is wrong, or None for a sound step.

    Args:
        found: Counts and problems are added to it.
        domains: Only these; None for all, and to compare the shipped instances with a new draw.
    """
    tasks = [task for domain in domains or Domain for task in load_hazard_tasks(domain)]
    for task in tasks:
        found.tasks[task.domain.value] += 1
        found.workflows[task.workflow.value] += 1
        yield from _told(found, _task_problems(task))
    for task in tasks:
        yield from _told(found, _benign_problems(found, task))
    for instance in _instances(domains):
        found.parts[instance.part.value] += 1
        found.hazards.update(fault.hazard.value for fault in instance.faults)
        found.ways.update({way.value for way in instance.witness.values()})
        yield from _told(found, instance_problems(found, instance))
    if domains is None:
        found.problems += _whole(found, tasks)
        yield from _told(found, _drawn_anew())


def _told(found: Validation, problems: Iterator[str]) -> Iterator[str | None]:
    said = list(problems)
    found.problems += said
    yield "\n".join(said) or None


def _said(counted: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counted.most_common())


def _instances(domains: Sequence[Domain] | None) -> list[Instance]:
    return [each for each in shipped_instances() if domains is None or each.task.domain in domains]


def _task_problems(task: HazardTask) -> Iterator[str]:
    """Yield the bar of single tasks, the ground truth as a plan, and the oracle under every regime."""
    clean = with_faults(task, ())
    yield from (f"{task.id}: {problem}" for problem in task_problems(task.sub_task))
    if task.workflow is not _workflow(task):
        yield f"{task.id}: its calls are {_workflow(task)}, and it says {task.workflow}"
    if matters(task, clean):
        yield f"{task.id}: the ground truth does not solve it"
    for regime in Regime:
        if not solves(task, _by_oracle(clean, regime)):
            yield f"{task.id}: the oracle does not solve it under {regime}"


def _workflow(task: HazardTask) -> Workflow:
    """Return the workflow by the dependencies: the last call submits, the one before it may combine the others."""
    gold = task.sub_task.gold
    if all(index - 1 in call.needs() for index, call in enumerate(gold) if index):
        return Workflow.SEQUENTIAL
    independent = gold[:-2] if _computes(tools_of(task.sub_task)[gold[-2].tool]) else gold[:-1]
    return Workflow.MIXED if any(call.needs() for call in independent) else Workflow.PARALLEL


def _computes(tool: Tool) -> bool:
    """Return True if a tool only combines results of others, so that no other tool can stand in for it."""
    remedies = tool.remedies
    return tool.effect is Effect.PURE and not (
        remedies.fallbacks or remedies.sources or remedies.verifier
    )


def _by_oracle(clean: Composition, regime: Regime) -> Episode:
    return run_episode(
        clean, OracleAgent(name="oracle", plan=plan_of(clean)), regime, player=play_plain
    )


def _benign_problems(found: Validation, task: HazardTask) -> Iterator[str]:
    for composition in benign([task], 0):
        found.benign += 1
        if not solves(task, replayed(composition, {})):
            yield f"{composition.id}: it changes what the task comes to"


def instance_problems(found: Validation, instance: Instance) -> Iterator[str]:
    """Yield the claims of an instance that do not hold; its plan is replayed under every regime."""
    composition = instance.composition
    if not matters(instance.task, composition):
        yield f"{instance.id}: does not matter"
    if sign_of(composition) is not instance.sign:
        yield f"{instance.id}: does not show itself by {instance.sign}"
    for regime in REGIMES:
        found.replayed += 1
        if not solves(instance.task, replayed(composition, instance.witness, regime)):
            yield f"{instance.id}: its plan does not solve it under {regime}"


def _whole(found: Validation, tasks: Sequence[HazardTask]) -> Iterator[str]:
    if found.tasks.total() < LEAST_TASKS or len(found.tasks) < LEAST_DOMAINS:
        yield f"{found.tasks.total()} tasks in {len(found.tasks)} domains, not {LEAST_TASKS} in {LEAST_DOMAINS}"
    for workflow in Workflow:
        if found.workflows[workflow.value] < LEAST_OF_A_WORKFLOW:
            yield f"{found.workflows[workflow.value]} {workflow} tasks, not {LEAST_OF_A_WORKFLOW}"
    for hazard, count in found.hazards.items():
        if count < LEAST_OF_A_HAZARD:
            yield f"{count} faults of {hazard}, not {LEAST_OF_A_HAZARD}"
    answers = Counter((task.domain, str(task.answer.value)) for task in tasks)
    yield from (
        f"{domain}: two tasks have the answer {answer}"
        for (domain, answer), n in answers.items()
        if n > 1
    )
    used = {fault.mode for instance in shipped_instances() for fault in instance.faults}
    drawable = {name for name, mode in MODES.items() if not name.startswith("benign")}
    yield from (
        f"no instance has the mode {name}" for name in sorted(drawable - used - HARMLESS_MODES)
    )


HARMLESS_MODES = frozenset({"deprecation_noted"})
"""Modes that change an answer and no value in it: a plan that takes answers at their word is not led astray."""


def _drawn_anew() -> Iterator[str]:
    if [instance_to_json(each) for each in drawn_instances()] != [
        instance_to_json(each) for each in shipped_instances()
    ]:
        yield (
            "the shipped instances are not those that tasks, modes and seed give; recreate them: python -m "
            "asyncguard_benchmark.suites.hazards.sampling > instances.json"
        )
