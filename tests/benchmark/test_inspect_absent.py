"""Without Inspect: nothing of the library or the benchmark loads it, and what needs it says what to install."""

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from asyncguard_benchmark.commands import main

_LOADED = """
import sys
import asyncguard, asyncguard_benchmark
from asyncguard.cli import main
from asyncguard_benchmark.harness import campaign
from asyncguard_benchmark.harness.suites import registry
registry().sets, registry().all_agents
try:
    main(["bench", "list", "suites"])
except SystemExit:
    pass
sys.exit("inspect_ai" in sys.modules)
"""


def test_inspect_finds_the_tasks_by_an_entry_point_of_the_packages_name() -> None:
    """`asyncguard_benchmark/asynctool` is looked up by the part before the slash."""
    (found,) = entry_points(group="inspect_ai", name="asyncguard_benchmark")
    assert found.value == "asyncguard_benchmark.suites.asynctool.inspect_tasks"


def test_nothing_loads_inspect_by_itself() -> None:
    """The library, the suites and the command line work without the extra."""
    done = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_command_says_which_extra_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An import error would not tell a user what to do."""
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    log, out = tmp_path / "log.eval", tmp_path / "out.jsonl"
    assert main(["inspect-logs", str(log), "--out", str(out)]) != 0
    assert "pip install 'asyncguard[inspect]'" in capsys.readouterr().err
    assert not out.exists()
