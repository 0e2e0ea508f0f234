"""The suite's own command."""

import sys
from argparse import Namespace
from typing import Any

from asyncguard_benchmark.commands.arguments import add_command


def add_greet(commands: Any) -> None:
    """Add ``greet``."""
    add_command(commands, "greet", "say hello", __name__)


def execute(options: Namespace) -> int:
    """Say hello."""
    sys.stdout.write('{"hello": true}\n' if options.json else "hello\n")
    return 0
