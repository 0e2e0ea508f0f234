"""Types of arguments and forms of commands that the command line of every suite uses. Imports nothing heavy."""

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from asyncguard_benchmark.harness.names import Facet


def described(text: str, examples: str) -> dict[str, Any]:
    """Return the arguments of a parser that shows examples.

    Args:
        text: What the command does, in one line.
        examples: Shown after its help.
    """
    return {
        "description": f"{text[0].upper()}{text[1:]}.",
        "epilog": examples,
        "formatter_class": argparse.RawDescriptionHelpFormatter,
        "allow_abbrev": False,
    }


def add_command(commands: Any, name: str, text: str, module: str, examples: str = "") -> Any:
    """Add a command that can print JSON.

    Args:
        commands: The subparsers of the command above.
        name: Its name.
        text: What it does, in one line.
        module: The module whose `execute(options) -> int` is called; imported then.
        examples: Shown after its help.
    """
    made = commands.add_parser(name, help=text, **described(text, examples))
    made.set_defaults(module=module)
    made.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    return made


def add_jobs(made: Any, most: int = 2) -> None:
    """Add the number of processes.

    Args:
        made: The command.
        most: The default, on a machine with as many processors.
    """
    made.add_argument(
        "--jobs",
        type=processes,
        default=min(most, os.cpu_count() or 1),
        metavar="N",
        help=f"processes, {most} by default",
    )


def add_names(
    made: Any,
    option: str,
    names: Sequence[str],
    default: Sequence[str] | None = None,
    text: str = "",
) -> None:
    """Add a list of known names.

    Args:
        made: A parser or a group of one.
        option: The option.
        names: Every name that is known; the help lists them.
        default: The names that are taken without the option.
        text: Stands before the names in the help.
    """
    made.add_argument(
        option,
        type=several(names),
        default=default,
        metavar="A,B",
        help=f"{text}{', '.join(names)}",
    )


def add_out(made: Any, default: str, text: str, metavar: str = "FILE") -> None:
    """Add the file or folder that is written."""
    made.add_argument("--out", type=Path, default=Path(default), metavar=metavar, help=text)


def words(text: str) -> tuple[str, ...]:
    """Return the words of a list, each once."""
    return tuple(dict.fromkeys(word for word in text.split(",") if word))


def several(known: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """Return the type of a list of known words."""

    def read(text: str) -> tuple[str, ...]:
        found = words(text)
        unknown = [word for word in found if word not in known]
        if unknown or not found:
            raise argparse.ArgumentTypeError(
                f"{', '.join(unknown) or text!r}: choose from {', '.join(known)}"
            )
        return found

    return read


def facets(text: str) -> tuple[str, ...]:
    """Return the names of tables of verdicts; ``all`` stands for every one."""
    names = tuple(each.value for each in Facet)
    return names if text == "all" else several(names)(text)


def number(text: str) -> int:
    """Return a whole number from 0 on."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a whole number, not {text!r}")
    return int(text)


def positive(text: str, most: int = 10**9) -> int:
    """Return a whole number from 1 on, up to what no machine comes to the end of."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    if int(text) > most:
        raise argparse.ArgumentTypeError(f"must be at most {most}, not {text!r}")
    return int(text)


def processes(text: str) -> int:
    """Return a number of processes."""
    return positive(text, 1000)


def rates(text: str) -> tuple[float, ...]:
    """Return the shares of a list, each once."""
    return tuple(dict.fromkeys(map(rate, text.split(","))))


def rate(text: str) -> float:
    """Return a share from 0 to 1."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 0 and 1")
    return value
