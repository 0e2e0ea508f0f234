"""``bench missions score``: judge result files in the published shape by both scorers; nothing is executed."""

import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from asyncguard_benchmark.commands.output import (
    console,
    harmless,
    notice,
    print_json,
    table,
    with_progress,
)
from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.json_lines import Reading
from asyncguard_benchmark.harness.report.number_format import NO_DATA, number
from asyncguard_benchmark.suites.missions.commands.played import score_played
from asyncguard_benchmark.suites.missions.entries import Entry
from asyncguard_benchmark.suites.missions.played_rows import is_played
from asyncguard_benchmark.suites.missions.published_exceptions import left_out, without_end
from asyncguard_benchmark.suites.missions.result_rows import read_results
from asyncguard_benchmark.suites.missions.scorers.metrics import Scorer, judged_by, passed
from asyncguard_benchmark.suites.missions.scorers.summary import relabelled, summary
from asyncguard_benchmark.suites.missions.scorers.trajectories import compared
from asyncguard_benchmark.suites.missions.scorers.verdict import Verdict, judge

MOST_TOLD = 20
"""Notices of one kind that are printed one by one."""


class UnscorableError(BenchmarkError):
    """A file holds no mission, lines that cannot be read, or missions of a kind that an option is not for."""


def execute(options: Namespace) -> int:
    """Run the command."""
    if all(is_played(path) for path in options.files):
        if options.explain:
            raise UnscorableError(
                f"{options.files[0]}: --explain is for result files in the published shape; of played missions "
                "`asyncguard bench missions report` shows step by step where those played alone left the gold"
            )
        return score_played(options)
    return score_published(options, options.files, read_results)


def score_published(
    options: Namespace, files: Sequence[Path], read: Callable[[Path], Reading[Entry]]
) -> int:
    """Judge result files in the published shape.

    Args:
        options: What `add_scoring` adds.
        files: Results; more than one are repeats.
        read: Reader of a file.

    Raises:
        UnscorableError: a file holds nothing, or what cannot be read and was not to be left out.
    """
    after = options.trajectories or []
    if after and len(after) != len(files):
        raise UnscorableError(
            f"--trajectories names {len(after)} files beside {len(files)}; repeats are paired, so name as many"
        )
    scorers = [Scorer(each) for each in options.scorers]
    problems: list[str] = []
    runs = [_judged(path, read(path), options, problems) for path in files]
    later = [_judged(path, read(path), options, problems) for path in after]
    verdicts = [each for run in runs for each in run]
    said = {
        "files": [str(path) for path in files],
        "partial": bool(problems),
        "unreadable": problems,
        **summary(verdicts, scorers),
        "relabelled": [_name(each) for each in relabelled(verdicts)],
        "trajectories": _trajectories(runs, later, scorers),
    }
    if options.explain:
        said["failures"] = [_failure(each) for each in verdicts if _failed(each, scorers)]
        _explain(verdicts, scorers)
    if options.json:
        print_json(said)
    else:
        _print(said)
    return 0


def _judged(
    path: Path, reading: Reading[Entry], options: Namespace, problems: list[str]
) -> list[Verdict]:
    _complain(reading, problems, partial=options.partial)
    if not reading.found:
        raise UnscorableError(f"{path} holds no mission")
    leaving = "leave-out" in options.published_exceptions
    entries = [each for each in reading.found if not (leaving and left_out(each))]
    if len(entries) < len(reading.found):
        notice(f"{path}: {len(reading.found) - len(entries)} missions are left out, as published")
    forgiving = "relabel" in options.published_exceptions
    played: Iterable[Entry] = with_progress(entries, len(entries), what="missions")
    return [
        judge(replace(each, stored_label=True), trusting=True)
        if forgiving and without_end(each)
        else judge(each, trusting=options.trust_labels)
        for each in played
    ]


