"""``bench missions run``: play the bundled missions into a file, and go on where an interrupted run stopped."""

from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from asyncguard_benchmark.commands.output import notice, with_progress
from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.arms import arm_of
from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.suites.missions.bundled.bundle import Split
from asyncguard_benchmark.suites.missions.bundled.census import QUICK
from asyncguard_benchmark.suites.missions.commands.played import say, scored
from asyncguard_benchmark.suites.missions.dialogues import History
from asyncguard_benchmark.suites.missions.played_rows import (
    MissionFile,
    OtherSettingsError,
    PlayedRow,
    RunKey,
    read_played,
)
from asyncguard_benchmark.suites.missions.playing.grid import (
    ASK_HINT,
    Cell,
    Grid,
    line_of,
    play_all,
)
from asyncguard_benchmark.suites.missions.playing.shelf import shelves
from asyncguard_benchmark.suites.missions.playing.toolboxes import Observations


class NothingToPlayError(BenchmarkError):
    """No bundled dialogue is of the part and the patterns that were asked for; see `bench missions list`."""


def execute(options: Namespace) -> int:
    """Run the command."""
    cells = asked(options, options.arms).cells()
    rows = played_into(options.out, cells, options.jobs)
    say(scored(rows, ("agent", "player", "arm", "regime")), options, [str(options.out)])
    return 0


def played_into(path: Path, cells: Sequence[Cell], jobs: int) -> list[PlayedRow]:
    """Play what a file does not hold yet, and return the runs that were asked for; see `play_into`."""
    play_into(path, cells, jobs)
    return rows_of(path, cells)


def rows_of(path: Path, cells: Iterable[Cell]) -> list[PlayedRow]:
    """Return the runs of a file that were asked for."""
    wanted = {cell.key for cell in cells}
    return [each for each in read_played(path) if each.key in wanted]


def play_into(path: Path, cells: Sequence[Cell], jobs: int) -> None:
    """Play what a file does not hold yet.

    Args:
        path: The file; it keeps what it holds.
        cells: The runs.
        jobs: Processes.

    Raises:
        OtherSettingsError: it holds such runs under other guards or missions.
    """
    with MissionFile(path) as file:
        if file.repaired:
            notice(f"{path}: an unfinished last line was taken away; its mission is played again")
        _check_settings(cells, file.known, path)
        missing = [cell for cell in cells if cell.key not in file.known]
        if len(missing) < len(cells):
            notice(f"{len(cells) - len(missing)} of {len(cells)} missions are in {path} already")
        stands = {cell.case.dialogue: cell.case.stand for cell in missing}
        for row in with_progress(play_all(missing, jobs), len(missing), what="missions"):
            file.add(row, line_of(stands[row["run"]["dialogue"]]))


def asked(options: Namespace, arms: Sequence[str]) -> Grid:
    """Return the runs that a command line asks for, under some arms.

    Raises:
        NothingToPlayError: no dialogue is of the part and the patterns.
        UnknownNameError: there is no such arm.
    """
    for arm in arms:
        if arm != ASK_HINT:
            arm_of(arm)  # a mistake is told at once
    split = Split.HELD_OUT if options.held_out else Split.DEVELOPMENT
    patterns = options.patterns or (QUICK if options.quick else ())
    dialogues = [
        name
        for name, each in shelves().items()
        if each.bundle.split is split and (not patterns or each.written.pattern in patterns)
    ]
    if not dialogues:
        raise NothingToPlayError(NothingToPlayError.__doc__)
    return Grid(
        dialogues=dialogues,
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


def _check_settings(cells: Sequence[Cell], known: Mapping[RunKey, str], path: Path) -> None:
    others = {
        cell.arm for cell in cells if cell.key in known and known[cell.key] != cell.settings()
    }
    if others:
        raise OtherSettingsError(
            f"{path} was played under other guards or missions than those of this release (arms: "
            f"{', '.join(sorted(others))}); it can be scored, but not added to: play into another file with --out"
        )
