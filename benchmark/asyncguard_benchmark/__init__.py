"""A benchmark of asynchronous function calling over several tasks at once, after the AsyncTool paper.

``run_episode`` plays one composition, ``score`` judges what came of it, ``summarise`` turns scores into figures.
"""

from asyncguard_benchmark.episode import Episode, Run, episode_from_json, episode_to_json
from asyncguard_benchmark.loading import shipped_compositions, shipped_sub_tasks
from asyncguard_benchmark.metrics.summary import Summary, summarise
from asyncguard_benchmark.runner import Player, run_episode
from asyncguard_benchmark.scenario import Composition, Regime, SubTask, Surface
from asyncguard_benchmark.scorers.scoring import Score, score

__all__ = [
    "Composition",
    "Episode",
    "Player",
    "Regime",
    "Run",
    "Score",
    "SubTask",
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
