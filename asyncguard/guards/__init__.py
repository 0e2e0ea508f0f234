"""The guards: pure functions from a proposed call and the scoreboard to a verdict, one file and one switch each."""

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
    scope,
    trust,
)
from asyncguard.guards.completion import Completion, judge_completion
from asyncguard.schema.arguments import compile_schema

__all__ = ["GUARDS", "Completion", "compile_schema", "enabled", "judge_completion", "watching"]

GUARDS: tuple[tuple[str, Guard], ...] = (
    ("clarification", clarification.judge),
    ("arguments", arguments.judge),
    ("scope", scope.judge),
    ("duplicate", duplicate.judge),
    ("grounding", grounding.judge),
    ("dependency", dependency.judge),
    ("conflict", conflict.judge),
    ("capacity", capacity.judge),
    ("trust", trust.judge),
)
"""Name and guard in the order in which admission asks them; ``completion`` judges the end of a run and is not here."""

_NEED_LEDGER = frozenset({"duplicate", "grounding", "dependency", "conflict"})


def enabled(config: GuardConfig) -> tuple[Guard, ...]:
    """The guards that judge calls with effect under a configuration, in order: in shadow mode none that has a switch.

    Two checks are always there. The first refuses what cannot be run, because there is nothing to hand to an executor;
    the last asks for the approval that a tool's declaration demands, which is the developer's word and no experiment.
    """
    return (
        arguments.judge_runnable,
        *(() if config.shadow else _switched_on(config)),
        approval.judge,
    )


def watching(config: GuardConfig) -> tuple[Guard, ...]:
    """The guards whose verdicts on calls are told and not heeded, in order: none but in shadow mode."""
    return _switched_on(config) if config.shadow else ()


def _switched_on(config: GuardConfig) -> tuple[Guard, ...]:
    return tuple(
        guard
        for name, guard in GUARDS
        if getattr(config, name) and (config.ledger or name not in _NEED_LEDGER)
    )
