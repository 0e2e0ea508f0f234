"""The agents under LangGraph's development server, driven by its own client.

The server's detector of blocking calls is on: an agent that blocked the loop would end its run with an error.
"""

import asyncio
from typing import Any

import pytest
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import LangGraphClient

from asyncguard.observability.trace import read_trace
from tests.graphs.desk import Server
from tests.graphs.talking import SECONDS, book, eventually, new_thread, states, values_of

pytestmark = [pytest.mark.server, pytest.mark.slow]


async def test_all_agents_are_served(client: LangGraphClient) -> None:
    """The server makes one assistant of each graph and can describe it."""
    assistants = await client.assistants.search()
    assert {each["graph_id"] for each in assistants} == {
        "guarded_agent",
        "unguarded_agent",
        "incident_desk",
    }
    for assistant in assistants:
        drawn = await client.assistants.get_graph(assistant["assistant_id"])
        assert {"model", "execute", "retry", "approve"} <= {node["id"] for node in drawn["nodes"]}
        schemas = await client.assistants.get_schemas(assistant["assistant_id"])
        assert {"tasks", "messages"} <= set(schemas["input_schema"]["properties"])


def test_a_server_keeps_its_threads_apart(server: Server) -> None:
    """Files of its threads and runs lie in its own folder, where no other server of the tests reads them."""
    assert (server.log.parent / ".langgraph_api").is_dir()


async def test_the_guarded_agent_streams_two_tasks(client: LangGraphClient, server: Server) -> None:
    """Updates of the nodes, messages token by token, one right booking each, and a report in the state."""
    thread = await new_thread(client)
    nodes: set[str] = set()
    tokens = 0
    tasks = [{"id": "a", "goal": book("Lisbon", "Ada")}, {"id": "b", "goal": book("Vienna", "Bob")}]
    async for part in client.runs.stream(
        thread, "guarded_agent", input={"tasks": tasks}, stream_mode=["updates", "messages-tuple"]
    ):
        assert part.event != "error", part.data
        if part.event == "updates":
            nodes |= set(part.data)
        elif part.event == "messages" and part.data[0]["type"] == "AIMessageChunk":
            tokens += 1
    assert {"prepare", "model", "execute"} <= nodes
    assert tokens > 10
    values = await values_of(client, thread)
    assert values["report"]["open_calls"] == []
    assert states(values) == {"a": "closed", "b": "closed"}
    assert values["messages"][-1]["content"].count("booking BK-") == 2
    assert server.bookings("Ada") == ["LIS-838-STD"]
    assert server.bookings("Bob") == ["VIE-346-STD"]


async def test_the_unguarded_agent_books_a_guess(client: LangGraphClient, server: Server) -> None:
    """The same model without guards pays the full fare, and ends while calls are open."""
    thread = await new_thread(client)
    await client.runs.wait(
        thread, "unguarded_agent", input={"tasks": [book("Dublin", "Una"), book("Vienna", "Una")]}
    )
    values = await values_of(client, thread)
    assert values["report"]["open_calls"]
    await eventually(lambda: len(server.bookings("Una")) == 2)
    assert any(offer.endswith("-100-STD") for offer in server.bookings("Una"))


def test_the_sync_client_runs_an_agent(server: Server) -> None:
    """Plain messages in, plain messages out."""
    with get_sync_client(url=server.url) as client:
        thread = client.threads.create()["thread_id"]
        asked = {"messages": [{"role": "user", "content": book("Porto", "Pia")}]}
        values: Any = client.runs.wait(thread, "guarded_agent", input=asked)
    assert values["messages"][-1]["content"].startswith("Booked POR-")
    assert len(server.bookings("Pia")) == 1


@pytest.mark.parametrize("approved", [True, False])
async def test_a_person_decides_over_the_client(client: LangGraphClient, approved: bool) -> None:
    """A cancellation waits for a person, and what they say comes back to the model."""
    thread = await new_thread(client)
    asked = {"messages": [{"role": "user", "content": f"Cancel booking BK-{approved:08X}"}]}
    held: Any = await client.runs.wait(thread, "guarded_agent", input=asked)
    (question,) = held["__interrupt__"]
    (call,) = question["value"]["calls"]
    assert (question["value"]["type"], call["tool"]) == ("approval", "cancel_booking")
    decision = {call["key"]: {"approve": approved, "reason": "not today"}}
    await client.runs.wait(thread, "guarded_agent", command={"resume": decision})
    said = (await values_of(client, thread))["messages"][-1]["content"]
    assert ("Cancelled booking BK-" in said) is approved
    assert ("not today" in said) is not approved


async def test_a_parked_run_takes_the_external_result_when_it_is_resumed(
    client: LangGraphClient,
) -> None:
    """The run rests while only the embassy works; the value of the resume means nothing."""
    thread = await new_thread(client)
    state: Any = await client.runs.wait(
        thread, "guarded_agent", input={"tasks": ["Request a visa for Peru for Cy"]}
    )
    assert state["__interrupt__"][0]["value"]["type"] == "parked"
    async with asyncio.timeout(SECONDS):
        while state.get("__interrupt__"):
            state = await client.runs.wait(
                thread, "guarded_agent", command={"resume": {"visa": "V-FORGED"}}
            )
    said = (await values_of(client, thread))["messages"][-1]["content"]
    assert said.startswith("The visa of Cy for Peru is V-")
    assert "FORGED" not in said


async def test_news_for_a_parked_thread_does_not_hide_the_external_result(
    client: LangGraphClient,
) -> None:
    """A user who writes while the embassy works gets an answer, and the visa is shown when it is there."""
    thread = await new_thread(client)
    await client.runs.wait(
        thread, "guarded_agent", input={"tasks": ["Request a visa for Peru for Mia"]}
    )
    asked = {"messages": [{"role": "user", "content": book("Rome", "Mia")}]}
    state: Any = await client.runs.wait(thread, "guarded_agent", input=asked)
    async with asyncio.timeout(SECONDS):
        while state.get("__interrupt__"):
            state = await client.runs.wait(thread, "guarded_agent", command={"resume": True})
    said = "".join(
        str(message["content"]) for message in (await values_of(client, thread))["messages"]
    )
    assert "Booked ROM-" in said
    assert said.count('"visa": "V-') == 1


async def test_the_server_wrote_a_trace_and_saw_no_blocking_call(
    client: LangGraphClient, server: Server
) -> None:
    """The structured log of a served agent has its calls, and is written without holding up the loop."""
    thread = await new_thread(client)
    tasks = [book("Porto", "Tom"), "Cancel booking BK-0123ABCD"]
    held: Any = await client.runs.wait(thread, "guarded_agent", input={"tasks": tasks})
    (question,) = held["__interrupt__"]
    (call,) = question["value"]["calls"]
    await client.runs.wait(
        thread, "guarded_agent", command={"resume": {call["key"]: {"approve": False}}}
    )
    trace = read_trace(server.trace)
    assert trace.problems == ()
    assert {row["event"] for row in trace.rows} >= {
        "call_admitted",
        "call_rejected",
        "call_retired",
        "run_ended",
    }
    assert "BlockingError" not in server.log.read_text()
