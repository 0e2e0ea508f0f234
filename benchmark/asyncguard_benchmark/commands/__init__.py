"""``asyncguard bench``: list and prove the data, play agents, score what they did, and show it all in one demo.

Exit codes: 0 all went well, 1 it did not, 2 the command line was wrong.
"""

import argparse
import atexit
import gc
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from asyncguard.cli.app import NO_SPACE
from asyncguard.cli.output import refuse_input
from asyncguard.errors import CallerError
from asyncguard_benchmark.commands.options import parser
from asyncguard_benchmark.errors import BenchmarkError


def main(argv: Sequence[str]) -> int:
    """Run the command.

    Args:
        argv: Arguments after ``bench``.

    Returns:
        The exit code.

    Raises:
        SystemExit: after help, or a wrong command line.
    """
    # At its end Python looks for cycles among all that there is, a tenth of scoring a file, and ends nevertheless.
    atexit.register(gc.freeze)
    options = argparse.Namespace()
    try:
        options = parser().parse_args(argv)
        options.argv = tuple(argv)
        _check_out(options)
        # Loaded by name, so that help and mistakes cost nothing.
        command = import_module(options.module)
        return int(command.execute(options))
    except (BenchmarkError, CallerError, OSError) as error:
        # Their texts quote files. Here, so that help and mistakes do not load what commands print with.
        text = "".join(
            char if char.isprintable() or char == "\n" else "\ufffd"
            for char in _told(error, options)
        )
        sys.stderr.write(f"asyncguard bench: {text}\n")
        return 1


def _check_out(options: argparse.Namespace) -> None:
    """Refuse an output that is an input; a command that reads folders looks into them itself."""
    values = {name: value for name, value in vars(options).items() if name != "out"}.values()
    lists = [each if isinstance(each, list | tuple) else [each] for each in values]
    given = [each for several in lists for each in several if isinstance(each, Path)]
    if isinstance(out := vars(options).get("out"), Path):
        refuse_input(out, given)


def _told(error: Exception, options: argparse.Namespace) -> str:
    """Return the message of an error; for a missing file that the command line names, the command that makes it."""
    if isinstance(error, IsADirectoryError):
        return f"{error.filename} is a folder; name a file in it."
    if isinstance(error, OSError) and error.errno in NO_SPACE:
        where = f" for {error.filename}" if error.filename else ""
        return (
            f"No space is left{where} ({error.strerror}): free some, and give the same command again; "
            "files of episodes keep what was finished."
        )
    if not isinstance(error, FileNotFoundError):
        return str(error)
    if error.filename == str(vars(options).get("design")):
        return f"There is no design at {error.filename!r}; name one by --design, or go to a clone of the repository."
    if "findings" not in options:
        return f"There is no file {error.filename!r}; `asyncguard bench run --out` writes files of episodes."
    return f"There is no ablation at {error.filename!r}; `asyncguard bench ablate` makes one."
