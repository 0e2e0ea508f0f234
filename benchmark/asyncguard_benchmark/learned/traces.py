"""Traces of an agent that makes no mistake, in tasks drawn again: all that the model is trained on.

Every trace is an episode of the harness on either surface, under the regime `sync` unless a share of late ones is asked
for; the others are the same with and without that share. Number n of a seed is always the same trace, so a run that
goes on after an interruption sees what it would have seen.
"""

from collections.abc import Sequence
from random import Random

from langchain_core.messages import AIMessage, BaseMessage
from pydantic import Field
from typing_extensions import override

from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.agents.plan import plan_of
from asyncguard_benchmark.harness.agents.progress import TaskProgress
from asyncguard_benchmark.harness.agents.schedulers import CarefulAgent
from asyncguard_benchmark.harness.agents.simulated import Decision
from asyncguard_benchmark.harness.loading import shipped_sub_tasks
from asyncguard_benchmark.harness.protocol.actions import ALL_COMPLETED, Completed, Idle
from asyncguard_benchmark.harness.runner import run_episode
from asyncguard_benchmark.harness.scenario import Composition, Kind, Regime, SubTask, Surface
from asyncguard_benchmark.learned.redraw import Redrawer, lexicon_of
from asyncguard_benchmark.learned.serialisation import Segment, conversation
from asyncguard_benchmark.learned.splits import held_out_sets, training_tasks

SIZE_SHARES = (7, 2, 1)
"""Shares of traces with one, two and three tasks."""
COMPOSED_SHARES = (2, 5, 3)
"""The same in the second part of a training run."""
LATE = (Regime.FIXED1, Regime.FIXED2, Regime.RANDOM12)
"""Regimes of late traces, drawn alike."""
_STAY = 0.6
"""Probability that a task which was begun goes on."""


class DrawnOrderAgent(CarefulAgent):
    """Oracle that draws which of the tasks goes on, and remembers what it was sent."""

    seed: int = 0
    told_order: bool = False
    """True: the tasks go on in the order in which they were told, so at once each is brought to its end."""
    heard: list[list[BaseMessage]] = Field(default_factory=list)

    @override
    def answer(self, messages: Sequence[BaseMessage]) -> Decision:
        """Decide, and keep the conversation."""
        self.heard[:] = [list(messages)]
        return super().answer(messages)

    @override
    def decide(self, tasks: Sequence[TaskProgress]) -> Decision:
        """Return the next call of a task, of one that was begun more often than of another."""
        open_tasks = [task for task in tasks if not self._finished(task)]
        if not open_tasks:
            return Completed()
        for task in open_tasks if self.told_order else self._drawn_order(tasks, open_tasks):
            # A task whose result is out rests, and another one goes on; at once, none is.
            call = None if task.waiting else self._next_call(task)
            if call is not None:
                return (call,)
        return Idle()

    def _drawn_order(
        self, tasks: Sequence[TaskProgress], open_tasks: Sequence[TaskProgress]
    ) -> list[TaskProgress]:
        made = sum(len(task.plan.steps) - task.remaining for task in tasks)
        random = Random(f"{self.seed}:{made}")
        # A task that was begun comes before those that were not; of several, by name.
        order = sorted(open_tasks, key=lambda task: (-task.begun, task.plan.task_id))
        chosen = order[0] if random.random() < _STAY else random.choice(open_tasks)
        return [chosen, *(each for each in order if each is not chosen)]


class Traces:
    """Training traces under their numbers."""

    def __init__(self, seed: int, late: float = 0.0, *, composed: bool = False) -> None:
        """Begin without a trace.

        Args:
            seed: Of everything that is drawn.
            late: Share of traces with late results, from 0 to 1.
            composed: True for other traces, of the second part: most have several tasks, each brought to its end
                before the next.

        Raises:
            BenchmarkError: the share is none.
        """
        if not 0 <= late <= 1:
            raise BenchmarkError(f"the share of late traces is from 0 to 1, not {late}")
        self._seed, self._late = f"composed:{seed}" if composed else str(seed), late
        self._shares = COMPOSED_SHARES if composed else SIZE_SHARES
        self._told_order = composed
        self._tasks = training_tasks()
        self._redrawer = Redrawer(lexicon_of(self._tasks, shipped_sub_tasks()))
        self._barred = held_out_sets()

    def sources(self, number: int) -> tuple[str, ...]:
        """Return the ids of the bundled tasks that a trace is drawn from."""
        return tuple(task.id for task in self._drawn(number)[0])

    def composition(self, number: int) -> Composition:
        """Return the drawn composition of a trace."""
        return composed(f"drawn-{number}", self._drawn(number)[1])

    def _drawn(self, number: int) -> tuple[list[SubTask], list[SubTask]]:
        """Return bundled tasks, and the same drawn again."""
        random = Random(f"{self._seed}:{number}")
        size = random.choices(range(1, len(self._shares) + 1), weights=self._shares)[0]
        while True:
            bundled = random.sample(self._tasks, size)
            if size > 1 and frozenset(task.id for task in bundled) in self._barred:
                continue
            drawn = [self._redrawer.draw(task, random) for task in bundled]
            tasks = [task for task in drawn if task is not None]
            if len({task.id for task in tasks}) == size:
                return bundled, tasks

    def segments(self, number: int) -> tuple[Segment, ...]:
        """Return the statements of a trace."""
        random = Random(f"surface:{self._seed}:{number}")
        surface = random.choice((Surface.TEXT, Surface.NATIVE))
        return traced(
            self.composition(number),
            surface,
            random.getrandbits(32),
            self.regime(number),
            told_order=self._told_order,
        )

    def regime(self, number: int) -> Regime:
        """Return the regime of a trace."""
        random = Random(f"late:{self._seed}:{number}")
        return random.choice(LATE) if random.random() < self._late else Regime.SYNC


def composed(name: str, tasks: Sequence[SubTask]) -> Composition:
    """Return tasks as a composition, of a kind that fits."""
    cross = len({task.category for task in tasks}) > 1
    kind = Kind(f"{'C' if cross else 'S'}{len(tasks)}")
    return Composition(id=name, kind=kind, sub_tasks=tuple(tasks))


def traced(
    composition: Composition,
    surface: Surface,
    seed: int,
    regime: Regime = Regime.SYNC,
    *,
    told_order: bool = False,
) -> tuple[Segment, ...]:
    """Return the statements of an episode without a mistake.

    Raises:
        BenchmarkError: the episode did not end by itself.
    """
    agent = DrawnOrderAgent(plan=plan_of(composition), seed=seed, told_order=told_order)
    episode = run_episode(composition, agent, regime, surface, seed=0)
    if episode.messages[-1]["role"] != "assistant" or not agent.heard:
        raise BenchmarkError(f"the trace of {composition.id} was cut off")
    segments, _ = conversation([*agent.heard[0], AIMessage(ALL_COMPLETED)])
    return segments


__all__ = ["LATE", "DrawnOrderAgent", "Traces", "composed", "traced"]
