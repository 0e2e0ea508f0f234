"""The data that an ablation keeps of an episode."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from asyncguard.config import FEATURE_NAMES
from asyncguard_benchmark.harness.arms import arm_of
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.scoring.verdict import Score, score

_FEATURES = frozenset(FEATURE_NAMES)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One episode, judged."""

    composition: str
    seed: int
    sources: frozenset[str]
    """Ids of its sub-tasks."""
    arm: str
    """The arm under which it was played."""
    switches: frozenset[str]
    """The guards and features that were on."""
    involved: frozenset[str]
    """Those without which it might have gone another way. Features are always among them: they change what an agent is
    told, and no event says when that made no difference."""
    overall: bool
    accurate: tuple[bool, ...]
    """By sub-task."""
    calls: int
    """Calls that reached a tool."""
    rounds: int
    ticks: int
    premature_needed: int
    characters: int | None = None
    """Length of all texts that were sent and said; None if the file keeps no conversations and they
    were not counted."""
    interventions: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Guard and verdict -> how often."""
    refused: int = 0
    """Calls refused by a sham."""
    refusals_wanted: int = 0
    """Calls that guards refused in the episode that the sham is paired with."""
    reminded: int = 0
    """Ends that a sham put off by a reminder."""
    reminders_wanted: int = 0
    """Ends that guards put off by a reminder in the episode that the sham is paired with."""

    @property
    def rejections(self) -> int:
        """Calls that guards refused."""
        return self._verdicts("reject")

    @property
    def nudges(self) -> int:
        """Ends that guards put off by a reminder."""
        return self._verdicts("nudge")

    def _verdicts(self, kind: str) -> int:
        return sum(count for (_, verdict), count in self.interventions.items() if verdict == kind)

    def total_interventions(self) -> Counter[str]:
        """Return the number of verdicts other than to let pass, by guard."""
        found: Counter[str] = Counter()
        for (guard, _), count in self.interventions.items():
            found[guard] += count
        return found


def outcome_of(episode: Episode, judged: Score | None = None) -> Outcome:
    """Judge an episode, unless that has been done."""
    judged = judged or score(episode)
    settings = episode.settings
    arm = str(settings.get("arm", ""))
    switches = arm_of(arm).switched_on
    interventions = Counter(
        (str(each["guard"]), str(each["verdict"]))
        for each in settings.get("interventions", ())
        if each.get("enforced", True)
    )
    return Outcome(
        composition=episode.composition.id,
        seed=episode.run.seed,
        sources=frozenset(episode.composition.task_ids),
        arm=arm,
        switches=switches,
        involved=frozenset(settings.get("involved", ())) & switches | (switches & _FEATURES),
        overall=judged.overall,
        accurate=tuple(task.accurate for task in judged.sub_tasks),
        calls=len(episode.trajectory),
        rounds=judged.counters.rounds,
        ticks=judged.counters.ticks,
        premature_needed=sum(task.premature_needed for task in judged.sub_tasks),
        characters=settings.get("characters"),
        interventions=dict(interventions),
        refused=int(settings.get("refused", 0)),
        refusals_wanted=int(settings.get("refusals_wanted", 0)),
        reminded=int(settings.get("reminded", 0)),
        reminders_wanted=int(settings.get("reminders_wanted", 0)),
    )


def characters_of(messages: Sequence[Mapping[str, Any]]) -> int:
    """Return the length of all that an agent was sent and said; a message counts in every round that sends it again."""
    total = sent = 0
    for message in messages:
        calls = message.get("tool_calls")
        size = len(str(message["content"])) + (len(json.dumps(calls, default=str)) if calls else 0)
        if message["role"] == "assistant":
            total += sent + size
        sent += size
    return total
