"""Without the extras `learned` and `inspect`: nothing loads their libraries; what needs one says what to install."""

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from asyncguard_benchmark.commands import main

_LOADED = """
import sys
for name in ("torch", "safetensors", "tokenizers", "numpy"):
    sys.modules[name] = None
import asyncguard, asyncguard_benchmark
from asyncguard.cli import main
from asyncguard_benchmark.harness import campaign
from asyncguard_benchmark.harness.suites import registry
from asyncguard_benchmark.learned import traces, splits
registry().sets, registry().all_agents
assert "learned" in registry().all_agents and "learned" not in registry().agents
for what in ("agents", "suites"):
    try:
        main(["bench", "list", what])
    except SystemExit as ended:
        assert not ended.code
assert "inspect_ai" not in sys.modules
"""


@pytest.mark.slow
def test_nothing_loads_the_libraries_of_an_extra_by_itself() -> None:
    """The library, the suites, the command line and the training data work without PyTorch and Inspect."""
    done = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "learned  " in done.stdout  # listed all the same


def test_the_agent_says_which_extra_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--agents learned` without PyTorch ends with the name of the extra, and with no trace of a program."""
    for name in [each for each in sys.modules if each.startswith("asyncguard_benchmark.learned")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    out = tmp_path / "run.jsonl"
    asked = ["run", "--agents", "learned", "--suite", "lite", "--players", "plain"]
    assert main([*asked, "--arms", "none", "--jobs", "1", "--out", str(out)]) != 0
    said = capsys.readouterr().err
    assert "pip install 'asyncguard[learned]'" in said
    assert "Traceback" not in said


def test_inspect_finds_the_tasks_by_an_entry_point_of_the_packages_name() -> None:
    """`asyncguard_benchmark/asynctool` is looked up by the part before the slash."""
    (found,) = entry_points(group="inspect_ai", name="asyncguard_benchmark")
    assert found.value == "asyncguard_benchmark.suites.asynctool.inspect_tasks"


def test_the_command_says_which_extra_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An import error would not tell a user what to do."""
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    log, out = tmp_path / "log.eval", tmp_path / "out.jsonl"
    assert main(["inspect-logs", str(log), "--out", str(out)]) != 0
    assert "pip install 'asyncguard[inspect]'" in capsys.readouterr().err
    assert not out.exists()
