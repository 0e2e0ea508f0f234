"""The subcommand ``asyncguard worker``: runs calls for agents in other processes."""

import argparse
import contextlib
import os
import signal
import sqlite3
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote

from asyncguard.cli.ledger.journal import files_of
from asyncguard.cli.output import refuse_input
from asyncguard.distributed.database_url import database_url, is_sqlite, journal_beside
from asyncguard.errors import CallerError

_VARIABLE = "ASYNCGUARD_JOURNAL"
_TABLES = frozenset({"meta", "processes", "threads", "calls", "attempts", "tokens", "mail"})
"""Tables of a journal; a file that holds them and others may be a queue, too."""
_MOST_AT_ONCE = 10_000
_DESCRIPTION = """\
Run calls for agents that send them here by a DbosExecutor. Start as many workers as you like, on as
many machines as reach the database; the calls of a worker that dies are taken over by the others. A
tool with an effect is never run twice: the journal, which agents and workers share, decides what
may begin.

SIGTERM or Ctrl-C drains: no new call is accepted, running calls may end within --drain-timeout. A
second signal ends at once. Exit codes: 0 drained, 1 calls were left running or the worker could not
start, 2 wrong command line."""
_EPILOG = """\
the journal:
  By default it is in the same database for PostgreSQL, and in the file FILE.journal beside a SQLite
  file. The agent has to open the same one: open_journal("postgresql://...") or
  open_journal("FILE.journal").

versions:
  A worker runs calls of its own application version only. Without --application-version that is a
  hash of names, parameters and effects of its tools: an agent with the same list has the same.
  Calls of another version wait, and are reported in log and health file.

health:
  The health file is replaced each second; a worker that has not done so for ten seconds is stuck
  or gone:
    test $(( $(date +%s) - $(stat -c %Y worker.json) )) -lt 10

examples:
  asyncguard worker --database-url calls.db --tools shop.tools:TOOLS
  asyncguard worker --database-url postgresql://shop@db/shop --tools shop.tools:TOOLS \\
      --concurrency 32
  asyncguard worker --database-url postgresql://shop@db/shop --tools shop.tools:TOOLS \\
      --queue payments --drain-timeout 120 --health-file /run/worker.json \\
      --application-version 2026-11
"""


def main(argv: Sequence[str]) -> int:
    """Run the command.

    Args:
        argv: Arguments after ``worker``.

    Returns:
        The exit code.

    Raises:
        CallerError: A value is unusable: the tools, the database, the health file.
        JournalError: The journal cannot be opened.
    """
    options = _parser().parse_args(argv)
    url = database_url(options.database_url)
    journal = options.journal or os.environ.get(_VARIABLE) or journal_beside(url)
    _check_queue(url, journal)
    if options.health_file is not None:
        refuse_input(options.health_file, [*files_of(url), *files_of(journal)])
    return _work(options, url, journal, _load(options.tools))


def _check_queue(url: str, journal: str) -> None:
    """Refuse the file of a journal as a queue: no agent sends its orders there.

    Raises:
        CallerError: It is one, and not the worker's own, which may be in the queue's file.
    """
    queue = files_of(url)[:1] if is_sqlite(url) else []
    if not queue or not queue[0].is_file() or os.path.realpath(queue[0]) in _real(journal):
        return
    tables = set[str]()
    with contextlib.suppress(sqlite3.Error):  # the worker says what cannot be read
        address = f"file:{quote(str(queue[0]))}?mode=ro"
        with contextlib.closing(sqlite3.connect(address, uri=True)) as database:
            found = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            tables = {name for (name,) in found if not name.startswith("sqlite_")}
    if tables == _TABLES:
        raise CallerError(
            f"{queue[0]} is a journal and not a queue; give --database-url the file that the "
            "agent's DbosExecutor has, and the journal by --journal."
        )


def _real(journal: str) -> list[str]:
    return [os.path.realpath(each) for each in files_of(journal)]


