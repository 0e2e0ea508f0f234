"""A thread that is taken up by another process, with strict msgpack switched on as a user does."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.harness import Frontend
from tests.adapters.threads import process
from tests.adapters.threads.stores import Kind

ROOT = Path(__file__).parents[3]


def run(
    phase: str, kind: Kind, frontend: Frontend, target: str, mark: Path
) -> subprocess.CompletedProcess[str]:
    """One phase in a process of its own."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "benchmark")])
    environment = {**os.environ, "LANGGRAPH_STRICT_MSGPACK": "true", "PYTHONPATH": paths}
    command = [
        sys.executable,
        process.__file__,
        phase,
        kind.value,
        frontend.value,
        target,
        str(mark),
    ]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def told(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Return the output of a process that ended by itself."""
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    assert said["blocked"] == []
    return said


@pytest.mark.slow
def test_a_person_answers_another_process(
    kind: Kind, frontend: Frontend, target: str, tmp_path: Path
) -> None:
    """Earlier results are shown once; the payment is made once or reported as not made.

    A wrapper of the middleware ends with its process: its call is reported as not run, and the
    model may ask again.
    """
    asked = told(run("asking", kind, frontend, target, tmp_path / "mark"))
    assert [item["type"] for item in asked["interrupts"]] == ["approval"]
    assert asked["paid"] == 0
    answered = told(run("answering", kind, frontend, target, tmp_path / "mark"))
    assert answered["report"]["reason"] == "complete"
    assert answered["report"]["in_doubt"] == []
    assert answered["text"].count("found x") == 1
    if frontend is Frontend.GRAPH:
        assert answered["paid"] == answered["text"].count("paid y") == 1
    else:
        assert answered["paid"] == 0
        assert "pay#1 was not run" in answered["text"]


@pytest.mark.slow
def test_a_killed_process_leaves_its_payment_in_doubt(
    kind: Kind, frontend: Frontend, target: str, tmp_path: Path
) -> None:
    """The payment is not repeated, the model is shown the doubt, and other calls continue."""
    mark = tmp_path / "mark"
    assert run("dying", kind, frontend, target, mark).returncode == -signal.SIGKILL
    resumed = told(run("resuming", kind, frontend, target, mark))
    assert mark.read_text() == "paid\n"
    assert resumed["report"]["in_doubt"] == ["b/pay#1"]
    assert resumed["text"].count("found x") == 1
    assert "not known whether pay#1 took effect" in resumed["text"]
