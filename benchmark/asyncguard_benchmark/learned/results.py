"""Results of the study as a page: every figure comes from the episodes, with its count and its 95 % interval."""

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from asyncguard.cli.output import replace_text
from asyncguard_benchmark.harness.arms import ALL, FEATURES, LEAVE_ONE_OUT, SHAM
from asyncguard_benchmark.harness.environment import CallRecord
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.report.forest import ForestRow, forest
from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.harness.scoring.mistakes import Mistake, mistakes_of
from asyncguard_benchmark.harness.scoring.summary import Rate, summarise
from asyncguard_benchmark.harness.scoring.verdict import Score, score
from asyncguard_benchmark.learned.comparisons import (
    AT_ONCE,
    LATE,
    WITHOUT_VIEW,
    WITHOUT_VIEW_OR_GUARDS,
    Difference,
    ModelRun,
    Played,
    closed,
    difference,
    differences,
)
from asyncguard_benchmark.learned.origins import ValueOrigin, as_text, origins
from asyncguard_benchmark.learned.reactions import Reaction, reactions
from asyncguard_benchmark.learned.scripted import scripted_episodes
from asyncguard_benchmark.learned.splits import is_held_out

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
        "To stop a wrong call is half of the way. The other half, another call after a refusal, this model has never "
        "seen; the tables of early calls, of refusals and of what followed them tell the two apart.",
        "Guards, prompts and training were not tuned on the parts that are held out.",
    )
)


def written_results(runs: Sequence[ModelRun], picture: str = "") -> str:
    """Return the page: all models beside each other, then each by itself.

    Args:
        runs: The models.
        picture: File of what `drawn_results` draws, as the page names it; empty for none.
    """
    played = [Played(run) for run in runs]
    alike = _of_synchronous_traces(runs, played)
    found = differences(alike)
    missing = sum(run.asked - len(run.episodes) for run in runs)
    parts = [
        "# Results of the learned agent",
        "Written by `python -m asyncguard_benchmark.learned page --out benchmark/RESULTS-learned.md` from the episodes "
        "beside the models (`benchmark/learned/`), or by `study`, which plays them. "
        f"{sum(len(run.episodes) for run in runs)} of {sum(run.asked for run in runs)} episodes were played. "
        "Overall is in per cent, differences are in points of overall, intervals are 95 %.",
        "## Summary",
        "\n".join([_summary(alike, found), *_of_late_traces(runs, played)]),
        *([f"![differences in overall, with intervals]({picture})"] if picture and found else []),
        "## Models",
        _models(runs, played),
    ]
    if len(alike) > 1:
        parts += ["## Differences, all seeds of synchronous traces", _differences(found)]
    parts += [
        "## Mistakes beside those of scripted agents, fixed1 unguarded",
        _beside_scripted(alike),
    ]
    for run, each in zip(runs, played, strict=True):
        parts += [f"## Model: {run.title}", *_of_model(run, each)]
    parts += ["## What this shows about real models, and what it cannot", _MEANING]
    return "\n\n".join([*parts, "## Not done", _not_done(runs, missing)]) + "\n"


def drawn_results(runs: Sequence[ModelRun]) -> str:
    """Return the differences over all models of synchronous traces as SVG; empty if there are none."""
    found = differences(_of_synchronous_traces(runs, [Played(run) for run in runs]))
    rows = [ForestRow(name=each.name, strong=each.points, weak=None) for each in found.values()]
    title = "differences in overall, in points"
    return forest(title, title, "", rows) if rows else ""


def _of_synchronous_traces(runs: Sequence[ModelRun], played: Sequence[Played]) -> list[Played]:
    return [each for run, each in zip(runs, played, strict=True) if not run.late]


