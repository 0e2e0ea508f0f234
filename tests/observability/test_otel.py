import re
import sys
from pathlib import Path
from typing import Any

import pytest

from asyncguard.core import events as ev
from asyncguard.errors import CallerError
from asyncguard.observability import chat_attributes
from asyncguard.observability.otel import otel_spans
from tests.observability.story import Story, every_kind, trip

_WHY = "opentelemetry-sdk is optional"
export = pytest.importorskip("opentelemetry.sdk.trace.export", reason=_WHY)
sdk = pytest.importorskip("opentelemetry.sdk.trace", reason=_WHY)
memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter", reason=_WHY)


class Spans:
    def __init__(self) -> None:
        self.exporter = memory.InMemorySpanExporter()
        self.provider = sdk.TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(export.SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("test")

    def finished(self) -> dict[str, object]:
        return {
            span.attributes["asyncguard.label"]: span
            for span in self.exporter.get_finished_spans()
            if span.name.startswith("execute_tool")
        }

    def named(self, name: str) -> list[Any]:
        """Finished spans whose names begin so."""
        return [each for each in self.exporter.get_finished_spans() if each.name.startswith(name)]


def test_each_started_call_is_one_span() -> None:
    """Rejected and squashed calls have none; the run is one, and so is the attempt of a retry."""
    spans = Spans()
    story = trip(Story(otel_spans(spans.tracer), agent="travel"))
    assert len(story.observers) == 1
    assert sorted(span.name.split()[0] for span in spans.exporter.get_finished_spans()) == [
        *["attempt"] * 2,
        *["execute_tool"] * 4,
        "invoke_agent",
    ]
    assert set(spans.finished()) == {
        "search_flights#1",
        "book_flight#1",
        "find_rooms#1",
        "ask_desk#1",
    }


def test_a_span_says_what_was_called_and_how_it_ended() -> None:
    """Attributes are those of the records, under our prefix."""
    spans = Spans()
    story = trip(Story(otel_spans(spans.tracer), agent="travel"))
    span = spans.finished()["search_flights#1"]
    key = next(iter(story.ledger.calls())).key
    assert span.name == "execute_tool search_flights"
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search_flights",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "call_0",
        "gen_ai.conversation.id": "t1",
        "gen_ai.agent.name": "asyncguard",
        "gen_ai.agent.id": "travel",
        "asyncguard.agent": "travel",
        "asyncguard.thread": "t1",
        "asyncguard.run": "r1",
        "asyncguard.task": "flights",
        "asyncguard.label": "search_flights#1",
        "asyncguard.key": key,
        "asyncguard.epoch": "e1",
        "asyncguard.outcome": "done",
        "asyncguard.content_bytes": 2,
        "asyncguard.attempts": 1,
    }
    assert span.status.is_unset


def test_recovery_is_inside_the_span_and_failure_is_its_status() -> None:
    """One span covers all attempts of a call."""
    spans = Spans()
    trip(Story(otel_spans(spans.tracer)))
    failed = spans.finished()["find_rooms#1"]
    (event,) = failed.events
    assert event.name == "call_recovered"
    assert event.attributes["asyncguard.action"] == "retry"
    assert failed.attributes["asyncguard.attempts"] == 2
    assert not failed.status.is_ok
    assert failed.status.description == "failed: ValueError"
    assert failed.attributes["error.type"] == "ValueError"
    (attempt,) = [
        each for each in spans.named("attempt 2") if each.parent.span_id == failed.context.span_id
    ]
    assert attempt.attributes["asyncguard.action"] == "retry"
    assert spans.finished()["ask_desk#1"].status.description == "in_doubt: ValueError"


def test_a_rejected_call_is_an_event_of_the_run() -> None:
    """Its guard and its call stand there; the reason, a payload, only if content is asked for."""
    for content in (False, True):
        spans = Spans()
        every_kind(Story(otel_spans(spans.tracer, content=content)))
        told = [event for span in spans.named("invoke_agent") for event in span.events]
        rejected = next(event for event in told if event.name == "asyncguard.call_rejected")
        assert rejected.attributes["asyncguard.guard"]
        assert rejected.attributes["gen_ai.tool.call.id"].startswith("call_")
        assert ("asyncguard.reason" in rejected.attributes) is content
        kinds = {event.name.partition(".")[2] for event in told}
        assert {"call_deferred", "call_held", "call_objected", "call_squashed"} <= kinds
        assert "completion_judged" in kinds


def test_attribute_names_are_those_of_the_conventions() -> None:
    """The package of the conventions is needed by no user; it is asked here."""
    known = pytest.importorskip("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
    names = {value for name, value in vars(known).items() if name.startswith("GEN_AI_")}
    folder = Path(chat_attributes.__file__).parent
    text = "".join((folder / name).read_text() for name in ("otel.py", "chat_attributes.py"))
    used = set(re.findall(r"\bgen_ai\.[a-z_.]+[a-z]", text))
    assert len(used) > 15
    assert used <= names
    operations = {each.value for each in known.GenAiOperationNameValues}
    assert {"invoke_agent", "chat", "execute_tool"} <= operations


def test_a_cancelled_call_ends_its_span() -> None:
    """No span is left open by a call that was taken back between two attempts."""
    spans = Spans()
    every_kind(Story(otel_spans(spans.tracer)))
    assert spans.finished()["mail#1"].attributes["asyncguard.outcome"] == "cancelled"


def test_threads_with_calls_of_one_name_do_not_meet() -> None:
    """Two conversations that share the observer have their own spans."""
    spans = Spans()
    observer = otel_spans(spans.tracer)
    stories = [Story(observer, thread=name) for name in ("a", "b")]
    keys = []
    for story in stories:
        story.begin(trip="go")
        keys += story.turn(("trip", "book"))
    for story, key in zip(stories, keys, strict=True):
        story.start_calls(key)
    for story, key in zip(stories, keys, strict=True):
        story.retire(key)
    assert [
        span.attributes["asyncguard.thread"] for span in spans.exporter.get_finished_spans()
    ] == ["a", "b"]


def test_a_doubt_that_is_resolved_later_makes_no_second_span(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The span ended when the doubt began; what is found out afterwards is in the log."""
    spans = Spans()
    observer = otel_spans(spans.tracer)
    story = Story(observer)
    story.begin(trip="go")
    (key,) = story.turn(("trip", "book"))
    story.start_calls(key)
    story.retire(key, ev.Outcome.IN_DOUBT)
    story.retire(key, ev.Outcome.DONE)
    assert len(spans.exporter.get_finished_spans()) == 1
    assert vars(observer)["_open"] == {}
    assert caplog.records == []
    assert len(story.observers) == 1


def test_without_opentelemetry_the_error_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message is an instruction."""
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(CallerError, match="pip install opentelemetry-api"):
        otel_spans()
