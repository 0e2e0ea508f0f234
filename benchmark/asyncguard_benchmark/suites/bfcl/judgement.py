"""Judgement of an agent's calls on one task: responses and state, as the worker found them.

Responses: those of the truth are contained in the agent's, as a multiset without order. State: every attribute of the
instance whose name has no underscore equals that of an instance that ran the truth. Both are upstream's rules, which it
applies turn by turn; a task here is one turn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from asyncguard_benchmark.harness.sandbox import Sandbox
from asyncguard_benchmark.harness.scoring.checks import contained
from asyncguard_benchmark.suites.bfcl.worlds import answered


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What became of the calls of an agent, beside the ground truth."""

    truth: tuple[str, ...]
    """Results of the ground truth."""
    made: tuple[str, ...]
    """Results of the agent's calls."""
    differing: tuple[str, ...]
    """Names of the public attributes in which the final states differ."""
    private: tuple[str, ...]
    """Names of the private ones; they count for `state_strict` alone."""
    changed: tuple[str, ...]
    """Names of the public attributes that the truth changes."""
    generator: bool
    """True if the generator of random numbers stands elsewhere, so that all later ids are others."""

    @property
    def response(self) -> bool:
        """Return True if all results of the truth were obtained."""
        return contained(self.truth, self.made)

    @property
    def state(self) -> bool:
        """Return True if the final state is that of the truth, and something was called."""
        return bool(self.made) and not self.differing

    @property
    def state_strict(self) -> bool:
        """Return True if private attributes are equal, too: working directory, brake, generator."""
        return self.state and not self.private

    @property
    def accepted(self) -> bool:
        """Return True if upstream's checker accepts the calls."""
        return self.response and self.state


def judge(
    sandbox: Sandbox,
    world: Mapping[str, Any],
    truth: Sequence[Sequence[Any]],
    made: Sequence[Sequence[Any]],
) -> Judgement:
    """Run the truth and an agent's calls on instances of their own, and compare.

    Args:
        sandbox: A running worker of `worlds.worker`.
        world: Class, scenario and set-up, of `worlds.world_of`.
        truth: ``[tool, arguments]`` in order.
        made: The same of the agent.

    Raises:
        SandboxError: the worker ended, or was ended for its time or memory.
        BrokenPackageError: a class of the package cannot be imported.
    """
    asked = {"world": dict(world), "truth": list(truth), "made": list(made)}
    found = answered(sandbox, "judge", asked)
    return Judgement(
        truth=tuple(found["truth"]),
        made=tuple(found["made"]),
        differing=tuple(found["differing"]),
        private=tuple(found["private"]),
        changed=tuple(found["changed"]),
        generator=bool(found["generator"]),
    )
