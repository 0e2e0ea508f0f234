"""Run of an ablation: it plays what is missing, keeps every episode in a file, and puts the findings together."""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from asyncguard_benchmark.harness.ablation.analysis import Arms, pool, study_of
from asyncguard_benchmark.harness.ablation.comparisons import (
    compliance_of,
    ensemble_effects,
    four_cells,
    wild_of,
)
from asyncguard_benchmark.harness.ablation.design import (
    COMPLIANCE,
    GAME,
    Design,
    complying,
    is_further_member,
)
from asyncguard_benchmark.harness.ablation.findings import (
    ComplianceSweep,
    EnsembleEffect,
    Findings,
    Pooled,
    Settings,
    Setup,
    Shadow,
    Study,
)
from asyncguard_benchmark.harness.ablation.shadow import shadow_of
from asyncguard_benchmark.harness.ablation.units import (
    Task,
    Unit,
    UnitResult,
    play_units,
    unit_key,
    without_arm,
)
from asyncguard_benchmark.harness.arms import arm_of
from asyncguard_benchmark.harness.campaign import Condition, key_of
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.episode_key import EpisodeKey, key_of_episode
from asyncguard_benchmark.harness.journal import Journal, read_lines
from asyncguard_benchmark.harness.loading import composition_to_json
from asyncguard_benchmark.harness.models.metered import BudgetExhaustedError
from asyncguard_benchmark.harness.models.play import Asking
from asyncguard_benchmark.harness.models.spec import ModelSpec
from asyncguard_benchmark.harness.processes import shared_pool
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.harness.suites import registry

if TYPE_CHECKING:
    from asyncguard_benchmark.harness.fanout.pool import WorkerPool

POOLED = "personas, pooled"
"""Stands for the agent in the setup of pooled findings."""
_WILD_AGENT = AgentSpec(kind="oracle")
"""An agent without fault: every intervention is an error of the guard."""


@dataclass(kw_only=True)
class Ablation:
    """An ablation on its way."""

    design: Design
    folder: Path
    """Folder of its episodes and findings."""
    jobs: int = 1
    asking: Asking | None = None
    """Quota and budget, if a real model is asked."""
    pool: "WorkerPool | None" = None
    """Workers that play instead of processes; they ask no model."""
    processes: Executor | None = None
    """Processes of the caller that play, instead of own ones."""
    notices: list[str] = field(default_factory=list)
    """Repairs that were made to its files."""
    _results: list[UnitResult] = field(default_factory=list)

    def total(self) -> int:
        """Return the number of units to play."""
        return sum(len(units) for _, units in self._parts())

    def _parts(self) -> Iterator[tuple[str, list[Unit]]]:
        for agent in self.design.agents:
            yield agent.label, list(self.design.units(agent))
        if self.design.wild:
            yield "wild", list(self.design.wild_units(_WILD_AGENT))

    def missing(self) -> list[Unit]:
        """Return the units of which the folder holds no episode."""
        parts = [(units, self._path(name)) for name, units in self._parts()]
        return [
            task.unit
            for units, path in parts
            for task in (_tasks(units, path) if path.exists() else map(Task.untouched, units))
            if not task.known
        ]

    def _path(self, name: str) -> Path:
        return self.folder / "episodes" / f"{_file_name(name)}.jsonl"

    def play(self) -> Iterator[UnitResult]:
        """Play unit after unit; what the folder holds already is not played again.

        Raises:
            BudgetExhaustedError: a model costs more than is allowed; what was paid for is in the folder.
        """
        with shared_pool(self.jobs, self.processes) as processes:
            yield from self._play(processes)

    def _play(self, processes: Executor | None) -> Iterator[UnitResult]:
        for name, units in self._parts():
            path = self._path(name)
            asking = (
                self.asking
                if any(isinstance(unit.condition.agent, ModelSpec) for unit in units)
                else None
            )
            stopped = ""
            with Journal(path) as journal:
                if journal.notice:
                    self.notices.append(journal.notice)
                tasks = _tasks(units, path)
                for task, result in zip(tasks, self._played(tasks, asking, processes), strict=True):
                    for episode in result.episodes:
                        journal.add(episode)
                    for failure in result.failures:
                        journal.add_failure(failure.key, failure.error)
                    stopped = stopped or result.stopped
                    if stopped:
                        continue
                    # A result from another process brings its own copy of the composition.
                    slim = replace(result, unit=task.unit, episodes=())
                    self._results.append(slim)
                    yield slim
            if stopped:
                raise BudgetExhaustedError(stopped)

    def _played(
        self, tasks: Sequence[Task], asking: Asking | None, processes: Executor | None
    ) -> Iterator[UnitResult]:
        if self.pool is None or asking is not None:
            return play_units(tasks, self.jobs, asking, processes)
        from asyncguard_benchmark.harness.fanout.units import play_units_on  # noqa: PLC0415 - DBOS is an extra

        return play_units_on(self.pool, tasks)

    # -- findings --------------------------------------------------------------------------------------------------

    def findings(self, command: str, *, resamples: int) -> Findings:
        """Return the findings, once everything has been played.

        Args:
            command: The command line that repeats it.
            resamples: Draws for the adjusted p of a family.
        """
        conditions = [
            condition for agent in self.design.agents for condition in self.design.conditions(agent)
        ]
        main = [condition for condition in conditions if condition.regime is self.design.main]
        wild = [wild_of(self._arms(each, wild=True)) for each in self._wild_conditions()]
        cells = [
            four_cells(self._arms(replace(each, regime=Regime.SYNC)), self._arms(each))
            for each in main
            if Regime.SYNC in self.design.regimes and each.regime is not Regime.SYNC
        ]
        sweeps = [self._sweep(condition) for condition in main]
        studies = [self._study(condition, resamples) for condition in conditions]
        return Findings(
            settings=self._settings(command, resamples),
            studies=tuple(studies),
            ensembles=tuple(_ensembles(conditions, studies)),
            four_cells=tuple(each for each in cells if each is not None),
            shadow=tuple(shadow for each in main if (shadow := self._shadow(each)) is not None),
            wild=tuple(each for each in wild if each is not None),
            compliance=tuple(each for each in sweeps if each is not None),
            pooled=tuple(self._pooled(main, resamples)),
        )

    def _wild_conditions(self) -> list[Condition]:
        found = self.design.conditions(_WILD_AGENT) if self.design.wild else ()
        return [condition for condition in found if condition.regime is self.design.main]

    def _study(self, condition: Condition, resamples: int) -> Study:
        main = condition.regime is self.design.main
        again = self._arms(condition, seeds=(self.design.other_seed,)) if main else None
        return study_of(self._arms(condition), again, GAME if main else None, resamples=resamples)

    def _shadow(self, condition: Condition) -> Shadow | None:
        judged = [each.judged for each in self._arms(condition).results if each.judged is not None]
        return shadow_of(setup_of(condition), judged) if judged else None

    def _sweep(self, condition: Condition) -> ComplianceSweep | None:
        variants = zip(COMPLIANCE, complying(condition.agent), strict=False)
        arms = [(rate, self._arms(replace(condition, agent=variant))) for rate, variant in variants]
        return compliance_of(setup_of(condition), arms)

    def _pooled(self, conditions: Sequence[Condition], resamples: int) -> Iterator[Pooled]:
        """Yield the best members of all ensembles as one agent, for each player and kind of tools."""
        groups: dict[Setup, list[Condition]] = {}
        for each in conditions:
            kind = each.agent.kind if isinstance(each.agent, AgentSpec) else ""
            if kind in registry().personas and not is_further_member(each.agent):
                groups.setdefault(replace(setup_of(each), agent=POOLED), []).append(each)
        for setup, group in groups.items():
            if len(group) > 1:
                whole = pool(setup, [self._arms(each) for each in group])
                rates = [
                    (
                        rate,
                        pool(
                            setup,
                            [self._arms(replace(c, agent=complying(c.agent)[n])) for c in group],
                        ),
                    )
                    for n, rate in enumerate(COMPLIANCE)
                ]
                yield Pooled(
                    agents=tuple(each.agent.label for each in group),
                    study=study_of(whole, None, None, resamples=resamples),
                    compliance=compliance_of(setup, rates),
                )

    def _arms(
        self, condition: Condition, *, seeds: Sequence[int] | None = None, wild: bool = False
    ) -> Arms:
        """Return the outcomes of one condition."""
        setup, wanted = setup_of(condition), self.design.seeds if seeds is None else seeds
        ids = {each.id for each in (self.design.wild if wild else self.design.compositions)}
        fitting = (
            result
            for result in self._results
            if result.unit.condition.seed in wanted
            and result.unit.composition.id in ids
            and setup_of(result.unit.condition) == setup
        )
        return Arms.of(setup, fitting)

    def _settings(self, command: str, resamples: int) -> Settings:
        compositions = self.design.compositions
        data = json.dumps([composition_to_json(each) for each in compositions], sort_keys=True)
        tasks = [task_id for each in compositions for task_id in each.task_ids]
        return Settings(
            version=version("asyncguard"),
            command=command,
            suite=self.design.suite,
            compositions=len(compositions),
            every=self.design.every,
            sub_tasks=len(tasks),
            sources=len(set(tasks)),
            seeds=tuple(self.design.seeds),
            data=_digest(data),
            configs={
                name: _digest(json.dumps(arm_of(name).to_json(), sort_keys=True))
                for name in self.design.arms
            },
            resamples=resamples,
        )


