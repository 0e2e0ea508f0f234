"""A thread is updated while some of its calls wait for approval."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from asyncguard import Inbox, Ports, guarded
from asyncguard.testing import ScriptedChatModel, calls
from tests.adapters.harness import Frontend, build, script

THREAD: Any = {"configurable": {"thread_id": "t"}}


@pytest.mark.parametrize("frontend", Frontend)
@pytest.mark.parametrize("first", ["pay", "buy"])
@pytest.mark.parametrize("updated", [1, 2, 3])
def test_each_question_names_its_calls_after_an_update(
    frontend: Frontend, first: str, updated: int
) -> None:
    """LangGraph executes all wrappers again then, also those that had returned a placeholder."""
    done: list[str] = []

    @guarded(approval=True, interrupts=True, effect="at_most_once", reads=[], writes=["desk"])
    @tool
    async def pay(q: str) -> str:
        """Pay."""
        done.append(interrupt(q))
        return "paid"

    @guarded(approval=True, effect="at_most_once", reads=[], writes=["desk"])
    @tool
    async def buy(q: str) -> str:
        """Buy."""
        done.append(f"re {q}")
        return "bought"

    async def main() -> None:
        model = ScriptedChatModel(script(calls((first, {"q": "x"}), ("pay", {"q": "y"}))))
        agent = build(frontend, model, [pay, buy], checkpointer=InMemorySaver())
        outcome = await agent.say("Pay x and y.", thread="t")
        for number in range(1, 7):
            if not outcome.interrupts:
                break
            (asked,) = outcome.interrupts
            assert isinstance(asked, str) or asked["calls"]
            if number == updated:
                await agent.graph.aupdate_state(THREAD, {"messages": []})
            outcome = await agent.resume(f"re {asked}" if isinstance(asked, str) else True, "t")
        assert done == ["re x", "re y"]

    asyncio.run(main())


@pytest.mark.parametrize("kind", ["approval", "question"])
def test_a_question_has_a_new_id_after_an_update(kind: str) -> None:
    """An answer by the former id approves nothing: the question comes again, and `None` shows it."""
    done: list[Any] = []

    @guarded(approval=kind == "approval", interrupts=kind == "question", effect="at_most_once")
    @tool
    async def pay(q: str) -> str:
        """Pay."""
        done.append(True if kind == "approval" else interrupt(q))
        return "paid"

    async def main() -> None:
        model = ScriptedChatModel(script(calls(("pay", {"q": "x"}))))
        agent = build(Frontend.GRAPH, model, [pay], checkpointer=InMemorySaver())
        former = (await agent.say("Pay x.", thread="t")).state["__interrupt__"][0].id
        await agent.graph.aupdate_state(THREAD, {"messages": [("user", "Hurry.")]})
        again = (await agent.resume({former: True}, "t")).state["__interrupt__"][0].id
        shown = (await agent.go(None, "t")).state["__interrupt__"][0].id
        assert shown == again != former
        assert not done
        assert not (await agent.resume({again: True}, "t")).interrupts
        assert done == [True]

    asyncio.run(main())


def _changed(message: Any, how: str) -> AIMessage:
    """Return a model's message as a person has rewritten it, under its id."""
    if how == "text":
        return AIMessage("Nothing is paid.", id=message.id)
    changed = {"q": "y"} if how == "arguments" else message.tool_calls[0]["args"]
    call = {**message.tool_calls[0], "args": changed}
    return AIMessage("", id=message.id, tool_calls=[call, *message.tool_calls[1:]])


