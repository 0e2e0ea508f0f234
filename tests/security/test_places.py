"""Bundled tools act on worlds of their own: no path and no address in an argument is ever opened."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from asyncguard_benchmark.services.filesystem import TOOLSET as FILES
from asyncguard_benchmark.services.service import Executor, holds_half_a_character

ROOT = Path(__file__).resolve().parents[2]


def confined(what: str, count: int, seed: int = 1) -> dict[str, Any]:
    """Play a part in a process with an audit hook and return its report."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.security.confined", what, str(count), str(seed)],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=900,
        check=True,
    )
    assert done.stderr == ""
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def _check(told: dict[str, Any], *, tools: int, reached: float) -> None:
    assert told["touched"] == []
    assert told["raised"] == []
    assert told["tools"] >= tools
    assert told["reached"] >= reached * told["calls"], (
        "too few calls got beyond the check of their arguments"
    )
    assert told["slowest"] < 5.0, told["slow"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_tools_of_the_benchmark_open_nothing(seed: int) -> None:
    """A hundred thousand calls of all tools, with paths, addresses, code and numbers as arguments, touch nothing."""
    _check(confined("executors", 270, seed), tools=350, reached=0.5)


@pytest.mark.slow
@pytest.mark.parametrize(("desk", "tools"), [("travel", 5), ("incidents", 8)])
def test_tools_of_the_desks_stay_in_their_folder(desk: str, tools: int) -> None:
    """They touch files of their own folder and, for incidents, the desk's own service, and nothing else."""
    _check(confined(desk, 500), tools=tools, reached=0.4)


@pytest.mark.slow
def test_the_watch_sees_what_is_touched() -> None:
    """The check can fail: a file, a socket, a folder and a piece of code are noticed."""
    seen = " ".join(confined("control", 1)["touched"])
    assert all(
        event in seen
        for event in ("open ('/etc/hostname'", "socket.connect", "os.listdir", "compile")
    )


@pytest.mark.parametrize(
    "path", ["../../../../etc/passwd", "/home/ana/../../../etc/passwd", "/etc/../etc/passwd"]
)
def test_the_root_of_a_simulated_tree_is_its_top(path: str) -> None:
    """A path that goes up from the root stays there, and leads to the simulated file."""
    executor = Executor(
        FILES.tools,
        {"cwd": "/home/ana", "tree": {"etc": {"passwd": "simulated"}, "home": {"ana": {}}}},
    )
    assert executor.call("cat", {"file": path}) == '{"content": "simulated"}'


def test_half_a_character_is_refused_and_changes_nothing() -> None:
    """A text that UTF-8 cannot encode is refused before it is stored."""
    executor = Executor(FILES.tools, {"cwd": "/", "tree": {}})
    assert "half a character" in executor.call("echo", {"text": "\ud800", "file": "a"})
    assert executor.public_state() == {"cwd": "/", "tree": {}}
    assert executor.call("du", {}) == '{"total_bytes": 0, "largest_first": []}'


@pytest.mark.parametrize(
    ("value", "half"),
    [
        ("é\U0001f600", False),
        ("\udfff", True),
        ({"\ud800": 1}, True),
        ({"a": ["b", {"c": "\ud83d"}]}, True),
        (1, False),
    ],
)
def test_half_characters_are_found_anywhere(value: Any, half: bool) -> None:
    """In names and in values, however deep; whole characters outside of the first plane are none."""
    assert holds_half_a_character(value) is half


def test_a_number_that_no_tool_can_reckon_with_is_an_error_of_the_call() -> None:
    """A number that a tool cannot compute with is an error of the call; the run continues."""
    from asyncguard_benchmark.suites.hazards.domains.lending import TOOLSET

    told = Executor(TOOLSET.tools, {}).call("instalment", {"owed": 10**400, "months": 1})
    assert json.loads(told) == {"error": "A number is too large for instalment."}
