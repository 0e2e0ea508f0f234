"""Calls as OpenTelemetry spans, one from the first start of a call to its end.

OpenTelemetry is optional and loaded when :func:`otel_spans` is called. Names follow its conventions
for generative AI (``execute_tool``); everything else is under ``asyncguard.``. Spans carry no
payloads.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from asyncguard.core import events as ev
from asyncguard.errors import CallerError
from asyncguard.observability.fields import fields
from asyncguard.observability.observer import Details, Observer

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

_AT_START = ("agent", "thread", "thread_id", "run", "task", "label", "key", "epoch")
_AT_END = ("outcome", "error", "content_bytes", "attempts")
_OF_RECOVERY = ("action", "attempt", "error", "aim", "delay", "next_tool", "change_count")
_OF_DIAGNOSIS = ("attempt", "symptom", "hazard", "rule", "confidence")


def otel_spans(tracer: "Tracer | None" = None) -> Observer:
    """Return an observer that makes one span per call.

    A span starts with the first attempt and ends with the call; a retry or fallback in between is a
    span event. Calls that never start have no span. A call that another process resumes gets its
    span there. The span is a child of the span that is current where the call is started.

    Args:
        tracer: Tracer that makes the spans; the global provider's tracer ``asyncguard`` by default.

    Raises:
        CallerError: OpenTelemetry is not installed.
    """
    try:
        from opentelemetry import trace  # noqa: PLC0415 - optional dependency
    except ImportError as error:
        raise CallerError(
            "otel_spans needs the package opentelemetry-api; "
            "install it with `pip install opentelemetry-api`."
        ) from error
    return _Spans(trace.get_tracer("asyncguard") if tracer is None else tracer)


class _Spans:
    """The open spans of one process, by thread and call."""

    def __init__(self, tracer: "Tracer") -> None:
        from opentelemetry.trace import SpanKind, Status, StatusCode  # noqa: PLC0415 - optional dependency

        self._tracer = tracer
        self._kind = SpanKind.INTERNAL  # as the conventions ask for execute_tool
        self._status: Callable[[str], Status] = partial(Status, StatusCode.ERROR)
        # Only calls that this process has seen start; an end without a start has no span to close.
        self._open: dict[tuple[str, str, str], Span] = {}

    def __call__(self, details: Details) -> None:
        if details.record is None:
            return
        place = (details.agent, details.thread, details.record.key)
        match details.event:
            case ev.CallStarted():
                if place not in self._open:  # a retry belongs to the span of the first attempt
                    self._open[place] = self._start(details)
            case ev.CallRecovered():
                if (span := self._open.get(place)) is not None:
                    span.add_event("call_recovered", _attributes(fields(details), _OF_RECOVERY))
            case ev.CallDiagnosed():
                if (span := self._open.get(place)) is not None:
                    span.add_event("call_diagnosed", _attributes(fields(details), _OF_DIAGNOSIS))
            case ev.CallRetired() | ev.CallCancelled():
                if (span := self._open.pop(place, None)) is not None:
                    self._finish(span, details)
            case _:
                pass

    def _start(self, details: Details) -> "Span":
        row = fields(details)
        return self._tracer.start_span(
            f"execute_tool {row['tool']}",
            kind=self._kind,
            attributes={
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": row["tool"],
                **_attributes(row, _AT_START),
            },
        )

    def _finish(self, span: "Span", details: Details) -> None:
        assert details.record is not None  # spans belong to calls
        row = fields(details) | {"attempts": details.record.attempts}
        outcome = row.setdefault("outcome", "cancelled")
        span.set_attributes(_attributes(row, _AT_END))
        if outcome in (ev.Outcome.FAILED.value, ev.Outcome.IN_DOUBT.value):
            span.set_status(self._status(f"{outcome}: {row['error']}"))
        span.end()


def _attributes(row: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return those of the fields that have a value: OpenTelemetry has no null."""
    return {f"asyncguard.{name}": row[name] for name in names if row.get(name) not in (None, "")}