def _complain(reading: Reading[Entry], problems: list[str], *, partial: bool) -> None:
    said = [str(each) for each in reading.problems]
    if said and not partial:
        more = f"\n... and {len(said) - MOST_TOLD} more" if len(said) > MOST_TOLD else ""
        lines = "\n".join(said[:MOST_TOLD])
        raise UnscorableError(
            f"{lines}{more}\nNothing was scored; --partial leaves such lines out."
        )
    _notices(said)
    _notices(reading.warnings)
    problems += said


def _notices(texts: Sequence[str]) -> None:
    for text in texts[:MOST_TOLD]:
        notice(text)
    if len(texts) > MOST_TOLD:
        notice(f"... and {len(texts) - MOST_TOLD} more like this")


def _name(verdict: Verdict) -> str:
    return f"{verdict.entry.key.dialogue}, mission {verdict.entry.position}"


def _trajectories(
    before: Sequence[Sequence[Verdict]],
    after: Sequence[Sequence[Verdict]],
    scorers: Sequence[Scorer],
) -> dict[str, Any] | None:
    if not after:
        return None
    found = {scorer.value: compared(before, after, scorer) for scorer in scorers}
    if missing := [name for name, each in found.items() if each is None]:
        raise UnscorableError(
            f"no later mission is in all files, by {', '.join(missing)}: ids and idx must be the same in C2 and C3"
        )
    return {name: each.to_json() for name, each in found.items() if each is not None}


def _failed(verdict: Verdict, scorers: Sequence[Scorer]) -> list[Scorer]:
    return [each for each in scorers if judged_by([verdict], each) and not passed(verdict, each)]


def _failure(verdict: Verdict) -> dict[str, Any]:
    strict = verdict.strict.divergence if verdict.strict is not None else None
    error = verdict.compat.error if verdict.compat is not None else None
    return {
        "dialogue": verdict.entry.key.dialogue,
        "mission": verdict.entry.key.mission,
        "strict": None if strict is None else strict.to_json(),
        "compat": None if error is None else error.value,
    }


def _explain(verdicts: Sequence[Verdict], scorers: Sequence[Scorer]) -> None:
    for each in verdicts:
        for scorer in _failed(each, scorers):
            sys.stderr.write(harmless(f"{_name(each)}: {scorer.value}: {_why(each, scorer)}\n"))


def _why(verdict: Verdict, scorer: Scorer) -> str:
    if scorer is Scorer.COMPAT and verdict.compat is not None and verdict.compat.error is not None:
        raised = "; comparing the arguments raised" if verdict.compat.raised else ""
        return f"{verdict.compat.error.value}{raised}"
    found = verdict.strict.divergence if verdict.strict is not None else None
    if found is None:
        return NO_DATA
    calls = "; ".join(
        f"{call.tool}: {', '.join(call.labels)}"
        + (
            f" (node {call.nearest}: {', '.join(map(str, call.faults or {}))})"
            if call.faults
            else ""
        )
        for call in found.calls
    )
    ready = " or ".join("{" + ", ".join(names) + "}" for names in found.ready[:4])
    return f"step {found.step + 1}: {', '.join(found.labels)}; ready: {ready}{'; ' if calls else ''}{calls}"


# -- tables ------------------------------------------------------------------------------------------------------------


