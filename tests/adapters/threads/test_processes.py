"""A thread that is taken up by another process, with strict msgpack switched on as a user does."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.harness import Frontend
from tests.adapters.threads import process
from tests.adapters.threads.stores import Kind

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def strict() -> Iterator["subprocess.Popen[str]"]:
    """A process with strict msgpack, of which each phase gets a copy."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "benchmark")])
    environment = {**os.environ, "LANGGRAPH_STRICT_MSGPACK": "true", "PYTHONPATH": paths}
    with subprocess.Popen(
        [sys.executable, process.__file__],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as started:
        yield started
        assert started.stdin is not None
        started.stdin.close()


@dataclass(frozen=True, kw_only=True)
class Thread:
    """A thread that processes carry on, one after the other."""

    strict: "subprocess.Popen[str]"
    kind: Kind
    frontend: Frontend
    target: str
    mark: Path
    """File of the payments."""

    def run(self, phase: str) -> tuple[int, str]:
        """Return the exit code and the output of a phase, in a process of its own."""
        output = self.mark.with_name(f"{phase}.txt")
        place = (self.kind.value, self.frontend.value, self.target, str(self.mark))
        assert self.strict.stdin is not None
        assert self.strict.stdout is not None
        self.strict.stdin.write(f"{json.dumps([str(output), phase, *place])}\n")
        self.strict.stdin.flush()
        code = int(self.strict.stdout.readline())
        return code, output.read_text()

    def told(self, phase: str) -> dict[str, Any]:
        """Return the output of a phase whose process ended by itself."""
        code, text = self.run(phase)
        assert code == 0, text
        said: dict[str, Any] = json.loads(text.splitlines()[-1])
        assert said["blocked"] == []
        return said


@pytest.fixture
def thread(
    strict: "subprocess.Popen[str]", kind: Kind, frontend: Frontend, target: str, tmp_path: Path
) -> Thread:
    """A thread on each saver, by each adapter."""
    return Thread(
        strict=strict, kind=kind, frontend=frontend, target=target, mark=tmp_path / "mark"
    )


@pytest.mark.slow
def test_a_person_answers_another_process(thread: Thread) -> None:
    """Earlier results are shown once; the payment is made once or reported as not made.

    A wrapper of the middleware ends with its process: its call is reported as not run, and the
    model may ask again.
    """
    asked = thread.told("asking")
    assert [item["type"] for item in asked["interrupts"]] == ["approval"]
    assert asked["paid"] == 0
    answered = thread.told("answering")
    assert answered["report"]["reason"] == "complete"
    assert answered["report"]["in_doubt"] == []
    assert answered["text"].count("found x") == 1
    if thread.frontend is Frontend.GRAPH:
        assert answered["paid"] == answered["text"].count("paid y") == 1
    else:
        assert answered["paid"] == 0
        assert "pay#1 was not run" in answered["text"]


@pytest.mark.slow
def test_a_killed_process_leaves_its_payment_in_doubt(thread: Thread) -> None:
    """The payment is not repeated, the model is shown the doubt, and other calls continue."""
    code, text = thread.run("dying")
    assert code == -signal.SIGKILL, text
    resumed = thread.told("resuming")
    assert thread.mark.read_text() == "paid\n"
    assert resumed["report"]["in_doubt"] == ["b/pay#1"]
    assert resumed["text"].count("found x") == 1
    assert "not known whether pay#1 took effect" in resumed["text"]
