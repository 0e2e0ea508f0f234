"""Parcels between a runner and its workers, as plain JSON: episodes to be played, and their outcomes.

A worker imports nothing that a parcel names, so agents are known by their names only, and
everything that arrives is checked before it is used, on both sides.
"""

import json
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from asyncguard_benchmark.errors import BenchmarkError, DataError, WorkersError
from asyncguard_benchmark.harness.campaign import Cell, Condition, Played, key_of, key_of_episode
from asyncguard_benchmark.harness.episode import digest_of, episode_from_json, episode_to_json
from asyncguard_benchmark.harness.loading import check, composition_from_json, composition_to_json
from asyncguard_benchmark.harness.names import PLAYER_NAMES
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.scenario import Regime, Surface
from asyncguard_benchmark.harness.suites import registry

KNOWN_AGENTS = tuple(registry().all_agents)
"""The agents that workers have."""
_TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
_CELL: dict[str, Any] = {
    "type": "object",
    "properties": {
        "composition": {"type": "object"},
        "agent": {
            "type": "object",
            "properties": {
                "kind": {"enum": list(KNOWN_AGENTS)},
                "settings": {"type": "object", "additionalProperties": {"type": "number"}},
            },
            "required": ["kind", "settings"],
            "additionalProperties": False,
        },
        "player": {"enum": list(PLAYER_NAMES)},
        "arm": {"type": "string"},
        "declared": {"type": "boolean"},
        "regime": {"enum": [each.value for each in Regime]},
        "surface": {"enum": [each.value for each in Surface]},
        "seed": {"type": "integer"},
        "few_shot": {"type": "boolean"},
    },
    "additionalProperties": False,
}
_CELL["required"] = list(_CELL["properties"])
_PLAYED = {
    "type": "object",
    "properties": {"episode": {"type": "object"}, "seconds": {"type": "number", "minimum": 0}},
    "required": ["episode", "seconds"],
    "additionalProperties": False,
}
_ERROR = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
        "text": {"type": "string"},
        "expected": {"type": "boolean"},
        "traceback": {"type": "string"},
    },
    "required": ["type", "text", "expected", "traceback"],
    "additionalProperties": False,
}
_ANSWER = {
    "type": "object",
    "properties": {
        "versions": _TEXTS,
        "worker": {"type": "string"},
        "played": {"type": "array", "items": _PLAYED},
        "error": _ERROR,
    },
    "required": ["versions", "worker", "played"],
    "additionalProperties": False,
}


class EpisodeError(Exception):
    """An episode ended in an error on a worker. Its class is named after the error, its text is that of the error."""


class ExpectedEpisodeError(EpisodeError, BenchmarkError):
    """The same, where the benchmark raised it on purpose."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Answer of a worker to a parcel."""

    versions: Mapping[str, str]
    """Those of the worker; if they are not the runner's, nothing was played."""
    worker: str
    """Name of the worker, for people."""
    played: Sequence[Played] = ()
    """In the order of the parcel, up to the first that ended in an error."""
    error: Exception | None = field(default=None, compare=False)
    """That error."""


def cell_to_json(cell: Cell) -> dict[str, Any]:
    """Return an episode to be played.

    Raises:
        WorkersError: workers do not know its agent.
    """
    condition, agent = cell.condition, cell.condition.agent
    if not isinstance(agent, AgentSpec) or agent.kind not in KNOWN_AGENTS:
        raise WorkersError(
            f"{agent.label} cannot be played on workers, which know the agents of `bench list agents` only; "
            "play it here, without --workers and --database-url"
        )
    return {
        "composition": composition_to_json(cell.composition),
        "agent": {"kind": agent.kind, "settings": dict(agent.settings)},
        "player": condition.player,
        "arm": condition.arm,
        "declared": condition.declared,
        "regime": condition.regime.value,
        "surface": condition.surface.value,
        "seed": condition.seed,
        "few_shot": condition.few_shot,
    }


def cell_from_json(value: Any) -> Cell:
    """Return the episode that :func:`cell_to_json` wrote.

    Raises:
        DataError: it is none.
    """
    check(value, _CELL, "cell")
    condition = Condition(
        agent=AgentSpec(kind=value["agent"]["kind"], settings=value["agent"]["settings"]),
        player=value["player"],
        arm=value["arm"],
        declared=value["declared"],
        regime=Regime(value["regime"]),
        surface=Surface(value["surface"]),
        seed=value["seed"],
        few_shot=value["few_shot"],
    )
    return Cell(
        composition=composition_from_json(value["composition"], "cell.composition"),
        condition=condition,
    )


def answer_to_json(answer: Answer) -> str:
    """Return the answer as text."""
    value: dict[str, Any] = {
        "versions": dict(answer.versions),
        "worker": answer.worker,
        "played": [_played_to_json(each) for each in answer.played],
    }
    if answer.error is not None:
        value["error"] = _error_to_json(answer.error)
    return json.dumps(value)


def answer_from_json(text: str, cells: Sequence[Cell]) -> Answer:
    """Return the answer that :func:`answer_to_json` wrote.

    Args:
        text: The answer.
        cells: Episodes that were to be played.

    Raises:
        WorkersError: it is none, or not to these.
    """
    try:
        value = json.loads(text)
        check(value, _ANSWER, "answer")
        played = list(_played_from_json(value["played"], cells))
    except (DataError, RecursionError, ValueError) as problem:
        raise WorkersError(f"the answer of a worker cannot be read: {problem}") from problem
    error = _error_from_json(value["error"], value["worker"]) if "error" in value else None
    return Answer(versions=value["versions"], worker=value["worker"], played=played, error=error)


def _played_to_json(played: Played) -> dict[str, Any]:
    # The runner has the composition.
    composition = {"digest": digest_of(played.episode.composition)}
    return {
        "episode": {**episode_to_json(played.episode), "composition": composition},
        "seconds": played.seconds,
    }


def _played_from_json(values: Sequence[Any], cells: Sequence[Cell]) -> Iterator[Played]:
    if len(values) > len(cells):
        raise DataError("answer", f"holds {len(values)} episodes where {len(cells)} were asked for")
    for value, cell in zip(values, cells, strict=False):
        composition = cell.composition
        episode = episode_from_json(value["episode"], {digest_of(composition): composition})
        if key_of_episode(episode) != key_of(cell):
            raise DataError(
                "answer", f"holds {key_of_episode(episode)} where {key_of(cell)} was asked for"
            )
        yield Played(episode=episode, seconds=value["seconds"])


def _error_to_json(error: Exception) -> dict[str, Any]:
    return {
        "type": type(error).__name__,
        "text": str(error),
        "expected": isinstance(error, BenchmarkError),
        "traceback": "".join(traceback.format_exception(error)),
    }


def _error_from_json(value: Mapping[str, Any], worker: str) -> Exception:
    """Return an exception that is told as the worker's would have been told here, by its class and its text."""
    base = ExpectedEpisodeError if value["expected"] else EpisodeError
    made: Exception = type(value["type"], (base,), {})(value["text"])
    made.add_note(f"on {worker}:\n{value['traceback']}")
    return made
