"""Arguments of ``bench adapt bfcl``; nothing heavy is loaded."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from asyncguard_benchmark.commands.arguments import add_command, add_jobs, add_names, number, words
from asyncguard_benchmark.commands.model_options import add_model_arguments
from asyncguard_benchmark.commands.play_options import (
    add_agent_settings,
    add_agents,
    add_arms,
    add_episodes_file,
    add_no_messages,
    add_players,
    add_regimes,
    add_seeds,
    add_surfaces,
)
from asyncguard_benchmark.harness.scenario import Kind

_EXAMPLES = """\
examples:
  pip download --no-deps bfcl-eval==2026.3.23
  asyncguard bench adapt bfcl bfcl_eval-2026.3.23-py3-none-any.whl --check     read everything, run nothing
  asyncguard bench adapt bfcl bfcl_eval-2026.3.23-py3-none-any.whl --replay --run-foreign-code
  asyncguard bench adapt bfcl bfcl_eval-2026.3.23-py3-none-any.whl --run-foreign-code \\
      --compose S2=60,C2=60 --agents oracle,eager --arms none,all --regimes sync,fixed1 --out bfcl.jsonl

PATH is the wheel, a folder into which it was unpacked, or bfcl-eval for the installed package. Nothing of it is part of
this package, and nothing of it is imported here. Its tools are Python code: they run only with --run-foreign-code, in
processes of their own that are bounded in time and memory and have no network. That is a guard-rail and no security
boundary; run code that you do not trust in a container. The same command again goes on where an interrupted run
stopped; `bench score`, `compare` and `report` take the file and run nothing.
"""
KINDS = ("entry", "projection", "turn")


def add_adapt(formats: Any) -> None:
    """Add ``bfcl``."""
    made = add_command(
        formats,
        "bfcl",
        "read or play the multi-turn tasks of a copy of bfcl-eval",
        "asyncguard_benchmark.suites.bfcl.commands.adapt",
        _EXAMPLES,
    )
    made.add_argument("path", type=Path, metavar="PATH", help="wheel, folder, or bfcl-eval")
    made.add_argument(
        "--any-version",
        action="store_true",
        help="take versions whose figures are not known; they are compared with nothing",
    )
    made.add_argument(
        "--partial",
        action="store_true",
        help="go on with what can be read although other parts are broken",
    )
    actions = made.add_mutually_exclusive_group()
    actions.add_argument(
        "--check", action="store_true", help="read everything, run nothing, and say what was found"
    )
    actions.add_argument(
        "--replay", action="store_true", help="run the ground truth on its own executors"
    )
    actions.add_argument(
        "--compose",
        type=_counts,
        metavar="S2=N,C2=M",
        help="play compositions drawn from the single tasks: how many of each kind",
    )
    actions.add_argument(
        "--provenance",
        action="store_true",
        help="run the ground truth, and measure the guard provenance on the values of its calls",
    )
    made.add_argument(
        "--run-foreign-code", action="store_true", help="allow the tools of the package to run"
    )
    _playing(made)


def _playing(made: Any) -> None:
    add_names(made, "--kinds", KINDS, KINDS[:2], "single tasks: ")
    made.add_argument(
        "--seed", type=number, default=0, metavar="N", help="seed of the compositions, 0"
    )
    add_agents(made, "simulated: ")
    add_players(made)
    add_arms(made, _arms)
    add_regimes(made, "fixed1")
    add_surfaces(made)
    add_seeds(made)
    add_no_messages(made)
    add_agent_settings(made)
    add_episodes_file(made, "bfcl.jsonl")
    add_model_arguments(made)
    add_jobs(made)
    # Workers elsewhere have no package, and were not told that its code may run.
    made.set_defaults(workers=None, database_url=None)


def _arms(text: str) -> tuple[str, ...]:
    found = words(text)
    if not found:
        raise argparse.ArgumentTypeError("expected names, separated by commas")
    return found


def _counts(text: str) -> Mapping[Kind, int]:
    kinds = [each for each in Kind if each.size > 1]
    found: dict[Kind, int] = {}
    for word in words(text):
        name, _, count = word.partition("=")
        if name not in kinds or not count.isdecimal() or not int(count) or Kind(name) in found:
            raise argparse.ArgumentTypeError(
                f"{word!r} is not of the form S2=60; each of {', '.join(kinds)} may stand once"
            )
        found[Kind(name)] = int(count)
    if not found:
        raise argparse.ArgumentTypeError("expected kinds with their numbers, as S2=60,C2=60")
    return found
