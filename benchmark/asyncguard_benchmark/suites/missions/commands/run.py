"""``bench missions run``: play the bundled missions into a file, and go on where an interrupted run stopped."""

from argparse import Namespace
from collections.abc import Sequence

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
    for arm in options.arms:
        if arm != ASK_HINT:
            arm_of(arm)  # a mistake is told at once
    cells = _grid(options).cells()
    with MissionFile(options.out) as file:
        if file.repaired:
            notice(
                f"{options.out}: an unfinished last line was taken away; its mission is played again"
            )
        _check_settings(cells, file.known, options)
        missing = [cell for cell in cells if cell.key not in file.known]
        if len(missing) < len(cells):
            notice(
                f"{len(cells) - len(missing)} of {len(cells)} missions are in {options.out} already"
            )
        played = play_all(missing, options.jobs)
        for row in with_progress(played, len(missing), what="missions"):
            file.add(row, line_of(row["run"]["dialogue"]))
    wanted = {cell.key for cell in cells}
    rows = [each for each in read_played(options.out) if each.key in wanted]
    say(scored(rows, ("agent", "player", "arm", "regime")), options, [str(options.out)])
    return 0


def _grid(options: Namespace) -> Grid:
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
        arms=options.arms,
        histories=[History(each) for each in options.histories],
        regimes=[Regime(each) for each in options.regimes],
        observations=Observations(options.observations),
        seeds=range(options.repeats),
        play_on=options.play_on,
    )


def _check_settings(cells: Sequence[Cell], known: dict[RunKey, str], options: Namespace) -> None:
    others = {
        cell.arm for cell in cells if cell.key in known and known[cell.key] != cell.settings()
    }
    if others:
        raise OtherSettingsError(
            f"{options.out} was played under other guards or missions than those of this release (arms: "
            f"{', '.join(sorted(others))}); it can be scored, but not added to: play into another file with --out"
        )
