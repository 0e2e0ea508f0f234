"""The suite's own verdict: a task is solved if the right person was greeted, however that came about."""

from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.scoring.evidence import Evidence, evidence_of
from asyncguard_benchmark.harness.scoring.verdict import Score, SubTaskScore


def score(episode: Episode) -> Score:
    """Score an episode by the states in which it ended."""
    return Score(
        composition_id=episode.composition.id,
        kind=episode.composition.kind,
        agent=episode.agent,
        player=episode.player,
        run=episode.run,
        sub_tasks=tuple(map(_judged, evidence_of(episode))),
        same_task_streak=0,
        counters=episode.counters,
    )


def _judged(evidence: Evidence) -> SubTaskScore:
    solved = evidence.made.state["greeted"] == evidence.gold.state["greeted"]
    return SubTaskScore(
        task_id=evidence.task.id,
        category=evidence.task.category,
        trajectory=solved,
        ordered_trajectory=solved,
        result=solved,
        state=solved,
        changes_state=True,
        calls=len(evidence.records),
        premature_needed=0,
        premature_harmless=0,
        gold_labels=(),
        made_labels=(),
        findings=(),
    )
