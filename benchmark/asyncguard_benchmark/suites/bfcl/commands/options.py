"""Arguments of ``bench adapt bfcl``; nothing heavy is loaded."""

from pathlib import Path
from typing import Any

from asyncguard_benchmark.commands.arguments import add_command, add_names
from asyncguard_benchmark.commands.play_options import add_foreign_playing, compositions

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
        type=compositions,
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
    add_names(made, "--kinds", KINDS, KINDS[:2], "single tasks: ")
    add_foreign_playing(made, "bfcl.jsonl")
