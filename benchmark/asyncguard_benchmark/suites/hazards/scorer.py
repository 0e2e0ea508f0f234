"""Ending of a hazard task: by the right answer and the right effects, wrongly without a word, honestly, or not at all.

The verdict comes from the final state, which holds the submitted answer, the reported problem and
the log of effects; all calls are executed afresh to get it. Statements of a runtime or an agent
about itself are not used.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from asyncguard_benchmark.harness.episode import Episode, Run
from asyncguard_benchmark.harness.faults import Fault
from asyncguard_benchmark.harness.scenario import Domain, SubTask, Workflow
from asyncguard_benchmark.harness.scoring.answers import Ending, is_right
from asyncguard_benchmark.harness.scoring.evidence import Evidence, evidence_of
from asyncguard_benchmark.services.common_tools import ANSWER_KEY, PROBLEM_KEY
from asyncguard_benchmark.suites.hazards.effects import EffectsVerdict, compare_effects
from asyncguard_benchmark.suites.hazards.tasks import HazardTask


@dataclass(frozen=True, kw_only=True)
class HazardScore:
    """The verdict on one hazard task of one episode."""

    task_id: str
    together: tuple[str, ...]
    """Ids of all sub-tasks of its composition, its own among them."""
    composition_id: str
    domain: Domain
    workflow: Workflow
    agent: str
    player: str
    run: Run
    faults: tuple[Fault, ...]
    """Those of this task; none on a clean run."""
    firings: int
    """Number of times that one of them struck; 0 if the run never came to where it would have."""
    ending: Ending
    effects: EffectsVerdict
    calls: int
    """Calls of the task that reached a tool, those of the runtime among them."""
    rounds: int
    """Assistant messages of the whole episode."""
    ticks: int
    """Of the whole episode."""

    @property
    def success(self) -> bool:
        """Return True if it was solved."""
        return self.ending is Ending.SUCCESS

    @property
    def clean(self) -> bool:
        """Return True if nothing was injected into it."""
        return not self.faults


def judge(
    task: HazardTask, state: Mapping[str, Any], gold: Mapping[str, Any]
) -> tuple[Ending, EffectsVerdict]:
    """Return the verdict on a task from the state in which it ended.

    Args:
        task: Says what the right answer is.
        state: After the run.
        gold: After the calls of the ground truth, without faults.
    """
    effects = compare_effects(task.sub_task.initial_state, gold, state)
    if ANSWER_KEY in state:
        if not is_right(state[ANSWER_KEY], task.answer):
            return Ending.WRONG_ANSWER, effects
        return (Ending.SUCCESS if effects.exact else Ending.WRONG_EFFECTS), effects
    return (Ending.HONEST_FAILURE if PROBLEM_KEY in state else Ending.UNFINISHED), effects


def score_hazards(episode: Episode, tasks: Mapping[str, HazardTask]) -> tuple[HazardScore, ...]:
    """Return the verdicts on the hazard tasks of an episode, in its order; its other sub-tasks are left to `score`.

    Args:
        episode: Fresh or saved.
        tasks: Id -> task, at least of those that the episode holds.

    Raises:
        KeyError: a task of the episode is not among them.
        ValueError: the episode was played on another version of a task.
    """
    found = [each for each in evidence_of(episode) if isinstance(each.task.category, Domain)]
    return tuple(_scored(episode, _same(tasks[each.task.id], each.task), each) for each in found)


def _same(task: HazardTask, played: SubTask) -> HazardTask:
    if task.sub_task != played:
        raise ValueError(
            f"the episode was played on another version of {task.id}: score it with the tasks of its time"
        )
    return task


def _scored(episode: Episode, task: HazardTask, evidence: Evidence) -> HazardScore:
    ending, effects = judge(task, evidence.made.state, evidence.gold.state)
    composition = episode.composition
    return HazardScore(
        task_id=task.id,
        together=composition.task_ids,
        composition_id=composition.id,
        domain=task.domain,
        workflow=task.workflow,
        agent=episode.agent,
        player=episode.player,
        run=episode.run,
        faults=tuple(fault for fault in composition.faults if fault.task == task.id),
        firings=sum(firing.task == task.id for firing in episode.firings),
        ending=ending,
        effects=effects,
        calls=len(evidence.records),
        rounds=episode.counters.rounds,
        ticks=episode.counters.ticks,
    )
