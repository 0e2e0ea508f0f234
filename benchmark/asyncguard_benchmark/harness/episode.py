"""One finished run, as plain JSON that can be saved and scored again later without the agent."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from asyncguard_benchmark.errors import DataError, EpisodeFormatError
from asyncguard_benchmark.harness.environment import CallRecord, Counters, Environment
from asyncguard_benchmark.harness.faults import FIRING_SCHEMA, Firing, firing_from_json
from asyncguard_benchmark.harness.loading import check, composition_from_json, composition_to_json
from asyncguard_benchmark.harness.scenario import Composition, Regime, Surface

FORMAT = 1
"""Version of the saved form."""

_COUNT = {"type": "integer", "minimum": 0, "maximum": 10**12}
_TEXT = {"type": "string"}
_RECORD = {
    "type": "object",
    "properties": {
        "number": _COUNT,
        "task_id": {"type": "string"},
        "tool": {"type": "string"},
        "arguments": {"type": "object"},
        "response": {"type": "string"},
        "issued": _COUNT,
        "due": _COUNT,
        "delivered": {"anyOf": [_COUNT, {"type": "null"}]},
        "pending_before": {"type": "array", "items": _COUNT},
    },
    "additionalProperties": False,
}
_RECORD["required"] = list(_RECORD["properties"])  # type: ignore[call-overload]
_RECORD["properties"]["note"] = {"type": "string", "minLength": 1}  # type: ignore[index]
_COUNTERS = {
    "type": "object",
    "properties": {
        "rounds": _COUNT,
        "ticks": _COUNT,
        "idle_turns": _COUNT,
        "format_errors": _COUNT,
        "truncated": {"type": "boolean"},
    },
    "required": ["rounds", "ticks", "idle_turns", "format_errors", "truncated"],
    "additionalProperties": False,
}
_SETTINGS = {
    "type": "object",
    "properties": {
        "arm": _TEXT,
        "characters": {"anyOf": [_COUNT, {"type": "null"}]},
        "declared": {"type": "boolean"},
        "interventions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "guard": _TEXT,
                    "verdict": _TEXT,
                    "task": _TEXT,
                    "enforced": {"type": "boolean"},
                },
                "required": ["guard", "verdict"],
            },
        },
        "involved": {"type": "array", "items": _TEXT},
        "refused": _COUNT,
        "refusals_wanted": _COUNT,
        "usage": {
            "type": "object",
            "properties": {
                "dollars": {"anyOf": [{"type": "number", "minimum": 0}, {"type": "null"}]}
            },
        },
    },
}
"""Schema of the notes that players write and others read; a player may note more."""
_EPISODE = {
    "type": "object",
    "properties": {
        "format": {"const": FORMAT},
        "composition": {"type": "object"},
        "agent": {"type": "string"},
        "player": {"type": "string"},
        "run": {
            "type": "object",
            "properties": {
                "regime": {"enum": [each.value for each in Regime]},
                "surface": {"enum": [each.value for each in Surface]},
                "seed": {"type": "integer"},
            },
            "required": ["regime", "surface", "seed"],
            "additionalProperties": False,
        },
        "settings": _SETTINGS,
        "messages": {"type": "array", "items": {"type": "object", "required": ["role", "content"]}},
        "trajectory": {"type": "array", "items": _RECORD},
        "counters": _COUNTERS,
        "firings": {"type": "array", "items": FIRING_SCHEMA, "minItems": 1},
    },
    "required": [
        "format",
        "composition",
        "agent",
        "player",
        "run",
        "settings",
        "messages",
        "trajectory",
        "counters",
    ],
    "additionalProperties": False,
}


@dataclass(frozen=True, kw_only=True)
class Run:
    """The conditions of one episode."""

    regime: Regime
    surface: Surface
    seed: int
    """Seed of the random delays."""


@dataclass(frozen=True, kw_only=True)
class Episode:
    """Everything that a scorer may look at."""

    composition: Composition
    """In full, so that a change of the shipped data cannot change an old score."""
    agent: str
    player: str
    run: Run
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The player's own configuration, as JSON."""
    messages: tuple[Mapping[str, Any], ...]
    trajectory: tuple[CallRecord, ...]
    """Calls that reached an executor, in the order of issue."""
    counters: Counters
    firings: tuple[Firing, ...] = ()
    """The faults that struck, in the order of the calls."""

    def calls_of(self, task_id: str) -> tuple[CallRecord, ...]:
        """Return the calls made with one sub-task's id, in order."""
        return tuple(record for record in self.trajectory if record.task_id == task_id)


