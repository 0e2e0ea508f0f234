"""Figures of BFCL episodes by condition: upstream's rule and ours, guards' errors, early calls, rounds."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.report.figures import Group
from asyncguard_benchmark.harness.scoring.false_blocks import proposals_of
from asyncguard_benchmark.harness.scoring.verdict import Score, score
from asyncguard_benchmark.suites.bfcl.scorer import judgement_of


@dataclass(frozen=True, kw_only=True)
class Line:
    """One condition; shares are of episodes in which it holds for every task, None without one."""

    group: Group
    episodes: int
    upstream: float | None
    """Responses and states right: upstream's own rule."""
    without_shift: float | None
    """The same of episodes in which no task's generator of random numbers stands elsewhere."""
    strict: float | None
    """Responses, states and private attributes right."""
    overall: float | None
    """Calls, responses and states right."""
    shifted: int
    """Episodes left out of `without_shift`."""
    rounds: float
    ticks: float
    """Means over all episodes."""
    premature: int
    needed: int
    """Calls made while another of their task was pending, and those of them that needed its value."""
    right: int | None
    """Right calls that were proposed; None if conversations were not kept."""
    blocked: dict[str, float]
    """Guard -> right calls that it refused, of a thousand."""
    lost: dict[str, int]
    """Guards that refused a right call -> episodes lost by upstream's rule in which they did; `none` where none did."""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        return {**vars(self), "group": vars(self.group)}


def lines_of(episodes: Iterable[Episode]) -> list[Line]:
    """Return the figures of each condition, in the order of first mention."""
    groups: dict[Group, list[Episode]] = {}
    for each in episodes:
        groups.setdefault(Group.of(each), []).append(each)
    return [_line(group, found) for group, found in groups.items()]


def _line(group: Group, episodes: Sequence[Episode]) -> Line:
    scores = [score(each) for each in episodes]
    shifted = [_noted(each, "generator", any) for each in episodes]
    upstream = [_upstream(each) for each in scores]
    right, refused, lost = 0, Counter[str](), Counter[str]()
    kept = all(each.messages for each in episodes)
    for each, solved in zip(episodes, upstream, strict=True) if kept else ():
        own = [call for call in proposals_of(each) if call.basis is not None]
        guards = Counter(call.guard for call in own if call.refused)
        right += len(own)
        refused += guards
        if not solved:
            lost[", ".join(sorted(guards)) or "none"] += 1
    return Line(
        group=group,
        episodes=len(episodes),
        upstream=_share(upstream),
        without_shift=_share(
            [one for one, other in zip(upstream, shifted, strict=True) if not other]
        ),
        strict=_share(
            [
                one and _noted(each, "state_strict", all)
                for one, each in zip(upstream, episodes, strict=True)
            ]
        ),
        overall=_share([each.overall for each in scores]),
        shifted=sum(shifted),
        rounds=sum(each.counters.rounds for each in episodes) / len(episodes),
        ticks=sum(each.counters.ticks for each in episodes) / len(episodes),
        premature=sum(
            task.premature_needed + task.premature_harmless
            for each in scores
            for task in each.sub_tasks
        ),
        needed=sum(task.premature_needed for each in scores for task in each.sub_tasks),
        right=right if kept else None,
        blocked={guard: 1000 * count / right for guard, count in sorted(refused.items())},
        lost=dict(sorted(lost.items())),
    )


def _upstream(scored: Score) -> bool:
    return all(task.result and task.state for task in scored.sub_tasks)


def _noted(episode: Episode, name: str, over: Any) -> bool:
    tasks = episode.composition.task_ids
    return bool(over(judgement_of(episode, task)[name] for task in tasks))


def _share(held: Sequence[bool]) -> float | None:
    return sum(held) / len(held) if held else None
