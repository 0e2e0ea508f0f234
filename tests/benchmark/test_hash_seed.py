"""Runs, ablations and reports are the same bytes for every hash seed of Python and every number of processes."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

_LATTICE = """
from asyncguard_benchmark.harness.ablation.lattice import Lattice
from asyncguard_benchmark.harness.ablation.outcomes import Outcome
from asyncguard_benchmark.harness.ablation.shapley import of_episode

PLAYERS = frozenset({"grounding", "duplicate", "scope", "completion", "conflict"})

class Fake:
    def __init__(self, switches):
        self.switches, self.involved, self.overall = switches, switches, len(switches) == 3

played = []
def play(switches):
    played.append(sorted(switches))
    return Fake(switches)

shares = of_episode(Lattice(play), PLAYERS, frozenset())
print(played, list(shares.items()))
"""
_BENCH = """
import json, os, sys
from contextlib import redirect_stdout
from pathlib import Path
from asyncguard_benchmark.commands import main
for name, (first, *rest) in json.loads(sys.argv[1]).items():
    Path(name).mkdir()
    os.chdir(name)
    assert main(first) == 0  # it plays, and says how fast
    with open("said.txt", "w") as said, redirect_stdout(said):
        for argv in rest:
            assert main(argv) == 0
    os.chdir("..")
"""


def _python(code: str, *argv: str, seed: int, folder: Path) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    done = subprocess.run(
        [sys.executable, "-c", code, *argv],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_runs_are_played_in_the_same_order_for_every_hash_seed(tmp_path: Path) -> None:
    """The sets of switches that an ablation plays, and their names, follow from the names alone."""
    assert len({_python(_LATTICE, seed=seed, folder=tmp_path) for seed in range(4)}) == 1


def _digests(folder: Path) -> dict[str, str]:
    files = (each for each in sorted(folder.rglob("*")) if each.is_file())
    return {
        str(each.relative_to(folder)): hashlib.sha256(each.read_bytes()).hexdigest()
        for each in files
    }


ABLATION = [
    ["ablate", "--agents", "eager,keyword-and-copy", "--compositions", "C2-001"],
    ["report", "ablation", "--out", "report.html"],
    ["results", "ablation", "--out", "results.md"],
]
RUN = [
    [
        "run",
        "--agents",
        "keyword-and-copy,forgetful",
        "--compositions",
        "C2-00",
        "--out",
        "e.jsonl",
    ],
    ["score", "e.jsonl", "--json"],
    ["report", "e.jsonl", "--out", "report.html"],
]
HAZARDS = [
    [
        "hazards",
        "ablate",
        "--agents",
        "naive",
        "--domains",
        "logistics",
        "--hazards",
        "execution",
        "--quick",
        "--out",
        "hazards",
    ],
    ["hazards", "report", "hazards", "--out", "report.html"],
]


COMMANDS = {"run": RUN, "ablate": ABLATION, "hazards": HAZARDS}


@pytest.mark.slow(seconds=40)
def test_files_are_the_same_bytes(tmp_path: Path) -> None:
    """Episodes, findings and pages, with one process that plays everything and with two others, of another seed."""
    found = []
    for seed, jobs in ((0, 1), (1, 2)):
        folder = tmp_path / str(seed)
        folder.mkdir()
        lines = {
            name: [[*first, "--jobs", str(jobs)], *rest]
            for name, (first, *rest) in COMMANDS.items()
        }
        _python(_BENCH, json.dumps(lines), seed=seed, folder=folder)
        found.append(_digests(folder))
    assert all(sum(each.startswith(f"{name}/") for each in found[0]) > 2 for name in COMMANDS)
    assert found[0] == found[1]
