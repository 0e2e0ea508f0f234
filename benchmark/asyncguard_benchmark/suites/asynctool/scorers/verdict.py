"""The verdict on one episode, put together from the scorers."""

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from asyncguard_benchmark.harness.environment import Counters
from asyncguard_benchmark.harness.episode import Episode, Run
from asyncguard_benchmark.harness.scenario import Category, Domain, Kind
from asyncguard_benchmark.suites.asynctool.scorers import checks, conduct
from asyncguard_benchmark.suites.asynctool.scorers.evidence import Evidence, Replay, evidence_of
from asyncguard_benchmark.suites.asynctool.scorers.explain import Finding, findings
from asyncguard_benchmark.suites.asynctool.scorers.labels import (
    CallLabels,
    ComparedLabels,
    compare_labels,
    labels,
)


@dataclass(frozen=True, kw_only=True)
class SubTaskScore:
    """The verdict on one sub-task."""

    task_id: str
    category: Category | Domain
    trajectory: bool
    ordered_trajectory: bool
    result: bool
    state: bool
    changes_state: bool
    """True if the ground truth changes the state; if not, `state` is free."""
    calls: int
    premature_needed: int
    """Calls that needed the value of a pending call."""
    premature_harmless: int
    """Calls issued while another was pending that did not need its value."""
    gold_labels: tuple[CallLabels, ...]
    made_labels: tuple[CallLabels, ...]
    findings: tuple[Finding, ...]
    """Reasons why it was not solved."""

    @cached_property
    def compared(self) -> ComparedLabels:
        """The labels of the ground truth beside those of the run; kept, as many episodes share a verdict."""
        return compare_labels(self.gold_labels, self.made_labels)

    @property
    def accurate(self) -> bool:
        """The paper's sub-task accuracy."""
        return self.trajectory and self.result and self.state

    @property
    def accurate_without_result(self) -> bool:
        """The weaker reading: calls and state, whatever was returned."""
        return self.trajectory and self.state


@dataclass(frozen=True, kw_only=True)
class Score:
    """The verdict on one episode."""

    composition_id: str
    kind: Kind
    agent: str
    player: str
    run: Run
    sub_tasks: tuple[SubTaskScore, ...]
    same_task_streak: int
    counters: Counters

    @property
    def task_trajectory(self) -> bool:
        """Every sub-task's gold calls were made."""
        return all(each.trajectory for each in self.sub_tasks)

    @property
    def task_state(self) -> bool:
        """Every sub-task's final state is right."""
        return all(each.state for each in self.sub_tasks)

    @property
    def overall(self) -> bool:
        """Every sub-task is accurate."""
        return all(each.accurate for each in self.sub_tasks)

    @property
    def rounds_on_success(self) -> int | None:
        """Assistant messages, the final one included; None if the episode failed."""
        return self.counters.rounds if self.overall else None


def score(episode: Episode) -> Score:
    """Score an episode from its trajectory alone; the same for a fresh and a saved one."""
    return Score(
        composition_id=episode.composition.id,
        kind=episode.composition.kind,
        agent=episode.agent,
        player=episode.player,
        run=episode.run,
        sub_tasks=tuple(_sub_task(evidence) for evidence in evidence_of(episode)),
        same_task_streak=conduct.same_task_streak(episode.trajectory),
        counters=episode.counters,
    )


@dataclass(frozen=True, kw_only=True)
class _Case:
    """Evidence as the key of a cache: equal if the same calls were made, whenever they were."""

    gold: Replay
    made: Replay
    evidence: Evidence = field(compare=False)


@lru_cache(maxsize=8192)
def _judged(case: _Case) -> SubTaskScore:
    """Return the verdict on calls that were all made in time."""
    evidence = case.evidence
    return SubTaskScore(
        task_id=evidence.task.id,
        category=evidence.task.category,
        trajectory=checks.trajectory(evidence),
        ordered_trajectory=checks.ordered_trajectory(evidence),
        result=checks.result(evidence),
        state=checks.state(evidence),
        changes_state=checks.changes_state(evidence),
        calls=len(evidence.records),
        premature_needed=0,
        premature_harmless=0,
        gold_labels=labels(evidence.task, evidence.task.gold),
        made_labels=labels(evidence.task, evidence.records),
        findings=findings(evidence),
    )


def _sub_task(evidence: Evidence) -> SubTaskScore:
    case = _Case(gold=evidence.gold, made=evidence.made, evidence=evidence)
    if not any(record.premature for record in evidence.records):
        return _judged(case)
    return _with_premature(case, *conduct.premature_calls(evidence))


@lru_cache(maxsize=8192)
def _with_premature(case: _Case, needed: int, harmless: int) -> SubTaskScore:
    return replace(_judged(case), premature_needed=needed, premature_harmless=harmless)
