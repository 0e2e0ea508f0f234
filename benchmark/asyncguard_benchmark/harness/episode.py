"""One finished run, as plain JSON that can be saved and scored again later without the agent."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter, ValidationInfo

from asyncguard_benchmark.errors import DataError, EpisodeFormatError
from asyncguard_benchmark.harness.environment import CallRecord, Counters, Environment
from asyncguard_benchmark.harness.faults import Firing
from asyncguard_benchmark.harness.loading import composition_from_json, composition_to_json
from asyncguard_benchmark.harness.saved_form import Count, Truth, Whole, parse, saved_form
from asyncguard_benchmark.harness.scenario import Composition, Contract, Regime, Surface

if (
    TYPE_CHECKING
):  # to import messages takes as long as to read a thousand episodes, which needs none
    from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

FORMAT = 1
"""Version of the saved form."""


@dataclass(frozen=True, kw_only=True)
class _Intervention:
    guard: str
    verdict: str
    task: str = ""
    enforced: Truth = True


@dataclass(frozen=True, kw_only=True)
class _Usage:
    dollars: Annotated[float, Field(strict=True, ge=0)] | None = None


@dataclass(frozen=True, kw_only=True)
class _Notes:
    """Notes that players write in the settings and others read; a player may note more."""

    arm: str = ""
    characters: Count | None = None
    declared: Truth = True
    interventions: tuple[_Intervention, ...] = ()
    involved: tuple[str, ...] = ()
    refused: Count = 0
    refusals_wanted: Count = 0
    usage: _Usage = field(default_factory=_Usage)


_NOTES = TypeAdapter(_Notes)


def _settings_checked(value: Mapping[str, Any]) -> Mapping[str, Any]:
    _NOTES.validate_python(value)
    return value


def _messages_checked(messages: tuple[Mapping[str, Any], ...]) -> tuple[Mapping[str, Any], ...]:
    for number, message in enumerate(messages):
        if "role" not in message or "content" not in message:
            raise ValueError(f"message {number} lacks a role or a content")
    return messages


def _composition_of(value: Any, info: ValidationInfo) -> Any:
    """Return the composition that a digest names among those of the context, or one that is told in full."""
    where = "episode.composition"
    match value:
        case {"digest": digest, **rest} if not rest:
            known = info.context or {}
            if not isinstance(digest, str) or digest not in known:
                raise DataError(where, f"nothing before it says what {digest!r} is")
            return known[digest]
        case dict():
            return _composition(json.dumps(value), where)
        case _:
            return value


@lru_cache(maxsize=2048)
def _composition(text: str, where: str) -> Composition:
    """Return a composition from its saved form; cached, as files repeat compositions and checking one is slow."""
    return composition_from_json(json.loads(text), where)


@saved_form("contract")
@dataclass(frozen=True, kw_only=True)
class Run:
    """The conditions of one episode."""

    regime: Regime
    surface: Surface
    seed: Whole
    """Seed of the random delays."""
    contract: Contract = Contract.OURS
    """Files that are older than the other one do not say it."""

    def __post_init__(self) -> None:
        if self.contract is Contract.PAPER and self.surface is not Surface.TEXT:
            raise ValueError("the paper's contract is of the text surface")


@saved_form("firings")
@dataclass(frozen=True, kw_only=True)
class Episode:
    """Everything that a scorer may look at."""

    composition: Annotated[Composition, BeforeValidator(_composition_of)]
    """In full, so that a change of the shipped data cannot change an old score."""
    agent: str
    player: str
    run: Run
    settings: Annotated[Mapping[str, Any], AfterValidator(_settings_checked)] = field(
        default_factory=dict
    )
    """The player's own configuration, as JSON."""
    messages: Annotated[tuple[Mapping[str, Any], ...], AfterValidator(_messages_checked)]
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
    messages: "Sequence[BaseMessage]",
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


def message_to_json(message: "BaseMessage") -> dict[str, Any]:
    """Return role, content and what ties calls to their answers; ids of messages and usage data are left out."""
    value: dict[str, Any] = {
        "role": _ROLES.get(message.type, message.type),
        "content": message.content,
    }
    if hasattr(message, "tool_calls") and (calls := cast("AIMessage", message).tool_calls):
        value["tool_calls"] = [{key: call[key] for key in ("id", "name", "args")} for call in calls]
    if hasattr(message, "tool_call_id"):
        answer = cast("ToolMessage", message)
        value |= {"tool_call_id": answer.tool_call_id, "status": answer.status}
    return value


def as_example(episode: Episode) -> str:
    """Return the conversation after the system prompt as text, to be the few-shot example of another run."""
    told = (message for message in episode.messages if message["role"] != "system")
    return "\n".join(
        f"{message['role']}: {json.dumps(_said(message), ensure_ascii=False)}" for message in told
    )


def _said(message: Mapping[str, Any]) -> Any:
    return message.get("tool_calls") or message["content"]


_EPISODE = TypeAdapter(Episode)


def episode_to_json(episode: Episode) -> dict[str, Any]:
    """Return the saved form."""
    # What says nothing is left out: episodes saved before there were notes and faults have the same form as ever.
    left_out: dict[str, Any] = {
        "composition": True,
        "trajectory": {
            n: {"note"} for n, record in enumerate(episode.trajectory) if not record.note
        },
    }
    if episode.run.contract is Contract.OURS:
        left_out["run"] = {"contract"}
    if not episode.firings:
        left_out["firings"] = True
    composition = composition_to_json(episode.composition)
    saved = _EPISODE.dump_python(episode, exclude=left_out)
    return {"format": FORMAT, "composition": composition, **saved}


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
    match value:
        case {"format": int(version), **fields} if version == FORMAT:
            pass
        case {"format": version}:
            raise EpisodeFormatError(
                "episode.format", f"is {version!r}; this version reads {FORMAT}"
            )
        case _:
            raise EpisodeFormatError("episode", "is not an object with a format")
    try:
        episode = parse(_EPISODE, fields, "episode", compositions)
    except DataError as problem:
        raise EpisodeFormatError(problem.where, problem.problem) from problem
    _check_records(episode.trajectory, episode.composition)
    return episode


def _check_records(records: Sequence[CallRecord], composition: Composition) -> None:
    known = set(composition.task_ids)
    for position, record in enumerate(records):
        where = f"episode.trajectory[{position}]"
        if record.number != position:
            raise EpisodeFormatError(where, f"has the number {record.number}")
        if record.task_id not in known:
            raise EpisodeFormatError(where, f"names the unknown sub-task {record.task_id!r}")
        if any(number >= position for number in record.pending_before):
            raise EpisodeFormatError(where, "names pending calls that were not made before it")
