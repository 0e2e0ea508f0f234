"""The command line of ``asyncguard bench``. Imports nothing heavy: help answers at once."""

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from asyncguard_benchmark.arms import ALL, ARMS, NONE
from asyncguard_benchmark.commands.model_options import add_model_arguments
from asyncguard_benchmark.names import AGENT_NAMES, PLAYER_NAMES
from asyncguard_benchmark.scenario import Category, Regime, Suite, Surface

_EXAMPLES = """\
examples:
  asyncguard bench demo                                   the same agents without and with guards, with a report
  asyncguard bench list arms                              what can be played
  asyncguard bench validate                               execute and prove the data
  asyncguard bench run --agents eager --arms all,none --out eager.jsonl
  asyncguard bench score eager.jsonl --json | jq '.conditions[] | {arm, overall}'
"""
_RUN_EXAMPLES = """\
examples:
  asyncguard bench run --agents oracle --players plain,graph,middleware --regimes sync,fixed1,fixed2
  asyncguard bench run --agents eager --arms all,without-grounding,only-grounding --seeds 0,1,2
  asyncguard bench run --agents eager --distractor-rate 0.25 --tools declared,undeclared
  asyncguard bench run --model openai:gpt-4.1-mini --surfaces native --suite lite --dry-run --prices prices.json
  asyncguard bench run --model openai:qwen3-8b --base-url http://127.0.0.1:8000/v1 --suite lite --arms none,all

The same command again, or `bench resume FILE`, goes on where an interrupted run stopped.
"""


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = _parser("asyncguard bench", "Plays and scores agents on several tasks at once.", _EXAMPLES)
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _demo(commands)
    _list(commands)
    _validate(commands)
    _run(commands)
    _resume(commands)
    _score(commands)
    return top


def _parser(program: str, description: str, examples: str) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(
        prog=program,
        description=description,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _command(commands: Any, name: str, text: str, examples: str = "", module: str | None = None) -> Any:
    made = commands.add_parser(
        name,
        help=text,
        description=f"{text[0].upper()}{text[1:]}.",
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.set_defaults(module=module or name)
    made.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    return made


def _demo(commands: Any) -> None:
    made = _command(commands, "demo", "show the same agents without and with guards, offline, in about a minute")
    made.add_argument("--out", type=Path, default=Path("demo-report"), metavar="DIR", help="where the report goes")
    _jobs(made)


def _list(commands: Any) -> None:
    made = _command(commands, "list", "say what there is", module="listing")
    made.add_argument("what", nargs="?", choices=("tasks", "compositions", "agents", "players", "arms"))


def _validate(commands: Any) -> None:
    made = _command(commands, "validate", "execute every task and composition and prove that they meet the quality bar")
    codes = tuple(each.value for each in Category)
    made.add_argument(
        "--category", type=_several(codes), metavar="A,B", help=f"only the tasks of these, both splits: {_of(codes)}"
    )


def _run(commands: Any) -> None:
    made = _command(commands, "run", "play agents and save every episode", _RUN_EXAMPLES)
    made.add_argument("--agents", type=_several(AGENT_NAMES), metavar="A,B", help=f"simulated: {_of(AGENT_NAMES)}")
    made.add_argument("--replay", type=Path, metavar="FILE", help="an agent that says again what a saved run said")
    made.add_argument(
        "--players", type=_several(PLAYER_NAMES), default=("graph",), metavar="A,B", help=_of(PLAYER_NAMES)
    )
    made.add_argument(
        "--arms", type=_several(tuple(ARMS)), default=(NONE, ALL), metavar="A,B", help="guards; see `bench list arms`"
    )
    regimes, surfaces = tuple(each.value for each in Regime), tuple(each.value for each in Surface)
    made.add_argument("--regimes", type=_several(regimes), default=("fixed1",), metavar="A,B", help=_of(regimes))
    made.add_argument("--surfaces", type=_several(surfaces), default=("text",), metavar="A,B", help=_of(surfaces))
    tools = ("declared", "undeclared")
    made.add_argument("--tools", type=_several(tools), default=("declared",), metavar="A,B", help=_of(tools))
    seeds = made.add_mutually_exclusive_group()
    seeds.add_argument("--seeds", type=_numbers, default=(0,), metavar="N,M", help="seeds of delays and guesses")
    seeds.add_argument("--repeats", type=_positive, metavar="K", help="every episode K times: the seeds 0 to K-1")
    suites = tuple(each.value for each in Suite)
    made.add_argument("--suite", choices=suites, default=Suite.MAIN.value, help="712 of two or three tasks by default")
    made.add_argument("--compositions", type=_words, default=None, metavar="ID,ID", help="ids or beginnings of ids")
    made.add_argument("--few-shot", action="store_true", help="one successful trajectory in the prompt")
    made.add_argument("--no-messages", dest="messages", action="store_false", help="save no conversations")
    made.add_argument("--distractor-rate", type=_rate, metavar="P", help="eager agent: guesses that stand in a message")
    made.add_argument("--lucky-rate", type=_rate, metavar="P", help="eager agent: guesses foreseen from the call")
    made.add_argument("--out", type=Path, default=Path("episodes.jsonl"), metavar="FILE", help="appended to")
    add_model_arguments(made)
    _jobs(made)


def _resume(commands: Any) -> None:
    made = _command(commands, "resume", "play what a file was asked for and does not hold yet")
    made.add_argument("file", type=Path, metavar="FILE", help="what `run` wrote")
    made.add_argument("--jobs", type=_positive, metavar="N", help="processes, as before by default")


def _score(commands: Any) -> None:
    made = _command(commands, "score", "score saved episodes anew, executing everything again")
    made.add_argument("file", type=Path, metavar="FILE", help="what `run` wrote")
    made.add_argument("--partial", action="store_true", help="leave unreadable lines out, and say so")
    made.add_argument("--explain", action="store_true", help="say of every failed sub-task what was wrong")


def _jobs(made: Any) -> None:
    made.add_argument(
        "--jobs", type=_positive, default=min(2, os.cpu_count() or 1), metavar="N", help="processes, 2 by default"
    )


def _of(names: Sequence[str]) -> str:
    return ", ".join(names)


def _words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for word in text.split(",") if word))


def _several(known: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    def read(text: str) -> tuple[str, ...]:
        words = _words(text)
        unknown = [word for word in words if word not in known]
        if unknown or not words:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown) or text!r}: choose from {_of(known)}")
        return words

    return read


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in _words(text)) or (0,)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of whole numbers") from None


def _rate(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 0 and 1")
    return value


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of at least 1")
    return int(text)
