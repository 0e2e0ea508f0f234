"""Play of the episodes that a file does not hold yet, for every command that saves them one by one."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from asyncguard_benchmark.commands.model_options import asking_of
from asyncguard_benchmark.commands.output import notice, with_progress
from asyncguard_benchmark.commands.worker_options import worker_pool_of
from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.campaign import Cell, Failed, Played, key_of, play_each
from asyncguard_benchmark.harness.journal import Journal, place_of
from asyncguard_benchmark.harness.models.play import play_models
from asyncguard_benchmark.harness.models.spec import ModelSpec

if TYPE_CHECKING:
    from asyncguard_benchmark.harness.fanout.pool import WorkerPool

_MOST_FAILED = 0.02
"""Share of episodes ended by the infrastructure beyond which a run proves nothing."""


class OtherSettingsError(BenchmarkError):
    """A file holds the episodes asked for, but played under other guards, tasks or another contract."""


class TooManyFailuresError(BenchmarkError):
    """So many episodes were ended by the infrastructure that the rest is not a fair sample."""


def play_missing(
    asked: Sequence[Cell], path: Path, options: Namespace, command: Sequence[str] = ()
) -> Iterator[Played | Failed]:
    """Play the episodes that a file does not hold yet, and yield each after it was saved.

    Args:
        asked: All episodes that the file shall hold.
        path: The file; it keeps what it holds.
        options: The command line: who plays, and how many at once.
        command: Noted in the file as what asked for the episodes, if given.

    Raises:
        OtherSettingsError: the file holds such episodes of another contract, or of other guards or tasks.
    """
    simulated = any(not isinstance(cell.condition.agent, ModelSpec) for cell in asked)
    with (
        Journal(path) as journal,
        worker_pool_of(options, options.out, simulated=simulated) as pool,
    ):
        if journal.notice:
            notice(journal.notice)
        missing = [cell for cell in asked if key_of(cell) not in journal.keys]
        _check_settings(missing, journal, path)
        if command:
            journal.add_command(command)
        if len(missing) < len(asked):
            notice(f"{len(asked) - len(missing)} of {len(asked)} episodes are in {path} already")
        outcomes = _outcomes(missing, options, pool, journal.dollars)
        for outcome in with_progress(outcomes, len(missing)):
            if isinstance(outcome, Failed):
                journal.add_failure(outcome.key, outcome.error)
                notice(f"{outcome.key.composition} ended by the infrastructure: {outcome.error}")
            else:
                journal.add(outcome.episode)
            yield outcome


def _check_settings(missing: Sequence[Cell], journal: Journal, path: Path) -> None:
    # Tables and findings know an arm by its name: both sets of guards would be one row.
    others = {
        each.arm
        for cell in missing
        if place_of(
            key_of(cell),
            declared=(each := cell.condition).declared,
            agent=each.agent.settings,
        )
        in journal.places
    }
    if others:
        raise OtherSettingsError(
            f"{path} was played under other guards or tasks than those of this release, or another contract (arms: "
            f"{', '.join(sorted(others))}); it can be scored and reported, but not added to: play into another file "
            "with --out"
        )


def check_failures(failed: int, asked: int) -> None:
    """Refuse figures of a run of which the infrastructure ended too much.

    Args:
        failed: Episodes that it ended.
        asked: All episodes of the run.

    Raises:
        TooManyFailuresError: so many were ended that the rest is not a fair sample.
    """
    if failed > _MOST_FAILED * asked:
        raise TooManyFailuresError(
            f"the infrastructure ended {failed} of {asked} episodes, more than {_MOST_FAILED:.0%}: the figures "
            "are not a fair sample; the same command again plays the rest"
        )


def _outcomes(
    missing: Sequence[Cell], options: Namespace, pool: "WorkerPool | None", spent: float
) -> Iterator[Played | Failed]:
    """Play simulated agents on workers or processes, and models on threads.

    Args:
        missing: Episodes to play.
        options: The command line.
        pool: The workers, if there are any.
        spent: Dollars that the file has cost so far.
    """
    models = [cell for cell in missing if isinstance(cell.condition.agent, ModelSpec)]
    others = [cell for cell in missing if not isinstance(cell.condition.agent, ModelSpec)]
    messages: bool = getattr(options, "messages", False)
    if pool is not None:
        yield from pool.play_all(others, keep_messages=messages)
    else:
        yield from play_each(others, options.jobs, keep_messages=messages)
    if models:
        yield from play_models(models, asking_of(options, spent), options.jobs)
