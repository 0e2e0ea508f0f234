"""AsyncTool as a task of Inspect: ``inspect eval asyncguard_benchmark/asynctool --model ...``.

The module of the entry point `inspect_ai`: importing it registers the task, the scorer, the solvers and the provider of
the simulated agents.
"""

from collections.abc import Sequence
from typing import TypeVar, cast

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    Value,
    metric,
    scorer,
)
from inspect_ai.solver import TaskState

from asyncguard_benchmark.errors import UnknownNameError
from asyncguard_benchmark.harness.inspect_bridge.agents import compositions_of
from asyncguard_benchmark.harness.inspect_bridge.registration import registered
from asyncguard_benchmark.harness.inspect_bridge.solvers import (
    EPISODE,
    Conditions,
    episode_in,
    guarded,
    unguarded,
)
from asyncguard_benchmark.harness.protocol.prompts import first_user_message
from asyncguard_benchmark.harness.scenario import Composition, Regime, Surface
from asyncguard_benchmark.harness.scoring.verdict import SubTaskScore
from asyncguard_benchmark.harness.suites import registry
from asyncguard_benchmark.suites.asynctool.scorers.verdict import score as verdict_on

__all__ = ["asynctool", "figures", "guarded", "unguarded", "verdict"]

_E = TypeVar("_E", Regime, Surface)
_CHECKS = ("accurate", "trajectory", "ordered_trajectory", "result", "state")
"""Verdicts on a sub-task, by the names of `SubTaskScore`."""


@registered("asynctool", lambda name: task(name=name))
def asynctool(
    suite: str = "lite",
    compositions: str | list[str] | None = None,
    regime: str = "fixed1",
    surface: str = "text",
    seed: int = 0,
) -> Task:
    """Return a set of AsyncTool's compositions as a task; the solver is `unguarded` unless another is named.

    Args:
        suite: Set of compositions, as `asyncguard bench list sets` names them.
        compositions: Ids or beginnings of ids; None plays the whole set.
        regime: Delays of results.
        surface: `text` (actions as JSON text) or `native` (tool calls).
        seed: Seed of random delays, and of what a simulated agent draws.

    Raises:
        UnknownNameError: a name is unknown, or a beginning fits no composition.
    """
    sets = registry().suite("asynctool").sets
    if suite not in sets:
        raise UnknownNameError(f"there is no set {suite!r}; there are {', '.join(sets)}")
    beginnings = [compositions] if isinstance(compositions, str) else compositions
    chosen = _chosen(tuple(compositions_of(suite).values()), suite, beginnings)
    samples = [
        Sample(
            id=each.id,
            input=first_user_message(each),
            metadata=Conditions(
                suite=suite,
                composition=each.id,
                kind=each.kind.value,
                categories=[part.category.value for part in each.sub_tasks],
                regime=_member(Regime, regime),
                surface=_member(Surface, surface),
                seed=seed,
            ).model_dump(mode="json"),
        )
        for each in chosen
    ]
    return Task(
        dataset=MemoryDataset(samples, name=f"asynctool-{suite}"),
        solver=unguarded(),
        scorer=verdict(),
    )


def _chosen(
    known: Sequence[Composition], suite: str, beginnings: Sequence[str] | None
) -> Sequence[Composition]:
    for beginning in beginnings or ():
        if not any(each.id.startswith(beginning) for each in known):
            raise UnknownNameError(
                f"no composition of {suite} has an id that begins with {beginning!r}; see "
                "`asyncguard bench list compositions`"
            )
    return [each for each in known if beginnings is None or each.id.startswith(tuple(beginnings))]


def _member(kind: type[_E], name: str) -> _E:
    try:
        return kind(name)
    except ValueError:
        known = ", ".join(each.value for each in kind)
        raise UnknownNameError(
            f"there is no {kind.__name__.lower()} {name!r}; there are {known}"
        ) from None


@registered("figures", lambda name: metric(name))
def figures() -> Metric:
    """Return the figures of `asyncguard bench score`: shares in per cent, over compositions and over sub-tasks.

    `overall` counts compositions, the other shares sub-tasks; rounds and ticks are means over compositions. Inspect's
    epochs are averaged before.
    """

    def of(scores: list[SampleScore]) -> Value:
        values = [cast(dict[str, float], each.score.value) for each in scores]
        totals = {
            name: sum(value[name] for value in values) for name in (values[0] if values else ())
        }
        if not totals:
            return {}
        count, tasks = len(values), totals["sub_tasks"]
        return {
            "overall": 100 * totals["overall"] / count,
            **{name: 100 * totals[name] / tasks for name in _CHECKS},
            "rounds": totals["rounds"] / count,
            "ticks": totals["ticks"] / count,
            "premature_needed": totals["premature_needed"],
        }

    return of


@registered("verdict", lambda name: scorer(metrics=[figures()], name=name))
def verdict() -> Scorer:
    """Return AsyncTool's scorer: calls, results and final state of every sub-task, all executed again.

    A score holds `overall` (0 or 1), the number of sub-tasks and how many of them passed each check, rounds, ticks, and
    calls that needed the value of a pending call.
    """

    async def judge(state: TaskState, target: Target) -> Score:
        found = verdict_on(episode_in(state.store.get(EPISODE), state.sample_id))
        parts = found.sub_tasks
        findings = [f"{part.task_id}: {each}" for part in parts for each in part.findings]
        return Score(
            value={
                "overall": int(found.overall),
                "sub_tasks": len(parts),
                **{name: _passed(parts, name) for name in _CHECKS},
                "rounds": found.counters.rounds,
                "ticks": found.counters.ticks,
                "premature_needed": sum(part.premature_needed for part in parts),
            },
            explanation="\n".join(findings) or None,
        )

    return judge


def _passed(parts: Sequence[SubTaskScore], check: str) -> int:
    return sum(bool(getattr(part, check)) for part in parts)
