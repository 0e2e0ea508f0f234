"""Parcels between a runner and its workers, as plain JSON: episodes to be played, and their outcomes.

A worker imports nothing on the word of a parcel: agents are known by their names only, guards of the user's own are
those that the worker's environment names, and everything that arrives is checked before it is used, on both sides.
"""

import json
import os
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import AfterValidator, Field, TypeAdapter

from asyncguard_benchmark.errors import BenchmarkError, DataError, WorkersError
from asyncguard_benchmark.harness.arms import rules_of
from asyncguard_benchmark.harness.campaign import Cell, Condition, Played, key_of
from asyncguard_benchmark.harness.episode import digest_of, episode_from_json, episode_to_json
from asyncguard_benchmark.harness.episode_key import key_of_episode
from asyncguard_benchmark.harness.loading import composition_from_json, composition_to_json
from asyncguard_benchmark.harness.names import PLAYER_NAMES
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.saved_form import (
    Real,
    Truth,
    Whole,
    json_value,
    parse,
    saved_form,
)
from asyncguard_benchmark.harness.scenario import Contract, Regime, Surface
from asyncguard_benchmark.harness.suites import registry

KNOWN_AGENTS = tuple(registry().all_agents)
"""The agents that workers have."""


GUARDS = "ASYNCGUARD_BENCHMARK_GUARDS"
"""Environment variable of a worker: the guards of the user's own that it may import, by commas."""


def _arm(name: str) -> str:
    if unknown := set(rules_of(name)) - set(os.environ.get(GUARDS, "").split(",")):
        raise ValueError(
            f"{min(unknown)!r} must be among the guards that the worker's {GUARDS} names"
        )
    return name


def _known(kind: str) -> str:
    if kind not in KNOWN_AGENTS:
        raise ValueError(f"{kind!r} must be an agent that workers know")
    return kind


def _player(name: str) -> str:
    if name not in PLAYER_NAMES:
        raise ValueError(f"{name!r} must be a player: {', '.join(PLAYER_NAMES)}")
    return name


@saved_form()
@dataclass(frozen=True, kw_only=True)
class _SavedAgent:
    kind: Annotated[str, AfterValidator(_known)]
    settings: Mapping[str, Whole | Real]


@saved_form()
@dataclass(frozen=True, kw_only=True)
class _SavedCell:
    composition: Mapping[str, Any]
    agent: _SavedAgent
    player: Annotated[str, AfterValidator(_player)]
    arm: Annotated[str, AfterValidator(_arm)]
    declared: Truth
    regime: Regime
    surface: Surface
    seed: Whole
    few_shot: Truth
    contract: Contract


@saved_form()
@dataclass(frozen=True, kw_only=True)
class _SavedPlayed:
    episode: Mapping[str, Any]
    seconds: Annotated[float, Field(strict=True, ge=0)]


@saved_form()
@dataclass(frozen=True, kw_only=True)
class _SavedError:
    type: Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_]*$")]
    text: str
    expected: Truth
    traceback: str


@saved_form("error")
@dataclass(frozen=True, kw_only=True)
class _SavedAnswer:
    versions: Mapping[str, str]
    worker: str
    played: tuple[_SavedPlayed, ...]
    error: _SavedError | None = None


_CELL = TypeAdapter(_SavedCell)
_ANSWER = TypeAdapter(_SavedAnswer)
_CONDITION = ("player", "arm", "declared", "regime", "surface", "seed", "few_shot", "contract")
"""Fields that a saved episode to be played shares with its condition."""


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
    saved = _SavedCell(
        composition=composition_to_json(cell.composition),
        agent=_SavedAgent(kind=agent.kind, settings=agent.settings),
        **{name: getattr(condition, name) for name in _CONDITION},
    )
    return dict(_CELL.dump_python(saved))


def cell_from_json(value: Any) -> Cell:
    """Return the episode that :func:`cell_to_json` wrote.

    Raises:
        DataError: it is none.
    """
    saved = parse(_CELL, value, "cell")
    condition = Condition(
        agent=AgentSpec(kind=saved.agent.kind, settings=saved.agent.settings),
        **{name: getattr(saved, name) for name in _CONDITION},
    )
    composition = composition_from_json(saved.composition, "cell.composition")
    return Cell(composition=composition, condition=condition)


def answer_to_json(answer: Answer) -> str:
    """Return the answer as text."""
    saved = _SavedAnswer(
        versions=answer.versions,
        worker=answer.worker,
        played=tuple(_saved(each) for each in answer.played),
        error=None if answer.error is None else _saved_error(answer.error),
    )
    left_out = {"error"} if answer.error is None else set()
    return json.dumps(_ANSWER.dump_python(saved, exclude=left_out))


def answer_from_json(text: str, cells: Sequence[Cell]) -> Answer:
    """Return the answer that :func:`answer_to_json` wrote.

    Args:
        text: The answer.
        cells: Episodes that were to be played.

    Raises:
        WorkersError: it is none, or not to these.
    """
    try:
        saved = parse(_ANSWER, json_value(text), "answer")
        played = list(_played(saved.played, cells))
    except (DataError, RecursionError, ValueError) as problem:
        raise WorkersError(f"the answer of a worker cannot be read: {problem}") from problem
    error = None if saved.error is None else _error(saved.error, saved.worker)
    return Answer(versions=saved.versions, worker=saved.worker, played=played, error=error)


def _saved(played: Played) -> _SavedPlayed:
    # The runner has the composition.
    composition = {"digest": digest_of(played.episode.composition)}
    episode = {**episode_to_json(played.episode), "composition": composition}
    return _SavedPlayed(episode=episode, seconds=played.seconds)


def _played(found: Sequence[_SavedPlayed], cells: Sequence[Cell]) -> Iterator[Played]:
    if len(found) > len(cells):
        raise DataError("answer", f"holds {len(found)} episodes where {len(cells)} were asked for")
    for each, cell in zip(found, cells, strict=False):
        composition = cell.composition
        episode = episode_from_json(each.episode, {digest_of(composition): composition})
        if key_of_episode(episode) != key_of(cell):
            raise DataError(
                "answer", f"holds {key_of_episode(episode)} where {key_of(cell)} was asked for"
            )
        yield Played(episode=episode, seconds=each.seconds)


def _saved_error(error: Exception) -> _SavedError:
    return _SavedError(
        type=type(error).__name__,
        text=str(error),
        expected=isinstance(error, BenchmarkError),
        traceback="".join(traceback.format_exception(error)),
    )


def _error(saved: _SavedError, worker: str) -> Exception:
    """Return an exception that is told as the worker's would have been told here, by its class and its text."""
    base = ExpectedEpisodeError if saved.expected else EpisodeError
    made: Exception = type(saved.type, (base,), {})(saved.text)
    made.add_note(f"on {worker}:\n{saved.traceback}")
    return made
