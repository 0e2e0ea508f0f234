"""Solvers of Inspect that play an episode: the unguarded loop, and the same agent with asyncguard's guards.

A sample is one composition; its metadata say under which conditions (`Conditions`). The solver leaves the whole episode
in the sample's store, under `EPISODE`, in the form in which `asyncguard bench run` saves it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from anyio import CapacityLimiter, to_thread
from inspect_ai.model import Model, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver
from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel, ConfigDict, JsonValue

from asyncguard_benchmark.errors import BenchmarkError, UnknownNameError
from asyncguard_benchmark.harness.arms import ALL, NONE, arm_of
from asyncguard_benchmark.harness.campaign import Cell, Condition, play
from asyncguard_benchmark.harness.episode import Episode, episode_from_json, episode_to_json
from asyncguard_benchmark.harness.inspect_bridge.agents import NOTE, Place, compositions_of
from asyncguard_benchmark.harness.inspect_bridge.conversation import (
    Conversation,
    InspectChatModel,
)
from asyncguard_benchmark.harness.inspect_bridge.registration import registered
from asyncguard_benchmark.harness.names import PLAIN, PLAYER_NAMES
from asyncguard_benchmark.harness.scenario import Composition, Regime, Surface

EPISODE = "episode"
"""Key of a sample's store."""


class NoEpisodeError(BenchmarkError):
    """A sample holds no episode: it was not solved by a solver of asyncguard_benchmark."""


class ForeignSampleError(BenchmarkError):
    """A solver of this package was given a sample of another task, not a composition."""


class Conditions(BaseModel):
    """Metadata of a sample: everything about its episode but the agent and the guards."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    suite: str
    """Set of compositions."""
    composition: str
    kind: str
    """Similar (S) or cross (C), and the number of sub-tasks."""
    categories: list[str]
    regime: Regime
    surface: Surface
    seed: int
    """Seed of the first epoch; each further epoch counts one more."""


@dataclass(frozen=True, kw_only=True)
class InspectModel:
    """Inspect's model as a contestant: its name, sampling options and arguments belong to the name of an episode."""

    name: str
    options: Mapping[str, JsonValue] = field(default_factory=dict)

    @classmethod
    def of(cls, model: Model) -> "InspectModel":
        """Return the contestant for a model, with the sampling options that the evaluation set."""
        sampling = {
            name: value
            for name, value in model.config.model_dump(mode="json", exclude_none=True).items()
            if name not in _NO_SAMPLING
        }
        return cls(name=str(model), options={**model.model_args, **sampling})

    @property
    def label(self) -> str:
        """The name, and the options that were set."""
        return ",".join(
            [self.name, *(f"{key}={self.options[key]}" for key in sorted(self.options))]
        )

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return what an episode records of the agent."""
        return {"inspect_model": self.name, **self.options}

    def make(self, composition: Composition, seed: int) -> BaseChatModel:
        """Never called: `play` is given the model of the sample.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("an Inspect model plays in an evaluation of Inspect only")


_NO_SAMPLING = frozenset({"max_retries", "timeout", "attempt_timeout", "max_connections"})
"""Options of a request that change when an answer comes and not what it says."""


@registered("unguarded", solver)
def unguarded() -> Solver:
    """Return the solver that plays the paper's loop: agent and environment take turns, and nothing checks a call."""
    return _playing(PLAIN, NONE, declared=True)


@registered("guarded", solver)
def guarded(arm: str = ALL, player: str = "graph", declared: bool = True) -> Solver:
    """Return the solver that plays the same agent with asyncguard's guards.

    Args:
        arm: Guards that are on, by a name of `asyncguard bench list arms`.
        player: `graph` (the state machine of `build_agent`) or `middleware` (of `create_agent`).
        declared: True if the tools declare footprints, effects and scope to the guards.

    Raises:
        UnknownNameError: there is no such arm or guarded player.
    """
    known = [name for name in PLAYER_NAMES if name != PLAIN]
    if player not in known:
        raise UnknownNameError(
            f"there is no guarded player {player!r}; there are {', '.join(known)}"
        )
    arm_of(arm)  # a mistake is told before the first sample
    return _playing(player, arm, declared=declared)


def _playing(player: str, arm: str, *, declared: bool) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        conditions = _conditions(state)
        seed = conditions.seed + state.epoch - 1
        model = get_model()
        condition = Condition(
            agent=InspectModel.of(model),
            player=player,
            arm=arm,
            declared=declared,
            regime=conditions.regime,
            surface=conditions.surface,
            seed=seed,
        )
        composition = compositions_of(conditions.suite)[conditions.composition]
        place = Place(suite=conditions.suite, composition=composition.id, seed=seed)
        conversation = Conversation({NOTE: place})
        agent = InspectChatModel(model=model, conversation=conversation)
        played = await to_thread.run_sync(
            partial(play, Cell(composition=composition, condition=condition), agent=agent),
            # Of its own: with anyio's, waiting episodes could use up the threads that model clients need.
            limiter=CapacityLimiter(1),
        )
        state.store.set(EPISODE, episode_to_json(played.episode))
        state.messages = conversation.messages
        if conversation.output is not None:
            state.output = conversation.output
        state.completed = True
        return state

    return solve


def _conditions(state: TaskState) -> Conditions:
    try:
        return Conditions.model_validate(state.metadata)
    except ValueError as problem:
        raise ForeignSampleError(
            f"the sample {state.sample_id} must be a composition of asyncguard_benchmark: its solvers play nothing "
            f"else; run them with `inspect eval asyncguard_benchmark/asynctool`: {problem}"
        ) from problem


def episode_in(saved: object, sample: object) -> Episode:
    """Read the episode that a solver left in a sample's store.

    Args:
        saved: What the store holds under `EPISODE`; None if it holds nothing.
        sample: Id of the sample, for the message.

    Raises:
        NoEpisodeError: there is none.
        EpisodeFormatError: it cannot be read.
    """
    if saved is None:
        raise NoEpisodeError(
            f"sample {sample} holds no episode: solve it with asyncguard_benchmark/unguarded or "
            "asyncguard_benchmark/guarded"
        )
    return episode_from_json(saved)
