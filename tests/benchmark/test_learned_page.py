"""The page of the learned agent's results, from episodes of scripted agents: no PyTorch is needed."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.loading import shipped_compositions
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.runner import run_episode
from asyncguard_benchmark.harness.scenario import Regime, Suite, Surface
from asyncguard_benchmark.learned.comparisons import ModelRun
from asyncguard_benchmark.learned.reactions import Reaction, reactions
from asyncguard_benchmark.learned.results import written_results
from asyncguard_benchmark.learned.scripted import SCRIPTED

COMPOSITION = shipped_compositions(Suite.LITE)[40]


def _played(kind: str, regime: Regime, arm: str) -> Episode:
    agent = AgentSpec(kind=kind).make(COMPOSITION, 0)
    found = run_episode(COMPOSITION, agent, regime, Surface.NATIVE)
    return replace(found, settings={"arm": arm}, messages=())


def _page(*episodes: Episode) -> str:
    record = {"step": 6, "training": {"seed": 0, "late": 0.0}}
    run = ModelRun(episodes=episodes, record=record, digest="0" * 64, asked=len(episodes))
    return written_results([run])


def _section(page: str, heading: str) -> str:
    return page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def test_the_summary_says_what_late_results_cost_and_where_nothing_is_shown() -> None:
    """Each line has its figure and interval; a difference whose interval holds 0 is said to be none."""
    summary = _section(
        _page(
            _played("oracle", Regime.SYNC, "none"),
            _played("eager", Regime.FIXED1, "none"),
            _played("eager", Regime.FIXED1, "ledger+waiting+references"),
            _played("oracle", Regime.FIXED1, "without-task_view"),
            _played("eager", Regime.FIXED1, "sham"),
            _played("eager", Regime.FIXED1, "all"),
        ),
        "Summary",
    )
    lines = summary.strip().splitlines()
    assert lines[0].startswith("- Results at once, unguarded: 100.0 (")
    assert lines[1].startswith("- Results one turn late, unguarded: 0.0 (")
    assert lines[2].startswith("- What late results cost: -")
    assert lines[3].startswith("- All guards against the sham: +0.0 (")
    assert lines[3].endswith("no difference is shown.")
    assert lines[4].startswith("- All guards, where that list is not shown: +")
    without, _, with_guards = lines[5].partition("; with all guards: ")
    assert with_guards.startswith("0 calls that needed a pending value, and 0 early calls")
    assert "0 calls that needed a pending value" not in without
    assert len(lines) == 6


def test_mistakes_stand_beside_those_of_scripted_agents_on_the_same_compositions() -> None:
    """Shares add up to all failed sub-tasks; an agent that invents what is late fails by that alone."""
    rows = [
        line.strip("| ").split(" | ")
        for line in _section(
            _page(_played("eager", Regime.FIXED1, "none")),
            "Mistakes beside those of scripted agents, fixed1 unguarded",
        ).splitlines()
        if line.startswith("| ")
    ]
    head, own, *others = rows
    assert own[0] == "learned"
    assert [row[0] for row in others] == list(SCRIPTED)
    eager = others[SCRIPTED.index("eager")]
    assert own[1:] == eager[1:]
    assert eager[head.index("premature, %")] == eager[head.index("invented, %")] == "100"
    for row in rows[1:]:
        shares = row[2 : head.index("wrong early calls")]
        assert row[1] == "0" or 97 <= sum(map(int, shares)) <= 103


def _noted(tick: int, call: str, verdict: str = "reject") -> Mapping[str, Any]:
    return {"tick": tick, "guard": "scope", "verdict": verdict, "task": "a", "call": call}


@pytest.mark.parametrize(
    ("noted", "expected"),
    [
        pytest.param([_noted(90, "pay#1")], [Reaction.NONE], id="nothing came"),
        pytest.param([_noted(0, "pay#1")], [Reaction.MADE], id="a call was made"),
        pytest.param(
            [_noted(90, "pay#1"), _noted(91, "book#1")],
            [Reaction.REFUSED, Reaction.NONE],
            id="another was refused",
        ),
        pytest.param(
            [_noted(90, "pay#1"), _noted(91, "pay#2", "defer")],
            [Reaction.REFUSED, Reaction.SAME],
            id="the same tool was held",
        ),
        pytest.param([_noted(90, "pay#1", "defer")], [], id="held, not refused"),
        pytest.param([_noted(90, "", "wait")], [], id="a reminder is no refusal"),
    ],
)
def test_what_follows_a_refusal(noted: list[Mapping[str, Any]], expected: list[Reaction]) -> None:
    """Only refused calls count, each turn with one by what the next turn holds."""
    episode = _played("eager", Regime.FIXED1, "all")
    assert episode.trajectory[0].issued == 1
    episode = replace(episode, settings={"arm": "all", "interventions": noted})
    assert list(reactions(episode)) == expected
