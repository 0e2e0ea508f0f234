"""The command that compares us with other runtimes, run as a person runs it, on very little work."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command in the checkout and returns what it said."""
    command = [sys.executable, "benchmark/performance/run.py", *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )


def rows(*arguments: str) -> list[dict[str, Any]]:
    """Runs the command and returns the rows of its JSON."""
    done = run(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["rows"]
    return found


@pytest.mark.slow
def test_steps_compares_both_front_ends_with_create_agent() -> None:
    """Each adapter stands beside its reference, with a ratio and a target."""
    measured = rows("steps", "--steps", "3", "--repeats", "1")
    found = {row["subject"]: row for row in measured if row["case"].startswith("3 steps")}
    assert found["build_agent"]["reference"] == "create_agent"
    assert found["build_agent"]["ratio"] > 0
    assert found["AsyncGuardMiddleware"]["reference"] == "create_agent, the same hooks empty"
    assert found["build_agent:sqlite"]["limit"] < found["build_agent:sqlite+journal"]["limit"]
    assert found["deepagents"]["ratio_low"] <= found["deepagents"]["ratio"]
    assert found["deepagents"]["ratio"] <= found["deepagents"]["ratio_high"]
    journals = {row["subject"]: row for row in measured if row["case"].startswith("journal")}
    middleware = "AsyncGuardMiddleware+its state:sqlite"
    assert set(journals) == {
        "build_agent:sqlite+journal",
        f"{middleware}+journal",
        f"{middleware}, sync+journal",
    }
    assert {row["reference"] for row in journals.values()} == {
        "build_agent:sqlite",
        middleware,
        f"{middleware}, sync",
    }
    assert found["hand-written StateGraph"]["median"] > 0
    assert found["create_agent, every hook empty"]["median"] > 0


@pytest.mark.slow
def test_growth_counts_the_bytes_that_a_saver_leaves() -> None:
    """Peers without a saver have no row of bytes; those with one have a price per step, too."""
    found = rows("growth", "--steps", "2", "--long-steps", "12", "--long-repeats", "1")
    stored = {row["subject"] for row in found if row["case"].startswith("stored")}
    timed = {row["subject"] for row in found if row["case"] == "price of a later step"}
    assert {"create_agent:sqlite", "build_agent:sqlite", "build_agent:sqlite+journal"} <= stored
    room = {row["subject"]: row["median"] for row in found if row["case"] == "stored, 12 steps"}
    assert room["build_agent:sqlite+journal"] > room["build_agent:sqlite"] + 10
    assert "create_agent" in timed - stored
    assert all(row["median"] > 4 for row in found if row["unit"] == "kB")


@pytest.mark.slow
def test_ledger_growth_is_within_its_target() -> None:
    """An operation among 10,000 pending calls costs at most three times what it costs among 100."""
    found = rows("ledger", "--repeats", "3")
    assert [row["met"] for row in found if row["reference"] == "100 pending"] == [True, True]


@pytest.mark.slow(seconds=18)
def test_load_runs_many_threads_and_counts_what_they_leave() -> None:
    """Each runtime answers all threads in memory and on a disk; tasks and files are gone with them."""
    found = rows("load", "--quick", "--at-once", "50", "--threads", "100")
    assert {row["case"] for row in found if row["unit"] == "s"} == {
        "p99 of 50, in memory",
        "p99 of 50, SQLite and journal",
    }
    left = [row for row in found if "after 100 threads" in row["case"] and row["unit"] == "more"]
    assert {row["subject"] for row in left} == {
        "create_agent",
        "build_agent",
        "AsyncGuardMiddleware",
    }
    assert all(row["median"] == 0 for row in left)


def test_a_contest_ends_when_its_ratios_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first round that is enough, and after the last one in any case."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmark" / "performance"))
    from measure import Sample, interleaved, uncertainty

    def run(subject: float) -> Sample:
        return Sample(seconds=subject, bytes=0)

    samples = interleaved([1.0, 2.0], run, repeats=9, enough=lambda so_far: len(so_far[0]) == 3)
    assert [len(each) for each in samples] == [3, 3]
    assert [len(each) for each in interleaved([1.0], run, repeats=4)] == [4]
    assert uncertainty([1.0], [2.0]) == float("inf")
    assert uncertainty([2.0, 4.0, 6.0], [1.0, 2.0, 3.0]) == 0.0
    # Quotients 1, 1.1 and 1.21: mean 1.1, and 4.3 times 0.055 to either side of its logarithm.
    assert 0.24 < uncertainty([1.0, 1.1, 1.21], [1.0] * 3) < 0.29


def test_an_unknown_section_is_refused_by_name() -> None:
    """A typing error costs a line, not a run."""
    done = run("speed")
    assert done.returncode == 2
    assert "no section is called 'speed'" in done.stderr


def test_help_names_every_section() -> None:
    """The help names all sections without measuring anything."""
    done = run("--help")
    assert done.returncode == 0
    assert all(
        f"\n  {name} " in done.stdout
        for name in ("steps", "growth", "makespan", "ledger", "load", "startup")
    )
