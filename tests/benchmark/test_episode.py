import copy
import json
from typing import Any

import pytest

from asyncguard_benchmark import (
    Regime,
    Surface,
    episode_from_json,
    episode_to_json,
    run_episode,
    score,
)
from asyncguard_benchmark.errors import EpisodeFormatError
from asyncguard_benchmark.harness.agents.plan import plan_of
from asyncguard_benchmark.harness.agents.schedulers import OracleAgent
from asyncguard_benchmark.harness.episode import as_example
from tests.benchmark.builders import compose

PAIR = compose("fs-11", "tb-03")


@pytest.fixture(scope="module")
def saved() -> dict[str, Any]:
    """A saved episode."""
    episode = run_episode(PAIR, OracleAgent(plan=plan_of(PAIR)), Regime.RANDOM12, Surface.NATIVE, 4)
    value: dict[str, Any] = json.loads(json.dumps(episode_to_json(episode)))
    return value


def test_a_saved_episode_scores_as_the_fresh_one(saved: dict[str, Any]) -> None:
    """Nothing that scoring needs is lost on disk."""
    fresh = run_episode(PAIR, OracleAgent(plan=plan_of(PAIR)), Regime.RANDOM12, Surface.NATIVE, 4)
    read = episode_from_json(saved)
    assert read == fresh
    assert score(read) == score(fresh)
    assert score(read).overall


@pytest.mark.parametrize(
    ("path", "value", "place"),
    [
        (["trajectory"], None, "trajectory"),
        (["trajectory", 0, "tool"], 3, "tool"),
        (["trajectory", 0, "task_id"], "fs-99", "fs-99"),
        (["trajectory", 1, "number"], 7, "trajectory[1]"),
        (["trajectory", 0, "pending_before"], [3], "trajectory[0]"),
        (["trajectory", 0, "arguments"], "x", "arguments"),
        (["counters", "rounds"], -1, "rounds"),
        (["run", "regime"], "slow", "regime"),
        (["composition", "kind"], "S3", "composition"),
        (["composition", "sub_tasks", 0, "gold", 0, "tool"], "cp2", "fs-11"),
        (["composition", "sub_tasks", 1, "initial_state", "balance"], "much", "balance"),
        (["format"], 99, "format"),
        (["surprise"], 1, "surprise"),
    ],
)
def test_a_malformed_episode_is_refused_with_its_place(
    saved: dict[str, Any], path: list[Any], value: Any, place: str
) -> None:
    """It is never half scored."""
    broken = copy.deepcopy(saved)
    holder = broken
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    with pytest.raises(EpisodeFormatError) as caught:
        episode_from_json(broken)
    assert place in str(caught.value)


@pytest.mark.parametrize("value", [None, [], "x", {}])
def test_what_is_no_episode_is_refused(value: Any) -> None:
    """Any JSON value gets a clear error."""
    with pytest.raises(EpisodeFormatError):
        episode_from_json(value)


def test_an_example_leaves_the_system_prompt_out(saved: dict[str, Any]) -> None:
    """The few-shot text starts with the tasks and holds the calls."""
    text = as_example(episode_from_json(saved))
    assert text.startswith("user: ")
    assert '"name": "list_orders"' in text
