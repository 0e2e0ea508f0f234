"""The middleware's hooks in a trace of LangSmith, and outside of one."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain.agents import create_agent
from langgraph.types import TracePolicy
from langsmith import Client, tracing_context
from typing_extensions import override

from asyncguard import AsyncGuardMiddleware
from asyncguard.testing import ScriptedChatModel, calls

HOOKS = ["AsyncGuardMiddleware.awrap_model_call", "AsyncGuardMiddleware.awrap_tool_call"]


class Spans(Client):
    """A client that keeps what it is told instead of sending it."""

    def __init__(self) -> None:
        super().__init__(api_url="http://127.0.0.1:9", api_key="none", auto_batch_tracing=False)
        self.begun: dict[Any, dict[str, Any]] = {}
        self.ended: list[dict[str, Any]] = []

    @override
    def create_run(self, name: str, inputs: dict[str, Any], run_type: Any, **rest: Any) -> None:
        self.begun[rest["id"]] = {"name": name, "inputs": inputs, **rest}

    @override
    def update_run(self, run_id: Any, **rest: Any) -> None:
        end = {name: rest.get(name) for name in ("outputs", "error", "end_time")}
        self.ended.append({**self.begun[run_id], **end})

    def of(self, name: str) -> dict[str, Any]:
        """The first span with a name that has ended."""
        return next(each for each in self.ended if each["name"] == name)

    def under(self, name: str) -> list[str]:
        """Names of the spans within those of a name."""
        spans = {run_id for run_id, each in self.begun.items() if each["name"] == name}
        begun = self.begun.values()
        return [each["name"] for each in begun if each.get("parent_run_id") in spans]


async def look(x: str) -> str:
    """Look."""
    await asyncio.sleep(0.01)
    return f"seen {x}"


def agent(*, policy: TracePolicy | None = None) -> Any:
    """An agent whose model calls one tool."""
    guard = AsyncGuardMiddleware()
    guard.trace_policy = policy
    model = ScriptedChatModel([calls(("look", {"x": "a"})), "done"])
    return create_agent(model, [look], middleware=[guard])


def traced(made: Any) -> Spans:
    """The spans of a run that is traced, whether its agent was made so or not."""
    spans = Spans()
    with tracing_context(enabled=True, client=spans, project_name="tests"):
        asyncio.run(made.ainvoke({"messages": [("user", "go")]}))
    return spans


def told(spans: Spans) -> list[Any]:
    """What a trace shows, but for times and ids that are drawn."""
    return sorted(
        (each["name"], sorted(each["inputs"]), sorted(each["outputs"]), each["error"])
        for each in spans.ended
    )


def test_a_trace_that_is_switched_on_late_shows_what_one_shows_that_was_on_from_the_start() -> None:
    """The same spans, each ended once, with inputs, outputs, and what lies within them."""
    with tracing_context(enabled=True):
        early = agent()
    before, late = traced(early), traced(agent())
    assert told(late) == told(before)
    for hook in HOOKS:
        assert late.under(hook) == before.under(hook) != []


def test_the_span_of_a_late_trace_lasts_as_long_as_the_call() -> None:
    """LangSmith ends the span of a plain function when that returns, which is before its coroutine begins."""
    span = traced(agent()).of(HOOKS[1])
    assert (span["end_time"] - span["start_time"]).total_seconds() >= 0.01
    assert span["outputs"]["content"] == "seen a"


def test_a_policy_decides_what_a_late_trace_shows() -> None:
    """The answer of a hook passes the function of the policy, which may hide it."""
    spans = traced(agent(policy=TracePolicy(process_outputs=lambda _: {"hidden": True})))
    assert [spans.of(hook)["outputs"] for hook in HOOKS] == [{"hidden": True}] * 2


def test_the_span_of_a_late_trace_ends_with_the_error_of_its_hook() -> None:
    """As one that was traced from the start."""
    model = ScriptedChatModel([RuntimeError("the model is out of order")])
    made = create_agent(model, [look], middleware=[AsyncGuardMiddleware()])
    spans = Spans()
    with tracing_context(enabled=True, client=spans), pytest.raises(RuntimeError):
        asyncio.run(made.ainvoke({"messages": [("user", "go")]}))
    assert "the model is out of order" in spans.of(HOOKS[0])["error"]


def test_without_a_trace_a_step_visits_no_os_thread() -> None:
    """Each visit costs a tenth of a step, and there were four."""
    visits = 0

    class Counted(ThreadPoolExecutor):
        @override
        def submit(self, *args: Any, **kwargs: Any) -> Any:
            nonlocal visits
            visits += 1
            return super().submit(*args, **kwargs)

    async def run() -> None:
        asyncio.get_running_loop().set_default_executor(Counted())
        await agent().ainvoke({"messages": [("user", "go")]})

    asyncio.run(run())
    assert visits == 0
