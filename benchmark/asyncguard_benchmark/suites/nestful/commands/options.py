"""Arguments of ``bench adapt nestful``; nothing heavy is loaded."""

from pathlib import Path
from typing import Any

from asyncguard_benchmark.commands.arguments import add_command

_EXAMPLES = """\
examples:
  asyncguard bench adapt nestful DATA.jsonl --functions DIR --check     what is there, what is broken; runs nothing

DATA.jsonl is the file of tasks of NESTFUL v2, DIR its folder of executable functions (basic_functions.py,
func_file_map.json and the files that it names); nothing of them is part of this package.
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
    made.add_argument(
        "--check", action="store_true", help="read everything, run nothing, and say what was found"
    )
    made.add_argument(
        "--partial",
        action="store_true",
        help="go on with what can be used although other lines are broken",
    )
