import io
from typing import Any

import pytest
import structlog
from structlog.testing import CapturingLogger

from asyncguard.observability.fields.record import fields
from asyncguard.observability.log import console_logger, log_events
from tests.observability.story import Story, every_kind, questions, trip


def capture() -> tuple[CapturingLogger, Any]:
    """A logger and where its records end."""
    sink = CapturingLogger()
    logger = structlog.wrap_logger(
        sink, processors=[structlog.processors.add_log_level, _as_arguments]
    )
    return sink, logger


def _as_arguments(_logger: Any, _method: str, record: Any) -> Any:
    return (), dict(record)


def test_each_event_is_one_record_with_the_documented_fields() -> None:
    """The message is the kind, everything else is as in the table."""
    sink, logger = capture()
    story = every_kind(Story(log_events(logger)))
    assert len(story.observers) == 1
    assert len(sink.calls) == len(story.told)
    for call, details in zip(sink.calls, story.told, strict=True):
        record = dict(call.kwargs)
        assert record.pop("level") == call.method_name
        if details.event.kind in (
            "run_started",
            "task_opened",
            "call_rejected",
        ):  # records that do not change later
            assert record == fields(details)


def test_interventions_are_warnings() -> None:
    """Rejections, objections, recoveries, squashed calls and failures stand out; the normal course does not."""
    sink, logger = capture()
    every_kind(Story(log_events(logger)))
    warned = {call.kwargs["event"] for call in sink.calls if call.method_name == "warning"}
    recovery = {"call_diagnosed", "call_recovered", "circuit_moved"}
    assert warned == {"call_objected", "call_rejected", "call_squashed", "call_retired"} | recovery
    assert {call.method_name for call in sink.calls} == {"info", "warning"}
    ended = {
        call.kwargs["outcome"]: call.method_name
        for call in sink.calls
        if call.kwargs["event"] == "call_retired"
    }
    assert ended == {"done": "info", "failed": "warning", "in_doubt": "warning"}


def test_a_question_of_a_tool_is_no_warning() -> None:
    """Nothing failed."""
    sink, logger = capture()
    questions(Story(log_events(logger)))
    warned = [call.kwargs["error"] for call in sink.calls if call.method_name == "warning"]
    assert warned == ["TimeoutError"]


def test_the_default_logger_follows_the_applications_configuration() -> None:
    """Without a logger the records go where the application sends those of `asyncguard`."""
    with structlog.testing.capture_logs() as records:
        story = trip(Story(log_events()))
    assert [record["event"] for record in records] == [details.event.kind for details in story.told]


def test_nothing_global_is_configured() -> None:
    """Neither making nor using our loggers changes structlog for others."""
    before = structlog.get_config().copy()
    trip(Story(log_events(console_logger(io.StringIO()))))
    assert structlog.get_config() == before


def test_the_console_is_readable() -> None:
    """One line per event, names instead of keys, nothing empty, no colours outside a terminal."""
    out = io.StringIO()
    story = trip(Story(log_events(console_logger(out))))
    lines = out.getvalue().splitlines()
    assert len(lines) == len(story.told)
    rejected = next(line for line in lines if "call_rejected" in line)
    assert "[warning  ]" in rejected
    assert "label=pay#1" in rejected
    assert "guard=grounding" in rejected
    assert all(
        text not in out.getvalue()
        for text in ("\x1b", "None", "False", "key=", "fingerprint", "=[]")
    )
    deferred = next(line for line in lines if "call_deferred" in line)
    assert "on_calls=['flights/search_flights#1']" in deferred


@pytest.mark.parametrize(("no_color", "colored"), [("", True), ("1", False)])
def test_colours_need_a_terminal_and_no_no_color(
    monkeypatch: pytest.MonkeyPatch, no_color: str, colored: bool
) -> None:
    """NO_COLOR is honoured on a terminal, too."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("NO_COLOR", no_color)
    out = Terminal()
    Story(log_events(console_logger(out))).begin()
    assert ("\x1b[" in out.getvalue()) is colored


def test_the_console_logger_writes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Standard output stays with the program."""
    Story(log_events(console_logger())).begin()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "run_started" in captured.err