def _summary(played: Sequence[Played], found: Mapping[str, Difference]) -> str:
    """Return the main differences over all models of synchronous traces, in words."""
    lines = []
    for condition, when in ((AT_ONCE, "at once"), (LATE, "one turn late")):
        scores = [one for each in played for one in each.scores.get(condition, {}).values()]
        if scores:
            lines.append(
                f"- Results {when}, unguarded: {_shares(scores)[0]} per cent of the compositions solved."
            )
    asked = (
        ("fixed1 - sync, unguarded", "What late results cost"),
        (f"{ALL} - {SHAM}, fixed1", "All guards against the sham"),
        (f"{FEATURES} - {WITHOUT_VIEW_OR_GUARDS}, fixed1", "The list of task states alone"),
        (
            f"{WITHOUT_VIEW} - {WITHOUT_VIEW_OR_GUARDS}, fixed1",
            "All guards, where that list is not shown",
        ),
    )
    for name, words in asked:
        if (each := found.get(name)) is not None:
            shown = each.points.low > 0 or each.points.high < 0
            lines.append(f"- {words}: {each}{'' if shown else ', no difference is shown'}.")
    unguarded, guarded = (
        _early_calls(played, arm) for arm in (WITHOUT_VIEW_OR_GUARDS, WITHOUT_VIEW)
    )
    if guarded:
        lines.append(
            f"- Without guards, the list not shown: {unguarded}; with all guards: {guarded}."
        )
    return "\n".join(lines) or "Nothing was played."


def _of_late_traces(runs: Sequence[ModelRun], played: Sequence[Played]) -> list[str]:
    """Return a line of the summary for each model that has seen late traces."""
    lines = []
    for run, each in zip(runs, played, strict=True):
        drop, guards = (
            difference([each], *compared)
            for compared in (
                (LATE, AT_ONCE),
                (
                    (Regime.FIXED1.value, WITHOUT_VIEW),
                    (Regime.FIXED1.value, WITHOUT_VIEW_OR_GUARDS),
                ),
            )
        )
        if run.late and drop and guards:
            lines.append(
                f"- The model that has seen {run.late:.0%} late traces: late results cost {drop}; "
                f"all guards, where that list is not shown: {guards}."
            )
    return lines


def _early_calls(played: Sequence[Played], arm: str) -> str:
    """Return in words how many early calls were made under an arm at fixed1; empty if it was not played."""
    condition = (Regime.FIXED1.value, arm)
    scores = [found for each in played for found in each.scores.get(condition, {}).values()]
    if not scores:
        return ""
    needed = sum(task.premature_needed for each in scores for task in each.sub_tasks)
    episodes = (found for each in played for found in each.episodes[condition].values())
    wrong = Counter(origin for each in episodes for origin in origins(each))
    parts = ", ".join(f"{wrong[each]} {each.value}" for each in ValueOrigin)
    return (
        f"{needed} calls that needed a pending value, and {wrong.total()} early calls with wrong values ({parts}), "
        f"in {len(scores)} episodes"
    )


def _models(runs: Sequence[ModelRun], played: Sequence[Played]) -> str:
    late = Regime.FIXED1.value
    rows = []
    for run, each in zip(runs, played, strict=True):
        shown = [
            _shares(list(each.scores.get(condition, {}).values()))[0]
            for condition in (AT_ONCE, LATE, (late, ALL))
        ]
        found = difference([each], (late, ALL), (late, SHAM))
        rows.append(
            (
                f"`{run.digest[:12]}`",
                run.title,
                str(run.record.get("step")),
                *shown,
                _NOTHING if found is None else str(found),
            )
        )
    heads = ("model", "trained on", "steps", "sync", "fixed1", "fixed1, all", "all - sham, fixed1")
    return _table(heads, rows)


def _of_model(run: ModelRun, played: Played) -> list[str]:
    singles = [each for each in run.episodes if len(each.composition.sub_tasks) == 1]
    return [
        "### Results at once",
        _novelties(singles, played),
        "### Late results",
        _conditions(played),
        "### Differences",
        _differences(differences([played])),
        "### Mistakes of failed sub-tasks",
        _mistakes(played),
        "### Wrong calls before a result of their task, by the origin of their values",
        _origins(played),
        "### What guards refused or held",
        _interventions(played),
        "### What it said after a refusal",
        _reactions(played),
    ]