def finished(
    environment: Environment,
    messages: Sequence[BaseMessage],
    run: Run,
    *,
    agent: str,
    player: str,
    **settings: Any,
) -> Episode:
    """Return the episode of an environment whose run is over; every player ends with this.

    Args:
        environment: Holds trajectory and counters.
        messages: The whole conversation as the agent saw it.
        run: The conditions.
        agent: Name of the agent.
        player: Name of the player.
        settings: The player's own configuration, as JSON.
    """
    return Episode(
        composition=environment.composition,
        agent=agent,
        player=player,
        run=run,
        settings=settings,
        messages=tuple(message_to_json(message) for message in messages),
        trajectory=environment.trajectory,
        counters=environment.counters,
        firings=environment.firings,
    )


_ROLES = {"system": "system", "human": "user", "ai": "assistant", "tool": "tool"}


def message_to_json(message: BaseMessage) -> dict[str, Any]:
    """Return role, content and what ties calls to their answers; ids of messages and usage data are left out."""
    value: dict[str, Any] = {
        "role": _ROLES.get(message.type, message.type),
        "content": message.content,
    }
    if isinstance(message, AIMessage) and message.tool_calls:
        value["tool_calls"] = [
            {key: call[key] for key in ("id", "name", "args")} for call in message.tool_calls
        ]
    if isinstance(message, ToolMessage):
        value |= {"tool_call_id": message.tool_call_id, "status": message.status}
    return value


def as_example(episode: Episode) -> str:
    """Return the conversation after the system prompt as text, to be the few-shot example of another run."""
    told = (message for message in episode.messages if message["role"] != "system")
    return "\n".join(
        f"{message['role']}: {json.dumps(_said(message), ensure_ascii=False)}" for message in told
    )


def _said(message: Mapping[str, Any]) -> Any:
    return message.get("tool_calls") or message["content"]


def episode_to_json(episode: Episode) -> dict[str, Any]:
    """Return the saved form."""
    return {
        "format": FORMAT,
        "composition": composition_to_json(episode.composition),
        "agent": episode.agent,
        "player": episode.player,
        "run": {
            "regime": episode.run.regime.value,
            "surface": episode.run.surface.value,
            "seed": episode.run.seed,
        },
        "settings": dict(episode.settings),
        "messages": [dict(message) for message in episode.messages],
        "trajectory": [_record_to_json(record) for record in episode.trajectory],
        "counters": asdict(episode.counters),
        **({"firings": [asdict(firing) for firing in episode.firings]} if episode.firings else {}),
    }


def _record_to_json(record: CallRecord) -> dict[str, Any]:
    value = {**asdict(record), "pending_before": list(record.pending_before)}
    # Most calls have no note, and episodes that were saved before there were notes have the same form as ever.
    return {name: item for name, item in value.items() if name != "note" or item}


def digest_of(composition: Composition) -> str:
    """Return a short name for a composition; compositions that differ have different names."""
    text = json.dumps(composition_to_json(composition), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def episode_from_json(value: Any, compositions: Mapping[str, Composition] | None = None) -> Episode:
    """Read the saved form back.

    Args:
        value: The form of `episode_to_json`, or the same with ``{"digest": ...}`` for its composition.
        compositions: Digest -> composition, for episodes that name theirs.

    Raises:
        EpisodeFormatError: a part is missing, of the wrong type, or refers to something that is not there.
    """
    try:
        check(value, _EPISODE, "episode")
        composition = _named(value["composition"], compositions or {})
    except DataError as problem:
        raise EpisodeFormatError(problem.where, problem.problem) from problem
    records = tuple(
        CallRecord(**{**r, "pending_before": tuple(r["pending_before"])})
        for r in value["trajectory"]
    )
    _check_records(records, composition)
    run = value["run"]
    return Episode(
        composition=composition,
        agent=value["agent"],
        player=value["player"],
        run=Run(regime=Regime(run["regime"]), surface=Surface(run["surface"]), seed=run["seed"]),
        settings=value["settings"],
        messages=tuple(value["messages"]),
        trajectory=records,
        counters=Counters(**value["counters"]),
        firings=tuple(firing_from_json(firing) for firing in value.get("firings", ())),
    )


def _named(value: Mapping[str, Any], known: Mapping[str, Composition]) -> Composition:
    if set(value) != {"digest"}:
        return _composition(json.dumps(value))
    if not isinstance(value["digest"], str) or value["digest"] not in known:
        raise DataError(
            "episode.composition", f"nothing before it says what {value['digest']!r} is"
        )
    return known[value["digest"]]


@lru_cache(maxsize=2048)
def _composition(text: str) -> Composition:
    """Return a composition from its saved form; cached, as files repeat compositions and checking one is slow."""
    return composition_from_json(json.loads(text), "episode.composition")


def _check_records(records: Sequence[CallRecord], composition: Composition) -> None:
    for position, record in enumerate(records):
        where = f"episode.trajectory[{position}]"
        if record.number != position:
            raise EpisodeFormatError(where, f"has the number {record.number}")
        if composition.sub_task(record.task_id) is None:
            raise EpisodeFormatError(where, f"names the unknown sub-task {record.task_id!r}")
        if any(number >= position for number in record.pending_before):
            raise EpisodeFormatError(where, "names pending calls that were not made before it")
