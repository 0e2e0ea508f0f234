"""Arguments of ``bench adapt nestful``; nothing heavy is loaded."""

from argparse import ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncguard_benchmark.commands.arguments import add_command, add_jobs, positive, several
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
    add_tools,
)
from asyncguard_benchmark.harness.arms import ARMS
from asyncguard_benchmark.harness.scenario import Kind

if TYPE_CHECKING:
    from asyncguard_benchmark.harness.sandbox import SandboxLimits

_EXAMPLES = """\
examples:
  asyncguard bench adapt nestful DATA.jsonl --functions DIR --check     what is there, what is broken; runs nothing
  asyncguard bench adapt nestful DATA.jsonl --functions DIR --replay --run-foreign-code
  asyncguard bench adapt nestful DATA.jsonl --functions DIR --run-foreign-code --compose S2=60,C2=60 \\
      --agents oracle,eager --arms none,all --regimes sync,fixed1 --out nestful.jsonl

DATA.jsonl is the file of tasks of NESTFUL v2, DIR its folder of executable functions (basic_functions.py,
func_file_map.json and the files that it names); nothing of them is part of this package. The functions run only with
--run-foreign-code, in processes of their own that are bounded in time and memory and have no network. That is a
guard-rail and no security boundary; run code that you do not trust in a container.

--compose puts tasks together, two or three of one category (S2, S3) or of several (C2, C3), and plays them under the
delays of all suites; the same command again goes on where an interrupted run stopped. The file that it writes is read
by `bench score`, `compare` and `report`, which run no foreign code.
"""


def add_adapt(formats: Any) -> None:
    """Add ``nestful``."""
    made = add_command(
        formats,
        "nestful",
        "read or play tasks of NESTFUL v2",
        "asyncguard_benchmark.suites.nestful.commands.adapt",
        _EXAMPLES,
    )
    made.add_argument("data", type=Path, metavar="DATA.jsonl", help="the tasks")
    made.add_argument(
        "--functions", type=Path, required=True, metavar="DIR", help="their functions"
    )
    what = made.add_mutually_exclusive_group()
    what.add_argument(
        "--check", action="store_true", help="read everything, run nothing, and say what was found"
    )
    what.add_argument(
        "--replay",
        action="store_true",
        help="run the gold calls, and compare with the stored answers",
    )
    what.add_argument(
        "--compose",
        type=kinds,
        metavar="S2=N,C2=N",
        help="play compositions: how many of which kind",
    )
    what.add_argument(
        "--provenance",
        action="store_true",
        help="run the gold calls, and measure the guard provenance on their values",
    )
    made.add_argument("--run-foreign-code", action="store_true", help="allow the functions to run")
    made.add_argument(
        "--partial",
        action="store_true",
        help="go on with what can be used although other lines are broken",
    )
    made.add_argument(
        "--call-seconds",
        type=positive,
        default=10,
        metavar="N",
        help="for one call of a function, 10",
    )
    made.add_argument(
        "--memory-mb",
        type=positive,
        default=512,
        metavar="N",
        help="for the functions of a task, 512",
    )
    _playing(made)
    add_jobs(made)
    add_episodes_file(made, "nestful.jsonl")
    add_model_arguments(made)


def _playing(made: Any) -> None:
    made.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the compositions, 0"
    )
    add_agents(made, "simulated: ")
    add_players(made)
    add_arms(made, several(tuple(ARMS)))
    add_regimes(made, "fixed1")
    add_surfaces(made)
    add_tools(made)
    add_seeds(made)
    add_agent_settings(made)
    add_no_messages(made)
    # Functions lie on this machine: other workers could not play.
    made.set_defaults(workers=None, database_url=None)


def kinds(text: str) -> dict[Kind, int]:
    """Return the number of compositions of each kind; the type of an argument."""
    found: dict[Kind, int] = {}
    known = [each.value for each in Kind if each.size > 1]
    for word in text.split(","):
        name, _, count = word.partition("=")
        if name not in known or not count.isdecimal() or not int(count) or Kind(name) in found:
            raise ArgumentTypeError(
                f"{word!r}: expected KIND=NUMBER, each kind once, of {', '.join(known)}"
            )
        found[Kind(name)] = int(count)
    return found


def limits_of(options: Namespace) -> "SandboxLimits":
    """Return the bounds of the sandbox."""
    from asyncguard_benchmark.harness.sandbox import SandboxLimits  # noqa: PLC0415 - help needs no sandbox

    return SandboxLimits(seconds=options.call_seconds, memory_mb=options.memory_mb)
