"""Figures from episodes that findings do not have: by category, by streak, by mistake, and by composition."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

from asyncguard_benchmark.harness.ablation.findings import Setup
from asyncguard_benchmark.harness.arms import ALL, NONE
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.report.covering_arms import arm_name, arms_told
from asyncguard_benchmark.harness.report.lanes import packed_episode
from asyncguard_benchmark.harness.report.transcripts import Transcripts
from asyncguard_benchmark.harness.scenario import Composition, SourceKind
from asyncguard_benchmark.harness.scoring.breakdown import Breakdown
from asyncguard_benchmark.harness.scoring.mistakes import Mistake, mistakes_of
from asyncguard_benchmark.harness.scoring.verdict import Score, score

TOLD = (NONE, ALL)
"""The arms whose episodes are looked at one by one; of the others verdicts alone are kept."""


_MOST_HELD = 4_000
"""Episodes of which all are held; of more, some of each kind are."""
_ALIKE = 20
"""Pairs of one setup and one outcome that are always held."""


@dataclass(frozen=True, kw_only=True, order=True)
class Played:
    """Properties that a group of episodes has in common."""

    setup: Setup
    arm: str
    seed: int


@dataclass(kw_only=True)
class Share:
    """Solved among judged."""

    solved: int = 0
    judged: int = 0

    def add(self, *, solved: bool) -> None:
        """Count one."""
        self.solved += solved
        self.judged += 1


@dataclass(kw_only=True)
class Conduct:
    """Performance of an arm in a setup, over all seeds."""

    by_category: dict[tuple[StrEnum, int], Share] = field(default_factory=dict)
    """Sub-tasks by category and by the number of tasks in their composition."""
    by_streak: dict[int, Share] = field(default_factory=dict)
    """Compositions by their longest run of calls for one task."""
    mistakes: Counter[Mistake] = field(default_factory=Counter)
    """Failed sub-tasks by what went wrong."""
    sub_tasks: int = 0

    def add(self, episode: Episode, judged: Score) -> None:
        """Count one episode."""
        size = len(judged.sub_tasks)
        for verdict in judged.sub_tasks:
            place = (verdict.category, size)
            self.by_category.setdefault(place, Share()).add(solved=verdict.accurate)
        self.by_streak.setdefault(judged.same_task_streak, Share()).add(solved=judged.overall)
        self.mistakes.update(each for each in mistakes_of(episode, judged) if each is not None)
        self.sub_tasks += size


@dataclass(kw_only=True)
class Spent:
    """Tokens and cost of the episodes of an arm."""

    episodes: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float | None = 0.0
    """None if the price of a model was not known."""

    def add(self, usage: Mapping[str, Any]) -> None:
        """Count the usage of one episode, as it is saved."""
        self.episodes += 1
        self.input_tokens += usage["input_tokens"]
        self.output_tokens += usage["output_tokens"]
        known, cost = self.dollars, usage.get("dollars")
        self.dollars = None if known is None or cost is None else known + cost


@dataclass(kw_only=True)
class Observations:
    """Folded from episodes, one at a time."""

    verdicts: dict[Played, dict[str, bool]] = field(default_factory=dict)
    """Composition id -> solved."""
    conducts: dict[tuple[Setup, str], Conduct] = field(default_factory=dict)
    """By setup and arm, of `TOLD` arms only."""
    breakdowns: dict[tuple[Setup, str], Breakdown] = field(default_factory=dict)
    """The same, split."""
    compositions: dict[str, Composition] = field(default_factory=dict)
    held: dict[tuple[Played, str], Mapping[str, Any]] = field(default_factory=dict)
    """Packed episodes of `TOLD` arms by composition id, for a look at them: all of them as long as they are few."""
    spent: dict[tuple[Setup, str], Spent] = field(default_factory=dict)
    """What models used, by setup and arm; simulated agents use nothing."""
    transcripts: Transcripts = field(default_factory=Transcripts)
    """Conversations of some episodes of `TOLD` arms, by the same."""
    told: int = 0
    """Episodes of `TOLD` arms."""
    _read: set[tuple[Played, str]] = field(default_factory=set)
    _alike: Counter[tuple[Setup, int, int]] = field(default_factory=Counter)

    def add(self, episode: Episode, judged: Score | None = None) -> None:
        """Count one episode for every arm that it tells of; one that was counted already changes nothing.

        Args:
            episode: Episode that was played.
            judged: Its verdict, if it is known.
        """
        played, name = played_of(episode), episode.composition.id
        if (played, name) in self._read:
            return
        self._read.add((played, name))
        usage = episode.settings.get("usage", {})
        if usage.get("input_tokens") is not None:
            self.spent.setdefault((played.setup, played.arm), Spent()).add(usage)
        judged = judged or score(episode)
        for arm in arms_told(episode, judged):
            self._add(replace(played, arm=arm), episode, judged)

    def shown(self) -> dict[Played, dict[str, bool]]:
        """Return the verdicts of arms that were played at least once, and of those that are looked at in any case."""
        played = {each for each, _ in self._read}
        return {
            each: found
            for each, found in self.verdicts.items()
            if each in played or each.arm in TOLD
        }

    @property
    def models_only(self) -> bool:
        """Return True if every episode asked a real model, and there is one."""
        return 0 < self.episodes == sum(spent.episodes for spent in self.spent.values())

    @property
    def episodes(self) -> int:
        """Return the number of episodes that were counted."""
        return len(self._read)

    def _add(self, played: Played, episode: Episode, judged: Score) -> None:
        name = episode.composition.id
        verdicts = self.verdicts.setdefault(played, {})
        if name in verdicts:
            return
        verdicts[name] = judged.overall
        self.compositions.setdefault(name, episode.composition)
        if played.arm not in TOLD:
            return
        self.told += 1
        self.held[played, name] = packed_episode(episode, judged)
        self._thin_out(played, name)
        kind = (played.setup, played.arm, judged.overall)
        self.transcripts.add((played, name), episode, kind)
        if not _derives(episode.composition):
            place = (played.setup, played.arm)
            self.conducts.setdefault(place, Conduct()).add(episode, judged)
            self.breakdowns.setdefault(place, Breakdown()).add(episode, judged)

    def _thin_out(self, played: Played, name: str) -> None:
        """Let go of a pair if there are many episodes, and enough pairs of its setup that went the same way."""
        pair = [(replace(played, arm=arm), name) for arm in TOLD]
        if not all(each in self.held for each in pair):
            return
        kind = (played.setup, played.seed, self.rank(played, name))
        self._alike[kind] += 1
        if self._alike[kind] > _ALIKE and len(self.held) > _MOST_HELD:
            for each in pair:
                del self.held[each]

    def rank(self, played: Played, name: str) -> int:
        """Return the rank of a composition: lost by the guards, won by them, failed by both, anything else."""
        bare, full = (self.verdicts.get(replace(played, arm=arm), {}).get(name) for arm in TOLD)
        return {(True, False): 0, (False, True): 1, (False, False): 2}.get(
            (bare is True, full is True), 3
        )

    @property
    def setups(self) -> list[Setup]:
        """In the order of their names."""
        return sorted({played.setup for played in self.verdicts})


def _derives(composition: Composition) -> bool:
    """Return True if it is of the wild split, which says nothing about the tasks that figures stand for."""
    return any(
        source.kind is SourceKind.DERIVED
        for task in composition.sub_tasks
        for call in task.gold
        for source in call.sources.values()
    )


def played_of(episode: Episode) -> Played:
    """Return the group of an episode."""
    return Played(setup=setup_of(episode), arm=arm_name(episode), seed=episode.run.seed)


def setup_of(episode: Episode) -> Setup:
    """Return the setup of an episode."""
    return Setup(
        agent=episode.agent,
        player=episode.player,
        regime=episode.run.regime.value,
        surface=episode.run.surface.value,
        contract=episode.run.contract.value,
        declared=bool(episode.settings.get("declared", True)),
    )


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One arm in two runs."""

    played: Played
    before: Mapping[str, bool]
    after: Mapping[str, bool]

    @cached_property
    def shared(self) -> list[str]:
        """Compositions that both played."""
        return sorted(self.before.keys() & self.after.keys())

    @property
    def gained(self) -> list[str]:
        """Solved now and not before."""
        return [name for name in self.shared if self.after[name] and not self.before[name]]

    @property
    def lost(self) -> list[str]:
        """Solved before and not now."""
        return [name for name in self.shared if self.before[name] and not self.after[name]]


def compare(before: Observations, after: Observations) -> list[Comparison]:
    """Return every arm that both runs played."""
    first, second = before.shown(), after.shown()
    both = sorted(first.keys() & second.keys())
    return [Comparison(played=each, before=first[each], after=second[each]) for each in both]
