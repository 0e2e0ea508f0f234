"""The spans of real runs: agent, requests to the model and tools, with both adapters."""

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from asyncguard import Ports, ToolFault, ToolSpec
from asyncguard.observability.otel import otel_spans
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import AgentOf, pure

_WHY = "opentelemetry-sdk is optional"
export = pytest.importorskip("opentelemetry.sdk.trace.export", reason=_WHY)
sdk = pytest.importorskip("opentelemetry.sdk.trace", reason=_WHY)
memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter", reason=_WHY)


class Spans:
    """A tracer whose finished spans can be looked at."""

    def __init__(self) -> None:
        self.exporter = memory.InMemorySpanExporter()
        self.provider = sdk.TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(export.SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("test")

    def all(self) -> list[Any]:
        """Finished spans by their beginning."""
        return sorted(self.exporter.get_finished_spans(), key=lambda span: span.start_time)

    def named(self, name: str) -> list[Any]:
        """Those whose names begin so."""
        return [span for span in self.all() if span.name.startswith(name)]


def look() -> Any:
    """A lookup."""
    return scripted_tool("look", lambda a: f"found {a['q']}", args={"q": str})


def answer() -> AIMessage:
    """The model's last word, as a provider reports it."""
    usage = {"input_tokens": 12, "output_tokens": 3, "total_tokens": 15}
    told = {"model_name": "m-2", "finish_reason": "stop"}
    return AIMessage("It is there.", usage_metadata=usage, response_metadata=told)


def test_a_run_is_a_tree_with_the_callers_ids(agent_of: AgentOf) -> None:
    """Requests and tools are children of the agent, the agent of the caller's span; ids are everywhere."""
    spans = Spans()
    ports = Ports(observers=[otel_spans(spans.tracer, agent="desk")])
    model = ScriptedChatModel([calls(("look", {"q": "x"})), answer()])
    agent = agent_of(
        model, [look()], specs=[pure("look")], ports=ports, checkpointer=InMemorySaver()
    )
    with spans.tracer.start_as_current_span("request") as around:
        agent.run_sync("Look up x.", thread="order-7")
    (run,) = spans.named("invoke_agent desk")
    (tool,) = spans.named("execute_tool look")
    chats = spans.named("chat")
    assert run.parent.span_id == around.get_span_context().span_id
    assert {span.parent.span_id for span in (tool, *chats)} == {run.context.span_id}
    assert len(chats) == 2
    for span in (run, tool, *chats):
        assert span.attributes["gen_ai.conversation.id"] == "order-7"
        assert span.attributes["gen_ai.agent.name"] == "desk"
    assert tool.attributes["gen_ai.tool.call.id"] == "call_1_1"
    assert run.attributes["asyncguard.end"] == "complete"
    last = chats[-1].attributes
    assert (last["gen_ai.usage.input_tokens"], last["gen_ai.usage.output_tokens"]) == (12, 3)
    assert last["gen_ai.response.model"] == "m-2"
    assert last["gen_ai.response.finish_reasons"] == ("stop",)
    assert not any(
        "messages" in name or "arguments" in name
        for span in spans.all()
        for name in span.attributes
    )


def test_content_is_there_on_request(agent_of: AgentOf) -> None:
    """Messages as role and parts, arguments and results as JSON."""
    spans = Spans()
    ports = Ports(observers=[otel_spans(spans.tracer, content=True)])
    model = ScriptedChatModel([calls(("look", {"q": "x"})), answer()])
    agent_of(model, [look()], specs=[pure("look")], ports=ports).run_sync("Look up x.")
    (tool,) = spans.named("execute_tool")
    assert json.loads(tool.attributes["gen_ai.tool.call.arguments"]) == {"q": "x"}
    assert json.loads(tool.attributes["gen_ai.tool.call.result"]) == "found x"
    sent = json.loads(spans.named("chat")[-1].attributes["gen_ai.input.messages"])
    assert [each["role"] for each in sent] == ["user", "assistant", "tool"]
    assert sent[1]["parts"][0]["arguments"] == {"q": "x"}
    assert sent[2]["parts"][0] == {
        "type": "tool_call_response",
        "id": "call_1_1",
        "response": "found x",
    }


def test_a_failed_request_ends_its_span_and_that_of_the_run(agent_of: AgentOf) -> None:
    """No span stays open, and both name the class of the error."""
    spans = Spans()
    observer = otel_spans(spans.tracer)
    agent = agent_of(
        ScriptedChatModel([ConnectionError("gone")]), [], ports=Ports(observers=[observer])
    )
    with pytest.raises(ConnectionError):
        agent.run_sync("Hello.")
    for name in ("chat", "invoke_agent"):
        (span,) = spans.named(name)
        assert span.attributes["error.type"] == "ConnectionError"
        assert not span.status.is_ok
    assert not any(vars(observer)[name] for name in ("_runs", "_chats", "_open", "_attempts"))


def test_a_run_that_rests_has_a_span_for_each_part(agent_of: AgentOf) -> None:
    """A question to a person is not an error; both parts name one run."""
    spans = Spans()
    ports = Ports(observers=[otel_spans(spans.tracer)])
    model = ScriptedChatModel([calls(("look", {"q": "x"})), answer()])
    spec = ToolSpec(name="look", approval=True, reads=(), writes=("x",))
    agent = agent_of(model, [look()], specs=[spec], ports=ports, checkpointer=InMemorySaver())
    agent.run_sync("Look up x.", thread="t")
    (before,) = spans.named("invoke_agent")
    assert before.status.is_unset
    assert "asyncguard.call_held" in [event.name for event in before.events]
    agent.go_sync(Command(resume=True), thread="t")
    _, after = spans.named("invoke_agent")
    assert after.attributes["asyncguard.run"] == before.attributes["asyncguard.run"]
    (tool,) = spans.named("execute_tool")
    assert tool.parent.span_id == after.context.span_id


def test_a_question_of_a_tool_is_no_attempt_of_recovery(agent_of: AgentOf) -> None:
    """The attempt that asked goes on with the answer, in its own span; the retry that asked has one more."""
    spans = Spans()
    faults = [ToolFault("busy", transient=True, started=False)]

    def ask(_: Any) -> str:
        place = interrupt("Where?")
        if faults:
            raise faults.pop()
        return f"found {place}"

    ports = Ports(observers=[otel_spans(spans.tracer)])
    model = ScriptedChatModel([calls(("look", {"q": "x"})), answer()])
    spec = ToolSpec(name="look", interrupts=True, reads=(), writes=("x",))
    tool = scripted_tool("look", ask, args={"q": str})
    agent = agent_of(model, [tool], specs=[spec], ports=ports, checkpointer=InMemorySaver())
    agent.run_sync("Look up x.", thread="t")
    agent.go_sync(Command(resume="here"), thread="t")
    agent.go_sync(Command(resume="there"), thread="t")
    (call,) = spans.named("execute_tool")
    (attempt,) = spans.named("attempt")
    assert [event.name for event in call.events] == ["call_diagnosed", "call_recovered"]
    assert call.status.is_unset
    assert attempt.status.is_unset
    assert attempt.attributes["asyncguard.action"] == "retry"
