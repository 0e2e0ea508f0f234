"""The verdict on one episode, put together from the scorers."""

from dataclasses import dataclass, field, replace
from functools import lru_cache, partial

from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.scoring import checks, conduct
from asyncguard_benchmark.harness.scoring.evidence import Evidence, Replay, evidence_of
from asyncguard_benchmark.harness.scoring.explain import findings
from asyncguard_benchmark.harness.scoring.verdict import FindingsOnDemand, Score, SubTaskScore


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
        gold_labels=evidence.gold.labels,
        made_labels=evidence.made.labels,
        findings=FindingsOnDemand(partial(findings, evidence)),
    )


def _sub_task(evidence: Evidence) -> SubTaskScore:
    case = _Case(gold=evidence.gold, made=evidence.made, evidence=evidence)
    if not any(record.premature for record in evidence.records):
        return _judged(case)
    return _with_premature(case, *conduct.premature_calls(evidence))


@lru_cache(maxsize=8192)
def _with_premature(case: _Case, needed: int, harmless: int) -> SubTaskScore:
    return replace(_judged(case), premature_needed=needed, premature_harmless=harmless)
