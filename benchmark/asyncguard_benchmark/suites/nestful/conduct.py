"""Figures of episodes of NESTFUL by condition: its own scores, and what guards did about right calls."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.report.figures import Figures, Group, Tally
from asyncguard_benchmark.harness.scoring.false_blocks import proposals_of
from asyncguard_benchmark.suites.nestful.matches import Match, matches, means


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """Right calls that agents proposed, refused ones among them."""

    right: int
    refused: Mapping[str, int]
    """Guard -> right calls that it refused."""

    def rate(self, guard: str | None = None) -> float | None:
        """Return refused calls per 1,000 right ones, of a guard or of all; None of nothing."""
        count = sum(self.refused.values()) if guard is None else self.refused.get(guard, 0)
        return 1000 * count / self.right if self.right else None


@dataclass(kw_only=True)
class _Gathered:
    matches: list[Match] = field(default_factory=list)
    right: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    silent: int = 0
    """Episodes without their conversation."""


@dataclass(frozen=True, kw_only=True)
class Condition:
    """Everything that is said of one condition."""

    figures: Figures
    scores: Mapping[str, float | None]
    """Win, full match and partial match, in per cent of sub-tasks."""
    blocks: Blocks | None
    """None if a conversation was not kept: refused calls stand in it only."""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        blocks = self.blocks
        return {
            **self.figures.to_json(),
            **self.scores,
            "right_calls": None if blocks is None else blocks.right,
            "false_blocks_per_1000": None if blocks is None else blocks.rate(),
            "false_blocks_by_guard": None
            if blocks is None
            else {guard: blocks.rate(guard) for guard in sorted(blocks.refused)},
        }


def conditions(episodes: Iterable[Episode]) -> list[Condition]:
    """Return the figures of episodes, one for each condition, in the order of first mention."""
    tally, gathered = Tally(), dict[Group, _Gathered]()
    for episode in episodes:
        tally.add(episode)
        _gather(gathered.setdefault(Group.of(episode), _Gathered()), episode)
    return [_condition(row, gathered[row.group]) for row in tally.figures()]


def _gather(found: _Gathered, episode: Episode) -> None:
    found.matches += matches(episode)
    if not episode.messages:
        found.silent += 1
        return
    right = [each for each in proposals_of(episode) if each.basis is not None]
    found.right += len(right)
    found.refused.update(each.guard for each in right if each.refused)


def _condition(row: Figures, found: _Gathered) -> Condition:
    blocks = None if found.silent else Blocks(right=found.right, refused=dict(found.refused))
    return Condition(figures=row, scores=means(found.matches), blocks=blocks)
