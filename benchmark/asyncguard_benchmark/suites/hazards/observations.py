"""The data that are kept of an episode of the suite: verdict on its task, faults that struck, diagnoses."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

from asyncguard_benchmark.harness.arms import RECOVER
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.faults import Profile
from asyncguard_benchmark.harness.names import PLAIN
from asyncguard_benchmark.harness.players.second_run import EARLIER
from asyncguard_benchmark.services.catalogue import tools_of
from asyncguard_benchmark.suites.hazards.fault_sites import Sign
from asyncguard_benchmark.suites.hazards.instances import Gathering, Part
from asyncguard_benchmark.suites.hazards.metadata import (
    gathering_of,
    part_of,
    profile_of,
    sign_of_episode,
)
from asyncguard_benchmark.suites.hazards.scorer import HazardScore, score_hazards
from asyncguard_benchmark.suites.hazards.tasks import HazardTask

_DIAGNOSES = "diagnoses"


@dataclass(frozen=True, kw_only=True)
class Observed:
    """The data that are kept of one episode."""

    arm: str
    """Without what all arms of the suite have in common; that of the player without a runtime is `plain`."""
    regime: str
    surface: str
    config: Mapping[str, Any]
    score: HazardScore
    """The verdict on its hazard task; calls, rounds and ticks are those of all attempts."""
    gold_calls: int
    part: Part
    gathering: Gathering | None
    """None on a clean run of a task alone."""
    profile: Profile
    sign: Sign
    struck: bool
    """True if a fault struck."""
    diagnosed: tuple[str, ...]
    """Hazards that the runtime diagnosed in the task, in order."""
    detected: bool
    """True if a tool on which a fault was put was diagnosed, or one that has such a tool as a
    source."""
    at_fault: str | None
    """The last one that was diagnosed of a tool on which a fault was put, when all that was asked for had answered;
    else the last; None without any."""


def observed(episode: Episode, tasks: Mapping[str, HazardTask]) -> Observed | None:
    """Return the data that are kept of an episode; None if it holds no task of the suite.

    Args:
        episode: Fresh or saved.
        tasks: Id -> task.

    Raises:
        ValueError: it was played on another version of the task.
    """
    scores = score_hazards(episode, tasks)
    if not scores:
        return None
    score = _with_earlier(scores[0], episode)
    composition = episode.composition
    said = [each for each in episode.settings.get(_DIAGNOSES, ()) if each["task"] == score.task_id]
    hit = {fault.tool for fault in score.faults}
    known = [each["hazard"] for each in said if each["tool"] in hit] or [
        each["hazard"] for each in said
    ]
    alone = len(composition.sub_tasks) == 1
    return Observed(
        arm=PLAIN
        if episode.player == PLAIN
        else str(episode.settings.get("arm", "")).removeprefix(RECOVER),
        regime=episode.run.regime.value,
        surface=episode.run.surface.value,
        config=episode.settings.get("config", {}),
        score=score,
        gold_calls=len(tasks[score.task_id].sub_task.gold),
        part=part_of(composition),
        gathering=gathering_of(composition) if composition.faults or not alone else None,
        profile=profile_of(composition),
        sign=sign_of_episode(episode) if alone and composition.faults else Sign.NONE,
        struck=bool(episode.firings),
        diagnosed=tuple(each["hazard"] for each in said),
        detected=any(each["tool"] in hit | _asking(tasks[score.task_id], hit) for each in said),
        at_fault=known[-1] if known else None,
    )


def _asking(task: HazardTask, hit: AbstractSet[str]) -> frozenset[str]:
    """Return the tools that have one of some tools as a source."""
    tools = tools_of(task.sub_task).values()
    return frozenset(
        tool.name for tool in tools if any(other.tool in hit for other in tool.remedies.sources)
    )


def _with_earlier(score: HazardScore, episode: Episode) -> HazardScore:
    """Return the verdict with the price of the attempt before, where there was one."""
    spent = episode.settings.get(EARLIER)
    if spent is None:
        return score
    return replace(
        score,
        calls=score.calls + spent["calls"][score.task_id],
        rounds=score.rounds + spent["rounds"],
        ticks=score.ticks + spent["ticks"],
    )
