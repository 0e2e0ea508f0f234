"""Code of a tool's author that ends a run while an attempt's end is handled: the thread goes on afterwards."""

import asyncio
import gc
from collections.abc import Mapping
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import NodeCancelledError
from tenacity import RetryCallState

from asyncguard import EffectClass, GuardConfig, Retry, Timing, ToolSpec
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import Agent, AgentOf
from tests.adapters.processes import HANG

CONFIG = GuardConfig(timing=Timing(grace=0.0, linger=0.0))
PLACE: Any = {"configurable": {"thread_id": "t"}}

ENDED = (KeyboardInterrupt, SystemExit, NodeCancelledError)
"""Errors with which such a run ends; a hang would be a TimeoutError."""


class Breaking:
    """A wait strategy and an invariant of which the first call raises."""

    def __init__(self, error: type[BaseException]) -> None:
        self._error: type[BaseException] | None = error

    def _break(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def wait(self, _: RetryCallState) -> float:
        """Return no wait."""
        self._break()
        return 0.0

    def invariant(self, _: Mapping[str, Any], __: Any) -> None:
        """Find nothing wrong."""
        self._break()


def run(agent: Agent, given: Any) -> str:
    """Run the agent on a loop of its own, and return all that was said; five seconds at most."""

    async def within_limit() -> Any:
        return await asyncio.wait_for(agent.graph.ainvoke(given, PLACE), HANG)

    state = asyncio.run(within_limit())
    return "\n".join(str(message.content) for message in state["messages"])


def broken_off(agent: Agent, given: Any) -> None:
    """Run the agent; code of a tool's author ends the run."""
    with pytest.raises(ENDED):
        run(agent, given)
    gc.collect()  # asyncio logs that no caller took the task's error: here, and not in a later test


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
@pytest.mark.parametrize("again", ["resumed", "new message"])
def test_a_retry_whose_strategy_ends_the_run_is_decided_again(
    again: str, error: type[BaseException], agent_of: AgentOf
) -> None:
    """The failed attempt is recorded and its decision is not: it is made when the thread is run next."""
    look = scripted_tool("look", [ConnectionError("reset"), "found"], args={"q": str})
    model = ScriptedChatModel([calls(("look", {"q": "x"})), "done", "done"])
    specs = [ToolSpec(name="look", effect="pure", retry=Retry(wait=Breaking(error).wait))]  # type: ignore[arg-type]
    agent = agent_of(model, [look], specs=specs, config=CONFIG, checkpointer=InMemorySaver())
    broken_off(agent, agent.input("Go.", None))
    said = run(agent, None if again == "resumed" else agent.input("Well?", None))
    assert "done" in said
    if again == "resumed":
        assert "found" in said


@pytest.mark.sampled(2)
@pytest.mark.parametrize("error", [KeyboardInterrupt, asyncio.CancelledError])
@pytest.mark.parametrize("effect", list(EffectClass), ids=lambda effect: effect.value)
def test_an_answer_whose_check_ends_the_run_is_checked_again(
    effect: EffectClass, error: type[BaseException], agent_of: AgentOf
) -> None:
    """The answer is kept: the call is not made again, and is not in doubt."""
    arguments = {"q": str} | ({"key": str} if effect is EffectClass.KEYED else {})
    pay = scripted_tool("pay", ["receipt 7", "receipt 8"], args=arguments)
    check = scripted_tool("check", ['{"happened": null}'], args={"q": str})
    model = ScriptedChatModel([calls(("pay", {"q": "x"})), "done", "done"])
    declared = ToolSpec(
        name="pay",
        effect=effect,
        key_argument="key" if effect is EffectClass.KEYED else None,
        probe="check" if effect is EffectClass.PROBED else None,
        invariants=(Breaking(error).invariant,),
    )
    specs = [declared, ToolSpec(name="check", effect=EffectClass.PURE)]
    agent = agent_of(model, [pay, check], specs=specs, config=CONFIG, checkpointer=InMemorySaver())
    broken_off(agent, agent.input("Go.", None))
    assert "receipt 7" in run(agent, None)
    assert len(pay.calls) == 1
