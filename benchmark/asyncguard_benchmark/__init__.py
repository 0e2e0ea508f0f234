"""A benchmark of asynchronous function calling over several tasks at once, after the AsyncTool paper.

``run_episode`` plays one composition, ``score`` judges what came of it, ``summarise`` turns scores into figures. Names
are loaded when they are used: the command line asks for this package without needing any of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncguard_benchmark.harness.episode import (
        Episode,
        Run,
        episode_from_json,
        episode_to_json,
    )
    from asyncguard_benchmark.harness.loading import shipped_compositions, shipped_sub_tasks
    from asyncguard_benchmark.harness.runner import Player, run_episode
    from asyncguard_benchmark.harness.scenario import (
        Composition,
        Regime,
        Split,
        SubTask,
        Suite,
        Surface,
    )
    from asyncguard_benchmark.harness.scoring.summary import Summary, summarise
    from asyncguard_benchmark.harness.scoring.verdict import Score, score

_HOMES = {
    "harness.episode": ("Episode", "Run", "episode_from_json", "episode_to_json"),
    "harness.loading": ("shipped_compositions", "shipped_sub_tasks"),
    "harness.scoring.summary": ("Summary", "summarise"),
    "harness.runner": ("Player", "run_episode"),
    "harness.scenario": ("Composition", "Regime", "Split", "SubTask", "Suite", "Surface"),
    "harness.scoring.verdict": ("Score", "score"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Composition",
    "Episode",
    "Player",
    "Regime",
    "Run",
    "Score",
    "Split",
    "SubTask",
    "Suite",
    "Summary",
    "Surface",
    "episode_from_json",
    "episode_to_json",
    "run_episode",
    "score",
    "shipped_compositions",
    "shipped_sub_tasks",
    "summarise",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'asyncguard_benchmark' has no attribute {name!r}")
    return getattr(import_module(f"asyncguard_benchmark.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
