import json
import os
import stat
import threading
from pathlib import Path

import pytest

from asyncguard.config import GuardConfig
from asyncguard.core import events as ev
from asyncguard.errors import CallerError
from asyncguard.observability.fields.record import fields
from asyncguard.observability.observer import Details, ObserverSet
from asyncguard.observability.trace_file import TraceFile
from tests.observability.story import WALL, Story, every_kind, trip


def lines(path: Path) -> list[dict[str, object]]:
    """The lines of a file as JSON."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_head_comes_first_then_one_line_per_event(tmp_path: Path) -> None:
    """The head holds format, version, start and the whole configuration; a row the fields and the wall clock."""
    path = tmp_path / "run.jsonl"
    story = Story()
    with TraceFile(path, wall=story.wall) as file:
        file.write_head(GuardConfig(grounding=False).to_json(), version="1.2.3")
        story.observers = ObserverSet([file])
        every_kind(story)
    head, *rows = lines(path)
    assert head["asyncguard_trace"] == 1
    assert head["version"] == "1.2.3"
    assert head["started"] == WALL
    config = head["config"]
    assert isinstance(config, dict)
    assert config["grounding"] is False
    assert len(rows) == len(story.told)
    assert rows[0] == fields(story.told[0]) | {"wall": WALL}
    assert rows[-1]["wall"] == pytest.approx(WALL + 3.5)


def test_a_head_is_written_even_if_nobody_did(tmp_path: Path) -> None:
    """A file used as a plain observer can be read as well."""
    with TraceFile(tmp_path / "run.jsonl") as file:
        Story(file).begin()
    head, row = lines(tmp_path / "run.jsonl")
    assert (head["asyncguard_trace"], head["config"]) == (1, None)
    assert row["event"] == "run_started"


def test_the_set_of_observers_introduces_the_configuration(tmp_path: Path) -> None:
    """Only observers that take a head get it, the same one is written once, and one that cannot is removed."""
    file, closed = TraceFile(tmp_path / "run.jsonl"), TraceFile(tmp_path / "closed.jsonl")
    closed.close()
    observers = ObserverSet([lambda details: None, file, closed])
    for _ in range(2):
        observers.introduce({"grounding": True}, version="1.2.3")
    observers.introduce({"grounding": False}, version="1.2.3")
    file.close()
    assert [head["config"] for head in lines(tmp_path / "run.jsonl")] == [
        {"grounding": True},
        {"grounding": False},
    ]
    assert len(observers) == 2


def test_each_line_is_in_the_file_at_once(tmp_path: Path) -> None:
    """Each event is in the file at once, so that it survives the process."""
    file = TraceFile(tmp_path / "run.jsonl")
    story = Story(file)
    story.begin()
    assert len(lines(tmp_path / "run.jsonl")) == 2
    story.turn()
    assert len(lines(tmp_path / "run.jsonl")) == 3
    file.close()


def test_a_new_file_is_for_its_owner_only(tmp_path: Path) -> None:
    """Mode 0600, whatever the umask allows."""
    before = os.umask(0)
    try:
        TraceFile(tmp_path / "run.jsonl").close()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "run.jsonl").stat().st_mode) == 0o600


def test_folders_are_not_made(tmp_path: Path) -> None:
    """A mistyped path is an error that says what to do."""
    with pytest.raises(CallerError, match="give another path"):
        TraceFile(tmp_path / "missing" / "run.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_continued(tmp_path: Path) -> None:
    """Nothing is overwritten, and a line that a dying process left open is ended first."""
    path = tmp_path / "run.jsonl"
    path.write_text('{"asyncguard_trace":1,"started":1,"config":null}\n{"event":"run_st')
    with TraceFile(path) as file:
        Story(file).begin()
    text = path.read_text().splitlines()
    assert len(text) == 4
    assert text[1] == '{"event":"run_st'
    assert "asyncguard_trace" in json.loads(text[2])


def test_lines_of_many_threads_do_not_mix(tmp_path: Path) -> None:
    """Several conversations write to one file at once; every line stays whole."""
    file = TraceFile(tmp_path / "run.jsonl")
    file.write_head()
    barrier = threading.Barrier(8)

    def talk(name: str) -> None:
        barrier.wait(timeout=10)
        for _ in range(5):
            trip(Story(file, thread=name))

    threads = [threading.Thread(target=talk, args=(f"thread-{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    file.close()
    rows = lines(tmp_path / "run.jsonl")[1:]
    each = len(trip(Story()).told) * 5
    assert {
        name: sum(row["thread"] == name for row in rows) for name in {row["thread"] for row in rows}
    } == {f"thread-{number}": each for number in range(8)}


def test_a_closed_file_is_an_observer_that_raises(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is removed from the run, and closing twice does no harm."""
    file = TraceFile(tmp_path / "run.jsonl")
    file.close()
    file.close()
    story = trip(Story(file))
    assert story.ledger.ended == "complete"
    assert len(story.observers) == 0
    assert len(caplog.records) == 1
    with pytest.raises(CallerError, match="is closed"):
        file(story.told[0])


def test_any_payload_can_be_written(tmp_path: Path) -> None:
    """Lone surrogates, NaN and bytes in arguments do not stop the trace."""
    with TraceFile(tmp_path / "run.jsonl", payloads=True) as file:
        story = Story(file)
        story.begin(trip="\ud800")
        story.turn(("trip", "book", {"x": float("nan"), "y": b"\xff"}))
        assert len(story.observers) == 1
    assert lines(tmp_path / "run.jsonl")[-1]["arguments"] == {"x": "nan", "y": "b'\\xff'"}


def test_writing_from_an_event_loop_counts_as_not_blocking(tmp_path: Path) -> None:
    """Detectors of blocking calls ask the file descriptor; ours says that its writes do not wait."""
    file = TraceFile(tmp_path / "run.jsonl")
    assert file._file is not None
    assert not os.get_blocking(file._file)
    file.close()


def test_a_full_disk_removes_the_observer_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that was taken in part is an error of the observer, not of the run."""
    file = TraceFile(tmp_path / "run.jsonl")
    story = Story(file)
    story.begin()
    monkeypatch.setattr(
        "asyncguard.observability.trace_file.os.write", lambda _fd, data: len(data) - 1
    )
    details: Details = story.tell(ev.TaskOpened, task="trip", goal="go")
    assert details.task == "trip"
    assert len(story.observers) == 0
    file.close()
