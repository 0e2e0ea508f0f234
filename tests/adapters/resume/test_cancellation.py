"""Runs that end badly: cancelled, the model fails, the process dies. The thread stays usable.

No effect runs twice in one process, whatever happens to the thread; after a restart it is in doubt.
"""

import asyncio
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import GuardConfig, Timing, ToolSpec
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import Agent, AgentOf, pure, script
from tests.support.histories import NO_NONCE

TASKS = [{"id": "a", "goal": "Pay x."}, {"id": "b", "goal": "Look up y."}]
CONFIG = GuardConfig(timing=Timing(grace=0.0, linger=0.0))
PAY_AND_LOOK = calls(("pay", {"q": "x", "task_id": "a"}), ("look", {"q": "y", "task_id": "b"}))


def tools(latency: float = 10.0) -> tuple[Any, Any]:
    """A payment, which may happen once, and a lookup, which may be repeated."""
    pay = scripted_tool("pay", lambda a: f"paid {a['q']}", args={"q": str}, latency=latency)
    look = scripted_tool("look", lambda a: f"found {a['q']}", args={"q": str}, latency=latency)
    return pay, look


def agent_on(
    agent_of: AgentOf,
    saver: InMemorySaver,
    made: tuple[Any, Any],
    *steps: Any,
    prefix: str = "call",
) -> Agent:
    """An agent on a checkpointer; another one on the same stands for another process."""
    model = ScriptedChatModel(script(*steps), id_prefix=prefix)
    return agent_of(model, list(made), specs=[pure("look")], config=CONFIG, checkpointer=saver)


async def cancelled(agent: Agent, payload: Any, at: float) -> None:
    """A run that is cancelled after some seconds."""
    running = asyncio.create_task(agent.go(payload, "t"))
    await asyncio.sleep(at)
    running.cancel()
    (ended,) = await asyncio.gather(running, return_exceptions=True)
    assert isinstance(ended, asyncio.CancelledError)


@pytest.mark.parametrize("back_after", [0.0, 60.0], ids=["while tools run", "after they ended"])
def test_a_cancelled_thread_can_be_used_again(back_after: float, agent_of: AgentOf) -> None:
    """The next message gets an answer, the results of the calls are shown, and nothing was started twice."""
    made = tools()
    agent = agent_on(agent_of, InMemorySaver(), made, PAY_AND_LOOK)

    async def main() -> None:
        await cancelled(agent, agent.input(None, TASKS), 3.0)
        await asyncio.sleep(back_after)
        outcome = await agent.say("Are you still there?", thread="t")
        assert outcome.last == "all done"
        assert outcome.text.count("paid x") == 1
        assert outcome.text.count("found y") == 1
        assert "[removed]" not in outcome.text

    run_virtual(main())
    assert [len(tool.calls) for tool in made] == [1, 1]


def test_results_that_were_in_when_the_run_was_cancelled_are_told_word_for_word(
    agent_of: AgentOf,
) -> None:
    """One call of the message had ended, another had not; the first one's result is its answer, unchanged."""
    pay, look = tools(10.0)[0], tools(1.0)[1]
    agent = agent_on(
        agent_of, InMemorySaver(), (pay, look), calls(("look", {"q": "y"}), ("pay", {"q": "x"}))
    )

    async def main() -> None:
        await cancelled(agent, agent.input("Look up y and pay x.", None), 3.0)
        outcome = await agent.say("Are you still there?", thread="t")
        assert outcome.answer("call_1_1") == "found y"
        assert outcome.text.count("paid x") == 1

    run_virtual(main())
    assert [len(tool.calls) for tool in (pay, look)] == [1, 1]


def test_a_run_cancelled_while_the_model_speaks_can_be_asked_again(agent_of: AgentOf) -> None:
    """A run cancelled before the model has called anything owes no results."""
    made = tools()
    model = ScriptedChatModel(script(), latency=5.0)
    agent = agent_of(model, list(made), config=CONFIG, checkpointer=InMemorySaver())

    async def main() -> None:
        await cancelled(agent, agent.input("Hello.", None), 1.0)
        outcome = await agent.say("Hello?", thread="t")
        assert outcome.last == "all done"

    run_virtual(main())


@pytest.mark.parametrize("several", [True, False], ids=["two tasks", "one task"])
def test_a_failing_model_can_be_asked_again(several: bool, agent_of: AgentOf) -> None:
    """After a 500 the run is resumed with ``None`` where it stood; calls are not repeated."""
    made = tools(1.0)
    first = PAY_AND_LOOK if several else calls(("pay", {"q": "x"}), ("look", {"q": "y"}))
    agent = agent_on(agent_of, InMemorySaver(), made, first, RuntimeError("HTTP 500"))

    async def main() -> None:
        with pytest.raises(RuntimeError, match="500"):
            await agent.go(
                agent.input(None, TASKS) if several else agent.input("Pay x.", None), "t"
            )
        outcome = await agent.go(None, "t")
        assert outcome.text.count("paid x") == 1
        assert outcome.last == "all done"

    run_virtual(main())
    assert [len(tool.calls) for tool in made] == [1, 1]


