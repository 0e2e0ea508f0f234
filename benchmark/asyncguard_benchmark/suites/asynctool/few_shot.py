"""The example of the few-shot setting: one successful trajectory, of tasks that no composition holds."""

from functools import cache

from asyncguard_benchmark.harness.agents.plan import plan_of
from asyncguard_benchmark.harness.agents.schedulers import OracleAgent
from asyncguard_benchmark.harness.episode import Run, as_example
from asyncguard_benchmark.harness.loading import by_id, shipped_sub_tasks
from asyncguard_benchmark.harness.players.plain import play_plain
from asyncguard_benchmark.harness.scenario import Composition, Kind, Regime, Split, Surface

EXAMPLE_TASKS = ("fs-w01", "tb-w01")
"""Of the wild split: the example gives nothing away of any task that is scored."""


def example_composition() -> Composition:
    """Return the tasks that the example shows."""
    known = by_id(shipped_sub_tasks(Split.WILD))
    return Composition(
        id="example", kind=Kind.C2, sub_tasks=tuple(known[name] for name in EXAMPLE_TASKS)
    )


@cache
def example_of(regime: Regime, surface: Surface) -> str:
    """Return the oracle's conversation over the example, as text for a system prompt.

    Args:
        regime: The delays of the run that shows the example.
        surface: Its surface.
    """
    composition = example_composition()
    agent = OracleAgent(plan=plan_of(composition), name="oracle")
    return as_example(play_plain(composition, agent, Run(regime=regime, surface=surface, seed=0)))
