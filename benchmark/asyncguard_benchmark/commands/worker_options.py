"""Arguments about workers, for every command that plays many episodes."""

from argparse import Namespace
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncguard_benchmark.commands.arguments import processes
from asyncguard_benchmark.errors import WorkersError

if TYPE_CHECKING:
    from asyncguard_benchmark.harness.fanout.pool import WorkerPool

WORKER_EXAMPLES = """\
workers:
  --jobs N plays in N processes of this command. --workers N does the same over the workers that carry calls of agents,
  with a queue in a folder beside --out that is removed at the end; a worker that dies is replaced. --database-url sends
  the episodes to workers that run already, on as many machines as reach the database; --workers N beside it adds N of
  this machine. The file comes out the same, line for line. On each machine, once for each processor:

  asyncguard worker --database-url postgresql://bench@db/bench --queue asyncguard-benchmark \\
      --tools asyncguard_benchmark.harness.fanout:tools --concurrency 1

  Such a worker imports a --guard only if ASYNCGUARD_BENCHMARK_GUARDS in its environment names it, too.
"""
_WHERE = ("--jobs", "--workers", "--database-url")


def add_worker_arguments(made: Any) -> None:
    """Add the arguments, as a group of their own."""
    group = made.add_argument_group("workers")
    group.add_argument(
        "--workers",
        type=processes,
        metavar="N",
        help="start N workers of this machine instead of --jobs",
    )
    group.add_argument(
        "--database-url", metavar="URL", help="play on workers that run already, at this queue"
    )


def worker_pool_of(
    options: Namespace, out: Path, *, simulated: bool
) -> "AbstractContextManager[WorkerPool | None]":
    """Return the workers that the arguments name, None if there are none.

    Args:
        options: The command line.
        out: Path of the run's output; the folder of its workers is beside it.
        simulated: True if a simulated agent plays: a real model is asked from this process.

    Raises:
        WorkersError: workers would have nothing to do, or what they need is not installed.
    """
    if options.workers is None and options.database_url is None:
        return nullcontext()
    if not simulated:
        raise WorkersError(
            "a real model is asked from this process, where its quota and its budget are counted: give --jobs for the "
            "number of episodes at once, without --workers and --database-url"
        )
    try:
        from asyncguard_benchmark.commands.output import notice  # noqa: PLC0415 - help must not load it
        from asyncguard_benchmark.harness.fanout.pool import WorkerPool, WorkerPoolSettings  # noqa: PLC0415 - DBOS is an extra
    except ImportError as error:
        raise WorkersError(str(error)) from error
    place = out.absolute()
    folder = place.with_name(f"{place.name}.workers")
    return WorkerPool(
        WorkerPoolSettings(
            folder=folder,
            workers=options.workers or 0,
            database=options.database_url,
            guards=tuple(getattr(options, "guard", ())),
        ),
        notice,
    )


def without_options(argv: Sequence[str], names: Sequence[str] = ()) -> list[str]:
    """Return the arguments without those that say who plays.

    Results must not depend on them, and an address may hold a password.

    Args:
        argv: Arguments after ``bench``.
        names: Options with a value that are left out, too.
    """
    dropped = (*_WHERE, *names)
    kept: list[str] = []
    skip = False
    for word in argv:
        name, equals, _ = word.partition("=")
        dropping = not skip and name in dropped
        if not skip and not dropping:
            kept.append(word)
        skip = dropping and not equals
    return kept
