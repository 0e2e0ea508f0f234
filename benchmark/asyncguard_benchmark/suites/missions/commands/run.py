"""``bench missions run``: play the bundled missions into a file, and go on where an interrupted run stopped."""

from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncguard_benchmark.commands.missing_episodes import check_failures
from asyncguard_benchmark.commands.model_options import (
    asking_of,
    check_model_options,
    model_of,
    price_for,
)
from asyncguard_benchmark.commands.output import notice, with_progress
from asyncguard_benchmark.commands.run import say_estimates
from asyncguard_benchmark.harness.arms import arm_of
from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.suites.missions.commands.joint import say_joint
from asyncguard_benchmark.suites.missions.commands.overlap import joint_into
from asyncguard_benchmark.suites.missions.commands.played import say, scored
from asyncguard_benchmark.suites.missions.commands.selection import check_settings, dialogues_of
from asyncguard_benchmark.suites.missions.dialogues import History
from asyncguard_benchmark.suites.missions.played_rows import (
    LostRun,
    MissionFile,
    PlayedRow,
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
from asyncguard_benchmark.suites.missions.playing.toolboxes import Observations

if TYPE_CHECKING:
    from asyncguard_benchmark.harness.models.play import Asking

_BY = ("agent", "player", "arm", "regime")


def execute(options: Namespace) -> int:
    """Run the command."""
    if options.overlap is not None:
        say_joint(joint_into(options, options.arms, options.out), options, _BY)
        return 0
    cells = asked(options, options.arms).cells()
    if options.dry_run:
        return estimated(options, cells)
    rows = played_into(options.out, cells, options)
    say(scored(rows, _BY), options, [str(options.out)])
    return 0


def played_into(path: Path, cells: Sequence[Cell], options: Namespace) -> list[PlayedRow]:
    """Play what a file does not hold yet, and return the runs that were asked for; see `play_into`.

    Raises:
        TooManyFailuresError: the infrastructure ended so many runs that the rest is not a fair sample.
    """
    lost = play_into(path, cells, options.jobs, partial(asking_of, options))
    check_failures(lost, len(cells))
    return rows_of(path, cells)


def estimated(options: Namespace, cells: Sequence[Cell]) -> int:
    """Say what the runs of a model would use; ask nothing."""
    from asyncguard_benchmark.suites.missions.playing.models import estimates  # noqa: PLC0415 - only here

    models = [cell for cell in cells if cell.model is not None]
    say_estimates(options, len(models), estimates(models, price_for(options)))
    return 0


def rows_of(path: Path, cells: Iterable[Cell]) -> list[PlayedRow]:
    """Return the runs of a file that were asked for."""
    wanted = {cell.key for cell in cells}
    return [each for each in read_played(path) if each.key in wanted]


def play_into(
    path: Path,
    cells: Sequence[Cell],
    jobs: int,
    asking: "Callable[[float], Asking] | None" = None,
) -> int:
    """Play what a file does not hold yet, and return the number of runs that the infrastructure ended.

    Args:
        path: The file; it keeps what it holds.
        cells: The runs.
        jobs: Processes, or runs of a model at once.
        asking: Returns quota and budget for what the file has cost so far, in dollars; needed for runs of models.

    Raises:
        OtherSettingsError: it holds such runs under other guards or missions.
    """
    with MissionFile(path) as file:
        if file.repaired:
            notice(f"{path}: an unfinished last line was taken away; its mission is played again")
        check_settings(cells, file.known, path)
        missing = [cell for cell in cells if cell.key not in file.known]
        if len(missing) < len(cells):
            notice(f"{len(cells) - len(missing)} of {len(cells)} missions are in {path} already")
        stands = {cell.case.dialogue: cell.case.stand for cell in missing}
        lost = 0
        for row in with_progress(
            _outcomes(missing, jobs, asking, file.dollars), len(missing), what="missions"
        ):
            if isinstance(row, LostRun):
                lost += 1
                file.add_lost(row)
                name = f"{row.key.dialogue}, mission {row.key.mission + 1}"
                notice(f"{name} under {row.key.arm} ended by the infrastructure: {row.error}")
            else:
                file.add(row, line_of(stands[row["run"]["dialogue"]]))
    return lost


def _outcomes(
    missing: Sequence[Cell],
    jobs: int,
    asking: "Callable[[float], Asking] | None",
    spent: float,
) -> Iterator[dict[str, Any] | LostRun]:
    yield from play_all([each for each in missing if each.model is None], jobs, play)
    models = [each for each in missing if each.model is not None]
    if models and asking is not None:
        from asyncguard_benchmark.suites.missions.playing.models import play_models  # noqa: PLC0415 - loads clients

        yield from play_models(models, asking(spent), jobs)


def asked(options: Namespace, arms: Sequence[str]) -> Grid:
    """Return the runs that a command line asks for, under some arms.

    Raises:
        NothingToPlayError: no dialogue is of the part and the patterns.
        UnknownNameError: there is no such arm.
        ModelError: the model has no such name, or an option about a model is given and no model.
    """
    check_model_options(options)
    model = model_of(options)
    for arm in arms:
        if arm != ASK_HINT:
            arm_of(arm)  # a mistake is told at once
    return Grid(
        dialogues=dialogues_of(options),
        challenges=options.challenges,
        agents=options.agents or (() if model else ("oracle",)),
        models=(model,) if model else (),
        players=options.players,
        arms=arms,
        histories=[History(each) for each in options.histories],
        regimes=[Regime(each) for each in options.regimes],
        observations=Observations(options.observations),
        seeds=range(options.repeats),
        play_on=options.play_on,
    )
