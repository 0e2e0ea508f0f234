"""Results of the study as a page: every figure comes from the episodes, with its count and its 95 % interval."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from asyncguard_benchmark.harness.arms import ALL, LEAVE_ONE_OUT, NONE, SHAM
from asyncguard_benchmark.harness.environment import CallRecord
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.pointers import leaves
from asyncguard_benchmark.harness.scenario import Regime, SubTask
from asyncguard_benchmark.harness.scoring.mistakes import Mistake, mistakes_of
from asyncguard_benchmark.harness.scoring.summary import Rate, summarise
from asyncguard_benchmark.harness.scoring.verdict import Score, score
from asyncguard_benchmark.harness.statistics.paired import Pair, paired_difference
from asyncguard_benchmark.learned.splits import is_held_out
from asyncguard_benchmark.services.catalogue import tools_of

_NOTHING = "-"
_Condition = tuple[str, str]
"""Regime and arm."""


class ValueOrigin(StrEnum):
    """Origin of the values of a wrong call that was made before a result of its task was there."""

    INVENTED = "invented"
    """A value stands nowhere in the conversation so far."""
    OTHER_TASK = "of another task"
    """A value stands in what concerns another task only."""
    PLAUSIBLE = "plausible"
    """Every value stands in the question, the results or the schemas of the task, and one is the wrong one."""


class _Played:
    """Episodes of the compositions, by condition."""

    def __init__(self, episodes: Iterable[Episode]) -> None:
        self.scores: dict[_Condition, dict[str, Score]] = {}
        self.episodes: dict[_Condition, dict[str, Episode]] = {}
        for each in episodes:
            condition = (each.run.regime.value, str(each.settings["arm"]))
            self.scores.setdefault(condition, {})[each.composition.id] = score(each)
            self.episodes.setdefault(condition, {})[each.composition.id] = each

    def difference(self, one: _Condition, other: _Condition) -> tuple[float, str] | None:
        """Return the paired difference in overall, in points, and it in words; None without pairs."""
        left, right = self.scores.get(one, {}), self.scores.get(other, {})
        pairs = [
            Pair(
                composition=name,
                seed=0,
                sources=frozenset(self.episodes[one][name].composition.task_ids),
                arm=left[name].overall,
                against=right[name].overall,
            )
            for name in left.keys() & right.keys()
        ]
        if not pairs:
            return None
        found = paired_difference(sorted(pairs, key=lambda each: each.composition)).interval
        scaled = found.scaled(100)
        words = f"{scaled.value:+.1f} ({scaled.low:+.1f} to {scaled.high:+.1f}; n {len(pairs)})"
        return scaled.value, words


def written_results(
    episodes: Sequence[Episode], record: Mapping[str, Any], digest: str, asked: int
) -> str:
    """Return the page.

    Args:
        episodes: What was played of the study.
        record: How the model was trained.
        digest: Of the model's files.
        asked: Episodes that the study asks for.
    """
    singles = [each for each in episodes if len(each.composition.sub_tasks) == 1]
    played = _Played(each for each in episodes if len(each.composition.sub_tasks) > 1)
    parts = [
        "# Results of the learned agent",
        "Written by `python -m asyncguard_benchmark.learned study --out benchmark/RESULTS-learned.md`; the model is "
        f"`{digest[:12]}`, after {record.get('step')} steps. "
        f"{len(episodes)} of {asked} episodes were played; the same command plays the others.",
        "## Results at once",
        _novelties(singles, played),
        "## Late results",
        _conditions(played),
        "## Differences in overall, points",
        _differences(played),
        "## Mistakes of failed sub-tasks",
        _mistakes(played),
        "## Wrong calls before a result of their task, by the origin of their values",
        _origins(played),
        "## What guards refused or held",
        _interventions(played),
        "## Not done",
        _not_done(played, asked - len(episodes)),
    ]
    return "\n\n".join(parts) + "\n"


def _novelties(singles: Sequence[Episode], played: _Played) -> str:
    seen = [score(each) for each in singles if not is_held_out(each.composition.id)]
    unseen = [score(each) for each in singles if is_held_out(each.composition.id)]
    together = list(played.scores.get((Regime.SYNC.value, NONE), {}).values())
    rows = [
        ("values never seen, single tasks", seen),
        ("values and compositions never seen", together),
        ("tasks never seen, single", unseen),
    ]
    return _table(
        ("novel", "overall", "sub-tasks accurate", "gold calls made"),
        [(name, *_shares(found)) for name, found in rows],
    )


def _shares(scores: Sequence[Score]) -> tuple[str, str, str]:
    found = summarise(scores)
    return _share(found.overall), _share(found.accuracy), _share(found.trajectory)


def _conditions(played: _Played) -> str:
    rows = []
    for (regime, arm), scores in sorted(played.scores.items()):
        found = list(scores.values())
        tasks = [task for each in found for task in each.sub_tasks]
        rows.append(
            (
                regime,
                arm,
                *_shares(found),
                str(sum(task.premature_needed for task in tasks)),
                str(sum(task.premature_harmless for task in tasks)),
                _mean(each.counters.rounds for each in found),
                _mean(each.counters.format_errors for each in found),
                _mean(_repeats(each) for each in played.episodes[regime, arm].values()),
            )
        )
    heads = (
        "regime",
        "arm",
        "overall",
        "sub-tasks accurate",
        "gold calls made",
        "early calls that needed a pending value",
        "other early calls",
        "rounds",
        "unreadable",
        "repeats",
    )
    return _table(heads, rows)


def _repeats(episode: Episode) -> int:
    made = Counter(_key(each) for each in episode.trajectory)
    return sum(count - 1 for count in made.values())


def _differences(played: _Played) -> str:
    late = Regime.FIXED1.value
    compared: list[tuple[str, _Condition, _Condition]] = [
        (f"{regime.value} - sync, unguarded", (regime.value, NONE), (Regime.SYNC.value, NONE))
        for regime in (Regime.FIXED1, Regime.FIXED2, Regime.RANDOM12)
    ]
    compared += [
        (f"all - {arm}, fixed1", (late, ALL), (late, arm)) for arm in (SHAM, NONE, "features")
    ]
    compared += [(f"all - {arm}, fixed1", (late, ALL), (late, arm)) for arm in LEAVE_ONE_OUT]
    found = {name: played.difference(one, other) for name, one, other in compared}
    rows = [(name, each[1]) for name, each in found.items() if each is not None]
    drop, gain = found["fixed1 - sync, unguarded"], found["all - none, fixed1"]
    if drop is not None and gain is not None and drop[0] < 0:
        rows.append(("share of the drop at fixed1 that guards close", f"{gain[0] / -drop[0]:.0%}"))
    return _table(("compared", "difference"), rows)


def _mistakes(played: _Played) -> str:
    rows = []
    for condition, episodes in sorted(played.episodes.items()):
        found: Counter[Mistake | None] = Counter()
        for name, each in episodes.items():
            found.update(mistakes_of(each, played.scores[condition][name]))
        failed = sum(count for mistake, count in found.items() if mistake is not None)
        shares = (f"{found[each]}" for each in Mistake)
        rows.append((*condition, f"{failed} of {found.total()}", *shares))
    return _table(("regime", "arm", "failed", *(each.value for each in Mistake)), rows)


def _origins(played: _Played) -> str:
    rows = []
    for condition, episodes in sorted(played.episodes.items()):
        found = Counter(each for episode in episodes.values() for each in origins(episode))
        rows.append((*condition, *(str(found[each]) for each in ValueOrigin)))
    return _table(("regime", "arm", *(each.value for each in ValueOrigin)), rows)


def origins(episode: Episode) -> Iterator[ValueOrigin]:
    """Yield the origin of the values of each early call that is none of the gold calls of its task."""
    for record in episode.trajectory:
        task = episode.composition.sub_task(record.task_id)
        if task is None or not record.premature:
            continue
        if (record.tool, _text(record.arguments)) in {
            (call.tool, _text(call.arguments)) for call in task.gold
        }:
            continue
        yield _origin(record, task, episode)


def _origin(record: CallRecord, task: SubTask, episode: Episode) -> ValueOrigin:
    own = _told(task, record, episode)
    others = "\n".join(
        _told(each, record, episode) for each in episode.composition.sub_tasks if each is not task
    )
    values = [str(leaf) for _, leaf in leaves(record.arguments) if leaf not in ({}, [], "")]
    if any(value not in own and value not in others for value in values):
        return ValueOrigin.INVENTED
    if any(value not in own for value in values):
        return ValueOrigin.OTHER_TASK
    return ValueOrigin.PLAUSIBLE


def _told(task: SubTask, record: CallRecord, episode: Episode) -> str:
    """Return what the conversation had said of a task when a call was made."""
    results = [
        each.response
        for each in episode.calls_of(task.id)
        if each.delivered is not None and each.delivered < record.issued
    ]
    schemas = [_text(tool.parameters) for tool in tools_of(task).values()]
    return "\n".join((task.query, *results, *schemas))


def _interventions(played: _Played) -> str:
    rows = []
    for condition, episodes in sorted(played.episodes.items()):
        found: Counter[tuple[str, str]] = Counter()
        for each in episodes.values():
            for done in each.settings.get("interventions", ()):
                found[str(done["guard"]), str(done["verdict"])] += 1
        rows += [
            (*condition, guard, verdict, str(count))
            for (guard, verdict), count in sorted(found.items())
        ]
    return _table(("regime", "arm", "guard", "verdict", "times"), rows)


def _not_done(played: _Played, missing: int) -> str:
    lines = [f"- {missing} episodes of this study are not played."] if missing else []
    if not any(arm in LEAVE_ONE_OUT for _, arm in played.scores):
        lines.append(
            "- No guard was left out, and fixed2 and random12 were not guarded: `--whole`."
        )
    lines += [
        "- One training seed of three: train with `--seed 1` and `--seed 2`, and play each by `--model`.",
        "- No model that has seen asynchronous traces.",
        "- The text surface and the middleware are played by the tests, not by the study.",
    ]
    return "\n".join(lines)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    listed = ["| " + " | ".join(row) + " |" for row in rows]
    if not listed:
        return "Nothing was played."
    head = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(["<!-- figures: begin -->", *head, *listed, "<!-- figures: end -->"])


def _share(found: Rate | None) -> str:
    if found is None:
        return _NOTHING
    return f"{found.value:.1f} ({found.low:.1f} to {found.high:.1f}; n {found.count})"


def _mean(values: Iterable[float]) -> str:
    found = list(values)
    return f"{sum(found) / len(found):.2f}" if found else _NOTHING


def _key(record: CallRecord) -> tuple[str, str, str]:
    return record.task_id, record.tool, _text(record.arguments)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


__all__ = ["ValueOrigin", "origins", "written_results"]
