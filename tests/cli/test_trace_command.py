import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from asyncguard.cli import main
from asyncguard.observability import trace
from asyncguard.observability.timeline.draw import render_timeline
from asyncguard.observability.trace import read_trace
from tests.observability.story import Story, trip, trip_file

ROOT = Path(__file__).parents[2]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "asyncguard.cli", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "COLUMNS": "80", **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A trace file."""
    return trip_file(tmp_path / "trip.jsonl")


def test_a_trace_is_drawn(file: Path) -> None:
    """Piped output is plain and as wide as COLUMNS says."""
    done = run("trace", str(file))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == render_timeline(read_trace(file), width=80)


def test_width_is_obeyed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The option wins over the terminal."""
    assert main(["trace", str(file), "--width", "120"]) == 0
    assert capsys.readouterr().out == render_timeline(read_trace(file), width=120)


@pytest.mark.parametrize("width", ["39", "wide", "-5", "8e1"])
def test_a_useless_width_is_a_usage_error(
    file: Path, width: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message says what would do."""
    with pytest.raises(SystemExit) as caught:
        main(["trace", str(file), f"--width={width}"])
    assert caught.value.code == 2
    assert "is not a number of at least 40" in capsys.readouterr().err


def test_a_width_that_would_take_minutes_is_a_usage_error(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A terminal that says so is drawn for as one of the greatest width."""
    with pytest.raises(SystemExit, match="2"):
        main(["trace", str(file), "--width=99999999"])
    assert "'99999999' is more than 10000 columns" in capsys.readouterr().err
    monkeypatch.setenv("COLUMNS", "99999999")
    assert main(["trace", str(file)]) == 0
    assert capsys.readouterr().out == render_timeline(read_trace(file), width=10_000)


@pytest.mark.parametrize(
    ("options", "environment", "colored"),
    [
        ([], {}, True),
        (["--no-color"], {}, False),
        ([], {"NO_COLOR": "1"}, False),
        ([], {"TERM": "dumb"}, False),
    ],
)
def test_colour_is_for_terminals_that_want_it(
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    environment: dict[str, str],
    colored: bool,
) -> None:
    """A terminal gets colours unless the option, NO_COLOR or TERM say no."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["trace", str(file), *options]) == 0
    assert ("\x1b[" in capsys.readouterr().out) is colored


def test_one_task_can_be_shown(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only its calls are drawn and counted."""
    assert main(["trace", str(file), "--task", "hotel", "--run", "r"]) == 0
    shown = capsys.readouterr().out
    assert "find_rooms#1" in shown
    assert "search_flights#1" not in shown
    assert "3 calls" in shown


def test_an_unknown_task_is_an_error_that_names_the_others(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line on standard error, exit code 1."""
    assert main(["trace", str(file), "--task", "train"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "asyncguard: The trace has no task 'train'; it has: flights, hotel.\n"


def test_events_are_one_line_each(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Time from the start, kind, call, and what matters about it."""
    assert main(["trace", str(file), "--events"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(trip(Story()).told)
    rejected = next(line for line in lines if "call_rejected" in line)
    assert rejected.split() == [
        "1.200",
        "call_rejected",
        "flights/pay#1",
        "tool=pay",
        "call_state=rejected",
        "guard=grounding",
    ]
    deferred = next(line for line in lines if "call_deferred" in line)
    assert "on_calls=flights/search_flights#1" in deferred


def test_json_holds_everything(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Head, totals of each run, and all events, for other programs."""
    assert main(["trace", str(file), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["head"]["config"] == {"grounding": True}
    assert data["events"] == list(read_trace(file).rows)
    (run_data,) = data["runs"]
    assert run_data["totals"]["rejected"] == 1
    assert run_data["totals"]["makespan"] == pytest.approx(2.1)


def test_events_and_json_exclude_each_other(file: Path) -> None:
    """Asking for both is a usage error."""
    assert run("trace", str(file), "--events", "--json").returncode == 2


def test_an_unfinished_line_is_mentioned(file: Path) -> None:
    """The picture is drawn, and standard error says what is missing."""
    file.write_bytes(file.read_bytes()[:-9])
    done = run("trace", str(file))
    assert done.returncode == 0
    assert done.stderr.startswith("asyncguard: Line ")
    assert "unfinished" in done.stderr
    assert "search_flights#1" in done.stdout


def test_garbage_is_one_line_of_error(tmp_path: Path) -> None:
    """A wrong file ends in one line, without a traceback."""
    (tmp_path / "x").write_text("hello\nworld\n")
    done = run("trace", str(tmp_path / "x"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"asyncguard: {tmp_path / 'x'}, line 1: this is not a JSON object.\n"


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    """No error is written if the reader leaves, as in `asyncguard trace FILE | head -1`."""
    path = trip_file(tmp_path / "trip.jsonl")
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "asyncguard.cli", "trace", str(path)],
            cwd=ROOT,
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_terminal_without_the_characters_gets_question_marks(file: Path) -> None:
    """An ASCII terminal shows a poorer picture, not a traceback."""
    done = run("trace", str(file), PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "search_flights#1" in done.stdout
    assert "????" in done.stdout


@pytest.mark.parametrize("command", ["trace", "view"])
def test_a_line_without_an_end_is_not_read_until_the_memory_ends(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a device that was given for a file."""
    monkeypatch.setattr(trace, "LONGEST_LINE", 1000)
    assert main([command, "/dev/zero"]) == 1
    said = capsys.readouterr().err
    assert said == (
        "asyncguard: /dev/zero cannot be read: line 1 has more than 1000 bytes; "
        "give a file that TraceFile or bench run wrote.\n"
    )
