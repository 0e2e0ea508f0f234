"""Sync and async entries of one agent, mixed, with a real client whose connections are kept between calls."""

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from langchain_core.tools import tool

from tests.adapters.messages.stage import FrontEnd, agent_of, one
from tests.support.openai_clients import chat_model
from tests.support.openai_server import Answer, Call, ModelRequest, OpenAIServer, Reply, Surface

pytestmark = pytest.mark.server

ORDERS = ["sasa", "asas", "aassa", "SaAs", "AsSa", "aSsA"]
"""Entries in their order: ``s`` invoke, ``a`` ainvoke, ``S`` stream, ``A`` astream."""


def _policy(request: ModelRequest) -> Answer:
    if request.results:
        return Reply(text="all done")
    return Reply(calls=(Call.of("look", topic="ants"), Call.of("look", topic="bees")))


@tool
def look(topic: str) -> str:
    """Look at something."""
    return f"seen {topic}"


@contextmanager
def _kept(
    runner: asyncio.Runner, *, threads: int = 1, **options: Any
) -> Iterator[tuple[OpenAIServer, Any]]:
    """A server, and a model whose two clients keep their one connection, or one for each thread.

    httpcore sometimes closes the only connection of a pool while another thread reads from it.
    """
    one_each = httpx.Limits(max_connections=threads, max_keepalive_connections=threads)
    client = httpx.Client(limits=one_each)
    with OpenAIServer(_policy, keep_alive=True) as server, client:
        shared = httpx.AsyncClient(
            limits=httpx.Limits(max_connections=1, max_keepalive_connections=1)
        )
        try:
            yield (
                server,
                chat_model(
                    server, Surface.CHAT, http_client=client, http_async_client=shared, **options
                ),
            )
        finally:
            runner.run(shared.aclose())
    assert server.refusals == server.errors == ()


async def _streamed(agent: Any) -> list[Any]:
    return [state async for state in agent.astream(one("Look."), stream_mode="values")]


def _enter(agent: Any, how: str, runner: asyncio.Runner) -> str:
    match how:
        case "s":
            state = agent.invoke(one("Look."))
        case "a":
            state = runner.run(agent.ainvoke(one("Look.")))
        case "S":
            state = list(agent.stream(one("Look."), stream_mode="values"))[-1]
        case _:
            state = runner.run(_streamed(agent))[-1]
    return str(state["messages"][-1].text)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("order", ORDERS)
def test_entries_of_both_sides_share_a_model(front_end: FrontEnd, order: str) -> None:
    """The client's pool is used on the caller's loop only, whatever was called before."""
    with asyncio.Runner() as runner, _kept(runner) as (_, model):
        agent = agent_of(front_end, model, [look])
        assert [_enter(agent, how, runner) for how in order] == ["all done"] * len(order)


def test_each_side_asks_by_its_own_client(front_end: FrontEnd) -> None:
    """``invoke`` asks as a sync client does, ``ainvoke`` as an async one."""
    with asyncio.Runner() as runner, _kept(runner) as (server, model):
        agent = agent_of(front_end, model, [look])
        agent.invoke(one("Look."))
        runner.run(agent.ainvoke(one("Look.")))
    sides = [request.headers["x-stainless-async"] for request in server.requests]
    assert sides == ["false", "false", "async:asyncio", "async:asyncio"]


def test_loops_that_come_and_go_beside_sync_entries(front_end: FrontEnd) -> None:
    """A loop for each async call, as ``asyncio.run`` makes it, where connections do not outlive their call."""
    with OpenAIServer(_policy) as server:
        agent = agent_of(front_end, chat_model(server, Surface.CHAT), [look])
        for how in "asSaAsa":
            with asyncio.Runner() as runner:
                assert _enter(agent, how, runner) == "all done"


def test_threads_with_sync_entries_beside_a_loop(front_end: FrontEnd) -> None:
    """One agent is invoked in several threads and awaited on a loop at the same time."""

    async def main(agent: Any, pool: ThreadPoolExecutor) -> Sequence[Any]:
        loop = asyncio.get_running_loop()
        threads = [loop.run_in_executor(pool, agent.invoke, one("Look.")) for _ in range(4)]
        return await asyncio.gather(*threads, *(agent.ainvoke(one("Look.")) for _ in range(4)))

    with (
        asyncio.Runner() as runner,
        _kept(runner, threads=4) as (_, model),
        ThreadPoolExecutor(4) as pool,
    ):
        states = runner.run(main(agent_of(front_end, model, [look]), pool))
        assert [state["messages"][-1].text for state in states] == ["all done"] * 8


def test_a_sync_entry_inside_a_running_loop(front_end: FrontEnd) -> None:
    """``invoke`` may be called between awaited calls by code on a loop, as in a notebook."""

    async def main(agent: Any) -> list[str]:
        states = [
            await agent.ainvoke(one("Look.")),
            agent.invoke(one("Look.")),
            await agent.ainvoke(one("Look.")),
        ]
        return [state["messages"][-1].text for state in states]

    with asyncio.Runner() as runner, _kept(runner) as (_, model):
        assert runner.run(main(agent_of(front_end, model, [look]))) == ["all done"] * 3
