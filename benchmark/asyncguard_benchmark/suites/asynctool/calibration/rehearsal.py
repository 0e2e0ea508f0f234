"""Play a persona without messages: the same decisions, the same world, a hundred times as fast.

A persona decides from its calls and their outcomes. The agent reads them out of the conversation;
here they are kept as they are made. A test plays both, episode by episode, and compares every call.
There are no guards here, so no call is refused and no claim answered, and a claim that all is
completed ends the run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from asyncguard_benchmark.harness.agents.message_reader import Standing
from asyncguard_benchmark.harness.agents.plan import Plan, TaskPlan, plan_of
from asyncguard_benchmark.harness.agents.speaking import Garbled
from asyncguard_benchmark.harness.agents.transcript import UNREADABLE, Attempt
from asyncguard_benchmark.harness.environment import delay, most_rounds
from asyncguard_benchmark.harness.protocol.actions import CallAction, Completed, Idle
from asyncguard_benchmark.harness.scenario import Composition, Regime
from asyncguard_benchmark.suites.asynctool.agents.personas.draws import Draws
from asyncguard_benchmark.suites.asynctool.agents.personas.policy import Mind, Sight
from asyncguard_benchmark.suites.asynctool.agents.personas.rates import Rates
from asyncguard_benchmark.suites.asynctool.agents.progress_estimate import Belief
from asyncguard_benchmark.suites.asynctool.calibration.world import Node, World


@dataclass(frozen=True, kw_only=True)
class Rehearsed:
    """Outcome of one episode."""

    histories: tuple[Node, ...]
    """The calls of every sub-task, in the order of the composition."""
    rounds: int


@dataclass(kw_only=True)
class _Side:
    """One sub-task while an episode runs."""

    plan: TaskPlan
    question: str
    node: Node
    attempts: list[Attempt]
    issued: int = 0
    belief: Belief | None = None
    """None if something happened since it was formed."""


@dataclass(frozen=True, kw_only=True)
class _Due:
    """A result on its way."""

    tick: int
    side: _Side
    index: int
    """Of the attempt in its sub-task."""
    response: str


class Stage:
    """A composition on which personas are rehearsed again and again."""

    def __init__(self, composition: Composition, worlds: Mapping[str, World]) -> None:
        self.composition = composition
        self.plan: Plan = plan_of(composition)
        self.worlds: Sequence[World] = [worlds[task.id] for task in composition.sub_tasks]
        self._cap = most_rounds(composition)

    def rehearse(self, rates: Rates, regime: Regime, seed: int) -> Rehearsed:
        """Play one episode.

        Args:
            rates: The persona's.
            regime: Delays of results.
            seed: Of the persona's draws and of random delays.
        """
        mind = Mind(self.plan, rates, Draws(seed, self.plan.composition_id))
        sides = [
            _Side(plan=plan, question=world.task.query, node=world.root, attempts=[])
            for plan, world in zip(self.plan.tasks, self.worlds, strict=True)
        ]
        by_id = {
            side.plan.task_id: (side, world) for side, world in zip(sides, self.worlds, strict=True)
        }
        coming: list[_Due] = []
        rounds = 0
        while rounds < self._cap:
            decision = mind.decide(Sight(tasks=[_belief(side, mind) for side in sides]))
            rounds += 1
            match decision:
                case Completed():
                    break
                case Garbled(call=call):
                    _note_garbled(by_id[call.task_id][0], rounds)
                case Idle():
                    pass
                case (call, *_):
                    side, world = by_id[call.task_id]
                    response = _issue(side, world, call, rounds)
                    wait = delay(regime, seed, call.task_id, side.issued)
                    coming.append(
                        _Due(
                            tick=rounds + wait,
                            side=side,
                            index=len(side.attempts) - 1,
                            response=response,
                        )
                    )
            coming = _deliver(coming, rounds)
        return Rehearsed(histories=tuple(side.node for side in sides), rounds=rounds)


def _belief(side: _Side, mind: Mind) -> Belief:
    if side.belief is None:
        side.belief = mind.believe(side.plan, side.attempts, side.question)
    return side.belief


def _note_garbled(side: _Side, said: int) -> None:
    """Answer a broken call with an error at once."""
    side.attempts.append(
        Attempt(
            task_id=side.plan.task_id,
            tool=UNREADABLE,
            arguments={},
            call_id=None,
            standing=Standing.REJECTED,
            said=said,
            told=said,
        )
    )
    side.belief = None


def _issue(side: _Side, world: World, call: CallAction, said: int) -> str:
    response, side.node = world.call(side.node, call.tool, call.arguments)
    side.issued += 1
    side.attempts.append(
        Attempt(
            task_id=call.task_id, tool=call.tool, arguments=call.arguments, call_id=None, said=said
        )
    )
    side.belief = None
    return response


def _deliver(coming: list[_Due], tick: int) -> list[_Due]:
    """Deliver what is due and return the rest."""
    if not any(due.tick <= tick for due in coming):
        return coming
    for due in coming:
        if due.tick <= tick:
            attempts = due.side.attempts
            attempts[due.index] = replace(
                attempts[due.index], standing=Standing.ANSWERED, response=due.response, told=tick
            )
            due.side.belief = None
    return [due for due in coming if due.tick > tick]


def stages_of(compositions: Sequence[Composition]) -> list[Stage]:
    """Return the stages of compositions; a single task has one world in all of them."""
    tasks = {task.id: task for composition in compositions for task in composition.sub_tasks}
    worlds = {task_id: World(task) for task_id, task in tasks.items()}
    return [Stage(each, worlds) for each in compositions]
