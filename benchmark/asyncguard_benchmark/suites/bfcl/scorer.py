"""The verdict on an episode of BFCL tasks, from its file alone.

Calls are compared here. Responses and states were judged by the worker when the episode ended, by upstream's rules, and
the judgement stands in the episode's settings: to score a file runs no foreign code.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from asyncguard_benchmark.errors import EpisodeFormatError
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.scoring import checks, conduct
from asyncguard_benchmark.harness.scoring.evidence import Evidence, evidence_of
from asyncguard_benchmark.harness.scoring.explain import findings
from asyncguard_benchmark.harness.scoring.labels import labels
from asyncguard_benchmark.harness.scoring.verdict import (
    Finding,
    FindingKind,
    Score,
    SubTaskScore,
)

NOTES = "foreign"
"""Field of the settings that holds the judgement, by task."""
_NOTED = ("response", "state", "state_strict", "generator", "changes_state")


def score(episode: Episode) -> Score:
    """Score an episode; the same for a fresh and a saved one.

    Raises:
        EpisodeFormatError: the episode lacks the judgement of a task.
    """
    return Score(
        composition_id=episode.composition.id,
        kind=episode.composition.kind,
        agent=episode.agent,
        player=episode.player,
        run=episode.run,
        sub_tasks=tuple(
            _sub_task(each, judgement_of(episode, each.task.id)) for each in evidence_of(episode)
        ),
        same_task_streak=conduct.same_task_streak(episode.trajectory),
        counters=episode.counters,
    )


def judgement_of(episode: Episode, task_id: str) -> Mapping[str, Any]:
    """Return what the worker found of a task: `response`, `state`, `state_strict`, `differing`, `generator`.

    Raises:
        EpisodeFormatError: it is not there, or not of that form.
    """
    where = f"episode.settings.{NOTES}.{task_id}"
    noted = episode.settings.get(NOTES)
    found = noted.get(task_id) if isinstance(noted, Mapping) else None
    if not isinstance(found, Mapping) or not all(
        isinstance(found.get(each), bool) for each in _NOTED
    ):
        raise EpisodeFormatError(
            where, f"expected {', '.join(_NOTED)}, each true or false; play the episode again"
        )
    differing = found.get("differing")
    if not isinstance(differing, list) or not all(isinstance(each, str) for each in differing):
        raise EpisodeFormatError(f"{where}.differing", "expected a list of names")
    return found


def _sub_task(evidence: Evidence, judged: Mapping[str, Any]) -> SubTaskScore:
    needed, harmless = conduct.premature_calls(evidence)
    return SubTaskScore(
        task_id=evidence.task.id,
        category=evidence.task.category,
        trajectory=checks.trajectory(evidence),
        ordered_trajectory=checks.ordered_trajectory(evidence),
        result=judged["response"],
        state=judged["state"],
        changes_state=judged["changes_state"],
        calls=len(evidence.records),
        premature_needed=needed,
        premature_harmless=harmless,
        gold_labels=labels(evidence.task, evidence.task.gold),
        made_labels=labels(evidence.task, evidence.records),
        findings=tuple(_findings(evidence, judged)),
    )


def _findings(evidence: Evidence, judged: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield all reasons; none if and only if calls, response and state are right."""
    # Results and states as noted say no more than the judgement, which compared upstream's own texts and objects.
    yield from (
        each
        for each in findings(evidence)
        if each.kind in (FindingKind.MISSING_CALL, FindingKind.DIFFERING_ARGUMENT)
    )
    if not judged["response"]:
        yield _finding(FindingKind.MISSING_RESULT, "", "every result of the ground truth")
    if not judged["state"]:
        for name in judged["differing"] or [""]:
            what = f"the attribute {name} of the ground truth" if name else "at least one call"
            yield _finding(FindingKind.DIFFERING_STATE, f"/{name}" if name else "", what)


def _finding(kind: FindingKind, place: str, expected: str) -> Finding:
    return Finding(kind=kind, place=place, expected=expected, found=None)