def _ensembles(
    conditions: Sequence[Condition], studies: Sequence[Study]
) -> Iterator[EnsembleEffect]:
    """Yield the effects of agents that are members of one ensemble, as ranges."""
    found: dict[tuple[str, Setup], list[Study]] = {}
    for condition, study in zip(conditions, studies, strict=True):
        agent = condition.agent
        if isinstance(agent, AgentSpec) and agent.kind in registry().personas:
            found.setdefault((agent.kind, replace(study.setup, agent=agent.kind)), []).append(study)
    for (name, setup), members in found.items():
        if len(members) > 1:
            yield from ensemble_effects(name, setup, members)


def setup_of(condition: Condition) -> Setup:
    """Return the condition without arm and seed."""
    return Setup(
        agent=condition.agent.label,
        player=condition.player,
        regime=condition.regime.value,
        surface=condition.surface.value,
        declared=condition.declared,
        contract=condition.contract.value,
    )


def _tasks(units: Sequence[Unit], path: Path) -> list[Task]:
    """Return every unit with the episodes of it that a file holds and that would be played the same way today."""
    known: dict[tuple[EpisodeKey, bool], list[Episode]] = {}
    by_key = {(unit_key(unit), unit.condition.declared): unit for unit in units}
    for line in read_lines(path):
        if line.episode is None:
            continue
        key = key_of_episode(line.episode)
        place = (without_arm(key), bool(line.episode.settings.get("declared", True)))
        unit = by_key.get(place)
        # Another digest: data, agent or guards have changed since.
        if unit is not None and key_of(unit.cell(key.arm)) == key:
            known.setdefault(place, []).append(line.episode)
    return [Task(unit=unit, known=tuple(known.get(place, ()))) for place, unit in by_key.items()]


def _file_name(label: str) -> str:
    """Return a name that any file system takes, and that no other label has."""
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', label)[:60]}-{_digest(label)[:8]}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
