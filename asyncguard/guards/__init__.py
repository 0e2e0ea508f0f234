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
    readable,
    scope,
    trust,
)
from asyncguard.guards.arguments import compile_schema
from asyncguard.guards.completion import Completion, judge_completion

__all__ = ["GUARDS", "Completion", "compile_schema", "enabled", "judge_completion"]

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
    """The guards that a configuration switches on, in order.

    Two checks are always there. The first refuses what cannot be run, because there is nothing to hand to an executor;
    the last asks for the approval that a tool's declaration demands, which is the developer's word and no experiment.
    """
    chosen = (guard for name, guard in GUARDS if getattr(config, name) and (config.ledger or name not in _NEED_LEDGER))
    return (readable.judge, *chosen, approval.judge)
