"""The command line of ``asyncguard bench replay``. Imports nothing heavy."""

import argparse
from pathlib import Path
from typing import Any

from asyncguard_benchmark.commands.arguments import add_command, positive, several, words
from asyncguard_benchmark.harness.arms import ALL, ARMS
from asyncguard_benchmark.harness.names import PLAIN, PLAYER_NAMES

_EXAMPLES = """\
examples:
  asyncguard bench replay runs.jsonl                            each conversation alone, in both front ends
  asyncguard bench replay runs.jsonl --interleave 3 --tools tools.json --system prompt.md
  asyncguard bench replay runs.jsonl --interleave 3 --early --arms all,only-grounding --declare tools-declared.json
  asyncguard bench replay runs.jsonl --interleave 3 --shadow --out counts.jsonl

A conversation is a line: OpenAI's messages or LangChain's (`messages_to_dict`, `dumpd`), as a list or as
{"messages": [...]}. Nothing of it is sent, printed or saved: output and file hold counts. The tools are not called;
they answer what was recorded. The same command again goes on where an interrupted one stopped, if --out is given.

--declare takes {"tool": {"effect": "pure", "reads": ["flights"], ...}}: the fields of ToolSpec.

Exit status: 0 if every conversation was read whole and played, 1 if not, 2 if the command line is wrong.
"""


def add_replay(commands: Any) -> None:
    """Add the command."""
    made = add_command(
        commands,
        "replay",
        "play recorded conversations of real agents, and count what guards do to them",
        "asyncguard_benchmark.commands.replay",
        _EXAMPLES,
    )
    made.add_argument("files", type=Path, nargs="+", metavar="FILE", help="recorded conversations")
    made.add_argument(
        "--tools", type=Path, metavar="FILE", help="OpenAI function schemas; else from the calls"
    )
    made.add_argument("--system", type=Path, metavar="FILE", help="the system prompt")
    made.add_argument(
        "--declare", type=Path, metavar="FILE", help="declarations by tool; none by default"
    )
    made.add_argument(
        "--interleave",
        type=positive,
        default=1,
        metavar="N",
        help="conversations that are the tasks of one run; 1, the default, plays each alone",
    )
    made.add_argument(
        "--early",
        action="store_true",
        help="every second call is made while the one before it is pending; all are in two passes",
    )
    guarded = tuple(name for name in PLAYER_NAMES if name != PLAIN)
    made.add_argument(
        "--players", type=several(guarded), default=guarded, metavar="A,B", help=", ".join(guarded)
    )
    made.add_argument(
        "--arms",
        type=words,
        default=(ALL,),
        metavar="A,B",
        help=f"guards: {', '.join(list(ARMS)[:3])}, without-GUARD, only-GUARD, or switches as in "
        "grounding+ledger+waiting",
    )
    made.add_argument(
        "--shadow", action="store_true", help="let the guards judge without intervening"
    )
    made.add_argument(
        "--seconds",
        type=_range,
        default=(0.02, 0.08),
        metavar="A-B",
        help="virtual time of a call, 0.02-0.08 by default",
    )
    made.add_argument("--seed", type=int, default=0, metavar="N", help="of the times of calls")
    made.add_argument(
        "--out", type=Path, metavar="FILE", help="counts of each episode; appended to"
    )


def _range(text: str) -> tuple[float, float]:
    try:
        low, _, high = text.partition("-")
        found = float(low), float(high or low)
    except ValueError:
        found = (-1.0, -1.0)
    if not 0 <= found[0] <= found[1] < 3600:
        raise argparse.ArgumentTypeError(f"must be seconds as in 0.02-0.08, not {text!r}")
    return found
