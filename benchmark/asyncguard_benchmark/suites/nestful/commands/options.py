"""Arguments of ``bench adapt nestful``; nothing heavy is loaded."""

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncguard_benchmark.commands.arguments import add_command, positive
from asyncguard_benchmark.commands.play_options import add_foreign_playing, add_tools, compositions

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
        type=compositions,
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
    add_tools(made)
    add_foreign_playing(made, "nestful.jsonl")


def limits_of(options: Namespace) -> "SandboxLimits":
    """Return the bounds of the sandbox."""
    from asyncguard_benchmark.harness.sandbox import SandboxLimits  # noqa: PLC0415 - help needs no sandbox

    return SandboxLimits(seconds=options.call_seconds, memory_mb=options.memory_mb)
