"""A thread that outlives its process, and one that is edited from outside."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from asyncguard import (
    Fallback,
    GuardConfig,
    Inbox,
    Mode,
    Ports,
    Timing,
    ToolSpec,
    UnknownTokenError,
    open_journal,
)
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import Agent, AgentOf, pure, script

CONFIG = GuardConfig(timing=Timing(grace=0.0, linger=0.0))
PLACE: Any = {"configurable": {"thread_id": "t"}}


def look() -> Any:
    """A lookup."""
    return scripted_tool("look", lambda a: f"found {a['q']}", args={"q": str}, latency=1.0)


def test_a_conversation_goes_on_in_another_process(agent_of: AgentOf) -> None:
    """A finished run leaves nothing behind that the next process would stumble over."""
    saver = InMemorySaver()
    for number in range(3):
        model = ScriptedChatModel(
            script(calls(("look", {"q": f"q{number}"}))), id_prefix=f"p{number}"
        )
        outcome = agent_of(model, [look()], specs=[pure("look")], checkpointer=saver).run(
            f"Look up q{number}.", thread="t"
        )
        assert outcome.text.count(f"found q{number}") == 1
        assert outcome.last == "all done"
    assert [message.type for message in outcome.messages] == ["human", "ai", "tool", "ai"] * 3


def test_a_restart_while_parked_puts_the_external_call_in_doubt(agent_of: AgentOf) -> None:
    """Its token died with its process: a delivery is refused, and the model is told that the outcome is unknown."""
    saver, tokens = InMemorySaver(), list[str]()

    def start(arguments: Any) -> str:
        tokens.append(arguments["token"])
        return "accepted"

    def process(prefix: str, *steps: Any) -> tuple[Agent, Inbox, Any]:
        inbox = Inbox()
        bank = scripted_tool("bank", start, args={"q": str, "token": str})
        spec = ToolSpec(name="bank", mode=Mode.EXTERNAL, token_argument="token")
        model = ScriptedChatModel(script(*steps), id_prefix=prefix)
        options = {"config": CONFIG, "checkpointer": saver, "ports": Ports(inbox=inbox)}
        return agent_of(model, [bank], specs=[spec], **options), inbox, bank

    old, _, _ = process("old", calls(("bank", {"q": "x"})))
    assert old.run("Have x approved.", thread="t").interrupts
    new, inbox, bank = process("new")
    with pytest.raises(UnknownTokenError):
        inbox.deliver(tokens[0], "approved")
    outcome = run_virtual(new.resume("", "t")).result
    assert bank.calls == []
    assert outcome.report["in_doubt"] == ["main/bank#1"]
    assert "not known whether bank#1 took effect" in outcome.text


def test_a_delivery_before_the_first_run_of_a_new_process_is_kept(
    agent_of: AgentOf, tmp_path: Path
) -> None:
    """An agent that was given its journal passes the result on; one that has to find it says what to do."""
    saver, tokens = InMemorySaver(), list[str]()

    def process(prefix: str, *steps: Any, journal: Any) -> tuple[Agent, Inbox]:
        inbox = Inbox()
        bank = scripted_tool(
            "bank", lambda a: tokens.append(a["token"]), args={"q": str, "token": str}
        )
        spec = ToolSpec(name="bank", mode=Mode.EXTERNAL, token_argument="token")
        model = ScriptedChatModel(script(*steps), id_prefix=prefix)
        options = {"config": CONFIG, "checkpointer": saver, "ports": Ports(inbox=inbox)}
        return agent_of(model, [bank], specs=[spec], journal=journal, **options), inbox

    place = tmp_path / "effects.db"
    with closing(open_journal(place)) as kept:
        old, _ = process("old", calls(("bank", {"q": "x"})), journal=kept)
        assert old.go_sync(old.input("Have x approved.", None), "t").interrupts
    with closing(open_journal(place)) as kept:
        _, inbox = process("blind", journal=place)
        with pytest.raises(UnknownTokenError, match=r"from the agent's first run .* do the same"):
            inbox.deliver(tokens[0], "approved")
        new, inbox = process("new", journal=kept)
        inbox.deliver(tokens[0], "approved")
        outcome = new.go_sync(Command(resume=""), "t")
        assert "approved" in outcome.text
        assert outcome.states("main") == {"done": 1}


def test_a_restart_while_a_person_is_asked_loses_nothing(agent_of: AgentOf) -> None:
    """The answer is given to another process, which runs the call."""
    saver = InMemorySaver()

    def process(*steps: Any) -> tuple[Agent, Any]:
        pay = scripted_tool("pay", lambda a: f"paid {a['q']}", args={"q": str})
        model = ScriptedChatModel(script(*steps))
        return agent_of(
            model, [pay], specs=[ToolSpec(name="pay", approval=True)], checkpointer=saver
        ), pay

    old, _ = process(calls(("pay", {"q": "x"})))
    assert old.run("Pay x.", thread="t").interrupts
    new, pay = process()
    outcome = new.go_sync(Command(resume=True), "t")
    assert len(pay.calls) == 1
    assert outcome.answer("call_1_1") == "paid x"


def test_a_history_that_was_edited_is_taken_as_it_is(agent_of: AgentOf) -> None:
    """A message added by ``update_state`` between runs is part of the conversation."""
    model = ScriptedChatModel(script(calls(("look", {"q": "x"})), "first", ever="second"))
    agent = agent_of(model, [look()], specs=[pure("look")], checkpointer=InMemorySaver())

    async def main() -> None:
        await agent.say("Look up x.", thread="t")
        await agent.graph.aupdate_state(
            PLACE, {"messages": [HumanMessage(content="By the way, I am Kim.")]}
        )
        outcome = await agent.say("Who am I?", thread="t")
        assert "I am Kim" in str(model.requests[-1].messages)
        assert outcome.last == "second"

    run_virtual(main())


def test_an_earlier_checkpoint_can_be_taken_up_with_another_message(agent_of: AgentOf) -> None:
    """The branch knows its own past only."""
    model = ScriptedChatModel(script(calls(("look", {"q": "x"})), "first", "second", ever="third"))
    agent = agent_of(model, [look()], specs=[pure("look")], checkpointer=InMemorySaver())

    async def main() -> None:
        await agent.say("Look up x.", thread="t")
        first = await agent.graph.aget_state(PLACE)
        await agent.say("And something that will be forgotten.", thread="t")
        state = await agent.graph.ainvoke(agent.input("Something else.", None), first.config)
        assert "forgotten" not in str(state["messages"])
        assert "forgotten" not in str(model.requests[-1].messages)
        assert "found x" in str(state["messages"])
        assert state["messages"][-1].content == "third"

    run_virtual(main())


def test_a_restart_while_a_sibling_answers_does_not_run_it_again(agent_of: AgentOf) -> None:
    """The read may be repeated, but its sibling has an effect and may have begun."""
    saver, effects = InMemorySaver(), list[str]()

    async def order(arguments: Any) -> str:
        effects.append(arguments["q"])
        await asyncio.sleep(10.0)
        return "ordered"

    def process(prefix: str, *steps: Any) -> Agent:
        read = scripted_tool("read", lambda _: ValueError("broken"), args={"q": str}, latency=0.5)
        pay = scripted_tool("pay", ["paid"], args={"q": str}, latency=10.0)
        made = [read, pay, scripted_tool("order", order, args={"q": str})]
        specs = [pure("read", fallbacks=(Fallback(tool="order"),))]
        model = ScriptedChatModel(script(*steps), id_prefix=prefix)
        return agent_of(model, made, specs=specs, config=CONFIG, checkpointer=saver)

    tasks = [{"id": "a", "goal": "Read x."}, {"id": "b", "goal": "Pay y."}]
    old = process(
        "old", calls(("read", {"q": "x", "task_id": "a"}), ("pay", {"q": "y", "task_id": "b"}))
    )

    run_virtual(_killed(old, old.input(None, tasks), 1.0))
    outcome = run_virtual(process("new").go(None, "t")).result
    assert effects == ["x"]
    assert sorted(outcome.report["in_doubt"]) == ["a/read#1", "b/pay#1"]


@pytest.mark.parametrize("said", [None, "Hello?"], ids=["resumed", "new message"])
def test_a_restart_after_a_deferred_effect_was_released_does_not_run_it_again(
    said: str | None, agent_of: AgentOf
) -> None:
    """All is in the foreground, so no placeholder was written; the payment had begun when the process ended."""
    saver, effects = InMemorySaver(), list[str]()

    async def pay(arguments: Any) -> str:
        effects.append(arguments["q"])
        await asyncio.sleep(10.0)
        return "paid"

    def process(prefix: str, *steps: Any) -> Agent:
        made = [look(), scripted_tool("pay", pay, args={"q": str})]
        specs = [pure("look", reads=("x",)), ToolSpec(name="pay", reads=(), writes=("x",))]
        model = ScriptedChatModel(script(*steps), id_prefix=prefix)
        return agent_of(model, made, specs=specs, config=CONFIG, checkpointer=saver)

    old = process("old", calls(("look", {"q": "y"}), ("pay", {"q": "x"})))
    run_virtual(_killed(old, old.input("Look up y and pay x.", None), 3.0))
    new = process("new")
    outcome = run_virtual(new.go(None if said is None else new.input(said, None), "t")).result
    assert effects == ["x"]
    assert outcome.report["in_doubt"] == ["main/pay#1"]
    assert "pay#1 was not run" not in outcome.text


def test_a_message_after_a_restart_does_not_deny_an_effect_that_was_approved(
    agent_of: AgentOf,
) -> None:
    """A payment that was approved and had begun is not reported as not run."""
    saver = InMemorySaver()

    def process(prefix: str, *steps: Any) -> Agent:
        pay = scripted_tool("pay", ["paid"], args={"q": str}, latency=10.0)
        model = ScriptedChatModel(script(*steps), id_prefix=prefix)
        return agent_of(
            model, [pay], specs=[ToolSpec(name="pay", approval=True)], checkpointer=saver
        )

    old = process("old", calls(("pay", {"q": "x"})))
    assert run_virtual(old.say("Pay x.", thread="t")).result.interrupts
    run_virtual(_killed(old, Command(resume=True), 3.0))
    outcome = run_virtual(process("new").say("Hello?", thread="t")).result
    assert outcome.report["in_doubt"] == ["main/pay#1"]
    assert "pay#1 was not run" not in outcome.text


async def _killed(agent: Agent, payload: Any, at: float) -> None:
    running = asyncio.create_task(agent.go(payload, "t"))
    await asyncio.sleep(at)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def test_a_restart_while_the_model_speaks_does_not_wait_for_what_nobody_runs(
    agent_of: AgentOf,
) -> None:
    """A lookup was running when the process ended; the model then makes a call that has to come after it."""
    saver = InMemorySaver()
    tasks = [{"id": "a", "goal": "Look up x, pay x."}, {"id": "b", "goal": "Look up y."}]
    both = calls(("slow", {"q": "x", "task_id": "a"}), ("look", {"q": "y", "task_id": "b"}))

    def process(prefix: str, *steps: Any) -> Agent:
        slow = scripted_tool("slow", ["found x"], args={"q": str}, latency=30.0)
        made = [look(), slow, scripted_tool("pay", ["paid"], args={"q": str})]
        model = ScriptedChatModel(script(*steps), id_prefix=prefix, latency=5.0)
        return agent_of(
            model, made, specs=[pure("look"), pure("slow")], config=CONFIG, checkpointer=saver
        )

    old = process("old", both, "not yet")
    run_virtual(_killed(old, old.input(None, tasks), 8.0))
    new = process("new", calls(("pay", {"q": "x", "task_id": "a"})))
    outcome = run_virtual(new.go(None, "t")).result
    assert outcome.last == "all done"
    assert outcome.report["open_calls"] == []


def test_an_answer_in_the_history_settles_an_approved_call(agent_of: AgentOf) -> None:
    """Another process continues from where the result had been written: it is the result, and nothing is in doubt."""
    saver = InMemorySaver()

    def process(prefix: str, *steps: Any) -> Agent:
        pay = scripted_tool("pay", ["paid"], args={"q": str})
        model = ScriptedChatModel(script(*steps), id_prefix=prefix)
        return agent_of(
            model, [pay], specs=[ToolSpec(name="pay", approval=True)], checkpointer=saver
        )

    async def told(old: Agent, new: Agent) -> Any:
        await old.say("Pay x.", thread="t")
        await old.resume(True, "t")  # noqa: FBT003 - the documented answer
        history = [snapshot async for snapshot in old.graph.aget_state_history(PLACE)]
        written = [
            item
            for item in history
            if item.values["messages"][-1:] and item.values["messages"][-1].type == "tool"
        ]
        return await new.graph.ainvoke(None, written[-1].config)

    state = run_virtual(told(process("old", calls(("pay", {"q": "x"}))), process("new"))).result
    assert state["report"]["in_doubt"] == []
    assert state["report"]["tasks"][0]["calls"] == {"done": 1}
