"""The guards: one a file, each a function from a proposed call and the scoreboard to a verdict.

Each has its own file and its own switch in the configuration.

Internal; :mod:`asyncguard` names the public interface.
"""

from asyncguard.config import GuardConfig
from asyncguard.core.admission import Guard
from asyncguard.guards import (
    approval,
    arguments,
    capacity,
    clarification,
    conflict,
    dependency,
    duplicate,
    grounding,
    premature,
    provenance,
    scope,
    trust,
)
from asyncguard.guards.completion import Completion, asked_tasks, judge_completion
from asyncguard.guards.rules import guard_of
from asyncguard.schema.arguments import compile_schema

__all__ = [
    "GUARDS",
    "Completion",
    "asked_tasks",
    "compile_schema",
    "enabled",
    "judge_completion",
    "watching",
]

GUARDS: tuple[tuple[str, Guard], ...] = (
    ("clarification", clarification.judge),
    ("arguments", arguments.judge),
    ("scope", scope.judge),
    ("duplicate", duplicate.judge),
    ("grounding", grounding.judge),
    ("premature", premature.judge),
    ("provenance", provenance.judge),
    ("dependency", dependency.judge),
    ("conflict", conflict.judge),
    ("capacity", capacity.judge),
    ("trust", trust.judge),
)
"""Name and guard in the order in which admission asks them.

``completion`` judges the end of a run instead of a call and is not among them.
"""

_NEED_LEDGER = frozenset({"duplicate", "grounding", "premature", "dependency", "conflict"})
"""Guards that compare a call with open ones; they are off without the ledger."""


def enabled(config: GuardConfig) -> tuple[Guard, ...]:
    """Return the guards whose verdicts take effect, in order; in shadow mode none with a switch.

    Two checks are always among them. The first refuses calls that cannot be run, because there is
    nothing to pass to an executor; the last requests the approval that a tool's declaration
    demands, which is the developer's decision and not part of an experiment.
    """
    return (
        arguments.judge_runnable,
        *(() if config.shadow else _switched_on(config)),
        approval.judge,
    )


def watching(config: GuardConfig) -> tuple[Guard, ...]:
    """Return the guards whose verdicts are only logged, in order; none outside shadow mode."""
    return _switched_on(config) if config.shadow else ()


def _switched_on(config: GuardConfig) -> tuple[Guard, ...]:
    def rules(before: str | None) -> list[Guard]:
        return [guard_of(rule) for rule in config.extra if rule.before == before]

    found: list[Guard] = []
    for name, guard in GUARDS:
        found += rules(name)  # the place counts, even if the guard that follows is off
        if getattr(config, name) and (config.ledger or name not in _NEED_LEDGER):
            found.append(guard)
    return (*found, *rules(None))
