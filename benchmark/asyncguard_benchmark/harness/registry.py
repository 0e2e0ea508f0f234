"""Agents and players by name, so that a command line and a saved episode can speak of them."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from asyncguard import GuardRule
from asyncguard_benchmark.errors import UnknownNameError
from asyncguard_benchmark.harness.agents.plan import plan_of
from asyncguard_benchmark.harness.agents.speaking import SpeakingAgent
from asyncguard_benchmark.harness.arms import NONE, arm_of
from asyncguard_benchmark.harness.names import PLAIN
from asyncguard_benchmark.harness.players.plain import play_plain
from asyncguard_benchmark.harness.runner import Player
from asyncguard_benchmark.harness.scenario import Composition
from asyncguard_benchmark.harness.suites import registry


@dataclass(frozen=True, kw_only=True)
class AgentSpec:
    """A simulated agent, before it is made for a composition."""

    kind: str
    """Name of an agent or a persona of a suite, or a class of one's own as ``package.module:Class``."""
    settings: Mapping[str, float] = field(default_factory=dict)
    """Fields of the agent that differ from their defaults; of a persona its `member` and its `compliance`."""

    @property
    def label(self) -> str:
        """Kind and settings as one name."""
        return ",".join(
            [self.kind, *(f"{name}={value:g}" for name, value in sorted(self.settings.items()))]
        )

    def make(self, composition: Composition, seed: int) -> SpeakingAgent:
        """Return the agent for one composition.

        Args:
            composition: Composition whose plan it is given, if it works by one.
            seed: Seed of what it draws, if it draws anything.
        """
        maker = agent_class(self.kind)
        fields: dict[str, Any] = {"name": self.label, **maker.fields_of(self.kind, self.settings)}
        if "plan" in maker.model_fields:
            fields["plan"] = plan_of(composition)
        if "seed" in maker.model_fields:
            fields["seed"] = seed
        unknown = sorted(set(fields) - set(maker.model_fields))
        if unknown:
            raise UnknownNameError(f"the agent {self.kind} has no {', '.join(unknown)}")
        return maker(**fields)


def agent_class(kind: str) -> type[SpeakingAgent]:
    """Return the class of an agent: by its name in a suite, or by where it stands.

    Raises:
        UnknownNameError: there is none, or it is not a `SpeakingAgent`.
        BrokenSuiteError: its suite names a class that cannot be loaded.
    """
    module, colon, name = kind.partition(":")
    suite = registry().all_agents.get(kind)
    if suite is not None:
        found = suite.load({**suite.agents, **suite.personas, **suite.trained}[kind])
    elif colon:
        try:
            found = getattr(import_module(module), name)
        # Unlike a guard's it is not looked for in this folder: resumed files and parcels name agents, too.
        except (ImportError, AttributeError) as problem:
            advice = "install its module, or name its folder in PYTHONPATH"
            raise UnknownNameError(
                f"the agent {kind} cannot be loaded: {problem}; {advice}"
            ) from problem
    else:
        raise UnknownNameError(
            f"there is no agent {kind!r}; there are {', '.join(registry().all_agents)}"
        )
    if not (isinstance(found, type) and issubclass(found, SpeakingAgent)):
        raise UnknownNameError(f"{kind} is not a SpeakingAgent")
    return found


def rule_at(place: str) -> GuardRule:
    """Return a guard of the user's own by its place, ``package.module:RULE``; this folder is searched, too.

    Raises:
        UnknownNameError: there is none, it cannot be loaded, or it is not a `GuardRule`.
    """
    module, _, name = place.partition(":")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)  # last, so that no file of this folder hides a module
    try:
        found = getattr(import_module(module), name)
    except Exception as problem:  # a foreign module may raise anything
        what = f"{type(problem).__name__}: {problem}"
        raise UnknownNameError(f"the guard {place} cannot be loaded: {what}") from problem
    if not isinstance(found, GuardRule):
        raise UnknownNameError(f"{place} is not a GuardRule")
    return found


def player_of(
    name: str,
    arm: str,
    *,
    declared: bool,
    example: str | None = None,
    parallel_calls: bool = False,
) -> Player:
    """Return a player by name, with the guards of an arm.

    Args:
        name: `plain`, `graph` or `middleware`.
        arm: A name that `arm_of` knows; the plain player has no guards and takes `none` only.
        declared: True if the tools declare footprints, effects and scope to the guards.
        example: One successful trajectory for the system prompt.
        parallel_calls: True if several calls in one native message are allowed.

    Raises:
        UnknownNameError: one of the names is unknown, or the plain player is to have guards.
    """
    switched = arm_of(arm)
    if switched.rules:
        extra = tuple(map(rule_at, switched.rules))
        switched = replace(switched, config=replace(switched.config, extra=extra))
    if name == PLAIN:
        if arm != NONE:
            raise UnknownNameError(
                f"the plain player has no guards, so it cannot play the arm {arm}"
            )
        return partial(play_plain, example=example, parallel_calls=parallel_calls)
    from asyncguard_benchmark.harness.players.by_arm import guarded_player  # noqa: PLC0415 - loads asyncguard and LangGraph, longer than most commands take

    return guarded_player(
        name, switched, declared=declared, example=example, parallel_calls=parallel_calls
    )
