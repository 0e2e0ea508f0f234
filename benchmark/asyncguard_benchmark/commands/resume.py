"""``bench resume``: plays what a file was asked for and does not hold yet."""

from argparse import Namespace
from pathlib import Path

from asyncguard_benchmark.commands import run
from asyncguard_benchmark.commands.output import notice
from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.journal import all_lines


class NothingToResumeError(BenchmarkError):
    """A file does not say what it was asked for."""


def execute(options: Namespace) -> int:
    """Runs the command."""
    from asyncguard_benchmark.commands.options import parser  # noqa: PLC0415 - the parser names this module

    commands = commands_of(options.file)
    if not commands:
        raise NothingToResumeError(f"{options.file} does not say which command wrote it; give `bench run` with --out")
    codes = []
    for command in commands:
        notice(f"asyncguard bench {' '.join(command)}")
        asked = parser().parse_args(command)
        asked.argv, asked.out, asked.json = command, options.file, options.json
        asked.jobs = options.jobs or asked.jobs
        codes.append(run.execute(asked))
    return max(codes)


def commands_of(path: Path) -> list[tuple[str, ...]]:
    """What a file was asked for, in order, each once."""
    found = [line.command for line in all_lines(path) if line.command is not None]
    return list(dict.fromkeys(found))
