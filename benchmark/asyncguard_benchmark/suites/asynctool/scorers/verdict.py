"""The verdict on one episode, put together from the scorers."""

from dataclasses import dataclass

from asyncguard_benchmark.harness.environment import Counters
from asyncguard_benchmark.harness.episode import Episode, Run
from asyncguard_benchmark.harness.scenario import Category, Domain, Kind
from asyncguard_benchmark.harness.scoring import checks
from asyncguard_benchmark.harness.scoring.evidence import Evidence, evidence_of
from asyncguard_benchmark.suites.asynctool.scorers import conduct
from asyncguard_benchmark.suites.asynctool.scorers.explain import Finding, findings
from asyncguard_benchmark.suites.asynctool.scorers.labels import CallLabels, labels


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


def _sub_task(evidence: Evidence) -> SubTaskScore:
    needed, harmless = conduct.premature_calls(evidence)
    return SubTaskScore(
        task_id=evidence.task.id,
        category=evidence.task.category,
        trajectory=checks.trajectory(evidence),
        ordered_trajectory=checks.ordered_trajectory(evidence),
        result=checks.result(evidence),
        state=checks.state(evidence),
        changes_state=checks.changes_state(evidence),
        calls=len(evidence.records),
        premature_needed=needed,
        premature_harmless=harmless,
        gold_labels=labels(evidence.task, evidence.task.gold),
        made_labels=labels(evidence.task, evidence.records),
        findings=findings(evidence),
    )
