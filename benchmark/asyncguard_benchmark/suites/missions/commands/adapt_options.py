"""Arguments of ``bench adapt mmtb`` and ``bench adapt c3``; nothing heavy is loaded."""

from pathlib import Path
from typing import Any

from asyncguard_benchmark.commands.arguments import add_command, positive, words
from asyncguard_benchmark.suites.missions.commands.options import add_playing, add_scoring

_EXAMPLES = """\
examples:
  asyncguard bench adapt {kind} {file} --check           what is there, every fault, counts beside the published ones
  asyncguard bench adapt {kind} {file} --rescore gpt.jsonl --explain
  asyncguard bench adapt {kind} {file} --agents oracle,inventing --arms none,all --out {kind}-runs.jsonl
  asyncguard bench adapt {kind} {file} --agents eager --regimes sync,fixed1 --ablate {kind}-ablation

PATH is the file of dialogues, JSON lines or CSV, or the folder that holds it under its published name; nothing of it is
part of this package, and nothing in it is executed. A mission is played as the bundled ones are, alone and with the
gold of the earlier ones as its history; calls get the gold's results, whatever their arguments. The same command again
goes on where an interrupted run stopped; `bench missions score` reads the file that it writes.

--rescore judges result files in the published shape by both scorers. A row whose gold is not the download's is told and
left out with --partial.
"""


def add_mmtb(formats: Any) -> None:
    """Add ``mmtb``."""
    _add(formats, "mmtb", "Multi-Mission Tool Bench", "Multi-Mission-Tool-Bench.jsonl")


def add_c3(formats: Any) -> None:
    """Add ``c3``."""
    _add(formats, "c3", "C3-Bench", "C3-Bench.jsonl")


def _add(formats: Any, kind: str, name: str, file: str) -> None:
    made = add_command(
        formats,
        kind,
        f"check, re-score or play the missions of {name}",
        "asyncguard_benchmark.suites.missions.commands.adapt",
        _EXAMPLES.format(kind=kind, file=file),
    )
    made.set_defaults(kind=kind)
    made.add_argument("path", type=Path, metavar="PATH", help="the file, or its folder")
    made.add_argument(
        "--language", choices=("en", "zh"), default="en", help="texts that are read, en by default"
    )
    made.add_argument(
        "--partial",
        action="store_true",
        help="go on with what can be read although other lines are broken; says what is left out",
    )
    what = made.add_mutually_exclusive_group()
    what.add_argument(
        "--check", action="store_true", help="read everything, and say what was found"
    )
    what.add_argument(
        "--rescore", type=Path, nargs="+", metavar="FILE", help="results; more are repeats"
    )
    what.add_argument(
        "--ablate",
        type=Path,
        metavar="DIR",
        help="play agents and compare arms on the same missions; where runs and findings go",
    )
    add_scoring(made.add_argument_group("with --rescore"))
    play = made.add_argument_group("to play")
    add_playing(play)
    play.add_argument(
        "--arms",
        type=words,
        metavar="A,B",
        help="none and all by default, with --ablate all arms of an ablation; see `bench list arms`",
    )
    play.add_argument(
        "--resamples", type=positive, default=2000, metavar="N", help="draws for adjusted p"
    )
    play.add_argument(
        "--out",
        type=Path,
        default=Path(f"{kind}-runs.jsonl"),
        metavar="FILE",
        help="runs are appended to it",
    )
