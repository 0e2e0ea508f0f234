"""Nodes of `build_agent` as LangGraph runs them: with callbacks only if something listens."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatResult
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from pydantic import SkipValidation
from typing_extensions import override

from asyncguard import build_agent

ASKED = {"messages": [("user", "Hello")]}
SEEN: ContextVar[str] = ContextVar("seen", default="outside")


class Listener(AsyncCallbackHandler):
    """Writes down which runs begin and end."""

    def __init__(self) -> None:
        self.runs: list[str] = []
        self.ended = 0

    async def on_chain_start(self, *_: Any, name: str = "", **more: Any) -> None:
        """Write down a run of a graph or node."""
        self.runs.append(name)

    async def on_chain_end(self, *_: Any, **more: Any) -> None:
        """Count the end."""
        self.ended += 1


class Model(BaseChatModel):
    """A model that answers by an async function, in the context of its node."""

    say: SkipValidation[Callable[[], Awaitable[AIMessage]]]

    @property
    @override
    def _llm_type(self) -> str:
        return "test"

    @override
    def _generate(self, *given: Any, **more: Any) -> ChatResult:
        raise AssertionError("the run is async")

    @override
    async def ainvoke(self, *given: Any, **more: Any) -> AIMessage:
        """Answer without a task of LangChain's own."""
        return await self.say()


def agent_of(say: Callable[[], Awaitable[AIMessage]]) -> Any:
    """An agent without tools and without a journal."""
    return build_agent(Model(say=say), [], journal=False)


def test_a_handler_hears_of_each_node() -> None:
    """With a handler the nodes are runs, by their names, as in any graph of LangGraph."""
    listener = Listener()

    async def say() -> AIMessage:
        return AIMessage("Hello!")

    agent = agent_of(say)
    asyncio.run(agent.ainvoke(ASKED, {"callbacks": [listener]}))
    assert listener.runs == ["asyncguard", "prepare", "model"]
    assert listener.ended == 3


def test_the_model_finds_the_configuration_of_its_node() -> None:
    """What LangGraph offers to the code of a node is there, and nothing of the node is left after it."""
    found: list[RunnableConfig] = []

    async def say() -> AIMessage:
        found.append(get_config())
        return AIMessage("Hello!")

    async def main() -> None:
        await agent_of(say).ainvoke(ASKED, {"tags": ["mine"]})
        with pytest.raises(RuntimeError):
            get_config()

    asyncio.run(main())
    assert found[0]["metadata"]["langgraph_node"] == "model"
    assert "mine" in found[0]["tags"]


def test_a_value_that_the_model_sets_in_its_context_stays_in_the_node() -> None:
    """The caller of an agent finds its own context variables as they were."""
    values: list[str] = []

    async def say() -> AIMessage:
        values.append(SEEN.get())
        SEEN.set("inside")
        return AIMessage("Hello!")

    async def main() -> str:
        SEEN.set("caller")
        await agent_of(say).ainvoke(ASKED)
        return SEEN.get()

    assert asyncio.run(main()) == "caller"
    assert values == ["caller"]


def test_a_run_of_instant_models_lets_other_tasks_begin() -> None:
    """A neighbour on the loop makes a step for each node, although nothing in the run waits."""
    order: list[str] = []

    async def say() -> AIMessage:
        order.append("model")
        return AIMessage("Hello!")

    async def neighbour() -> None:
        order.append("neighbour")

    async def main() -> None:
        begun = asyncio.create_task(neighbour())
        await agent_of(say).ainvoke(ASKED)
        await begun

    asyncio.run(main())
    assert order == ["neighbour", "model"]


def test_a_cancelled_run_cancels_the_model_in_its_node() -> None:
    """The model hears of the cancellation where it waits, and may still clean up."""
    heard: list[str] = []

    async def say() -> AIMessage:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            heard.append("cancelled")
            raise
        return AIMessage("never")

    async def main() -> None:
        run = asyncio.create_task(agent_of(say).ainvoke(ASKED))
        for _ in range(50):
            await asyncio.sleep(0)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(main())
    assert heard == ["cancelled"]