def write_page(runs: Sequence[ModelRun], out: Path | None) -> None:
    """Write the page to a file and its picture beside it, or print the page.

    Args:
        runs: The models.
        out: The file; None: print.
    """
    if out is None:
        sys.stdout.write(written_results(runs))
        return
    picture = out.with_suffix(".svg")
    if drawn := drawn_results(runs):
        replace_text(picture, drawn)
    replace_text(out, written_results(runs, picture.name))


def _novelties(singles: Sequence[Episode], played: Played) -> str:
    seen = [score(each) for each in singles if not is_held_out(each.composition.id)]
    unseen = [score(each) for each in singles if is_held_out(each.composition.id)]
    together = list(played.scores.get(AT_ONCE, {}).values())
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


def _conditions(played: Played) -> str:
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


def _differences(found: Mapping[str, Difference]) -> str:
    rows = [(each.name, str(each)) for each in found.values()]
    rows += [
        (f"share of the drop at fixed1 that `{arm}` closes", f"{share:.0%}")
        for arm in (ALL, WITHOUT_VIEW)
        if (share := closed(found, arm)) is not None
    ]
    return _table(("compared", "difference"), rows)


def _mistakes(played: Played) -> str:
    rows = []
    for condition, episodes in sorted(played.episodes.items()):
        found: Counter[Mistake | None] = Counter()
        for name, each in episodes.items():
            found.update(mistakes_of(each, played.scores[condition][name]))
        failed = sum(count for mistake, count in found.items() if mistake is not None)
        shares = (f"{found[each]}" for each in Mistake)
        rows.append((*condition, f"{failed} of {found.total()}", *shares))
    return _table(("regime", "arm", "failed", *(each.value for each in Mistake)), rows)


def _origins(played: Played) -> str:
    rows = []
    for condition, episodes in sorted(played.episodes.items()):
        found = Counter(each for episode in episodes.values() for each in origins(episode))
        rows.append((*condition, *(str(found[each]) for each in ValueOrigin)))
    return _table(("regime", "arm", *(each.value for each in ValueOrigin)), rows)


def _beside_scripted(played: Sequence[Played]) -> str:
    """Return the shares of mistakes and of origins, of the models together and of agents whose faults were chosen."""
    own = [episode for each in played for episode in each.episodes.get(LATE, {}).values()]
    compositions = {each.composition.id: each.composition for each in own}
    lines = {"learned": own, **scripted_episodes(list(compositions.values()))}
    rows = []
    for name, episodes in lines.items():
        found = Counter(
            mistake
            for each in episodes
            for mistake in mistakes_of(each, score(each))
            if mistake is not None
        )
        early = Counter(origin for each in episodes for origin in origins(each))
        rows.append(
            (
                name,
                str(found.total()),
                *(_part(found[each], found.total()) for each in Mistake),
                str(early.total()),
                *(_part(early[each], early.total()) for each in ValueOrigin),
            )
        )
    heads = (
        "agent",
        "failed sub-tasks",
        *(f"{each.value}, %" for each in Mistake),
        "wrong early calls",
        *(f"{each.value}, %" for each in ValueOrigin),
    )
    return _table(heads, rows if own else [])


def _part(count: int, of: int) -> str:
    return f"{100 * count / of:.0f}" if of else _NOTHING


def _reactions(played: Played) -> str:
    rows = []
    for condition, episodes in sorted(played.episodes.items()):
        found = Counter(each for episode in episodes.values() for each in reactions(episode))
        if total := found.total() - found[Reaction.SAME]:
            rows.append((*condition, str(total), *(str(found[each]) for each in Reaction)))
    return _table(
        ("regime", "arm", "turns with a refusal", *(each.value for each in Reaction)), rows
    )


def _interventions(played: Played) -> str:
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
    whole = sum(
        {str(each.settings["arm"]) for each in run.episodes} >= {*LEAVE_ONE_OUT} for run in runs
    )
    if whole < len(runs):
        lines.append(
            f"- Each guard was left out by itself, and fixed2 and random12 guarded, with {whole} of {len(runs)} "
            "models: `--whole`."
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
    return record.task_id, record.tool, as_text(record.arguments)
