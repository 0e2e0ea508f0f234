"""Section `startup`: how long a person waits for `asyncguard --help`, beside what importing the frameworks costs."""

import subprocess
import sys
import time
from dataclasses import dataclass

from measure import Sample, interleaved
from settings import Settings
from table import Reference, Row, row

# Milliseconds within which the help of a command-line tool feels immediate.
LIMIT_MS = 150.0


@dataclass(frozen=True, kw_only=True)
class Program:
    """A process that ends by itself."""

    name: str
    """As printed in the table."""
    code: str
    """Code that the interpreter runs."""
    arguments: tuple[str, ...] = ()
    """Command-line arguments of the program."""
    limited: bool = False
    """True if the target is set for it."""

    def run(self) -> Sample:
        """Run the process and wait for its end.

        Raises:
            CalledProcessError: it ended with an error.
        """
        command = [sys.executable, "-c", self.code, *self.arguments]
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        return Sample(seconds=time.perf_counter() - start, bytes=0)


PROGRAMS = (
    Program(name="an empty interpreter", code="pass"),
    Program(
        name="asyncguard --help",
        code="from asyncguard.cli import main; raise SystemExit(main())",
        arguments=("--help",),
        limited=True,
    ),
    Program(name="import asyncguard", code="import asyncguard"),
    Program(name="import langgraph.graph", code="import langgraph.graph"),
    Program(name="import langchain.agents", code="import langchain.agents"),
)


def measure(settings: Settings) -> list[Row]:
    """Start every program once per round, after one round that fills the caches."""
    settings.note(f"startup: {settings.repeats} rounds")
    interleaved(PROGRAMS, Program.run, repeats=1)
    rounds = interleaved(PROGRAMS, Program.run, repeats=settings.repeats)
    return [
        _row(program, [sample.seconds * 1000 for sample in samples])
        for program, samples in zip(PROGRAMS, rounds, strict=True)
    ]


def _row(program: Program, milliseconds: list[float]) -> Row:
    bound = Reference(name=f"{LIMIT_MS:.0f} ms", values=[LIMIT_MS] * len(milliseconds), limit=1.0)
    return row(
        ("startup", "one process"),
        program.name,
        milliseconds,
        "ms",
        bound if program.limited else None,
    )
