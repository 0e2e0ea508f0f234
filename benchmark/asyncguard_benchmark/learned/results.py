"""Results of the study as a page: every figure comes from the episodes, with its count and its 95 % interval."""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from asyncguard.cli.output import replace_text
from asyncguard.config import FEATURE_NAMES
from asyncguard_benchmark.harness.arms import (
    ALL,
    FEATURES,
    LEAVE_ONE_OUT,
    NONE,
    SHAM,
    coalition_name,
)
from asyncguard_benchmark.harness.environment import CallRecord
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.pointers import leaves
from asyncguard_benchmark.harness.scenario import Regime, SubTask
from asyncguard_benchmark.harness.scoring.mistakes import Mistake, mistakes_of
from asyncguard_benchmark.harness.scoring.summary import Rate, summarise
from asyncguard_benchmark.harness.scoring.verdict import Score, score
from asyncguard_benchmark.harness.statistics.paired import Pair, difference_interval
from asyncguard_benchmark.learned.splits import is_held_out
from asyncguard_benchmark.services.catalogue import tools_of

WITHOUT_VIEW = "without-task_view"
"""The arm with all guards that does not list the states of tasks to the agent."""
WITHOUT_VIEW_OR_GUARDS = coalition_name(frozenset(FEATURE_NAMES) - {"task_view"})
"""The arm with the features of `WITHOUT_VIEW` and none of its guards."""
_NOTHING = "-"
_SEEDS = 3
"""Training seeds of the whole study."""
_MEANING = "\n".join(
    f"- {each}"
    for each in (
        "The model's mistakes were not chosen: trained on results that come at once, it has never read a placeholder, "
        "a refusal or a late result. What an arm adds or costs is therefore not put in by the author of an agent.",
        "How often a real model makes such mistakes cannot be read here, nor how it takes a refusal: this one follows "
        "no instructions and has no language but that of its traces.",
        "What it cannot do at once, guards cannot save when results are late. Where the score at once is low, a "
        "difference near zero does not show that guards do nothing; the counts of mistakes and refusals say more.",
        "The arm `features` refuses nothing. What it loses against no guard, it loses to words of the runtime that the "
        "model has never read: labels, states of tasks, notices of late results. An arm with guards speaks so, too.",
        f"`{WITHOUT_VIEW}` and `{WITHOUT_VIEW_OR_GUARDS}` do not list the states of tasks. They became part of the "
        "study after the first results of seed 0, tried on ten sets of tasks that are not held out, and before "
        "another seed was played: to see guards with a model that the list alone had made speechless.",
        "Guards, prompts and training were not tuned on the parts that are held out.",
    )
)
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


@dataclass(frozen=True, kw_only=True)
class ModelRun:
    """Episodes of the study that one model has played."""

    episodes: Sequence[Episode]
    record: Mapping[str, Any]
    """How the model was trained."""
    digest: str
    """Of the model's files."""
    asked: int
    """Episodes that the study asks for."""

    @property
    def seed(self) -> int:
        """Return the seed of the training run."""
        return int(self.record["training"]["seed"])

    @property
    def late(self) -> float:
        """Return the share of late traces in training."""
        return float(self.record["training"].get("late", 0.0))

    @property
    def title(self) -> str:
        """Return the name of the model in the page."""
        seen = f"{self.late:.0%} late traces" if self.late else "synchronous traces only"
        return f"seed {self.seed}, {seen}"


class _Played:
    """Episodes of the compositions, by condition."""

    def __init__(self, run: ModelRun) -> None:
        self.seed = run.seed
        self.scores: dict[_Condition, dict[str, Score]] = {}
        self.episodes: dict[_Condition, dict[str, Episode]] = {}
        for each in run.episodes:
            if len(each.composition.sub_tasks) > 1:
                condition = (each.run.regime.value, str(each.settings["arm"]))
                self.scores.setdefault(condition, {})[each.composition.id] = score(each)
                self.episodes.setdefault(condition, {})[each.composition.id] = each

    def pairs(self, one: _Condition, other: _Condition) -> list[Pair]:
        """Return the compositions played under both conditions."""
        left, right = self.scores.get(one, {}), self.scores.get(other, {})
        return [
            Pair(
                composition=name,
                seed=self.seed,
                sources=frozenset(self.episodes[one][name].composition.task_ids),
                arm=left[name].overall,
                against=right[name].overall,
            )
            for name in sorted(left.keys() & right.keys())
        ]


def _difference(
    played: Sequence[_Played], one: _Condition, other: _Condition
) -> tuple[float, str] | None:
    """Return the paired difference in overall, in points, and it in words; None without pairs."""
    pairs = [pair for each in played for pair in each.pairs(one, other)]
    if not pairs:
        return None
    scaled = difference_interval(pairs).scaled(100)
    words = f"{scaled.value:+.1f} ({scaled.low:+.1f} to {scaled.high:+.1f}; n {len(pairs)})"
    return scaled.value, words


