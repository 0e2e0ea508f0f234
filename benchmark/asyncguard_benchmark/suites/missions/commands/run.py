"""``bench missions run``: play the bundled missions into a file, and go on where an interrupted run stopped."""

from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from asyncguard_benchmark.commands.output import notice, with_progress
from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.arms import arm_of
from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.suites.missions.bundled.bundle import Split
from asyncguard_benchmark.suites.missions.bundled.census import QUICK
from asyncguard_benchmark.suites.missions.commands.joint import say_joint
from asyncguard_benchmark.suites.missions.commands.options import CHALLENGES
from asyncguard_benchmark.suites.missions.commands.played import say, scored
from asyncguard_benchmark.suites.missions.dialogues import History
from asyncguard_benchmark.suites.missions.played_rows import (
    JointKey,
    JointRow,
    MissionFile,
    OtherSettingsError,
    PlayedRow,
    RunKey,
    read_joint,
    read_played,
)
from asyncguard_benchmark.suites.missions.playing.grid import (
    ASK_HINT,
    Cell,
    Grid,
    line_of,
    play,
    play_all,
)
from asyncguard_benchmark.suites.missions.playing.joint_grid import (
    JointCell,
    joint_cells,
    joint_line_of,
    play_joint,
)
from asyncguard_benchmark.suites.missions.playing.shelf import shelves
from asyncguard_benchmark.suites.missions.playing.toolboxes import Observations

_C = TypeVar("_C", Cell, JointCell)
_BY = ("agent", "player", "arm", "regime")


class OverlapError(BenchmarkError):
    """An option does not go with --overlap."""


class NothingToPlayError(BenchmarkError):
    """No bundled dialogue is of the part and the patterns that were asked for; see `bench missions list`."""


def execute(options: Namespace) -> int:
    """Run the command."""
    if options.overlap is not None:
        say_joint(joint_into(options, options.arms, options.out), options, _BY)
        return 0
    cells = asked(options, options.arms).cells()
    rows = played_into(options.out, cells, options.jobs)
    say(scored(rows, _BY), options, [str(options.out)])
    return 0


def joint_into(options: Namespace, arms: Sequence[str], path: Path) -> list[JointRow]:
    """Play overlapping missions that a file does not hold yet, and return the runs that were asked for.

    Raises:
        NothingToPlayError: no dialogue is of the part and the patterns.
        OtherSettingsError: the file holds such runs under other guards or missions.
        OverlapError: an option is for missions that are played alone.
        UnknownNameError: there is no such arm.
    """
    given = {"--histories": options.histories, "--play-on": options.play_on}
    given["--challenges"] = options.challenges != CHALLENGES[:3]
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
    cells = joint_cells(
        dialogues=_dialogues(options),
        overlap=options.overlap,
        axes=(options.agents, options.players, arms, options.regimes, range(options.repeats)),
        observations=Observations(options.observations),
    )
    _play_missing(path, cells, options.jobs, play_joint, joint_line_of)
    wanted = {cell.key for cell in cells}
    return [each for each in read_joint(path) if each.key in wanted]


def plays_overlap(arm: str) -> bool:
    """Return True if overlapping missions can be played under an arm: it refuses nothing by chance or by rule.

    Raises:
        UnknownNameError: there is no such arm.
    """
    found = arm_of(arm)  # a mistake is told at once
    return not (found.sham or found.rules or found.again)


def played_into(path: Path, cells: Sequence[Cell], jobs: int) -> list[PlayedRow]:
    """Play what a file does not hold yet, and return the runs that were asked for.

    Args:
        path: The file; it keeps what it holds.
        cells: The runs.
        jobs: Processes.

    Raises:
        OtherSettingsError: it holds such runs under other guards or missions.
    """
    _play_missing(path, cells, jobs, play, line_of)
    wanted = {cell.key for cell in cells}
    return [each for each in read_played(path) if each.key in wanted]


def _play_missing(
    path: Path,
    cells: Sequence[_C],
    jobs: int,
    play_one: Callable[[_C], dict[str, Any]],
    line: Callable[[str], dict[str, Any]],
) -> None:
    with MissionFile(path) as file:
        if file.repaired:
            notice(f"{path}: an unfinished last line was taken away; its run is played again")
        _check_settings(cells, file.known, path)
        missing = [cell for cell in cells if cell.key not in file.known]
        if len(missing) < len(cells):
            notice(f"{len(cells) - len(missing)} of {len(cells)} runs are in {path} already")
        for row in with_progress(play_all(missing, jobs, play_one), len(missing), what="runs"):
            file.add(row, line(row["run"]["dialogue"]))


def asked(options: Namespace, arms: Sequence[str]) -> Grid:
    """Return the runs that a command line asks for, under some arms.

    Raises:
        NothingToPlayError: no dialogue is of the part and the patterns.
        UnknownNameError: there is no such arm.
    """
    for arm in arms:
        if arm != ASK_HINT:
            arm_of(arm)  # a mistake is told at once
    return Grid(
        dialogues=_dialogues(options),
        challenges=options.challenges,
        agents=options.agents,
        players=options.players,
        arms=arms,
        histories=[History(each) for each in options.histories],
        regimes=[Regime(each) for each in options.regimes],
        observations=Observations(options.observations),
        seeds=range(options.repeats),
        play_on=options.play_on,
    )


def _dialogues(options: Namespace) -> list[str]:
    split = Split.HELD_OUT if options.held_out else Split.DEVELOPMENT
    patterns = options.patterns or (QUICK if options.quick else ())
    dialogues = [
        name
        for name, each in shelves().items()
        if each.bundle.split is split and (not patterns or each.written.pattern in patterns)
    ]
    if not dialogues:
        raise NothingToPlayError(NothingToPlayError.__doc__)
    return dialogues


def _check_settings(
    cells: Sequence[Cell] | Sequence[JointCell],
    known: Mapping[RunKey | JointKey, str],
    path: Path,
) -> None:
    others = {
        cell.arm for cell in cells if cell.key in known and known[cell.key] != cell.settings()
    }
    if others:
        raise OtherSettingsError(
            f"{path} was played under other guards or missions than those of this release (arms: "
            f"{', '.join(sorted(others))}); it can be scored, but not added to: play into another file with --out"
        )