def _print(said: Mapping[str, Any]) -> None:
    out = console()
    title = "partial score" if said["partial"] else None
    columns = list(said["scorers"])
    heads = ("", *(head for name in columns for head in (name, "95 %", "n")))
    lines = [
        _line(label, [path(said["scorers"][name]) for name in columns]) for label, path in _PATHS
    ]
    for group, tables in _tables(said["scorers"]).items():
        keys = dict.fromkeys(key for each in tables for key in each)
        lines += [_line(f"SR, {group} {key}", [each.get(key) for each in tables]) for key in keys]
    variances = {
        length: [each["layer_variance"][length] for each in said["scorers"].values()]
        for length in "123"
    }
    lines += [
        (f"layer variance after {length}", *_cells(each)) for length, each in variances.items()
    ]
    out.print(table(heads, lines, title=title))
    others = {f"AP, {name}": each for name, each in said["AP"].items()} | said["clarification"]
    out.print(table(("", "", "95 %", "n"), [_line(name, [each]) for name, each in others.items()]))
    lengths = [
        (
            letter,
            number(each["value"], 0),
            f"{number(each['low'], 0)} to {number(each['high'], 0)}",
            str(each["n"]),
        )
        for letter, each in said["output_length"].items()
    ]
    out.print(table(("characters written in a mission", "", "95 %", "n"), lengths))
    for name in columns:
        errors = said["scorers"][name]["errors"]
        total = sum(errors.values())
        rows = [(label, str(count), number(100 * count / total)) for label, count in errors.items()]
        out.print(table((f"errors, {name}", "n", "%"), rows))
    if said["trajectories"]:
        for name, each in said["trajectories"].items():
            _print_trajectories(out, name, each)
    for what in ("relabelled", "unscored"):
        if said[what]:
            notice(f"{len(said[what])} missions are {what}; --json names them")


_PATHS: Sequence[tuple[str, Any]] = (
    ("SR", lambda each: each["SR"]),
    ("names right", lambda each: each["names"]),
    ("SR, later missions", lambda each: each["later_missions"]),
    ("SR, action type m", lambda each: each["C1"]["SR"]),
    ("OP", lambda each: each["OP"]),
    ("parallel efficiency", lambda each: each["parallel_efficiency"]),
)


def _tables(scorers: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    """Return SR by every property, for each scorer."""
    first = next(iter(scorers.values()))
    found = {name: [each["by"][name] for each in scorers.values()] for name in first["by"]}
    return {
        **found,
        "messages in the prompt:": [each["by_prompt_messages"] for each in scorers.values()],
    }


def _cells(values: Sequence[float | None]) -> Iterator[str]:
    """Yield figures without an interval."""
    for each in values:
        yield from (number(each, 3), "", "")


def _line(label: str, figures: Sequence[Mapping[str, Any] | None]) -> tuple[str, ...]:
    cells = [label]
    for each in figures:
        if each is None or each["value"] is None:
            cells += [NO_DATA, NO_DATA, str(each["n"]) if each else "0"]
        else:
            low, high = number(100 * each["low"]), number(100 * each["high"])
            cells += [number(100 * each["value"]), f"{low} to {high}", str(each["n"])]
    return tuple(cells)


def _print_trajectories(out: Any, name: str, said: Mapping[str, Any]) -> None:
    heads = (
        f"C2 against C3, {name}",
        "n",
        "RR",
        "RW",
        "WR",
        "WW",
        "VF",
        "Acc2",
        "DDD",
        "1/Acc2",
        "smoothed",
        "p",
    )
    rows = {"all": said["all"], **{f"PTF {key}": each for key, each in said["by_ptf"].items()}}
    keys = ("VF", "Acc2", "DDD", "DDD0", "DDD_smoothed", "mcnemar_p")
    lines = [
        (
            label,
            *(str(each[key]) for key in ("n", "RR", "RW", "WR", "WW")),
            *(number(each[key], 3) for key in keys),
        )
        for label, each in rows.items()
    ]
    out.print(table(heads, lines))
    change = said["accuracy_change"]
    out.print(
        f"C3 minus C2: {number(100 * change['value'])} points, 95 % {number(100 * change['low'])} to "
        f"{number(100 * change['high'])}; McNemar's exact p "
        f"{number(said['all']['mcnemar_p'], 3)} (first repeat); "
        f"VF between repeats {number(said['VF_null'], 3)}, excess {number(said['VF_excess'], 3)}; "
        f"trend over PTF p {number(said['trend_p'], 3)}"
    )
    if said["note"]:
        out.print(said["note"])
