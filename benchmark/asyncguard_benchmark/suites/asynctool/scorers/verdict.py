"""The verdict on one episode, put together from the scorers."""

from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.scoring import checks
from asyncguard_benchmark.harness.scoring.evidence import Evidence, evidence_of
from asyncguard_benchmark.harness.scoring.verdict import Score, SubTaskScore
from asyncguard_benchmark.suites.asynctool.scorers import conduct
from asyncguard_benchmark.suites.asynctool.scorers.explain import findings
from asyncguard_benchmark.suites.asynctool.scorers.labels import labels


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
