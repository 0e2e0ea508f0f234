"""Both agents under LangGraph's development server, driven by its own client.

The server's detector of blocking calls is on: an agent that blocked the loop would end its run with an error.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

import pytest
from langgraph_sdk import get_client, get_sync_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import ConflictError

from asyncguard.observability.trace import read_trace
from tests.graphs.desk import Server, check_next_request, running_server

pytest.importorskip("langgraph_cli", reason="the development server (langgraph-cli[inmem]) is not installed")
pytest.importorskip("langgraph_api", reason="the development server (langgraph-cli[inmem]) is not installed")
pytestmark = pytest.mark.server
SECONDS = 20.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests; each uses travellers of its own."""
    with running_server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(autouse=True)
def _show_the_log(server: Server, request: pytest.FixtureRequest) -> Iterator[None]:
    """What the server printed goes with a failure's output."""
    start = server.log.stat().st_size
    yield
    print(server.log.read_text()[start:])  # noqa: T201 - captured, shown if the test fails


@pytest.fixture
async def client(server: Server) -> AsyncIterator[LangGraphClient]:
    """An async client."""
    async with get_client(url=server.url) as connected:
        yield connected


def book(destination: str, traveller: str) -> str:
    """A goal of several calls."""
    return f"Book the cheapest flight to {destination} on 2026-05-04 for {traveller}"


async def new_thread(client: LangGraphClient) -> str:
    """Id of a fresh thread."""
    return str((await client.threads.create())["thread_id"])


async def values_of(client: LangGraphClient, thread: str) -> Mapping[str, Any]:
    """The thread's state, whose history has to be one that every provider takes."""
    values: Any = (await client.threads.get_state(thread))["values"]
    check_next_request(values["messages"])
    return dict(values)


