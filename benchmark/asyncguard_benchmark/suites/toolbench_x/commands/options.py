"""Arguments of ``bench adapt toolbench-x``; nothing heavy is loaded."""

import argparse
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncguard_benchmark.commands.arguments import add_command, positive, processes, words
from asyncguard_benchmark.commands.model_options import add_model_arguments
from asyncguard_benchmark.commands.play_options import add_arms, add_episodes_file, add_players

if TYPE_CHECKING:
    from asyncguard_benchmark.harness.sandbox import SandboxLimits

_EXAMPLES = """\
examples:
  asyncguard bench adapt toolbench-x DIR --check          what is there, what is missing, what is broken
  asyncguard bench adapt toolbench-x DIR --run-foreign-code --model openai:gpt-4.1-mini --tasks sequential/ --faults own
  asyncguard bench adapt toolbench-x DIR --run-foreign-code --model openai:gpt-4.1-mini --arms none,all --faults rule

DIR holds tasks/, tools/ and tools_exception/ as ToolBench-X publishes them; nothing of it is part of this package. The
tools are Python code: they run only with --run-foreign-code, each episode in a process of its own that is bounded in
time and memory and has no network. That is a guard-rail and no security boundary; run code that you do not trust in a
container. The same command again goes on where an interrupted run stopped.
"""
FAULTS = ("none", "own", "rule")
FRONTS = ("graph", "middleware")


def add_adapt(formats: Any) -> None:
    """Add ``toolbench-x``."""
    made = add_command(
        formats,
        "toolbench-x",
        "read or play a download of ToolBench-X",
        "asyncguard_benchmark.suites.toolbench_x.commands.adapt",
        _EXAMPLES,
    )
    _download(made)
    _playing(made)
    _limits(made)
    made.add_argument(
        "--jobs", type=processes, default=2, metavar="N", help="episodes at once, 2 by default"
    )
    add_episodes_file(made, "toolbench-x.jsonl")
    add_model_arguments(made)


def _download(made: Any) -> None:
    made.add_argument("folder", type=Path, metavar="DIR", help="the download")
    made.add_argument(
        "--check", action="store_true", help="read everything, run nothing, and say what was found"
    )
    made.add_argument(
        "--manifest",
        type=Path,
        metavar="FILE",
        help="the hazard manifest; DIR/hazard_manifest.json",
    )
    made.add_argument(
        "--run-foreign-code", action="store_true", help="allow the tools of the download to run"
    )
    made.add_argument(
        "--partial",
        action="store_true",
        help="play what can be played although other parts are broken",
    )
    made.add_argument(
        "--tasks", type=_words, default=("",), metavar="A,B", help="task keys or beginnings of them"
    )


def _playing(made: Any) -> None:
    made.add_argument(
        "--faults",
        choices=FAULTS,
        default="none",
        help="from inside the tools, or by the decision rule",
    )
    made.add_argument(
        "--hints",
        action="store_true",
        help="a tool that fails says what the hints say; same faults",
    )
    add_players(made, FRONTS)
    add_arms(made, _words)
    made.add_argument(
        "--undeclared",
        action="store_true",
        help="do not declare the tools pure, nor what they answer",
    )
    made.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the faults")
    made.add_argument(
        "--max-rounds", type=positive, default=12, metavar="N", help="messages of the model, 12"
    )


def _limits(made: Any) -> None:
    made.add_argument(
        "--call-seconds",
        type=_seconds,
        default=10.0,
        metavar="S",
        help="for one call of a tool, 10",
    )
    made.add_argument(
        "--memory-mb",
        type=positive,
        default=512,
        metavar="N",
        help="for the tools of an episode, 512",
    )


def limits_of(options: Namespace) -> "SandboxLimits":
    """Return the bounds of the sandbox."""
    from asyncguard_benchmark.harness.sandbox import SandboxLimits  # noqa: PLC0415 - help needs no sandbox

    return SandboxLimits(seconds=options.call_seconds, memory_mb=options.memory_mb)


def _words(text: str) -> tuple[str, ...]:
    found = words(text)
    if not found:
        raise argparse.ArgumentTypeError("expected names, separated by commas")
    return found


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number of seconds above zero, not {text!r}")
    return value
