"""Compare what commands of the benchmark cost here with an older checkout, in one run.

    python benchmark/performance/against.py OLDER_TREE score EPISODES.jsonl
    python benchmark/performance/against.py OLDER_TREE validate
    python benchmark/performance/against.py OLDER_TREE episodes
    python benchmark/performance/against.py OLDER_TREE demo

Each tree runs its own command from its own `.venv`, the two in turn (A B, A B, ...). The figure is CPU time, own and of
child processes, and its median; a ratio is the median over the rounds. `score` also scores the first lines of the file
alone: what the whole file costs beyond that is the cost of scoring without start-up. The output of the two trees is
compared: a verdict that differs is an error, but floats may differ in their last digits. `episodes` plays the eager
agent with results one turn late through each player, and takes off what a handful of episodes costs; `demo` runs each
tree's own demo. These two compare no output.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).parents[2]
_PLAYED = (
    ("plain", "none"),
    ("graph", "none"),
    ("graph", "all"),
    ("middleware", "none"),
    ("middleware", "all"),
)
# All of the suite, as an ablation plays it: of fewer episodes each process's first use of its tools is a tenth.
_FEW, _MANY = "S2-00", "S2,C2,S3,C3"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 1 if the two trees say different things."""
    summary, _, details = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("older", type=Path, help="checkout with a .venv")
    parser.add_argument("what", choices=("score", "validate", "episodes", "demo"))
    parser.add_argument("file", type=Path, nargs="?", help="episodes, for score")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="rounds (3)")
    parser.add_argument(
        "--lines", type=int, default=300, metavar="N", help="of the short file (300)"
    )
    options = parser.parse_args(arguments)
    trees = (options.older.resolve(), HERE)
    if options.what == "validate":
        return _told(_measured(trees, ["validate", "--jobs", "1", "--json"], options.repeats))
    if options.what == "episodes":
        return _episodes(trees, options.repeats)
    if options.what == "demo":
        with tempfile.TemporaryDirectory() as folder:
            command = ["demo", "--json", "--out", folder]
            _line("whole command", _measured(trees, command, options.repeats)[0])
        return 0
    if options.file is None:
        parser.error("score needs a file of episodes")
    with tempfile.TemporaryDirectory() as folder:
        short = Path(folder) / "short.jsonl"
        with options.file.open("rb") as file:
            short.write_bytes(
                b"".join(line for line, _ in zip(file, range(options.lines), strict=False))
            )
        whole = _measured(trees, ["score", "--json", str(options.file.resolve())], options.repeats)
        start = _measured(trees, ["score", "--json", str(short)], options.repeats)
    code = _told(whole)
    beyond = [(old - s, new - t) for (old, new), (s, t) in zip(whole[0], start[0], strict=True)]
    _line(f"beyond the first {options.lines} lines", beyond)
    return code


def _episodes(trees: Sequence[Path], repeats: int) -> int:
    for player, arm in _PLAYED:
        rounds = []
        for _ in range(repeats):
            (old, few), (new, start) = (
                tuple(_played(tree, player, arm, chosen) for chosen in (_MANY, _FEW))
                for tree in trees
            )
            rounds.append((old - few, new - start))
        _line(f"{player}, {arm}", rounds)
    return 0


def _played(tree: Path, player: str, arm: str, compositions: str) -> float:
    """Return CPU seconds of the play of compositions of the main suite, by the beginnings of their ids."""
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "episodes.jsonl")
        command = ["run", "--agents", "eager", "--players", player, "--arms", arm]
        command += ["--compositions", compositions, "--json", "--out", out]
        return _run(tree, command)[0]


_Measured = tuple[list[tuple[float, float]], bool]
"""Seconds of both trees in each round, and whether they said the same."""


def _measured(trees: Sequence[Path], command: Sequence[str], repeats: int) -> _Measured:
    rounds, same = [], True
    for _ in range(repeats):
        (old, said), (new, now) = (_run(tree, command) for tree in trees)
        rounds.append((old, new))
        same = same and _alike(said, now)
    return rounds, same


def _run(tree: Path, command: Sequence[str]) -> tuple[float, Any]:
    """Return CPU seconds and output of a benchmark command of one tree."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [tree / ".venv/bin/asyncguard", "bench", *command],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return seconds, json.loads(done.stdout)


def _alike(one: Any, other: Any) -> bool:
    match one, other:
        case dict(), dict():
            return one.keys() == other.keys() and all(_alike(one[k], other[k]) for k in one)
        case list(), list():
            return len(one) == len(other) and all(map(_alike, one, other))
        case float(), float():
            return math.isclose(one, other, rel_tol=1e-12)
        case _:
            return bool(one == other)


def _told(measured: _Measured) -> int:
    rounds, same = measured
    _line("whole command", rounds)
    print("both say the same" if same else "THE TWO SAY DIFFERENT THINGS")
    return int(not same)


def _line(name: str, rounds: Sequence[tuple[float, float]]) -> None:
    old, new = (median(column) for column in zip(*rounds, strict=True))
    ratio = median(before / after for before, after in rounds)
    print(f"{name}: {old:.2f} s older, {new:.2f} s here; {ratio:.1f} x as fast ({1 / ratio:.2f} x)")


if __name__ == "__main__":
    sys.exit(main())
