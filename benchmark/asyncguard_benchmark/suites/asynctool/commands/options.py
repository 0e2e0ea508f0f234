"""The command line of AsyncTool's own commands. Imports nothing heavy: help answers at once."""

from pathlib import Path
from typing import Any

from asyncguard_benchmark.commands.arguments import (
    add_command,
    add_jobs,
    add_names,
    add_out,
    number,
    positive,
)
from asyncguard_benchmark.harness.scenario import Category

DEMO_EVERY = 30
"""Compositions of the suite `lite` for one of the demo."""
_COMMANDS = "asyncguard_benchmark.suites.asynctool.commands"
_CALIBRATE_EXAMPLES = """\
examples:
  asyncguard bench calibrate                     what was fitted: published and predicted figures side by side
  asyncguard bench calibrate --check             the same, and the best fit of every model is played again
  asyncguard bench calibrate --fit --out personas.json --work calibration.jsonl

An interrupted fit goes on where it stopped if it is given the same --work.
"""


def add_demo(commands: Any) -> None:
    """Add ``demo``."""
    made = add_command(
        commands,
        "demo",
        "show agents without and with guards, offline, in about a minute on two cores",
        f"{_COMMANDS}.demo",
    )
    made.add_argument(
        "--every",
        type=positive,
        default=DEMO_EVERY,
        metavar="N",
        help=f"play every Nth composition of the suite lite ({DEMO_EVERY}); 10 for narrower intervals",
    )
    add_out(made, "demo-report", "where the report goes", "DIR")
    add_jobs(made)


def add_validate(commands: Any) -> None:
    """Add ``validate``."""
    made = add_command(
        commands,
        "validate",
        "execute every task and composition and prove that they meet the quality bar",
        f"{_COMMANDS}.validate",
    )
    codes = tuple(each.value for each in Category)
    add_names(made, "--category", codes, text="only the tasks of these, both splits: ")
    add_jobs(made)


def add_calibrate(commands: Any) -> None:
    """Add ``calibrate``."""
    made = add_command(
        commands,
        "calibrate",
        "show or fit the personas of published models",
        f"{_COMMANDS}.calibrate",
        _CALIBRATE_EXAMPLES,
    )
    what = made.add_mutually_exclusive_group()
    what.add_argument(
        "--check", action="store_true", help="play the best fit of every model again and compare"
    )
    what.add_argument(
        "--fit",
        action="store_true",
        help="fit everything again; some ten minutes on two free processors",
    )
    add_out(made, "personas.json", "where a fit goes")
    made.add_argument(
        "--work",
        type=Path,
        default=Path("calibration.jsonl"),
        metavar="FILE",
        help="what a fit has played so far",
    )
    made.add_argument("--seed", type=number, default=0, metavar="N", help="seed of the search")
    made.add_argument(
        "--quick", action="store_true", help="a tenth of the search, to see that it works"
    )
    add_jobs(made)
