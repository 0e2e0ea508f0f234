"""``bench adapt toolbench-x``: says what a download holds, and plays it."""

import json
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from asyncguard_benchmark.commands.model_options import asking_of, check_model_options, model_of
from asyncguard_benchmark.commands.output import console, notice, print_json, table, with_progress
from asyncguard_benchmark.errors import BenchmarkError, ForeignCodeRefused
from asyncguard_benchmark.harness.arms import Arm, arm_of
from asyncguard_benchmark.harness.models.metered import InfrastructureError
from asyncguard_benchmark.harness.models.play import MOST_FAILURES, ModelUnreachableError
from asyncguard_benchmark.harness.models.spec import ModelError, ModelSpec
from asyncguard_benchmark.suites.toolbench_x.commands.options import limits_of
from asyncguard_benchmark.suites.toolbench_x.download import (
    Download,
    Instance,
    Layout,
    read_download,
)
from asyncguard_benchmark.suites.toolbench_x.download_check import checked
from asyncguard_benchmark.suites.toolbench_x.play import FaultSource, Front, Playing, cannot_play
from asyncguard_benchmark.suites.toolbench_x.runner import Cast, Episode, outcomes, read_rows
from asyncguard_benchmark.suites.toolbench_x.scorer import KEY, name_of, row_of, summary

_SHOWN = 20
"""Problems that are listed one by one."""


class BrokenDownloadError(BenchmarkError):
    """Parts of the download cannot be read."""


class NothingToPlayError(BenchmarkError):
    """No task that was asked for can be played."""


def execute(options: Namespace) -> int:
    """Run the command."""
    check_model_options(options)
    download = read_download(Layout.of(options.folder, options.manifest), options.tasks)
    if options.check:
        return _check(options, download)
    model = _model(options)
    _allowed(options, download)
    episodes = _episodes(options, _chosen(options, download))
    rows = read_rows(options.out)
    asking = asking_of(options, sum(row["usage"].get("dollars") or 0.0 for row in rows))
    known = {tuple(row[name] for name in KEY) for row in rows}
    missing = [
        each for each in episodes if name_of(each.instance, model.label, each.playing) not in known
    ]
    failed = _played(options, Cast(model=model, asking=asking), missing, rows)
    _say(options, rows, failed)
    return 1 if failed else 0


def _check(options: Namespace, download: Download) -> int:
    found = checked(download)
    if options.json:
        print_json(found)
    else:
        out = console()
        lines = [(name, str(value)) for name, value in found["counts"].items()]
        out.print(table(("what", "found"), lines, title=str(options.folder)))
        for group in ("hazards", "workflows", "missing"):
            told = ", ".join(f"{name} {value}" for name, value in found[group].items()) or "none"
            out.print(f"{group}: {told}")
        for problem in found["problems"][:_SHOWN]:
            out.print(f"problem: {problem}", markup=False)
        if len(found["problems"]) > _SHOWN:
            out.print(f"... and {len(found['problems']) - _SHOWN} more; --json lists all")
    return 1 if found["problems"] else 0


def _model(options: Namespace) -> ModelSpec:
    if options.dry_run:
        raise ModelError(
            "--dry-run: what ToolBench-X would cost is not known before it is played; use --max-cost"
        )
    model = model_of(options)
    if model is None:
        raise ModelError(
            "name a model with --model provider:name, or say --check to read the download only"
        )
    return model


def _allowed(options: Namespace, download: Download) -> None:
    if not options.run_foreign_code:
        raise ForeignCodeRefused(
            f"the tools in {options.folder} are Python code from outside, and playing runs it. Look at it, and say "
            "--run-foreign-code to run it in a bounded process without network (a guard-rail, no security boundary), "
            "best in a container; --check reads everything and runs nothing"
        )
    if download.problems and not options.partial:
        told = "\n  ".join(map(str, download.problems[:_SHOWN]))
        raise BrokenDownloadError(
            f"{len(download.problems)} parts of {options.folder} are broken:\n  {told}\n"
            "--check lists all; --partial plays the tasks that they do not touch"
        )


def _chosen(options: Namespace, download: Download) -> list[Instance]:
    reasons = {
        each.task.key: cannot_play(each, FaultSource(options.faults)) for each in download.instances
    }
    playable = [each for each in download.instances if reasons[each.task.key] is None]
    left = [f"{key}: {why}" for key, why in reasons.items() if why is not None]
    if left:
        notice(
            f"{len(left)} tasks cannot be played with faults {options.faults}, the first is {left[0]}"
        )
    if not playable:
        raise NothingToPlayError(
            f"no task in {options.folder} begins with {', '.join(options.tasks)!r} and can be played with faults "
            f"{options.faults}; --check says what there is"
        )
    return playable


def _episodes(options: Namespace, instances: Sequence[Instance]) -> list[Episode]:
    arms = {name: _config_arm(name) for name in options.arms}
    settings = [
        Playing(
            front=Front(front),
            arm=name,
            config=arm.config,
            faults=FaultSource(options.faults),
            hints=options.hints,
            declared=not options.undeclared,
            seed=options.seed,
            rounds=options.max_rounds,
            limits=limits_of(options),
        )
        for front in options.players
        for name, arm in arms.items()
    ]
    return [
        Episode(instance=instance, playing=playing)
        for instance in instances
        for playing in settings
    ]


def _config_arm(name: str) -> Arm:
    arm = arm_of(name)
    if arm.sham or not arm.wording or arm.drops is not None or arm.rules:
        raise BenchmarkError(
            f"the arm {name} is more than switches of the runtime; it is not played here"
        )
    return arm


def _played(
    options: Namespace, cast: Cast, missing: Sequence[Episode], rows: list[dict[str, Any]]
) -> int:
    """Play and save; what the infrastructure ended is told, counted, and played by the next run of the command."""
    failures, in_a_row = 0, 0
    for episode, outcome in with_progress(outcomes(cast, missing, options.jobs), len(missing)):
        if isinstance(outcome, Exception):
            notice(f"{episode.instance.task.key} ended by the infrastructure: {outcome}")
            failures += 1
            # A module that cannot be loaded says nothing of the next one; a model that cannot be asked does.
            in_a_row += isinstance(outcome, InfrastructureError)
            if in_a_row >= MOST_FAILURES:
                raise ModelUnreachableError(
                    f"{in_a_row} episodes in a row failed, the last with {outcome}"
                )
            continue
        in_a_row = 0
        row = row_of(episode.instance, cast.model.label, episode.playing, outcome[0], outcome[1])
        with options.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
        rows.append(row)
    return failures


def _say(options: Namespace, rows: Sequence[Mapping[str, Any]], failed: int) -> None:
    figures = summary(rows)
    if options.json:
        print_json({"file": str(options.out), "failed": failed, "conditions": figures})
        return
    heads = (
        "model",
        "front",
        "arm",
        "faults",
        "hints",
        "episodes",
        "success",
        "exact",
        "wrong",
        "honest",
        "unfinished",
    )
    lines = [
        (
            *(str(each[name]) for name in heads[:6]),
            *(
                "-" if each[name] is None else f"{each[name]:.1%}"
                for name in ("success_rate", "exact_rate")
            ),
            *(str(each[name]) for name in ("wrong_answer", "honest_failure", "unfinished")),
        )
        for each in figures
    ]
    out = console()
    out.print(table(heads, lines, title=str(options.out)))
    left = sum(each["left_out"] for each in figures)
    if left or failed:
        out.print(
            f"{left} episodes are left out because the sandbox was ended; {failed} the infrastructure ended"
        )