@pytest.mark.parametrize("frontend", Frontend)
@pytest.mark.parametrize("answer", [True, None])
@pytest.mark.parametrize("how", ["arguments", "text", "copy"])
def test_a_held_call_that_is_rewritten_is_not_made_as_it_was(
    frontend: Frontend, answer: Any, how: str
) -> None:
    """The person's yes is not for what stood there before; the model reads what became of its call."""
    done: list[str] = []

    @guarded(approval=True, effect="at_most_once")
    @tool
    async def pay(q: str) -> str:
        """Pay."""
        done.append(q)
        return f"paid {q}"

    async def main() -> None:
        model = ScriptedChatModel(script(calls(("pay", {"q": "x"}))))
        agent = build(frontend, model, [pay], checkpointer=InMemorySaver())
        await agent.say("Pay x.", thread="t")
        state = await agent.graph.aget_state(THREAD)
        (said,) = [each for each in state.values["messages"] if each.type == "ai"]
        await agent.graph.aupdate_state(THREAD, {"messages": [_changed(said, how)]})
        if how == "text" and frontend is Frontend.MIDDLEWARE:
            outcome = await agent.go(None, "t")  # LangChain ends the run at a text
            assert not outcome.interrupts
        elif answer is None:
            outcome = await agent.go(None, "t")
            assert bool(outcome.interrupts) is (how == "copy")
        else:
            outcome = await agent.resume(answer, "t")
        assert done == (["x"] if how == "copy" and answer else [])
        if how == "arguments":
            told = outcome.answer(said.tool_calls[0]["id"])
            assert told.startswith('pay#1 was not run: the call was changed to pay({"q": "y"})')

    asyncio.run(main())


@pytest.mark.parametrize("frontend", Frontend)
@pytest.mark.parametrize("how", ["arguments", "text", "copy"])
def test_an_admitted_call_that_is_rewritten_is_not_made_as_it_was(
    frontend: Frontend, how: str
) -> None:
    """The run stops before its tools, as the caller has asked, and goes on after the update."""
    done: list[str] = []

    @guarded(effect="at_most_once")
    @tool
    async def pay(q: str) -> str:
        """Pay."""
        done.append(q)
        return f"paid {q}"

    async def main() -> None:
        model = ScriptedChatModel(script(calls(("pay", {"q": "x"}))))
        agent = build(frontend, model, [pay], checkpointer=InMemorySaver())
        node = "execute" if frontend is Frontend.GRAPH else "tools"
        given = {"messages": [("user", "Pay x.")]}
        await agent.graph.ainvoke(given, THREAD, interrupt_before=[node])
        state = await agent.graph.aget_state(THREAD)
        (said,) = [each for each in state.values["messages"] if each.type == "ai"]
        await agent.graph.aupdate_state(THREAD, {"messages": [_changed(said, how)]})
        await agent.go(None, "t")
        assert done == (["x"] if how == "copy" else [])

    asyncio.run(main())


@pytest.mark.parametrize("frontend", Frontend)
@pytest.mark.parametrize("how", ["arguments", "text", "copy"])
def test_a_deferred_call_that_is_rewritten_is_not_made_as_it_was(
    frontend: Frontend, how: str
) -> None:
    """It waits for a result from outside, and in `create_agent` its wrapper has returned."""
    done: list[str] = []
    tokens: list[str] = []
    inbox = Inbox()

    @guarded(effect="at_most_once", reads=[], writes=["desk"])
    @tool
    async def pay(q: str) -> str:
        """Pay."""
        done.append(q)
        return f"paid {q}"

    @guarded(mode="external", token_argument="token", reads=[], writes=["desk"])
    @tool
    async def ask(q: str, token: str = "") -> str:
        """Ask elsewhere."""
        tokens.append(token)
        return "sent"

    async def main() -> None:
        both = calls(("ask", {"q": "z"}), ("pay", {"q": "x"}))
        ports = Ports(inbox=inbox)
        agent = build(
            frontend,
            ScriptedChatModel(script(both)),
            [pay, ask],
            checkpointer=InMemorySaver(),
            ports=ports,
        )
        await agent.say("Ask, and pay x.", thread="t")
        state = await agent.graph.aget_state(THREAD)
        (said,) = [each for each in state.values["messages"] if each.type == "ai"]
        first, second = said.tool_calls
        turned = _changed(said.model_copy(update={"tool_calls": [second]}), how)
        whole = AIMessage("", id=said.id, tool_calls=[first, *turned.tool_calls])
        await agent.graph.aupdate_state(THREAD, {"messages": [whole]})
        inbox.deliver(tokens[0], "asked")
        await agent.resume("look", "t")
        assert done == (["x"] if how == "copy" else [])

    asyncio.run(main())
