"""Choice of the bundled dialogues to play, and of the file that they may be added to."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path

from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.suites.missions.bundled.bundle import Split
from asyncguard_benchmark.suites.missions.bundled.census import QUICK
from asyncguard_benchmark.suites.missions.played_rows import (
    JointKey,
    OtherSettingsError,
    RunKey,
)
from asyncguard_benchmark.suites.missions.playing.grid import Cell
from asyncguard_benchmark.suites.missions.playing.joint_grid import JointCell
from asyncguard_benchmark.suites.missions.playing.shelf import shelves


class NothingToPlayError(BenchmarkError):
    """No bundled dialogue is of the part and the patterns that were asked for; see `bench missions list`."""


def dialogues_of(options: Namespace) -> list[str]:
    """Return the bundled dialogues that a command line asks for.

    Raises:
        NothingToPlayError: none is of the part and the patterns.
    """
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


def check_settings(
    cells: Sequence[Cell] | Sequence[JointCell], known: Mapping[RunKey | JointKey, str], path: Path
) -> None:
    """Refuse to add to a file that was played under other settings.

    Raises:
        OtherSettingsError: it holds such runs under other guards or missions.
    """
    others = {
        cell.arm for cell in cells if cell.key in known and known[cell.key] != cell.settings()
    }
    if others:
        raise OtherSettingsError(
            f"{path} was played under other guards or missions than those of this release (arms: "
            f"{', '.join(sorted(others))}); it can be scored, but not added to: play into another file with --out"
        )
