"""`bench score` in several processes: it says what one process says, whatever the file holds."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from asyncguard_benchmark.commands import main
from asyncguard_benchmark.harness.journal import Part, parts_of, read_lines
from tests.benchmark.builders import LITE

_PLAYED = ("run", "--agents", "eager,oracle,confused", "--regimes", "fixed1", "--arms", "none")
_PROGRAM = """\
import contextlib, io, json, os, sys
from asyncguard_benchmark.commands import counting, main

def call(words):
    said, complained = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complained):
        code = main(words)
    return code, said.getvalue(), complained.getvalue()

forked = []
begin = counting._side_by_side
counting._side_by_side = lambda *given: forked.append(0) or begin(*given)
if sys.argv[1] == "die":
    counting._send = lambda *given: os._exit(9)
print(json.dumps([call(words) for words in json.loads(sys.argv[2])] + [len(forked)]))
"""
"""Calls of the command, one after the other, in a process that has one thread as a shell starts it."""


def said(*calls: Sequence[str], how: str = "live") -> list[Any]:
    """Return exit code, output and complaints of each call, and last how many had processes beside them."""
    program = [sys.executable, "-c", _PROGRAM, how, json.dumps(calls)]
    done = subprocess.run(program, capture_output=True, text=True, check=True, timeout=300)
    found: list[Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of 27 episodes."""
    file = tmp_path_factory.mktemp("played") / "episodes.jsonl"
    names = ",".join(each.id for each in LITE[:9])
    words = [*_PLAYED, "--players", "plain", "--suite", "lite", "--compositions", names]
    assert main([*words, "--jobs", "1", "--out", str(file)]) == 0
    return file


@pytest.mark.slow
def test_processes_say_what_one_says(episodes: Path) -> None:
    """Figures, splits, findings and what was not read again are the same, down to the last character."""
    asked = (
        ["score", str(episodes), "--by", "all", "--explain"],
        ["score", str(episodes), "--by", "all", "--explain", "--json"],
        ["score", str(episodes), "--contract", "paper", "--json"],
    )
    one = said(*([*words, "--jobs", "1"] for words in asked))
    assert [code for code, *_ in one[:-1]] == [0, 0, 0]
    assert one.pop() == 0
    for jobs in ("2", "5", "40"):
        several = said(*([*words, "--jobs", jobs] for words in asked))
        assert several.pop() == len(asked)
        assert several == one


def _repeat_the_first(lines: list[str]) -> list[str]:
    return [*lines, next(each for each in lines if each.startswith('{"format"'))]


def _break_the_last(lines: list[str]) -> list[str]:
    return [*lines[:-1], lines[-1][:-9]]


def _write_otherwise(lines: list[str]) -> list[str]:
    return [json.dumps(json.loads(each), separators=(",", ":")) for each in lines]


def _leave_one_composition(lines: list[str]) -> list[str]:
    explained = [each for each in lines if each.startswith('{"composition": {"id"')]
    return [each for each in lines if each not in explained[1:]]


@pytest.mark.slow
@pytest.mark.parametrize(
    "changed", [_repeat_the_first, _break_the_last, _write_otherwise, _leave_one_composition]
)
def test_what_depends_on_earlier_lines_is_told_as_by_one_process(
    episodes: Path, tmp_path: Path, changed: Callable[[list[str]], list[str]]
) -> None:
    """Repeats, broken lines and files that another program wrote are complained of in their order."""
    file = tmp_path / "changed.jsonl"
    file.write_text("\n".join(changed(episodes.read_text("utf-8").splitlines())) + "\n", "utf-8")
    words = ["score", str(file), "--json"]
    found = said(
        *([*words, *more, "--jobs", jobs] for more in ([], ["--partial"]) for jobs in ("1", "4"))
    )
    assert found.pop() == 2
    assert found[0] == found[1]
    assert found[2] == found[3]
    assert found[2][0] == 0


@pytest.mark.slow
def test_a_process_that_is_killed_costs_time_and_no_episode(episodes: Path) -> None:
    """Its part is counted again."""
    words = ["score", str(episodes), "--json", "--jobs"]
    *killed, forked = said([*words, "3"], how="die")
    assert forked == 1
    assert killed == said([*words, "1"])[:-1]


def test_parts_are_the_file(episodes: Path) -> None:
    """Each line is in one part, with the number that it has in the file, and what it needs of earlier ones is known."""
    whole = list(read_lines(episodes))
    for count in (1, 2, 3, 50):
        parts = [list(read_lines(episodes, part)) for part in parts_of(episodes, count)]
        assert [each for part in parts for each in part] == whole
    assert list(read_lines(episodes, Part(begin=episodes.stat().st_size))) == []


@pytest.mark.slow
def test_a_pipe_is_read_by_one_process(episodes: Path, tmp_path: Path) -> None:
    """It can be read once."""
    code = (
        "import sys; from asyncguard_benchmark.commands import main; sys.exit(main(sys.argv[1:]))"
    )
    shell = shutil.which("bash")
    assert shell is not None
    told = [
        subprocess.run(
            [shell, "-c", f'"$0" -c "$1" score {file} --json --jobs 3', sys.executable, code],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for file in (f"<(cat {episodes})", str(episodes))
    ]
    piped, plain = ({**json.loads(each), "file": ""} for each in told)
    assert piped == plain
