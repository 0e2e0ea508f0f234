"""Very many calls through one process leave nothing behind."""

import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(__file__).resolve().parents[2] / "benchmark" / "reliability" / "run.py"


@pytest.mark.slow(seconds=27)
def test_three_thousand_calls_leave_nothing(tmp_path: Path) -> None:
    """Memory, tasks, files, threads and sessions are what they were after the warm-up; the command says so itself."""
    soaked = subprocess.run(
        [sys.executable, str(COMMAND), "--soak", "--calls", "3000", "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert soaked.returncode == 0, soaked.stdout + soaked.stderr
    assert "0 sessions" in soaked.stdout
