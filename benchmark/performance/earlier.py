"""Compare commands of this checkout with those of an earlier one, in one run.

    python benchmark/performance/earlier.py ../earlier
    python benchmark/performance/earlier.py ../earlier episodes score --rounds 5

The other checkout needs an environment of its own (`.venv`), as `make setup` makes it. Figures are CPU seconds of all
processes that a command starts; the two checkouts take turns, and a ratio is the median over the rounds. `episodes` and
`score` leave out what starting costs: the same command on next to nothing is measured and taken off.
"""

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parents[2]
_ROUNDS = 3
_MANY, _ONE = "S2-0,C2-0,S3-0,C3-0", "S2-00"
_PLAYED = {
    "plain": ("plain", "none"),
    "graph, none": ("graph", "none"),
    "graph, all": ("graph", "all"),
    "middleware, none": ("middleware", "none"),
    "middleware, all": ("middleware", "all"),
}


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """A checkout with its environment."""

    folder: Path

    def bench(self, *arguments: str) -> float:
        """Run ``asyncguard bench``; return CPU seconds, those of its worker processes included.

        Raises:
            CalledProcessError: the command failed; its output is shown.
        """
        command = [str(self.folder / ".venv" / "bin" / "asyncguard"), "bench", *arguments]
        # Resource usage of ended children: what this one and its children took is the difference.
        before = os.times()
        ended = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, check=False
        )
        after = os.times()
        if ended.returncode:
            sys.stderr.write(ended.stdout + ended.stderr)
            ended.check_returncode()
        return (
            after.children_user
            - before.children_user
            + after.children_system
            - before.children_system
        )

    def played(self, label: str, compositions: str, out: Path) -> float:
        """Play the eager agent with results one turn late, and return CPU seconds."""
        player, arm = _PLAYED[label]
        return self.bench(
            *("run", "--agents", "eager", "--players", player, "--arms", arm, "--suite", "lite"),
            *("--compositions", compositions, "--jobs", "1", "--out", str(out)),
        )


Measure = Callable[[Checkout, Path], dict[str, float]]
"""From a checkout and an empty folder to CPU seconds by case."""


def episodes(checkout: Checkout, folder: Path) -> dict[str, float]:
    """Measure the play of some sixty episodes."""
    found = {}
    for number, label in enumerate(_PLAYED):
        few = checkout.played(label, _ONE, folder / f"{number}-few.jsonl")
        found[label] = checkout.played(label, _MANY, folder / f"{number}.jsonl") - few
    return found


def score(checkout: Checkout, folder: Path) -> dict[str, float]:
    """Measure the verdicts on the file of about a thousand episodes that `main` made."""
    whole, few = folder.parent / "whole.jsonl", folder.parent / "few.jsonl"
    return {
        "a thousand episodes": checkout.bench("score", str(whole), "--json")
        - checkout.bench("score", str(few), "--json")
    }


def validate(checkout: Checkout, folder: Path) -> dict[str, float]:
    """Measure the proof of the shipped data."""
    return {"the shipped data": checkout.bench("validate", "--json")}


def demo(checkout: Checkout, folder: Path) -> dict[str, float]:
    """Measure the demo, each checkout's own."""
    return {"as shipped": checkout.bench("demo", "--json", "--out", str(folder / "demo"))}


MEASURES: Mapping[str, Measure] = {
    "episodes": episodes,
    "score": score,
    "validate": validate,
    "demo": demo,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("earlier", type=Path, metavar="CHECKOUT", help="folder of the other one")
    parser.add_argument("measures", nargs="*", metavar="MEASURE", help=f"{', '.join(MEASURES)}")
    parser.add_argument("--rounds", type=int, default=_ROUNDS, metavar="N", help=f"({_ROUNDS})")
    options = parser.parse_args(arguments)
    unknown = set(options.measures) - set(MEASURES)
    if unknown or not (options.earlier / ".venv" / "bin" / "asyncguard").exists():
        parser.error(
            f"there is no measure {', '.join(unknown)}; there are {', '.join(MEASURES)}"
            if unknown
            else f"{options.earlier} has no .venv/bin/asyncguard; run `make setup` there"
        )
    checkouts = (Checkout(folder=options.earlier.resolve()), Checkout(folder=HERE))
    with TemporaryDirectory(prefix="asyncguard-earlier-") as name:
        chosen = options.measures or list(MEASURES)
        if "score" in chosen:
            _thousand(checkouts[0], Path(name))
        for measure in chosen:
            _compare(measure, checkouts, Path(name), options.rounds)
    return 0


def _thousand(checkout: Checkout, folder: Path) -> None:
    """Make the file that both score: by the earlier checkout, so that both can read it."""
    for name, compositions in (("whole", "S2,C2,S3,C3"), ("few", _ONE)):
        checkout.bench(
            *("run", "--agents", "oracle,eager,confused,malformed", "--players", "plain"),
            *("--regimes", "fixed1,random12", "--suite", "lite", "--compositions", compositions),
            *("--out", str(folder / f"{name}.jsonl")),
        )


def _compare(measure: str, checkouts: tuple[Checkout, Checkout], folder: Path, rounds: int) -> None:
    samples: list[tuple[dict[str, float], dict[str, float]]] = []
    for number in range(rounds):
        pair = []
        for side, checkout in enumerate(checkouts):
            own = folder / f"{measure}-{number}-{side}"
            own.mkdir()
            pair.append(MEASURES[measure](checkout, own))
        samples.append((pair[0], pair[1]))
    for case in samples[0][0]:
        earlier = statistics.median(before[case] for before, _ in samples)
        ratio = statistics.median(after[case] / before[case] for before, after in samples)
        now = statistics.median(after[case] for _, after in samples)
        print(
            f"{measure:9} {case:20} {earlier:7.2f} s earlier, {now:7.2f} s now: {ratio:.2f} x",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
