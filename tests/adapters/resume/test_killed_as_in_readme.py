"""Agents as the README shows them, killed while they wait, and resumed by another process."""

import json
import time
from collections import Counter
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from tests.adapters import lives
from tests.adapters.processes import FORKED

EVERY_CLASS = ("look", "mark", "book", "move", "send", "pay")


def start(case: dict[str, Any]) -> BaseProcess:
    """Start a process that plays one life of a case."""
    child = FORKED.Process(target=lives.main, args=(case,))
    child.start()
    return child


def lines(folder: Path) -> list[list[str]]:
    """Return the lines that the processes have written to the file of effects."""
    path = folder / "effects.txt"
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def kill_while_it_waits(case: dict[str, Any], folder: Path) -> None:
    """The first life ends by SIGKILL when all that can begin has begun and the model has said that it waits."""
    child = start(case)
    begins = set(case["calls"]) - {"list_bookings"}
    give_up = time.monotonic() + 40
    while not (
        {line[1] for line in lines(folder) if line[0] == "begun"} >= begins
        and ["spoke", "0"] in lines(folder)
    ):
        if child.exitcode is not None or time.monotonic() > give_up:
            child.kill()
            child.join()
            raise AssertionError(f"the first life did not come to its wait: {lines(folder)}")
        time.sleep(0.05)
    time.sleep(0.3)  # the jump back from the model's word to the wait
    child.kill()
    child.join()


def resumed(front: str, entry: str, folder: Path, **more: Any) -> dict[str, Any]:
    """Return the report of the second process of a case whose first process was killed."""
    later = more.pop("later", {})
    case = {
        "folder": str(folder),
        "front": front,
        "entry": entry,
        "life": 0,
        "calls": EVERY_CLASS,
        **more,
    }
    kill_while_it_waits(case, folder)
    second = start({**case, **later, "life": 1})
    second.join(90)
    assert second.exitcode == 0
    told: dict[str, Any] = json.loads((folder / "told1.json").read_text())
    return told


def effects(folder: Path) -> Counter[str]:
    """Count the effects of each tool; those of a keyed tool by key."""
    return Counter(" ".join(line[1:3]) for line in lines(folder) if line[0] == "effect")


@pytest.mark.slow
@pytest.mark.parametrize("entry", ["sync", "async"])
@pytest.mark.parametrize("front", ["create_agent", "build_agent"])
def test_what_may_be_repeated_is(front: str, entry: str, tmp_path: Path) -> None:
    """Repeatable calls are made again and none of them is in doubt; keyed calls keep their keys."""
    told = resumed(front, entry, tmp_path, calls=("look", "mark", "book"))
    assert told["report"]["in_doubt"] == []
    assert all(
        f"{name} {name} is done" in "".join(told["texts"]) for name in ("look", "mark", "book")
    )
    happened = effects(tmp_path)
    assert [times for name, times in happened.items() if name.startswith("book")] == [2], (
        "another key was used"
    )


@pytest.mark.slow
@pytest.mark.parametrize("entry", ["sync", "async"])
@pytest.mark.parametrize("front", ["create_agent", "build_agent"])
def test_only_what_nobody_can_know_is_in_doubt(front: str, entry: str, tmp_path: Path) -> None:
    """Probes are asked: one effect had happened, one had not and is made; only the call without a probe is in doubt."""
    told = resumed(front, entry, tmp_path, calls=("move", "send", "pay"))
    assert told["report"]["in_doubt"] == ["a/pay#1"]
    text = "".join(told["texts"])
    assert "move had happened" in text
    assert "send send is done" in text
    assert effects(tmp_path) == {"check -": 1, "move -": 1, "send -": 1, "pay -": 1}
