"""Tools that try to end the interpreter, and failures that no rule explains."""

import asyncio
import threading
from typing import Annotated, Any

import pytest
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, tool
from langgraph.prebuilt import InjectedState
from pydantic import PrivateAttr

from asyncguard import GuardConfig, Timing, ToolSpec
from asyncguard.testing import ScriptedChatModel, calls
from tests.adapters.harness import AgentOf, Frontend, pure, script

EXACT = GuardConfig(timing=Timing(grace=0.0, linger=0.0, retry_initial=0.0, retry_jitter=0.0))


def leaving(kind: str, error: type[BaseException]) -> BaseTool:
    """A tool that raises what ends programs."""

    @tool("leave")
    async def direct(q: str) -> str:
        """Leave."""
        raise error(3)

    @tool("leave")
    async def configured(q: str, config: RunnableConfig) -> str:
        """Leave."""
        await asyncio.sleep(0)
        raise error(3)

    @tool("leave")
    async def injected(q: str, state: Annotated[Any, InjectedState]) -> str:
        """Leave."""
        raise error(3)

    @tool("leave")
    def threaded(q: str) -> str:
        """Leave."""
        raise error(3)

    @tool("leave")
    def threaded_injected(q: str, config: RunnableConfig) -> str:
        """Leave."""
        raise error(3)

    made: dict[str, BaseTool] = {
        "direct": direct,
        "configured": configured,
        "injected": injected,
        "threaded": threaded,
        "threaded_injected": threaded_injected,
    }
    return made[kind]


class Counting(BaseTool):
    """A tool of a class of its own, with state."""

    name: str = "count"
    description: str = "Count."
    calls: int = 0
    _secret: int = PrivateAttr(default=0)

    def _run(self, q: str) -> str:
        self.calls += 1
        self._secret += 1
        return f"{self.calls} {self._secret}"

    async def _arun(self, q: str) -> str:
        return self._run(q)


def test_a_tool_keeps_its_own_state(agent_of: AgentOf) -> None:
    """The state that a tool keeps is visible to the program that created the tool."""
    made = Counting()
    model = ScriptedChatModel(script(calls(("count", {"q": "x"})), calls(("count", {"q": "y"}))))
    outcome = agent_of(model, [made], specs=[pure("count")], config=EXACT).run("Go.")
    assert outcome.answer("call_2_1") == "2 2"
    assert (made.calls, made._secret) == (2, 2)


KINDS = ["direct", "configured", "injected", "threaded", "threaded_injected"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("entry", ["async", "sync"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("error", [SystemExit, GeneratorExit])
def test_a_tool_that_exits_has_failed(
    error: type[BaseException], kind: str, entry: str, agent_of: AgentOf
) -> None:
    """Neither run nor interpreter ends; the failure is reported for the call, and an effect is in doubt."""
    agent = agent_of(
        ScriptedChatModel(script(calls(("leave", {"q": "x"})))),
        [leaving(kind, error)],
        config=EXACT,
    )
    outcome = agent.run_sync("Go.") if entry == "sync" else asyncio.run(agent.say("Go."))
    assert error.__name__ in outcome.answer("call_1_1")
    assert outcome.report["in_doubt"] == ["main/leave#1"]
    assert outcome.last == "all done"


@pytest.mark.parametrize("kind", ["threaded", "threaded_injected"])
def test_an_interrupt_that_a_thread_raises_is_the_tools_own(kind: str, agent_of: AgentOf) -> None:
    """Ctrl-C goes to the main thread alone."""
    made = leaving(kind, KeyboardInterrupt)
    agent = agent_of(
        ScriptedChatModel(script(calls(("leave", {"q": "x"})))), [made], specs=[pure("leave")]
    )
    outcome = asyncio.run(agent.say("Go."))
    assert "KeyboardInterrupt" in outcome.answer("call_1_1")


@pytest.mark.parametrize("frontend", [Frontend.GRAPH])
def test_the_users_own_interrupt_ends_the_run(agent_of: AgentOf) -> None:
    """Ctrl-C while an async tool runs on the main thread."""
    assert threading.current_thread() is threading.main_thread()
    made = leaving("direct", KeyboardInterrupt)
    agent = agent_of(
        ScriptedChatModel(script(calls(("leave", {"q": "x"})))),
        [made],
        specs=[ToolSpec(name="leave")],
    )
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(agent.say("Go."))


@pytest.mark.parametrize(
    "error", [KeyError("price"), ValueError("odd"), ZeroDivisionError()], ids=repr
)
def test_a_failure_that_no_rule_knows_is_told_with_what_can_be_done(
    error: Exception, agent_of: AgentOf
) -> None:
    """The model learns that it is unexplained, and its options."""

    @tool
    def look(q: str) -> str:
        """Look."""
        raise error

    agent = agent_of(
        ScriptedChatModel(script(calls(("look", {"q": "x"})))),
        [look],
        specs=[pure("look")],
        config=EXACT,
    )
    told = agent.run("Go.").answer("call_1_1")
    assert f"look#1 failed: {type(error).__name__}" in told
    assert "Diagnosis: " in told
    assert "Options: " in told
    assert "ask the user" in told
