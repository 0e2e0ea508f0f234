"""One mission as it was played: the gold, the tools, and what the agent said."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from asyncguard_benchmark.suites.missions.gold_graph import GoldGraph, Tool
from asyncguard_benchmark.suites.missions.scorers.steps import Step
from asyncguard_benchmark.suites.missions.terms import Letter, Relation, switches


class EntryKey(NamedTuple):
    """Name of a mission."""

    dialogue: str
    mission: int
    """Place in the dialogue, from 0."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A mission with a run."""

    key: EntryKey
    letter: Letter
    pattern: tuple[Letter, ...] | None
    """Action types of the missions up to this one; None if those of earlier ones are not known."""
    relation: Relation | None
    """To earlier missions; None for a first one."""
    graph: GoldGraph
    tools: Mapping[str, Tool]
    steps: tuple[Step, ...]
    said: tuple[str, ...] = ()
    """Texts of the prompt: what was said before the first step."""
    prompt_messages: int | None = None
    stored_label: bool | None = None
    """True if the file says that the names are right."""
    timed_out: bool = False
    """True if the published matcher gave up on it."""
    stored_optimal: bool | None = None
    """True if the file says that no step was too many."""
    without_step: int = 0
    """Messages of the agent that led to no step, say as all their calls were refused; each costs a round."""
    pending_at_end: int = 0
    """Results that had not arrived when the answer was given."""

    @property
    def position(self) -> int:
        """Place in the dialogue, from 1."""
        return self.key.mission + 1

    @property
    def switches(self) -> int | None:
        """Number of changes of the action type up to this mission (PTF)."""
        return None if self.pattern is None else switches(self.pattern)
