"""Runs as OpenTelemetry spans: the agent, its requests to the model, its tools and their attempts.

OpenTelemetry is optional and loaded when :func:`otel_spans` is called. Names are those of its
conventions for generative AI as ``opentelemetry-semantic-conventions`` 0.66b2 has them; what they
have no word for is under ``asyncguard.``. The tree of a run::

    invoke_agent                 from the first event to the end of the run, or until it rests
      chat                       one request to the model
      execute_tool               one call, from its first start to its end
        attempt 2                each attempt that recovery made after the first

Verdicts of guards are span events of ``invoke_agent``: a rejected call has no span of its own, as
nothing was executed. Payloads are left out unless they are asked for.
"""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from asyncguard.core import events as ev
from asyncguard.errors import CallerError
from asyncguard.observability.chat_attributes import answered, asked
from asyncguard.observability.fields.record import fields
from asyncguard.observability.observer import Details, ModelCall, Observer
from asyncguard.observability.plain import plain

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

_Place = tuple[str, str]
"""Agent and thread."""
_OF_RUN = ("agent", "thread", "thread_id", "run")
_AT_START = (*_OF_RUN, "task", "label", "key", "epoch")
_AT_END = ("outcome", "error", "content_bytes", "attempts")
_OF_RECOVERY = ("action", "attempt", "error", "aim", "delay", "next_tool", "change_count", "reason")
_OF_DIAGNOSIS = ("attempt", "symptom", "hazard", "rule", "confidence")
_OF_VERDICT = ("task", "label", "tool", "guard", "also", "objection", "on_calls", "reason")
_OF_COMPLETION = ("verdict", "tasks", "enforced", "reason")
_VERDICTS = (
    ev.CallObjected,
    ev.CallDeferred,
    ev.CallHeld,
    ev.CallRejected,
    ev.CallSquashed,
)


