import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard.errors import CallerError
from asyncguard.observability.fields.record import fields
from asyncguard.observability.observer import ObserverSet
from asyncguard.observability.timeline.draw import render_timeline
from asyncguard.observability.trace import TraceError, read_trace
from asyncguard.observability.trace_file import TraceFile
from tests.observability.story import Story, every_kind, trip, trip_file

HEAD = '{"asyncguard_trace":1,"version":"0.1.0","started":5.0,"config":null}\n'


def row(**changes: Any) -> str:
    """A line with a run's start."""
    story = Story()
    story.begin()
    return json.dumps(fields(story.told[0]) | {"wall": 7.0} | changes) + "\n"


def written(folder: Path, text: str | bytes) -> Path:
    """A file with this content."""
    path = folder / "x.jsonl"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_what_was_written_is_read(tmp_path: Path) -> None:
    """Head and rows come back as they were, for every kind of event."""
    path = tmp_path / "run.jsonl"
    rows = []
    with TraceFile(path, wall=lambda: 12.5) as file:
        file.write_head({"grounding": True}, version="0.1.0")
        story = Story(lambda details: rows.append(fields(details) | {"wall": 12.5}), file)
        every_kind(story)
    trace = read_trace(path)
    assert trace.head == {
        "asyncguard_trace": 1,
        "version": "0.1.0",
        "started": 12.5,
        "config": {"grounding": True},
    }
    assert list(trace.rows) == rows
    assert trace.problems == ()


def test_an_unfinished_last_line_is_left_out_and_named(tmp_path: Path) -> None:
    """A killed process costs its last line, not the file."""
    whole = trip_file(tmp_path / "whole.jsonl").read_bytes()
    trace = read_trace(written(tmp_path, whole[:-20]))
    assert len(trace.rows) == len(trip(Story()).told) - 1
    last = whole.count(b"\n")
    assert trace.problems == (
        f"Line {last} is unfinished and was left out; its process ended while writing it.",
    )


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_file_cut_anywhere_after_the_head_is_readable_and_drawable(
    tmp_path: Path, share: float
) -> None:
    """Wherever the process dies, the rest of the trace is of use."""
    whole = trip_file(tmp_path / "whole.jsonl").read_bytes()
    for cut in range(int(len(whole) * share), int(len(whole) * share) + 60):
        trace = read_trace(written(tmp_path, whole[:cut]))
        assert render_timeline(trace)


def test_a_continued_file_is_one_time_line(tmp_path: Path) -> None:
    """A later process has another engine clock; the wall clock tells how much later it continued."""
    path = tmp_path / "run.jsonl"
    path.write_text(HEAD + row(at=1000.0, wall=50.0) + '{"event":"tur')
    with TraceFile(path, wall=lambda: 53.0) as file:
        story = Story(file, start=2.0)
        story.begin("r2")
        story.at(4.0).turn()
    trace = read_trace(path)
    assert [(item["run"], item["at"]) for item in trace.rows] == [
        ("r1", 1000.0),
        ("r2", 1003.0),
        ("r2", 1007.0),
    ]
    assert trace.problems == (
        "Line 3 is unfinished and was left out; its process ended while writing it.",
    )


def test_a_second_head_of_the_same_writer_keeps_the_clock(tmp_path: Path) -> None:
    """Two agents of one process may share a file."""
    path = tmp_path / "run.jsonl"
    story = Story()
    with TraceFile(path, wall=lambda: 1.0) as file:
        file.write_head({"one": 1})
        story.observers = ObserverSet([file])
        story.begin()
        file.write_head({"two": 2})
        story.at(5.0).turn()
    trace = read_trace(path)
    assert [item["at"] for item in trace.rows] == [100.0, 105.0]
    assert trace.head["config"] == {"one": 1}


