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
    rates,
    several,
)
from asyncguard_benchmark.commands.play_options import add_contract, add_players, add_regimes
from asyncguard_benchmark.harness.arms import ARMS
from asyncguard_benchmark.harness.names import PLAIN, PLAYER_NAMES
from asyncguard_benchmark.harness.scenario import Category, Regime
from asyncguard_benchmark.harness.suites import registry

DEMO_EVERY = 30
"""Compositions of the suite `lite` for one of the demo."""
_COMMANDS = "asyncguard_benchmark.suites.asynctool.commands"
_SETS = ("main", "four", "lite", "independent", "plain", "wide")
EARLY_AGENTS = ("parallel", "heeding", "batch", "foreseeing")
"""Agents that make no mistake and call before all results are there."""
_HARMED = ("wild", "independent", "plain")
"""Sets that `harm` plays by default, as far as they are there."""
_SWEEP_EXAMPLES = """\
examples:
  asyncguard bench sweep
  asyncguard bench sweep --every 1 --regimes fixed1,random12 --players graph,middleware
  asyncguard bench sweep --rates 0.5 --batch-rates 0.5 --arms all,without-grounding,none --json

The same command again goes on where an interrupted one stopped.
"""
_HARM_EXAMPLES = """\
examples:
  asyncguard bench harm
  asyncguard bench harm --suites wild --agents foreseeing --players graph,middleware --tools declared,undeclared
  asyncguard bench harm --every 6 --json | jq '.sets.wild[].blocks[] | select(.refused > 0)'

The same command again goes on where an interrupted one stopped.
"""
_CALIBRATE_EXAMPLES = """\
examples:
  asyncguard bench calibrate                     what was fitted: published and predicted figures side by side
  asyncguard bench calibrate --check             the same, and the best fit of every model is played again
  asyncguard bench calibrate --fit --out personas.json --work calibration.jsonl
  asyncguard bench calibrate --held-out --work calibration.jsonl

Killed and started again, both go on where it stopped if it is given the same --work.
"""
_INSPECT_EXAMPLES = """\
examples:
  asyncguard bench inspect-logs logs/unguarded.eval logs/guarded.eval --out inspect.jsonl
  asyncguard bench score inspect.jsonl

Logs are those of `inspect eval asyncguard_benchmark/asynctool`; needs the extra `inspect`.
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


def add_sweep(commands: Any) -> None:
    """Add ``sweep``."""
    made = add_command(
        commands,
        "sweep",
        "sweep shares of plausible guesses, and what guards cost agents that do not guess",
        f"{_COMMANDS}.sweep",
        _SWEEP_EXAMPLES,
    )
    made.add_argument(
        "--suites",
        type=several(_SETS),
        default=("lite", "independent"),
        metavar="A,B",
        help=f"of {', '.join(_SETS)}; lite and independent by default",
    )
    made.add_argument(
        "--every", type=positive, default=6, metavar="N", help="play every Nth composition (6)"
    )
    made.add_argument(
        "--arms", type=several(tuple(ARMS)), metavar="A,B", help="guards; see `bench list arms`"
    )
    add_players(made, tuple(name for name in PLAYER_NAMES if name != PLAIN))
    add_names(made, "--tools", tools := ("declared", "undeclared"), tools)
    add_regimes(made, Regime.FIXED1.value)
    add_contract(made)
    for name, who in (
        ("--rates", "the eager agent"),
        ("--batch-rates", "the agent that guesses within a message"),
    ):
        made.add_argument(
            name,
            type=rates,
            metavar="P,Q",
            help=f"shares of the guesses of {who} that stand in a message",
        )
    add_out(made, "sweep", "where all of it goes", "DIR")
    add_jobs(made)


def add_harm(commands: Any) -> None:
    """Add ``harm``."""
    made = add_command(
        commands,
        "harm",
        "count right calls that guards refuse to agents that call early and make no mistake (some three minutes)",
        f"{_COMMANDS}.harm",
        _HARM_EXAMPLES,
    )
    splits = ("wild", *registry().sets)
    add_names(
        made, "--suites", splits, tuple(each for each in _HARMED if each in splits), "sets, of "
    )
    add_names(made, "--agents", EARLY_AGENTS, EARLY_AGENTS)
    made.add_argument(
        "--every", type=positive, default=1, metavar="N", help="play every Nth composition"
    )
    add_players(made, tuple(name for name in PLAYER_NAMES if name != PLAIN))
    add_names(made, "--tools", tools := ("declared", "undeclared"), tools[:1])
    add_regimes(made, Regime.FIXED1.value)
    add_out(made, "harm", "where the episodes go", "DIR")
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
        help="fit everything again and forecast what is held out; at most fifteen minutes on two free processors",
    )
    what.add_argument(
        "--held-out",
        action="store_true",
        help="play only what foretells columns and models that are held out; some five minutes, or none if a fit "
        "with this --work has played it",
    )
    add_out(made, "personas.json", "where a fit goes")
    made.add_argument(
        "--work",
        type=Path,
        default=Path("calibration.jsonl"),
        metavar="FILE",
        help="what a fit, or holding out, has played so far",
    )
    made.add_argument("--seed", type=number, default=0, metavar="N", help="seed of the search")
    made.add_argument(
        "--quick", action="store_true", help="a tenth of the search, to see that it works"
    )
    add_jobs(made)


def add_inspect_logs(commands: Any) -> None:
    """Add ``inspect-logs``."""
    made = add_command(
        commands,
        "inspect-logs",
        "take the episodes out of logs of Inspect, for score, compare, report and view",
        f"{_COMMANDS}.inspect_logs",
        _INSPECT_EXAMPLES,
    )
    made.add_argument("logs", nargs="+", type=Path, metavar="LOG", help="logs of Inspect")
    add_out(made, "inspect.jsonl", "the file of episodes, appended to")