def written_results(runs: Sequence[ModelRun]) -> str:
    """Return the page: all models beside each other, then each by itself."""
    played = [_Played(run) for run in runs]
    alike = [each for run, each in zip(runs, played, strict=True) if not run.late]
    missing = sum(run.asked - len(run.episodes) for run in runs)
    parts = [
        "# Results of the learned agent",
        "Written by `python -m asyncguard_benchmark.learned study --out benchmark/RESULTS-learned.md`, "
        f"with one `--model` for each. {sum(len(run.episodes) for run in runs)} of "
        f"{sum(run.asked for run in runs)} episodes were played, and the same command plays the others. "
        "Overall is in per cent, differences are in points of overall, intervals are 95 %.",
        "## Models",
        _models(runs, played),
    ]
    if len(alike) > 1:
        parts += ["## Differences, all seeds of synchronous traces", _differences(alike)]
    for run, each in zip(runs, played, strict=True):
        parts += [f"## Model: {run.title}", *_of_model(run, each)]
    parts += ["## What this shows about real models, and what it cannot", _MEANING]
    return "\n\n".join([*parts, "## Not done", _not_done(runs, missing)]) + "\n"


def _models(runs: Sequence[ModelRun], played: Sequence[_Played]) -> str:
    late = Regime.FIXED1.value
    rows = []
    for run, each in zip(runs, played, strict=True):
        shown = [
            _shares(list(each.scores.get(condition, {}).values()))[0]
            for condition in ((Regime.SYNC.value, NONE), (late, NONE), (late, ALL))
        ]
        found = _difference([each], (late, ALL), (late, SHAM))
        rows.append(
            (
                f"`{run.digest[:12]}`",
                run.title,
                str(run.record.get("step")),
                *shown,
                _NOTHING if found is None else found[1],
            )
        )
    heads = ("model", "trained on", "steps", "sync", "fixed1", "fixed1, all", "all - sham, fixed1")
    return _table(heads, rows)


def _of_model(run: ModelRun, played: _Played) -> list[str]:
    singles = [each for each in run.episodes if len(each.composition.sub_tasks) == 1]
    return [
        "### Results at once",
        _novelties(singles, played),
        "### Late results",
        _conditions(played),
        "### Differences",
        _differences([played]),
        "### Mistakes of failed sub-tasks",
        _mistakes(played),
        "### Wrong calls before a result of their task, by the origin of their values",
        _origins(played),
        "### What guards refused or held",
        _interventions(played),
    ]


def write_page(text: str, out: Path | None) -> None:
    """Write the page to a file, or print it.

    Args:
        text: The page.
        out: The file; None: print it.
    """
    if out is None:
        sys.stdout.write(text)
    else:
        replace_text(out, text)


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


def _differences(played: Sequence[_Played]) -> str:
    late = Regime.FIXED1.value
    compared: list[tuple[str, _Condition, _Condition]] = [
        (f"{regime.value} - sync, unguarded", (regime.value, NONE), (Regime.SYNC.value, NONE))
        for regime in (Regime.FIXED1, Regime.FIXED2, Regime.RANDOM12)
    ]
    compared += [
        (f"all - {arm}, fixed1", (late, ALL), (late, arm)) for arm in (SHAM, NONE, FEATURES)
    ]
    compared += [
        (f"{one} - {other}, fixed1", (late, one), (late, other))
        for one, other in (
            (FEATURES, NONE),
            (WITHOUT_VIEW, WITHOUT_VIEW_OR_GUARDS),
            (WITHOUT_VIEW, NONE),
            (WITHOUT_VIEW_OR_GUARDS, NONE),
        )
    ]
    compared += [(f"all - {arm}, fixed1", (late, ALL), (late, arm)) for arm in LEAVE_ONE_OUT]
    found = {name: _difference(played, one, other) for name, one, other in compared}
    rows = [(name, each[1]) for name, each in found.items() if each is not None]
    drop = found["fixed1 - sync, unguarded"]
    for arm in (ALL, WITHOUT_VIEW):
        gain = found[f"{arm} - none, fixed1"]
        if drop is not None and gain is not None and drop[0] < 0:
            closed = f"{gain[0] / -drop[0]:.0%}"
            rows.append((f"share of the drop at fixed1 that `{arm}` closes", closed))
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


def _not_done(runs: Sequence[ModelRun], missing: int) -> str:
    lines = [f"- {missing} episodes of this study are not played."] if missing else []
    arms = {str(each.settings["arm"]) for run in runs for each in run.episodes}
    if not arms >= {*LEAVE_ONE_OUT}:
        lines.append(
            "- No guard was left out by itself, and fixed2 and random12 were not guarded: `--whole`."
        )
    seeds = {run.seed for run in runs if not run.late}
    if len(seeds) < _SEEDS:
        lines.append(
            f"- {len(seeds)} of {_SEEDS} training seeds: `train --seed N`, and play each by `--model`."
        )
    if not any(run.late for run in runs):
        lines.append(
            "- No model that has seen late traces: `train --late-share 0.1`, and play it by `--model`."
        )
    lines.append("- The text surface and the middleware are played by the tests, not by the study.")
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


__all__ = ["ModelRun", "ValueOrigin", "origins", "write_page", "written_results"]
