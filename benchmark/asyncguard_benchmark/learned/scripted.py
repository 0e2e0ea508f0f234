"""Scripted agents on the compositions of the study, late and unguarded: to see the model's mistakes beside theirs."""

from collections.abc import Mapping, Sequence

from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.runner import run_episode
from asyncguard_benchmark.harness.scenario import Composition, Regime, Surface

SCRIPTED = ("eager", "neglectful", "confused", "keyword-and-copy", "persona:gpt-4.1")
"""Agents with one fault each, one without a plan, and one fitted to the figures that are published of a model."""


def scripted_episodes(compositions: Sequence[Composition]) -> Mapping[str, Sequence[Episode]]:
    """Return an episode of each composition, by agent."""
    return {
        kind: [
            run_episode(each, AgentSpec(kind=kind).make(each, 0), Regime.FIXED1, Surface.NATIVE)
            for each in compositions
        ]
        for kind in SCRIPTED
    }