def test_a_failing_first_answer_loses_nothing(agent_of: AgentOf) -> None:
    """The tasks are still there when the model is back."""
    made = tools(1.0)
    agent = agent_on(agent_of, InMemorySaver(), made, RuntimeError("HTTP 500"), PAY_AND_LOOK)

    async def main() -> None:
        with pytest.raises(RuntimeError, match="500"):
            await agent.go(agent.input(None, TASKS), "t")
        outcome = await agent.go(None, "t")
        assert {entry["id"] for entry in outcome.report["tasks"]} == {"a", "b"}
        assert "paid x" in outcome.text

    run_virtual(main())


@pytest.mark.parametrize("said", [None, "Are you still there?"], ids=["resumed", "new message"])
def test_after_a_restart_reads_are_repeated_and_effects_are_in_doubt(
    said: str | None, agent_of: AgentOf
) -> None:
    """Another process finds the calls open: it may look again, and must not pay again."""
    saver = InMemorySaver()
    before, later = tools(), tools()
    old = agent_on(agent_of, saver, before, PAY_AND_LOOK)
    run_virtual(cancelled(old, old.input(None, TASKS), 3.0))
    new = agent_on(agent_of, saver, later, prefix="later")
    outcome = run_virtual(new.go(None if said is None else new.input(said, None), "t")).result
    assert later[0].calls == []
    assert "not known whether pay#1 took effect" in outcome.text
    assert outcome.report["in_doubt"] == ["a/pay#1"]
    assert outcome.last == "all done"
    # In create_agent a call's handler dies with its process, so a new message leaves the lookup to the model.
    if old.frontend.value == "build_agent" or said is None:
        assert outcome.text.count("found y") == 1


def test_after_a_restart_a_deferred_effect_is_not_lost_in_silence(agent_of: AgentOf) -> None:
    """Here its predecessor is in doubt, so it is not run. The middleware cannot tell whether it was released before."""
    saver = InMemorySaver()
    two = calls(("pay", {"q": "x", "task_id": "a"}), ("look", {"q": "y", "task_id": "b"}))
    next_ = calls(("pay", {"q": "z", "task_id": "a"}), ("look", {"q": "w", "task_id": "b"}))
    before = (tools(10.0)[0], tools(1.0)[1])
    old = agent_on(agent_of, saver, before, two, next_)
    run_virtual(cancelled(old, old.input(None, TASKS), 5.0))
    later = tools(1.0)
    new = agent_on(agent_of, saver, later, prefix="later")
    outcome = run_virtual(new.say("Go on.", thread="t")).result
    assert later[0].calls == []
    assert (
        "pay#2 was not run" in outcome.text or "not known whether pay#2 took effect" in outcome.text
    )
    assert "not known whether pay#1 took effect" in outcome.text


def test_after_a_restart_an_effect_that_was_released_meanwhile_is_in_doubt(
    agent_of: AgentOf,
) -> None:
    """A deferred payment that had begun when the process ended is not reported as not run."""
    saver = InMemorySaver()
    specs = [pure("look", reads=("x",)), ToolSpec(name="pay", reads=(), writes=("x",))]
    made = calls(("look", {"q": "y", "task_id": "b"}), ("pay", {"q": "x", "task_id": "a"}))

    def process(prefix: str, *steps: Any) -> tuple[Agent, Any]:
        pay, look = tools(2.0)
        model = ScriptedChatModel(script(*steps), id_prefix=prefix)
        return agent_of(model, [pay, look], specs=specs, config=CONFIG, checkpointer=saver), pay

    old, begun = process("old", made)
    run_virtual(cancelled(old, old.input(None, TASKS), 3.0))
    assert len(begun.calls) == 1
    new, again = process("new")
    outcome = run_virtual(new.say("Go on.", thread="t")).result
    assert again.calls == []
    assert "pay#1 was not run" not in outcome.text
    assert outcome.report["in_doubt"] == ["a/pay#1"]


def test_a_fork_after_the_message_does_not_pay_again(agent_of: AgentOf) -> None:
    """Going back to where the calls were admitted and on from there gives their results without a second effect."""
    made = tools(1.0)
    agent = agent_on(agent_of, InMemorySaver(), made, PAY_AND_LOOK)

    async def main() -> None:
        await agent.go(agent.input(None, TASKS), "t")
        config = {"configurable": {"thread_id": "t"}}
        history = [snapshot async for snapshot in agent.graph.aget_state_history(config)]
        admitted = [
            s for s in history if s.values.get("messages") and s.values["messages"][-1].type == "ai"
        ]
        earliest = [s for s in admitted if getattr(s.values["messages"][-1], "tool_calls", None)][
            -1
        ]
        state = await agent.graph.ainvoke(None, earliest.config)
        assert state["messages"][-1].content == "all done"

    run_virtual(main())
    assert len(made[0].calls) == 1


def test_a_fork_before_the_message_asks_the_model_again(agent_of: AgentOf) -> None:
    """A call that the model proposes after the fork is a new call."""
    made = tools(1.0)
    agent = agent_on(agent_of, InMemorySaver(), made, PAY_AND_LOOK)

    async def main() -> None:
        await agent.go(agent.input(None, TASKS), "t")
        config = {"configurable": {"thread_id": "t"}}
        history = [snapshot async for snapshot in agent.graph.aget_state_history(config)]
        before = next(s for s in history if len(s.values.get("messages", [])) == 1)
        state = await agent.graph.ainvoke(None, before.config)
        assert state["messages"][-1].content == "all done"
        assert NO_NONCE not in str(state)

    run_virtual(main())
    assert len(made[0].calls) == 1