def otel_spans(
    tracer: "Tracer | None" = None, *, agent: str = "asyncguard", content: bool = False
) -> Observer:
    """Return an observer that makes spans of runs, requests to the model, calls and attempts.

    The span of a run is a child of the span that is current where the run begins. A run that rests
    and is resumed has one span for each part, with the same ``asyncguard.run``; so has a call that
    another process resumes.

    Args:
        tracer: Tracer that makes the spans; the global provider's tracer ``asyncguard`` by default.
        agent: Name of the agent, for ``gen_ai.agent.name``.
        content: True to include messages, arguments, results and reasons.

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
    chosen = trace.get_tracer("asyncguard") if tracer is None else tracer
    return _Spans(chosen, agent, content=content)


class _Spans:
    """The open spans of one process; those of one thread are touched by its run alone."""

    def __init__(self, tracer: "Tracer", agent: str, *, content: bool) -> None:
        from opentelemetry import trace  # noqa: PLC0415 - optional dependency

        self._tracer = tracer
        self._agent = agent
        self._content = content
        self._api = trace
        self._runs: dict[_Place, Span] = {}
        self._chats: dict[_Place, Span] = {}
        # Only calls that this process has seen start; an end without a start has no span to close.
        self._open: dict[tuple[str, str, str], Span] = {}
        self._attempts: dict[tuple[str, str, str], Span] = {}
        # The action that the next attempt of a call carries out.
        self._actions: dict[tuple[str, str, str], str] = {}

    # -- events --------------------------------------------------

    def __call__(self, details: Details) -> None:
        row = fields(details, payloads=self._content)
        place = (details.agent, details.thread)
        run = self._runs.get(place)
        if run is None:
            identity = self._identity(row["agent"], row["thread_id"] or row["thread"])
            run = self._runs[place] = self._tracer.start_span(
                f"invoke_agent {self._agent}",
                kind=self._api.SpanKind.INTERNAL,
                attributes={"gen_ai.operation.name": "invoke_agent", **identity},
            )
        run.set_attributes(_attributes(row, _OF_RUN))
        match details.event:
            case ev.CompletionJudged():
                run.add_event("asyncguard.completion_judged", _attributes(row, _OF_COMPLETION))
            case ev.RunEnded():
                run.set_attributes(_attributes(row, ("end", "turns")))
                self._runs.pop(place).end()
            case _ if details.record is not None:
                self._call(details, row, run)
            case _:
                pass

    def _call(self, details: Details, row: Mapping[str, Any], run: "Span") -> None:
        assert details.record is not None  # the caller has looked
        place = (details.agent, details.thread, details.record.key)
        span = self._open.get(place)
        match details.event:
            case ev.CallStarted() if span is None:
                self._open[place] = self._start(details, row, run)
                self._actions.pop(place, None)
            case ev.CallStarted() if place in self._actions:
                self._attempts[place] = self._attempt(place, row)
            # A tool that asked a person continues in its span when it runs with the answer.
            case ev.CallRecovered(asked=False):
                self._end_attempt(place, row)
                self._actions[place] = row["action"]
                if span is not None:
                    span.add_event("call_recovered", _attributes(row, _OF_RECOVERY))
            case ev.CallDiagnosed() if span is not None:
                span.add_event("call_diagnosed", _attributes(row, _OF_DIAGNOSIS))
            case ev.CallRetired() | ev.CallCancelled():
                self._end_attempt(place, row)
                self._actions.pop(place, None)
                if (ended := self._open.pop(place, None)) is not None:
                    self._finish(ended, details, row)
            case event if isinstance(event, _VERDICTS):
                told = {"gen_ai.tool.call.id": details.record.call.call_id}
                run.add_event(f"asyncguard.{event.kind}", told | _attributes(row, _OF_VERDICT))
            case _:
                pass

    def _start(self, details: Details, row: Mapping[str, Any], run: "Span") -> "Span":
        assert details.record is not None  # spans belong to calls
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": row["tool"],
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": details.record.call.call_id,
            **self._identity(row["agent"], row["thread_id"] or row["thread"]),
            **_attributes(row, _AT_START),
        }
        if self._content:
            attributes["gen_ai.tool.call.arguments"] = _json(details.record.effective_arguments)
        return self._child(f"execute_tool {row['tool']}", run, attributes)

    def _attempt(self, place: tuple[str, str, str], row: Mapping[str, Any]) -> "Span":
        attributes = _attributes(
            {**row, "action": self._actions.pop(place)}, ("attempt", "tool", "action")
        )
        return self._child(f"attempt {row['attempt']}", self._open[place], attributes)

    def _end_attempt(self, place: tuple[str, str, str], row: Mapping[str, Any]) -> None:
        if (span := self._attempts.pop(place, None)) is not None:
            if row.get("error"):
                self._fail(span, row["error"], row["error"])
            span.end()

    def _finish(self, span: "Span", details: Details, row: Mapping[str, Any]) -> None:
        assert details.record is not None  # spans belong to calls
        outcome = row.get("outcome", "cancelled")
        told = {**row, "outcome": outcome, "attempts": details.record.attempts}
        span.set_attributes(_attributes(told, _AT_END))
        if self._content and details.record.content is not None:
            span.set_attribute("gen_ai.tool.call.result", _json(details.record.content))
        if outcome in (ev.Outcome.FAILED.value, ev.Outcome.IN_DOUBT.value):
            self._fail(span, row["error"], f"{outcome}: {row['error']}")
        span.end()

    # -- beside events --------------------------------------------------

    def model_asked(self, call: ModelCall) -> None:
        """Begin the span of a request."""
        attributes = {
            **self._identity(call.agent, call.thread_id or call.thread),
            **asked(call, content=self._content),
        }
        name = f"chat {call.model}".rstrip()
        run = self._runs.get((call.agent, call.thread))
        self._chats[call.agent, call.thread] = self._child(
            name, run, attributes, self._api.SpanKind.CLIENT
        )

    def model_answered(self, call: ModelCall, answer: Any, error: BaseException | None) -> None:
        """End the span of a request."""
        if (span := self._chats.pop((call.agent, call.thread), None)) is None:
            return
        if error is not None:
            self._fail(span, type(error).__name__, type(error).__name__)
        elif answer is not None:
            span.set_attributes(answered(answer, content=self._content))
        span.end()

    def run_over(self, agent: str, thread: str, error: BaseException | None) -> None:
        """End the span of a run that did not end by itself: it rests, or has failed."""
        if (span := self._runs.pop((agent, thread), None)) is not None:
            if error is not None:
                self._fail(span, type(error).__name__, type(error).__name__)
            span.end()

    # -- spans --------------------------------------------------

    def _identity(self, agent: str, conversation: str) -> dict[str, Any]:
        # An agent inside another one is distinguished by its path; the outermost has none.
        own = {"gen_ai.agent.id": agent} if agent else {}
        return {"gen_ai.conversation.id": conversation, "gen_ai.agent.name": self._agent, **own}

    def _child(
        self, name: str, parent: "Span | None", attributes: Mapping[str, Any], kind: Any = None
    ) -> "Span":
        context = None if parent is None else self._api.set_span_in_context(parent)
        kind = self._api.SpanKind.INTERNAL if kind is None else kind
        return self._tracer.start_span(name, context, kind=kind, attributes=dict(attributes))

    def _fail(self, span: "Span", kind: str, description: str) -> None:
        span.set_attribute("error.type", kind)
        span.set_status(self._api.Status(self._api.StatusCode.ERROR, description))


def _json(value: Any) -> str:
    return json.dumps(plain(value), ensure_ascii=False)


def _attributes(row: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return those of the fields that have a value: OpenTelemetry has no null."""
    return {
        f"asyncguard.{name}": row[name] for name in names if row.get(name) not in (None, "", [])
    }
