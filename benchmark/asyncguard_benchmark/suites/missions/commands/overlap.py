"""``--overlap``: play the missions of a dialogue in one conversation into a file, and go on where a run stopped."""

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from asyncguard_benchmark.commands.output import notice, with_progress
from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.arms import arm_of
from asyncguard_benchmark.suites.missions.commands.options import CHALLENGES
from asyncguard_benchmark.suites.missions.commands.selection import check_settings, dialogues_of
from asyncguard_benchmark.suites.missions.played_rows import JointRow, MissionFile, read_joint
from asyncguard_benchmark.suites.missions.playing.grid import ASK_HINT, play_all
from asyncguard_benchmark.suites.missions.playing.joint_grid import (
    joint_cells,
    joint_line_of,
    play_joint,
)
from asyncguard_benchmark.suites.missions.playing.toolboxes import Observations


class OverlapError(BenchmarkError):
    """An option does not go with --overlap."""


def joint_into(options: Namespace, arms: Sequence[str], path: Path) -> list[JointRow]:
    """Play overlapping missions that a file does not hold yet, and return the runs that were asked for.

    Raises:
        NothingToPlayError: no dialogue is of the part and the patterns.
        OtherSettingsError: the file holds such runs under other guards or missions.
        OverlapError: an option is for missions that are played alone.
        UnknownNameError: there is no such arm.
    """
    given = {
        "--histories": options.histories,
        "--play-on": options.play_on,
        "--challenges": options.challenges != CHALLENGES[:3],
        "--dry-run": options.dry_run,
    }
    if options.model:
        raise OverlapError(
            f"--model {options.model} cannot play overlapping missions, which only simulated agents do; leave out "
            "--overlap to play the missions alone, or --model to play simulated agents"
        )
    if said := [name for name, each in given.items() if each]:
        raise OverlapError(
            f"{said[0]} is for missions that are played alone; leave it out with --overlap"
        )
    if ASK_HINT in arms:
        raise OverlapError(f"{ASK_HINT} is for missions that are played alone; name other --arms")
    for arm in arms:
        if not plays_overlap(arm):
            raise OverlapError(
                f"overlapping missions are not played under the arm {arm}; name other --arms"
            )
    agents = options.agents or ("oracle",)
    cells = joint_cells(
        dialogues=dialogues_of(options),
        overlap=options.overlap,
        axes=(agents, options.players, arms, options.regimes, range(options.repeats)),
        observations=Observations(options.observations),
    )
    with MissionFile(path) as file:
        if file.repaired:
            notice(f"{path}: an unfinished last line was taken away; its run is played again")
        check_settings(cells, file.known, path)
        missing = [cell for cell in cells if cell.key not in file.known]
        if len(missing) < len(cells):
            notice(f"{len(cells) - len(missing)} of {len(cells)} runs are in {path} already")
        runs = play_all(missing, options.jobs, play_joint)
        for row in with_progress(runs, len(missing), what="runs"):
            file.add(row, joint_line_of(row["run"]["dialogue"]))
    wanted = {cell.key for cell in cells}
    return [each for each in read_joint(path) if each.key in wanted]


def plays_overlap(arm: str) -> bool:
    """Return True if overlapping missions can be played under an arm: one of guards of the runtime, and not a repeat.

    Raises:
        UnknownNameError: there is no such arm.
    """
    found = arm_of(arm)  # a mistake is told at once
    return not (found.rules or found.again)
