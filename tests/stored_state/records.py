"""Traces of agents, and results of the benchmark, as files: `python -m tests.stored_state.records FRONT CASE FILE`."""

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path

from asyncguard import TraceFile
from tests.stored_state.agents import FRONT_ENDS, RESTING, TASK, THREAD, agent
from tests.stored_state.play import open_saver

TRACES = {"parked": 0, "held": 0, "doubtful": 0, "back_off": 0, "cross_checking": 0, "keyed": 9}
"""Exit code of the process by traced case: in one it dies in a call, in the others its run ends."""
PLACE = ["--regimes", "fixed1", "--players", "graph", "--compositions", "S2-002,S2-003"]
"""Arguments that the stored runs have in common."""
ABLATION = [
    *("--agents", "eager", "--players", "graph", "--regimes", "fixed1", "--compositions", "S2-002"),
    *("--no-wild", "--no-compliance", "--resamples", "100", "--out", "ablation"),
]
"""Arguments of the `bench ablate` that was stored."""
_HAZARDS = [
    "--agents",
    "naive",
    "--domains",
    "logistics",
    "--hazards",
    "execution",
    "--severity",
    "1",
]
HAZARD_ABLATION = [*_HAZARDS, "--players", "graph", "--out", "hazard-ablation"]
"""Arguments of the `bench hazards ablate` that was stored."""


async def _traced(front: str, case: str, file: Path) -> None:
    with tempfile.TemporaryDirectory() as name, TraceFile(file) as trace:
        async with open_saver(Path(name), "") as saver:
            dies = TRACES[case] != 0 and case not in RESTING
            made = agent(front, case, Path(name), saver, die=dies, observers=[trace])
            await made.ainvoke({"messages": [("user", TASK)]}, THREAD, durability="sync")


def write_traces(target: Path) -> None:
    """Write the traces that are not there yet, each with what `asyncguard trace --json` says of it."""
    target.mkdir(exist_ok=True)
    for front in FRONT_ENDS:
        for case, code in TRACES.items():
            file = target / f"{front}-{case}.jsonl"
            if file.exists():
                continue
            command = [sys.executable, "-m", "tests.stored_state.records", front, case, str(file)]
            if subprocess.run(command, check=False).returncode != code:
                raise SystemExit(f"the trace of {front} {case} did not end with {code}")
            said = file.with_suffix(".said.json")
            with said.open("wb") as output:
                subprocess.run(
                    [*_asyncguard(), "trace", str(file), "--json"], stdout=output, check=True
                )


def _asyncguard() -> list[str]:
    return [sys.executable, "-m", "asyncguard.cli"]


def write_results(folder: Path) -> None:
    """Play small benchmarks, whole ones and interrupted ones, and write down how they are scored."""

    def bench(*arguments: str, said: str = "") -> None:
        with (folder / (said or "log")).open("wb") as output:
            subprocess.run(
                [*_asyncguard(), "bench", *arguments], cwd=folder, stdout=output, check=True
            )

    bench("run", "--agents", "eager", "--arms", "all,none", *PLACE, "--out", "run.jsonl")
    bench("score", "run.jsonl", "--json", said="run.said.json")
    _interrupt(folder / "run.jsonl", folder / "interrupted.jsonl")
    bench("run", "--agents", "oracle", *PLACE, "--players", "plain", "--out", "oracle.jsonl")
    bench("run", "--replay", "oracle.jsonl", *PLACE, "--out", "replayed.jsonl")
    _interrupt(folder / "replayed.jsonl", folder / "replayed.jsonl")
    bench("ablate", *ABLATION)
    bench(
        "hazards",
        "run",
        *_HAZARDS,
        "--players",
        "graph",
        "--arms",
        "none,all",
        "--out",
        "hazards.jsonl",
    )
    bench("hazards", "score", "hazards.jsonl", "--json", said="hazards.said.json")
    bench("hazards", "ablate", *HAZARD_ABLATION)
    (folder / "log").unlink()


def _interrupt(whole: Path, target: Path) -> None:
    """Leave out the last line of a file and cut the one before off, as the death of its writer does."""
    lines = whole.read_bytes().splitlines(keepends=True)
    target.write_bytes(b"".join(lines[:-2]) + lines[-2][:900])


if __name__ == "__main__":
    asyncio.run(_traced(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