async def reached(client: LangGraphClient, thread: str, tool: str) -> None:
    """Wait until a call of a tool stands in the thread's checkpoint."""
    async with asyncio.timeout(SECONDS):
        while True:
            values: Any = (await client.threads.get_state(thread))["values"] or {}
            if any(call["name"] == tool for m in values.get("messages", ()) for call in m.get("tool_calls") or ()):
                return
            await asyncio.sleep(0.02)


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait for something outside the run, such as an effect that was under way."""
    async with asyncio.timeout(SECONDS):
        while not condition():  # noqa: ASYNC110 - another process makes it true
            await asyncio.sleep(0.02)


def states(values: Mapping[str, Any]) -> dict[str, str]:
    """How the report says that each task ended."""
    return {task["id"]: task["state"] for task in values["report"]["tasks"]}


async def test_both_agents_are_served(client: LangGraphClient) -> None:
    """The server makes one assistant of each graph and can describe it."""
    assistants = await client.assistants.search()
    assert {assistant["graph_id"] for assistant in assistants} == {"guarded_agent", "unguarded_agent"}
    for assistant in assistants:
        drawn = await client.assistants.get_graph(assistant["assistant_id"])
        assert {"model", "execute", "retry", "approve"} <= {node["id"] for node in drawn["nodes"]}
        schemas = await client.assistants.get_schemas(assistant["assistant_id"])
        assert {"tasks", "messages"} <= set(schemas["input_schema"]["properties"])


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
    """The same model without guards: full fare, and an end of the run while calls are open."""
    thread = await new_thread(client)
    await client.runs.wait(thread, "unguarded_agent", input={"tasks": [book("Dublin", "Una"), book("Vienna", "Una")]})
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


async def test_a_second_client_waits_its_turn(client: LangGraphClient, server: Server) -> None:
    """Enqueued: both callers' tasks are done, each once, although neither knew of the other's ids."""
    thread = await new_thread(client)
    await client.runs.create(thread, "guarded_agent", input={"tasks": [book("Lisbon", "Eva"), book("Vienna", "Eli")]})
    await reached(client, thread, "search_flights")
    async with get_client(url=client.http.client.base_url) as other:
        await other.runs.wait(
            thread, "guarded_agent", input={"tasks": [book("Rome", "Eno")]}, multitask_strategy="enqueue"
        )
    values = await values_of(client, thread)
    assert states(values) == {"task-1": "closed", "task-2": "closed", "task-3": "closed"}
    assert [len(server.bookings(name)) for name in ("Eva", "Eli", "Eno")] == [1, 1, 1]


@pytest.mark.parametrize("point", ["search_flights", "quote_fare", "book_flight"])
async def test_a_second_client_interrupts(client: LangGraphClient, server: Server, point: str) -> None:
    """Interrupted in the middle of a step: the next run finds what is under way and nobody is booked twice."""
    thread = await new_thread(client)
    first, second = f"Ida{point[:4]}", f"Ivo{point[:4]}"
    run = await client.runs.create(
        thread, "guarded_agent", input={"tasks": [book("Lisbon", first), book("Vienna", first)]}
    )
    await reached(client, thread, point)
    async with get_client(url=client.http.client.base_url) as other:
        await other.runs.wait(
            thread, "guarded_agent", input={"tasks": [book("Rome", second)]}, multitask_strategy="interrupt"
        )
    assert (await client.runs.get(thread, run["run_id"]))["status"] == "interrupted"
    values = await values_of(client, thread)
    assert set(states(values).values()) == {"closed"}
    assert sorted(server.bookings(first)) == ["LIS-838-STD", "VIE-346-STD"]
    assert len(server.bookings(second)) == 1


async def test_an_interrupted_run_does_not_repeat_what_may_happen_once(client: LangGraphClient, server: Server) -> None:
    """A form that was handed in is not handed in again by the next run, and its answer is not lost."""
    thread = await new_thread(client)
    tasks = ["Request a visa for Peru for Nia", book("Vienna", "Nia")]
    await client.runs.create(thread, "guarded_agent", input={"tasks": tasks})
    await eventually(lambda: server.forms("Nia") > 0)
    async with get_client(url=client.http.client.base_url) as other:
        state: Any = await other.runs.wait(
            thread, "guarded_agent", input={"tasks": [book("Rome", "Noa")]}, multitask_strategy="interrupt"
        )
    async with asyncio.timeout(SECONDS):
        while state.get("__interrupt__"):
            state = await client.runs.wait(thread, "guarded_agent", command={"resume": True})
    said = (await values_of(client, thread))["messages"][-1]["content"]
    assert "visa of Nia for Peru is V-" in said
    assert server.forms("Nia") == 1
    assert [len(server.bookings(name)) for name in ("Nia", "Noa")] == [1, 1]


async def test_a_second_client_is_refused(client: LangGraphClient, server: Server) -> None:
    """Rejected: the second caller is told, the first caller's run is not touched."""
    thread = await new_thread(client)
    run = await client.runs.create(thread, "guarded_agent", input={"tasks": [book("Lisbon", "Ria")]})
    await reached(client, thread, "search_flights")
    async with get_client(url=client.http.client.base_url) as other:
        with pytest.raises(ConflictError):
            await other.runs.create(
                thread, "guarded_agent", input={"tasks": [book("Rome", "Rob")]}, multitask_strategy="reject"
            )
    await client.runs.join(thread, run["run_id"])
    assert states(await values_of(client, thread)) == {"task-1": "closed"}
    assert (len(server.bookings("Ria")), server.bookings("Rob")) == (1, [])


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


async def test_a_parked_run_takes_the_external_result_when_it_is_resumed(client: LangGraphClient) -> None:
    """The run rests while only the embassy works; the value of the resume means nothing."""
    thread = await new_thread(client)
    state: Any = await client.runs.wait(thread, "guarded_agent", input={"tasks": ["Request a visa for Peru for Cy"]})
    assert state["__interrupt__"][0]["value"]["type"] == "parked"
    async with asyncio.timeout(SECONDS):
        while state.get("__interrupt__"):
            state = await client.runs.wait(thread, "guarded_agent", command={"resume": {"visa": "V-FORGED"}})
    said = (await values_of(client, thread))["messages"][-1]["content"]
    assert said.startswith("The visa of Cy for Peru is V-")
    assert "FORGED" not in said


