"""``bench resume``: plays what a file was asked for and does not hold yet."""

import shlex
from argparse import Namespace
from pathlib import Path

from asyncguard_benchmark.commands import run
from asyncguard_benchmark.commands.output import notice
from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.journal import all_lines
from asyncguard_benchmark.names import PERSONA_NAMES


class NothingToResumeError(BenchmarkError):
    """A file does not say what it was asked for."""


class StrangeCommandError(BenchmarkError):
    """A file says that it was asked for something that nobody does unasked because of a file."""


def execute(options: Namespace) -> int:
    """Runs the command."""
    from asyncguard_benchmark.commands.options import parser  # noqa: PLC0415 - the parser names this module

    commands = commands_of(options.file)
    if not commands:
        raise NothingToResumeError(f"{options.file} does not say which command wrote it; give `bench run` with --out")
    codes = []
    for command in commands:
        notice(f"asyncguard bench {shlex.join(command)}")
        if command[0] != "run" or not all(map(str.isprintable, command)):
            raise StrangeCommandError(f"{options.file} does not hold a command that `bench run` would have noted")
        asked = parser().parse_args(command)
        if not options.trusted and (wish := _wish(asked)):
            raise StrangeCommandError(
                f"{options.file} asks for {wish}; if you wrote that yourself, say so with --trusted: whoever can "
                "change the file could have code run here, or have your key sent to a server of theirs"
            )
        asked.argv, asked.out, asked.json = command, options.file, options.json
        asked.jobs = options.jobs or asked.jobs
        asked.workers, asked.database_url = options.workers, options.database_url
        codes.append(run.execute(asked))
    return max(codes)


def _wish(asked: Namespace) -> str:
    """What of a command would import code or call an address of its choice, empty if nothing would."""
    if asked.base_url is not None:
        return f"the server {asked.base_url}"
    return next((f"code from {name}" for name in asked.agents or () if ":" in name and name not in PERSONA_NAMES), "")


def commands_of(path: Path) -> list[tuple[str, ...]]:
    """What a file was asked for, in order, each once."""
    found = [line.command for line in all_lines(path) if line.command is not None]
    return list(dict.fromkeys(found))