def _work(options: argparse.Namespace, url: str, target: str, tools: list[Any]) -> int:
    # Databases and frameworks are loaded only when the command line is known to be right.
    from asyncguard.adapters.tools.declare import as_tools, specs_of  # noqa: PLC0415
    from asyncguard.adapters.tools.worker_tools import WorkerTools  # noqa: PLC0415
    from asyncguard.distributed.version import version_of  # noqa: PLC0415
    from asyncguard.journal.open import open_journal  # noqa: PLC0415
    from asyncguard.journal.sql.processes import ProcessKind  # noqa: PLC0415

    try:
        from asyncguard.distributed.worker import Worker, WorkerSettings  # noqa: PLC0415
    except ImportError as error:
        raise CallerError("A worker needs DBOS: pip install 'asyncguard[dbos]'.") from error

    log = _logger()
    made = as_tools(tools)
    specs = specs_of(made)
    # More threads than calls: one whose call was given up is busy until its tool returns.
    pool = ThreadPoolExecutor(max_workers=4 * options.concurrency, thread_name_prefix="tool")
    toolbox = WorkerTools(made, specs, pool)
    for name, reason in toolbox.refused.items():
        log.warning("tool not served", tool=name, reason=reason)
    settings = WorkerSettings(
        url=url,
        queue=options.queue,
        application_version=options.application_version or version_of(specs),
        concurrency=options.concurrency,
        poll=options.poll,
        drain_timeout=options.drain_timeout,
        health_file=options.health_file,
    )
    journal = open_journal(target, kind=ProcessKind.WORKER)
    try:
        left = Worker(settings, journal, toolbox, log).run(_stopped_by_signals())
        if left:
            # Their OS threads end only with the process, and its end lets other workers take over.
            _Lossy(sys.stderr).flush()
            os._exit(1)
    finally:
        # After the worker: it writes the outcomes that are still queued.
        journal.close()
        pool.shutdown(wait=False)
    return 0


def _load(address: str) -> list[Any]:
    module_name, _, attribute = address.partition(":")
    if not module_name or not attribute:
        raise CallerError(
            f"--tools must be of the form module:attribute, such as shop.tools:TOOLS, "
            f"not {address!r}."
        )
    # As `python -m` does, so that the tools of the project in this folder are found.
    sys.path.insert(0, str(Path.cwd()))
    try:
        module = import_module(module_name)
    except Exception as error:  # importing foreign code may raise anything
        what = " ".join(f"{type(error).__name__}: {error}".split())
        raise CallerError(
            f"The module {module_name!r} of --tools cannot be imported ({what}); "
            "run the worker where `python -c 'import ...'` of it works."
        ) from error
    found = getattr(module, attribute, None)
    if isinstance(found, list | tuple) and found:
        return list(found)
    if found is None:
        problem = "does not exist"
    else:
        problem = f"is {type(found).__name__}" if found else "is empty"
    raise CallerError(
        f"{address!r} {problem}; "
        "--tools must name a list of tools or functions, as build_agent takes it."
    )


def _stopped_by_signals() -> threading.Event:
    stop = threading.Event()

    def ask(signal_number: int, _frame: Any) -> None:
        if stop.is_set():
            # Not sys.exit, which would wait for the tools' threads; 128 + n is the shell's code.
            os._exit(128 + signal_number)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, ask)
    return stop


def _logger() -> Any:
    """Return a logger that writes lines to a terminal, and JSON everywhere else."""
    import structlog  # noqa: PLC0415 - not for --help

    from asyncguard.observability.log import console_logger  # noqa: PLC0415

    out: Any = _Lossy(sys.stderr)
    if sys.stderr.isatty():
        return console_logger(out)
    processors: list[Any] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.JSONRenderer(),
    ]
    return structlog.wrap_logger(
        structlog.WriteLogger(out),
        processors=processors,
        wrapper_class=structlog.BoundLogger,
        context_class=dict,
    )


class _Lossy:
    """Stream that loses what cannot be written: the disk is full, or the log's reader is gone.

    Else the line would fail the call that it is about, and the worker.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._stream.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()

    def isatty(self) -> bool:
        return self._stream.isatty()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="asyncguard worker",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "--database-url",
        required=True,
        metavar="URL",
        help="the queue: postgresql://user@host/name, or a SQLite file",
    )
    add("--tools", required=True, metavar="MODULE:LIST", help="the list of tools to serve")
    add("--concurrency", type=_count, default=8, metavar="N", help=_CONCURRENCY)
    add(
        "--queue",
        default="asyncguard",
        metavar="NAME",
        help="the queue to run calls from (default: asyncguard)",
    )
    add(
        "--journal",
        metavar="URL",
        help=f"the journal, a file or postgresql://...; also set by ${_VARIABLE}",
    )
    add(
        "--application-version",
        metavar="V",
        help="run only calls of this version; by default a hash of the tools' declarations",
    )
    add(
        "--drain-timeout",
        type=_seconds,
        default=30.0,
        metavar="S",
        help="seconds that running calls get at the end (30)",
    )
    add(
        "--poll",
        type=_seconds,
        default=0.02,
        metavar="S",
        help="seconds between two looks for calls (0.02); more means slower and less load",
    )
    add(
        "--health-file",
        type=Path,
        metavar="PATH",
        help="file to write the worker's state to each second, as JSON",
    )
    return parser


_CONCURRENCY = (
    "calls at once in each worker (8); it belongs to the queue, so the worker that is started last "
    "sets it for all"
)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 1")
    if int(text) > _MOST_AT_ONCE:
        raise argparse.ArgumentTypeError(f"{text!r} is more than {_MOST_AT_ONCE}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds > 0")
    return seconds