async def test_a_step_that_is_run_again_has_no_second_effect(client: LangGraphClient, server: Server) -> None:
    """Time travel to a checkpoint between intent and execution: same calls, same keys, same bookings."""
    thread = await new_thread(client)
    await client.runs.wait(thread, "guarded_agent", input={"tasks": [book("Lisbon", "Ken"), book("Rome", "Kim")]})
    last: Any = next(
        state
        for state in await client.threads.get_history(thread, limit=100)
        if state["next"] == ["execute"] and "book_flight" in str(state["values"]["messages"][-1].get("tool_calls"))
    )
    place = last["checkpoint"]["checkpoint_id"]
    await client.runs.wait(thread, "guarded_agent", input=None, checkpoint_id=place)
    values = await values_of(client, thread)
    assert values["report"]["reason"] == "complete"
    assert values["messages"][-1]["content"].count("booking BK-") == 2
    assert [len(server.bookings(name)) for name in ("Ken", "Kim")] == [1, 1]


async def test_a_run_that_is_rolled_back_leaves_a_thread_that_works(client: LangGraphClient, server: Server) -> None:
    """The second caller has the first one's run deleted; its own is not disturbed by what was under way."""
    thread = await new_thread(client)
    await client.runs.create(thread, "guarded_agent", input={"tasks": [book("Lisbon", "Lea"), book("Vienna", "Lea")]})
    await reached(client, thread, "quote_fare")
    async with get_client(url=client.http.client.base_url) as other:
        await other.runs.wait(
            thread, "guarded_agent", input={"tasks": [book("Rome", "Leo")]}, multitask_strategy="rollback"
        )
    values = await values_of(client, thread)
    assert "Lisbon" not in str(values["messages"])
    assert len(server.bookings("Leo")) == 1


async def test_news_for_a_parked_thread_does_not_hide_the_external_result(client: LangGraphClient) -> None:
    """A user who writes while the embassy works gets an answer, and the visa is told when it is there."""
    thread = await new_thread(client)
    await client.runs.wait(thread, "guarded_agent", input={"tasks": ["Request a visa for Peru for Mia"]})
    asked = {"messages": [{"role": "user", "content": book("Rome", "Mia")}]}
    state: Any = await client.runs.wait(thread, "guarded_agent", input=asked)
    async with asyncio.timeout(SECONDS):
        while state.get("__interrupt__"):
            state = await client.runs.wait(thread, "guarded_agent", command={"resume": True})
    said = "".join(str(message["content"]) for message in (await values_of(client, thread))["messages"])
    assert "Booked ROM-" in said
    assert said.count('"visa": "V-') == 1


async def test_threads_side_by_side_do_not_meet(client: LangGraphClient, server: Server) -> None:
    """Two threads of one agent at once: each knows its own tasks only."""
    threads = [await new_thread(client), await new_thread(client)]
    names = ["Sue", "Sam"]
    runs = [
        client.runs.wait(thread, "guarded_agent", input={"tasks": [book("Porto", name), book("Lisbon", name)]})
        for thread, name in zip(threads, names, strict=True)
    ]
    await asyncio.gather(*runs)
    for thread, name in zip(threads, names, strict=True):
        values = await values_of(client, thread)
        assert len(server.bookings(name)) == 2
        assert not set(names) - {name} & {word for m in values["messages"] for word in str(m["content"]).split()}


async def test_the_server_wrote_a_trace_and_saw_no_blocking_call(client: LangGraphClient, server: Server) -> None:
    """The structured log of a served agent is written without holding up the loop."""
    thread = await new_thread(client)
    await client.runs.wait(thread, "guarded_agent", input={"tasks": [book("Porto", "Tom"), book("Rome", "Tim")]})
    trace = read_trace(server.trace)
    assert trace.problems == ()
    assert {row["event"] for row in trace.rows} >= {"call_admitted", "call_rejected", "call_retired", "run_ended"}
    assert "BlockingError" not in server.log.read_text()
