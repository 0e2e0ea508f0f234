"""Dispatch to the subcommands, and conversion of errors to one line and an exit code.

Exit codes: 0 success, 1 failure, 2 the command line was wrong, 130 it was interrupted.
"""

import argparse
import difflib
import errno
import os
import sys
from collections.abc import Callable, Sequence
from enum import IntEnum
from importlib import import_module

from asyncguard.cli.plugins import installed_commands, load_command
from asyncguard.errors import AsyncguardError

Command = Callable[[Sequence[str]], int]
"""Function that runs with the arguments after its name and returns an exit code."""

_DESCRIPTION = "Guards agents against acting on results that they do not have."
_EXAMPLES = """\
examples:
  asyncguard trace run.jsonl                 draw a run as a timeline
  asyncguard trace run.jsonl --task hotel    only one of its tasks
  asyncguard trace run.jsonl --events        one line per event
  asyncguard view run.jsonl --open           everything in it, in a browser
  asyncguard ledger list                     calls that need a person's attention
  asyncguard deliver TOKEN "no. 815"         deliver the answer to an external call
  asyncguard worker --database-url calls.db --tools shop.tools:TOOLS
  asyncguard bench demo                      what guards are worth, offline (asyncguard_benchmark)
  asyncguard trace --help                    all options of a command
"""
_OWN = {
    "trace": "draw a trace file as a timeline",
    "view": "show a trace or benchmark file as a page",
    "ledger": "list calls in the journal, and resolve those in doubt",
    "deliver": "deliver the result of an external call",
    "worker": "run calls for agents in other processes",
}
"""Purpose by name; each is a module of this package whose ``main`` is the command.

A module is imported when its command runs.
"""
_MODULES = {"ledger": "ledger.commands", "view": "view.command"}
"""Module of a command that is not named like it."""


_ADDED = {
    "asyncguard_benchmark.commands:main": "measure what guards do to simulated agents and to yours"
}
"""Purpose of known added commands; they need not be imported for it."""


NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of writing where there is no space."""


class Exit(IntEnum):
    """Exit codes."""

    OK = 0
    FAILURE = 1
    USAGE = 2
    INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: Arguments without the program's name; those of the process by default.

    Returns:
        The exit code.

    Raises:
        SystemExit: After help, version, or a wrong command line.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    _open_closed()
    try:
        code = _run(arguments)
        sys.stdout.flush()  # so that a closed pipe is noticed here and not at exit
    except AsyncguardError as error:
        return _complain(str(error))
    except BrokenPipeError:
        _drop_output()  # the reader closed the pipe, which is not an error
        return Exit.OK
    except OSError as error:
        if error.errno not in NO_SPACE:
            raise
        _drop_output()
        what = error.filename or "The output"
        return _complain(f"{what} cannot be written ({error.strerror}): free some space.")
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except Exception as error:
        if not _comes_of_interrupt(error):
            raise
        return Exit.INTERRUPTED
    return code


def _open_closed() -> None:
    """Give an output that the caller has closed a place where nothing is kept."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))


def _drop_output() -> None:
    """Redirect what is not written yet; Python would report its error at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _comes_of_interrupt(error: BaseException) -> bool:
    """Return True for an error into which a library has turned a Ctrl-C, as pydantic does."""
    cause = error.__cause__
    return cause is not None and (
        isinstance(cause, KeyboardInterrupt) or _comes_of_interrupt(cause)
    )


def _run(arguments: list[str]) -> int:
    if not arguments:
        _parser().print_help(sys.stderr)
        return Exit.USAGE
    if arguments[0].startswith("-"):
        return _options(arguments)
    name, rest = arguments[0], arguments[1:]
    command: Command | None
    if name in _OWN:
        command = import_module(f"asyncguard.cli.{_MODULES.get(name, name)}").main
    else:
        command = load_command(name)
    if command is None:
        names = [*_OWN, *(added for added in installed_commands() if added not in _OWN)]
        # Added commands are named, not loaded: a broken one must not hide the others.
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"the commands are: {', '.join(names)}."
        return _complain(f"There is no command {name!r}; {hint}", Exit.USAGE)
    return int(command(rest) or 0)  # `or`: an added command may return nothing, against its type


def _options(arguments: list[str]) -> int:
    known = _parser().parse_args(arguments)
    if known.version:
        from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - costs a third of the start

        try:
            print(f"asyncguard {version('asyncguard')}")  # noqa: T201 - the output
        except PackageNotFoundError:
            return _complain(
                "asyncguard is not installed, so it has no version; install it with pip."
            )
    return Exit.OK


def _parser() -> argparse.ArgumentParser:
    lines = [f"  {name:<20} {purpose}" for name, purpose in _OWN.items()]
    added = {name: value for name, value in installed_commands().items() if name not in _OWN}
    lines += [
        f"  {name:<20} {_ADDED.get(value, f'provided by {value}')}" for name, value in added.items()
    ]
    parser = argparse.ArgumentParser(
        prog="asyncguard",
        usage="asyncguard [--help] [--version] COMMAND ...",
        description=f"{_DESCRIPTION}\n\ncommands:\n" + "\n".join(lines),
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    return parser


def _complain(message: str, code: int = Exit.FAILURE) -> int:
    # A message may quote what a file or a database holds; that must not steer the terminal.
    shown = "".join(char if char.isprintable() or char == "\n" else "\ufffd" for char in message)
    print(f"asyncguard: {shown}", file=sys.stderr)  # noqa: T201 - the output
    return code
