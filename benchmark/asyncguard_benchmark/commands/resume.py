"""``bench resume``: plays what a file was asked for and does not hold yet."""

import shlex
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from asyncguard_benchmark.commands import run
from asyncguard_benchmark.commands.output import notice
from asyncguard_benchmark.commands.resume_grants import outside_words
from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.journal import all_lines, refuse_pipe


class NothingToResumeError(BenchmarkError):
    """A file does not say what it was asked for."""


class StrangeCommandError(BenchmarkError):
    """A file asks for something that is not done on the word of a file."""


def execute(options: Namespace) -> int:
    """Run the command."""
    from asyncguard_benchmark.commands.options import parser  # noqa: PLC0415 - the parser names this module

    commands = commands_of(options.file)
    if not commands:
        raise NothingToResumeError(
            f"{options.file} does not say which command wrote it; give `bench run` with --out"
        )
    standard = parser().parse_args(["run"])
    asked = [_parsed(command, options.file) for command in commands]
    granted = outside_words(options, parser().parse_args(["resume", str(options.file)]))
    # All commands of the file are judged before the first is played.
    wanted = [
        word for each in asked for word in outside_words(each, standard) if word not in granted
    ]
    if wanted and not options.trusted:
        raise StrangeCommandError(_refusal(options.file, list(dict.fromkeys(wanted)), granted))
    codes = []
    for command, each in zip(commands, asked, strict=True):
        notice(f"asyncguard bench {shlex.join(command)}")
        each.argv, each.out, each.json = command, options.file, options.json
        each.jobs = options.jobs or standard.jobs
        each.workers, each.database_url = options.workers, options.database_url
        codes.append(run.execute(each))
    return max(codes)


def _parsed(command: Sequence[str], file: Path) -> Namespace:
    from asyncguard_benchmark.commands.options import parser  # noqa: PLC0415 - the parser names this module

    strange = StrangeCommandError(
        f"{file} does not hold a command that `bench run` would have noted"
    )
    if command[0] != "run" or not all(map(str.isprintable, command)):
        raise strange
    try:
        return parser().parse_args(command)
    except SystemExit:  # from argparse: an option that does not exist, a wrong value, or --help
        raise strange from None


def _refusal(
    file: Path, wanted: Sequence[tuple[str, str]], granted: Sequence[tuple[str, str]]
) -> str:
    words = " ".join(f"{option} {shlex.quote(value)}" for option, value in [*granted, *wanted])
    asked = ", ".join(" ".join(word) for word in wanted)
    return (
        f"{file} asks for {asked}; a file may come from another person, so nothing is run, read or sent on its word. "
        f"Say so yourself: asyncguard bench resume {shlex.quote(str(file))} {words} (or --trusted, for a file that you "
        "wrote yourself)"
    )


def commands_of(path: Path) -> list[tuple[str, ...]]:
    """Return the command lines that asked for a file's episodes, in order, each once."""
    refuse_pipe(path)
    found = [line.command for line in all_lines(path) if line.command is not None]
    return list(dict.fromkeys(found))
