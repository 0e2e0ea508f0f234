"""Episodes in few bytes, to be drawn as swim lanes: one lane for each sub-task, one column for each tick."""

import json
from collections.abc import Mapping
from typing import Any

from asyncguard_benchmark.harness.environment import CallRecord
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.scenario import SubTask
from asyncguard_benchmark.harness.scoring.canonical import canonical
from asyncguard_benchmark.harness.scoring.evidence import gold_replay
from asyncguard_benchmark.harness.scoring.verdict import Score
from asyncguard_benchmark.services.catalogue import tools_of

_LONGEST_QUERY, _LONGEST_VALUE = 700, 180
"""Characters; what is longer is cut, and says so by an ellipsis."""
_NEVER = -1


def packed_task(task: SubTask) -> list[Any]:
    """Return category, query, and the gold chain as [tool, arguments, result]."""
    results = gold_replay(task).results
    chain = [
        [call.tool, _text(call.arguments), _cut(result, _LONGEST_VALUE)]
        for call, result in zip(task.gold, results, strict=True)
    ]
    return [task.category.value, _cut(task.query, _LONGEST_QUERY), chain]


def packed_episode(episode: Episode, judged: Score) -> dict[str, Any]:
    """Return the data of a timeline; a call that equals one of the gold chain is given by its place there.

    Args:
        episode: The episode that was played.
        judged: Its verdict.
    """
    order = {task_id: number for number, task_id in enumerate(episode.composition.task_ids)}
    counters, verdicts = episode.counters, judged.sub_tasks
    return {
        "n": [
            counters.rounds,
            counters.ticks,
            counters.idle_turns,
            counters.format_errors,
            int(counters.truncated),
        ],
        "s": [int(each.accurate) for each in verdicts],
        "w": [str(each.findings[0]) if each.findings else "" for each in verdicts],
        "c": _calls(episode, order),
        "g": [_intervention(each, order) for each in episode.settings.get("interventions", ())],
    }


def _calls(episode: Episode, order: Mapping[str, int]) -> list[list[Any]]:
    chains = {task.id: _Chain(task) for task in episode.composition.sub_tasks}
    return [
        _call(record, order[record.task_id], chains[record.task_id])
        for record in episode.trajectory
    ]


class _Chain:
    """The gold chain of one sub-task, whose calls are taken one after the other."""

    def __init__(self, task: SubTask) -> None:
        gold = gold_replay(task)
        self.results = gold.results
        self._tools = tools_of(task)
        self._left = dict(enumerate(gold.calls))

    def take(self, record: CallRecord) -> int:
        """Return the place of a call in the chain; -1 if it is none of those that are left."""
        made = canonical(record.tool, record.arguments, self._tools)
        place = next((place for place, call in self._left.items() if call == made), _NEVER)
        self._left.pop(place, None)
        return place


def _call(record: CallRecord, lane: int, chain: _Chain) -> list[Any]:
    """Return [lane, place in the gold chain or -1, issued, delivered or -1, premature], tool, arguments, result."""
    place = chain.take(record)
    delivered = _NEVER if record.delivered is None else record.delivered
    told: list[Any] = [lane, place, record.issued, delivered, int(record.premature)]
    response = _cut(record.response, _LONGEST_VALUE)
    if place == _NEVER:
        return [*told, record.tool, _text(record.arguments), response]
    return told if record.response == chain.results[place] else [*told, response]


def _intervention(told: Mapping[str, Any], order: Mapping[str, int]) -> list[Any]:
    """[tick, guard, verdict, lane or -1, call as the runtime names it, number of the call in the trajectory or -1]."""
    return [
        told["tick"],
        told["guard"],
        told["verdict"],
        order.get(told.get("task", ""), _NEVER),
        told.get("call", ""),
        told.get("number", _NEVER),
    ]


def _text(arguments: Mapping[str, Any]) -> str:
    said = ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items()
    )
    return _cut(said, _LONGEST_VALUE)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}\N{HORIZONTAL ELLIPSIS}"