def test_events_of_a_later_version_are_left_out_and_named_once(tmp_path: Path) -> None:
    """The rest of the file is still shown."""
    text = HEAD + row() + '{"event":"moon_rose"}\n' * 3 + row()
    trace = read_trace(written(tmp_path, text))
    assert len(trace.rows) == 2
    assert trace.problems == (
        "Line 3: the event 'moon_rose' is unknown here; such events were left out.",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("hello\n", "line 1: this is not a JSON object"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "line 1: this is not a JSON object"),
        ("[1, 2]\n", "line 1: this is not a JSON object"),
        ('{"a": 1}\n', "line 1: the head is missing"),
        (HEAD + "garbage\n" + row(), "line 2: this is not a JSON object"),
        (HEAD + row() + "[" * 100_000 + "\n" + row(), "line 3: this is not a JSON object"),
        (
            HEAD.replace("1,", "2,", 1),
            "line 1: the format is 2, this version reads up to 1; install a newer one",
        ),
        (HEAD.replace("1,", '"x",', 1), "line 1: 'x' is not a format version"),
        (HEAD + row(at="soon"), "line 2: run_started lacks a usable 'at'"),
        (HEAD + row(at=None), "line 2: run_started lacks a usable 'at'"),
        (HEAD + row(at=float("nan")), "line 2: run_started lacks a usable 'at'"),
        (HEAD + row(at=10**400), "line 2: run_started lacks a usable 'at'"),
        (HEAD + row(n=True), "line 2: run_started lacks a usable 'n'"),
        (HEAD + row(thread=["t"]), "line 2: run_started lacks a usable 'thread'"),
        (HEAD + row(wall="x"), "line 2: run_started lacks a usable 'wall'"),
        (HEAD + row(event="run_parked"), "line 2: run_parked lacks a usable 'open'"),
        (
            HEAD + row(event="run_parked", open=[1], open_calls=[]),
            "line 2: run_parked lacks a usable 'open'",
        ),
    ],
)
def test_a_damaged_file_is_refused_with_its_line(
    tmp_path: Path, text: str | bytes, message: str
) -> None:
    """The error says where and what; readers can rely on every field."""
    with pytest.raises(TraceError) as caught:
        read_trace(written(tmp_path, text))
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_what_cannot_be_opened_is_refused(tmp_path: Path, name: str) -> None:
    """A missing file and a folder are errors of the caller."""
    with pytest.raises(TraceError, match="cannot be read"):
        read_trace(tmp_path / name)


@given(
    st.lists(st.binary(max_size=30) | st.sampled_from([HEAD.encode(), row().encode()]), max_size=6)
)
def test_garbage_is_read_or_refused_but_never_crashes(
    tmp_path_factory: pytest.TempPathFactory, parts: Any
) -> None:
    """Whatever the bytes, the outcome is a trace or a TraceError."""
    path = tmp_path_factory.mktemp("garbage") / "x"
    path.write_bytes(b"".join(parts))
    try:
        trace = read_trace(path)
    except TraceError:
        return
    assert render_timeline(trace)


def test_a_task_can_be_picked(tmp_path: Path) -> None:
    """Its calls stay, and what belongs to no task; the other tasks go."""
    trace = read_trace(trip_file(tmp_path / "trip.jsonl"))
    picked = trace.select(task="hotel")
    assert {item["task"] for item in picked.rows if "task" in item} == {"hotel"}
    assert sum(item["event"] == "turn_taken" for item in picked.rows) == 4
    with pytest.raises(CallerError, match="no task 'train'; it has: flights, hotel"):
        trace.select(task="train")


def test_a_run_can_be_picked_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    """Ids are long."""
    with TraceFile(tmp_path / "x") as file:
        story = Story(file)
        story.begin("abc-1")
        story.begin("def-2")
    trace = read_trace(tmp_path / "x")
    assert [item["run"] for item in trace.select(run="def").rows] == ["def-2"]
    with pytest.raises(CallerError, match="no run 'x'; it has: abc-1, def-2"):
        trace.select(run="x")
