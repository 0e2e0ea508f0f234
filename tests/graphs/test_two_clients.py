"""Several clients, and several runs on one thread: no update is lost, no effect happens twice."""

import asyncio
from typing import Any

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import ConflictError

from tests.graphs.desk import Server
from tests.graphs.talking import SECONDS, book, eventually, new_thread, reached, states, values_of

pytestmark = [pytest.mark.server, pytest.mark.slow]


async def test_a_second_client_waits_its_turn(client: LangGraphClient, server: Server) -> None:
    """Enqueued: both callers' tasks are done, each once, although neither knew of the other's ids."""
    thread = await new_thread(client)
    await client.runs.create(
        thread, "guarded_agent", input={"tasks": [book("Lisbon", "Eva"), book("Vienna", "Eli")]}
    )
    await reached(client, thread, "search_flights")
    async with get_client(url=client.http.client.base_url) as other:
        await other.runs.wait(
            thread,
            "guarded_agent",
            input={"tasks": [book("Rome", "Eno")]},
            multitask_strategy="enqueue",
        )
    values = await values_of(client, thread)
    assert states(values) == {"task-1": "closed", "task-2": "closed", "task-3": "closed"}
    assert [len(server.bookings(name)) for name in ("Eva", "Eli", "Eno")] == [1, 1, 1]


@pytest.mark.parametrize("point", ["search_flights", "quote_fare", "book_flight"])
async def test_a_second_client_interrupts(
    client: LangGraphClient, server: Server, point: str
) -> None:
    """The next run of an interrupted thread continues its calls, and books nothing twice."""
    thread = await new_thread(client)
    first, second = f"Ida{point[:4]}", f"Ivo{point[:4]}"
    run = await client.runs.create(
        thread, "guarded_agent", input={"tasks": [book("Lisbon", first), book("Vienna", first)]}
    )
    await reached(client, thread, point)
    async with get_client(url=client.http.client.base_url) as other:
        await other.runs.wait(
            thread,
            "guarded_agent",
            input={"tasks": [book("Rome", second)]},
            multitask_strategy="interrupt",
        )
    assert (await client.runs.get(thread, run["run_id"]))["status"] == "interrupted"
    values = await values_of(client, thread)
    assert set(states(values).values()) == {"closed"}
    assert sorted(server.bookings(first)) == ["LIS-838-STD", "VIE-346-STD"]
    assert len(server.bookings(second)) == 1


async def test_an_interrupted_run_does_not_repeat_what_may_happen_once(
    client: LangGraphClient, server: Server
) -> None:
    """A form that was handed in is not handed in again by the next run, and its answer is not lost."""
    thread = await new_thread(client)
    tasks = ["Request a visa for Peru for Nia", book("Vienna", "Nia")]
    await client.runs.create(thread, "guarded_agent", input={"tasks": tasks})
    await eventually(lambda: server.forms("Nia") > 0)
    async with get_client(url=client.http.client.base_url) as other:
        state: Any = await other.runs.wait(
            thread,
            "guarded_agent",
            input={"tasks": [book("Rome", "Noa")]},
            multitask_strategy="interrupt",
        )
    async with asyncio.timeout(SECONDS):
        while state.get("__interrupt__"):
            state = await client.runs.wait(thread, "guarded_agent", command={"resume": True})
    said = (await values_of(client, thread))["messages"][-1]["content"]
    assert "visa of Nia for Peru is V-" in said
    assert server.forms("Nia") == 1
    assert [len(server.bookings(name)) for name in ("Nia", "Noa")] == [1, 1]


async def test_a_second_client_is_refused(client: LangGraphClient, server: Server) -> None:
    """The second caller is refused, and the first caller's run is not touched."""
    thread = await new_thread(client)
    run = await client.runs.create(
        thread, "guarded_agent", input={"tasks": [book("Lisbon", "Ria")]}
    )
    await reached(client, thread, "search_flights")
    async with get_client(url=client.http.client.base_url) as other:
        with pytest.raises(ConflictError):
            await other.runs.create(
                thread,
                "guarded_agent",
                input={"tasks": [book("Rome", "Rob")]},
                multitask_strategy="reject",
            )
    await client.runs.join(thread, run["run_id"])
    assert states(await values_of(client, thread)) == {"task-1": "closed"}
    assert (len(server.bookings("Ria")), server.bookings("Rob")) == (1, [])


async def test_a_step_that_is_run_again_has_no_second_effect(
    client: LangGraphClient, server: Server
) -> None:
    """Time travel to a checkpoint between intent and execution: same calls, same keys, same bookings."""
    thread = await new_thread(client)
    await client.runs.wait(
        thread, "guarded_agent", input={"tasks": [book("Lisbon", "Ken"), book("Rome", "Kim")]}
    )
    last: Any = next(
        state
        for state in await client.threads.get_history(thread, limit=100)
        if state["next"] == ["execute"]
        and "book_flight" in str(state["values"]["messages"][-1].get("tool_calls"))
    )
    place = last["checkpoint"]["checkpoint_id"]
    await client.runs.wait(thread, "guarded_agent", input=None, checkpoint_id=place)
    values = await values_of(client, thread)
    assert values["report"]["reason"] == "complete"
    assert values["messages"][-1]["content"].count("booking BK-") == 2
    assert [len(server.bookings(name)) for name in ("Ken", "Kim")] == [1, 1]


async def test_a_run_that_is_rolled_back_leaves_a_thread_that_works(
    client: LangGraphClient, server: Server
) -> None:
    """The second caller has the first one's run deleted; its own is not disturbed by what was under way."""
    thread = await new_thread(client)
    await client.runs.create(
        thread, "guarded_agent", input={"tasks": [book("Lisbon", "Lea"), book("Vienna", "Lea")]}
    )
    await reached(client, thread, "quote_fare")
    async with get_client(url=client.http.client.base_url) as other:
        await other.runs.wait(
            thread,
            "guarded_agent",
            input={"tasks": [book("Rome", "Leo")]},
            multitask_strategy="rollback",
        )
    values = await values_of(client, thread)
    assert "Lisbon" not in str(values["messages"])
    assert len(server.bookings("Leo")) == 1


async def test_threads_side_by_side_do_not_meet(client: LangGraphClient, server: Server) -> None:
    """Two threads of one agent at once: each knows its own tasks only."""
    threads = [await new_thread(client), await new_thread(client)]
    names = ["Sue", "Sam"]
    runs = [
        client.runs.wait(
            thread, "guarded_agent", input={"tasks": [book("Porto", name), book("Lisbon", name)]}
        )
        for thread, name in zip(threads, names, strict=True)
    ]
    await asyncio.gather(*runs)
    for thread, name in zip(threads, names, strict=True):
        values = await values_of(client, thread)
        assert len(server.bookings(name)) == 2
        assert not set(names) - {name} & {
            word for m in values["messages"] for word in str(m["content"]).split()
        }
