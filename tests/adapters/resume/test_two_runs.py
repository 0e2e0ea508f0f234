"""Two runs that meet on one thread of a process: the second is refused and changes nothing."""

import asyncio
import gc
import sqlite3
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from asyncguard import CallerError, ThreadBusyError
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters import contender
from tests.adapters.harness import Agent, Frontend, Outcome, build, pure
from tests.adapters.processes import forked

PLACE: Any = {"configurable": {"thread_id": "t"}}


def say_hello(messages: Any, _: Any) -> Any:
    """Answers every message by its text."""
    return f"hello, {messages[-1].text}"


def look_first(messages: Any, _: Any) -> Any:
    """Looks something up before it answers."""
    return "all done" if messages[-1].type == "tool" else calls(("look", {"q": "x"}))


def agent_on(
    frontend: Frontend, saver: Any, *, latency: float = 0.0, policy: Any = say_hello, **options: Any
) -> Agent:
    """An agent whose runs store in a saver."""
    tool = scripted_tool("look", lambda _: "found", args={"q": str}, latency=latency)
    model = ScriptedChatModel(policy, latency=latency)
    return build(frontend, model, [tool], specs=[pure("look")], checkpointer=saver, **options)


def said(messages: list[Any]) -> list[str]:
    """Return the messages of the user."""
    return [message.text for message in messages if message.type == "human"]


def one_went_through(results: list[Any]) -> str:
    """Return the message that was answered, after checking that all others were refused."""
    (state,) = [result for result in results if not isinstance(result, BaseException)]
    refused = [result for result in results if isinstance(result, BaseException)]
    assert len(refused) == len(results) - 1
    for error in refused:
        assert isinstance(error, CallerError), repr(error)
    (message,) = said(state["messages"])[-1:]
    return message


@asynccontextmanager
async def async_saver(kind: str, folder: Path) -> AsyncIterator[Any]:
    """A saver for a loop."""
    if kind == "memory":
        yield InMemorySaver()
    else:
        async with AsyncSqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as saver:
            yield saver


KINDS = ["memory", "sqlite"]
DURABILITIES = ["sync", pytest.param("async", marks=pytest.mark.slow), "exit"]
"""Stored before the next step, and at the end; what is stored meanwhile comes between the two."""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("durability", DURABILITIES)
@pytest.mark.parametrize("latency", [0.0, 0.05])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("known", [False, True], ids=["new thread", "known thread"])
async def test_awaited_at_the_same_instant(
    frontend: Frontend, kind: str, latency: float, durability: str, known: bool, tmp_path: Path
) -> None:
    """One of them is answered, the thread holds that one only, and continues."""
    async with async_saver(kind, tmp_path) as saver:
        agent = agent_on(frontend, saver, latency=latency)
        before = ["before"] if known else []
        for text in before:
            await agent.graph.ainvoke(agent.input(text, None), PLACE, durability=durability)
        runs = [
            agent.graph.ainvoke(agent.input(text, None), PLACE, durability=durability)
            for text in ("one", "two", "three")
        ]
        winner = one_went_through(await asyncio.gather(*runs, return_exceptions=True))
        state = await agent.graph.aget_state(PLACE)
        assert said(state.values["messages"]) == [*before, winner]
        after = await agent.graph.ainvoke(agent.input("after", None), PLACE, durability=durability)
        assert said(after["messages"]) == [*before, winner, "after"]
        assert after["messages"][-1].text == "hello, after"


def at_once(*calls_: Callable[[], Any]) -> list[Any]:
    """Return the results of calls that OS threads make at the same moment."""
    gate = threading.Barrier(len(calls_))
    results: list[Any] = [None] * len(calls_)

    def run(place: int, call: Callable[[], Any]) -> None:
        gate.wait()
        try:
            results[place] = call()
        except Exception as error:  # noqa: BLE001 - looked at by the test
            results[place] = error

    threads = [threading.Thread(target=run, args=item) for item in enumerate(calls_)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    return results


def once_released(call: Callable[[], Any]) -> Any:
    """Return the result of a call that goes on with a thread which another journal releases in the background."""
    until = time.monotonic() + 20
    while True:
        try:
            return call()
        except ThreadBusyError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("durability", DURABILITIES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shared", [True, False], ids=["one agent", "an agent each"])
def test_invoked_in_two_threads(
    frontend: Frontend, kind: str, durability: str, shared: bool, tmp_path: Path
) -> None:
    """One of two sync entries is answered, also if each has its own agent on the saver."""
    connection = sqlite3.connect(tmp_path / "checkpoints.db", check_same_thread=False)
    saver = InMemorySaver() if kind == "memory" else SqliteSaver(connection)
    made = agent_on(frontend, saver, latency=0.2)
    agents = [made, made if shared else agent_on(frontend, saver, latency=0.2)]
    texts = ["one", "two"]

    def running(agent: Agent, text: str) -> Callable[[], Any]:
        return lambda: agent.graph.invoke(agent.input(text, None), PLACE, durability=durability)

    winner = one_went_through(at_once(*map(running, agents, texts)))
    assert said(made.graph.get_state(PLACE).values["messages"]) == [winner]
    after = once_released(running(agents[1], "after"))
    assert said(after["messages"]) == [winner, "after"]
    connection.close()


@pytest.mark.parametrize(
    "journals", [(True, True), (True, "b.db"), ("a.db", "b.db"), ("a.db", False)], ids=repr
)
async def test_agents_with_journals_of_their_own_exclude_each_other(
    frontend: Frontend, journals: tuple[Any, Any], tmp_path: Path
) -> None:
    """On one saver of one process: the second run is refused as one beside it, not as one of another process."""
    async with async_saver("sqlite", tmp_path) as saver:
        agents = [
            agent_on(
                frontend,
                saver,
                latency=0.3,
                policy=look_first,
                journal=tmp_path / named if isinstance(named, str) else named,
            )
            for named in journals
        ]
        working = asyncio.create_task(agents[0].graph.ainvoke(agents[0].input("one", None), PLACE))
        await asyncio.sleep(0.4)
        with pytest.raises(CallerError, match="under way in this process") as refused:
            await agents[1].graph.ainvoke(agents[1].input("two", None), PLACE)
        assert type(refused.value) is CallerError
        assert (await working)["messages"][-1].text == "all done"
        state = await agents[1].graph.aget_state(PLACE)
        assert said(state.values["messages"]) == ["one"]
        assert state.values["messages"][-1].text == "all done"


@pytest.mark.usefixtures("only_new_objects")
def test_how_a_run_left_a_saver_that_is_gone_is_no_news_of_a_new_one(frontend: Frontend) -> None:
    """A saver at the address of another one begins with nothing: its first run does not wait for the other's end."""
    gone = InMemorySaver()
    agent = agent_on(frontend, gone)
    agent.graph.invoke(agent.input("before", None), PLACE, durability="exit")
    seen, address = weakref.ref(gone), gone.storage
    del agent, gone
    gc.collect()
    assert seen() is None
    saver = InMemorySaver()
    address.clear()
    saver.storage = address  # as the allocator does it now and then
    agents = [agent_on(frontend, saver, latency=0.2) for _ in range(2)]
    results: list[Any] = []
    thread = threading.Thread(
        target=lambda: results.append(agents[0].graph.invoke(agents[0].input("one", None), PLACE))
    )
    thread.start()
    while not list(saver.list(PLACE)):
        time.sleep(0.001)
    with pytest.raises(CallerError):
        agents[1].graph.invoke(agents[1].input("two", None), PLACE)
    thread.join(timeout=60)
    assert said(results[0]["messages"]) == ["one"]


class LateNodes(BaseCallbackHandler):
    """Holds what is at the start of each node up, as a machine under load does."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.stored = threading.Event()

    def on_chain_start(self, *_: Any, **more: Any) -> None:
        """Begin a chain; one with a parent is a node."""
        if more.get("parent_run_id") is not None:
            self.stored.set()
            time.sleep(self.seconds)


@pytest.mark.sampled(2)
def test_a_run_whose_input_is_stored_goes_first_though_its_node_begins_late(
    frontend: Frontend,
) -> None:
    """A run that read another run's stored input is refused and does not answer that input."""
    saver = InMemorySaver()
    late = LateNodes(0.4)
    agents = [agent_on(frontend, saver, latency=0.2) for _ in range(2)]
    results: list[Any] = []

    def first() -> None:
        results.append(
            agents[0].graph.invoke(agents[0].input("one", None), PLACE | {"callbacks": [late]})
        )

    thread = threading.Thread(target=first)
    thread.start()
    assert late.stored.wait(timeout=30)
    with pytest.raises(CallerError):
        agents[1].graph.invoke(agents[1].input("two", None), PLACE)
    thread.join(timeout=60)
    assert said(results[0]["messages"]) == ["one"]
    assert said(agents[0].graph.get_state(PLACE).values["messages"]) == ["one"]


async def test_one_invoked_and_one_awaited(frontend: Frontend) -> None:
    """Of a sync and an async entry at the same time one is answered, the other refused."""
    agent = agent_on(frontend, InMemorySaver(), latency=0.2)
    thread = asyncio.to_thread(agent.graph.invoke, agent.input("one", None), PLACE)
    results = await asyncio.gather(
        thread, agent.graph.ainvoke(agent.input("two", None), PLACE), return_exceptions=True
    )
    winner = one_went_through(list(results))
    assert said((await agent.graph.aget_state(PLACE)).values["messages"]) == [winner]


class LateReader(InMemorySaver):
    """Tells one run what was stored when it asked, but not before the next has ended."""

    def __init__(self) -> None:
        super().__init__()
        self.late: asyncio.Event | None = None

    async def aget_tuple(self, config: Any) -> Any:
        late, self.late = self.late, None
        found = super().get_tuple(config)
        if late is not None:
            await late.wait()
        return found


@pytest.mark.parametrize("frontend", [Frontend.MIDDLEWARE], indirect=True)
@pytest.mark.parametrize("known", [False, True], ids=["new thread", "known thread"])
async def test_a_run_that_read_the_thread_before_another_ended(
    frontend: Frontend, known: bool
) -> None:
    """A run that read a state which is outdated by now is refused, so that no turn is lost."""
    saver = LateReader()
    agent = agent_on(frontend, saver)
    before = ["before"] if known else []
    for text in before:
        await agent.say(text, thread="t")
    saver.late = late = asyncio.Event()
    reading = asyncio.create_task(agent.say("late", thread="t"))
    await asyncio.sleep(0)
    await agent.say("first", thread="t")
    late.set()
    with pytest.raises(CallerError, match="run it again"):
        await reading
    assert said((await agent.graph.aget_state(PLACE)).values["messages"]) == [*before, "first"]
    assert said((await agent.say("late", thread="t")).messages) == [*before, "first", "late"]


async def test_a_deleted_thread_begins_again(frontend: Frontend) -> None:
    """A new run on a deleted thread is not refused because of the former runs."""
    saver = InMemorySaver()
    agent = agent_on(frontend, saver)
    await agent.say("one", thread="t")
    saver.delete_thread("t")
    assert said((await agent.say("two", thread="t")).messages) == ["two"]


async def test_a_thread_that_was_deleted_beside_a_run_says_what_to_do(frontend: Frontend) -> None:
    """The run goes on to store its steps, without what came before the deletion."""
    saver = InMemorySaver()
    agent = agent_on(frontend, saver, latency=0.05, policy=look_first)
    running = asyncio.create_task(agent.graph.ainvoke(agent.input("one", None), PLACE))
    await asyncio.sleep(0.08)  # its tool runs
    saver.delete_thread("t")
    assert (await running)["messages"][-1].text == "all done"
    with pytest.raises(CallerError, match=r"'t' lacks its beginning.* Delete it again"):
        await agent.say("two", thread="t")
    saver.delete_thread("t")
    assert said((await agent.say("two", thread="t")).messages) == ["two"]


async def test_going_back_in_time_is_no_meeting(frontend: Frontend) -> None:
    """A run from an older checkpoint is allowed after others have ended."""
    agent = agent_on(frontend, InMemorySaver())
    await agent.say("one", thread="t")
    older = (await agent.graph.aget_state(PLACE)).config
    await agent.say("two", thread="t")
    branch = await agent.graph.ainvoke(agent.input("three", None), older)
    assert said(branch["messages"]) == ["one", "three"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("policy", [say_hello, look_first])
@pytest.mark.parametrize("wait", [True, False], ids=["waited for", "at once"])
async def test_a_cancelled_run_leaves_the_thread(
    frontend: Frontend, policy: Any, wait: bool
) -> None:
    """A new run may begin when the first was cancelled, wherever it was."""
    agent = agent_on(frontend, InMemorySaver(), latency=0.05, policy=policy)
    for moment in (0.0, 0.01, 0.03, 0.07):
        run = asyncio.create_task(agent.say("one", thread="t"))
        await asyncio.sleep(moment)
        run.cancel()
        if wait:
            await asyncio.wait([run])
        results = await asyncio.gather(agent.say("after", thread="t"), return_exceptions=True)
        if (
            isinstance(results[0], CallerError) and not wait
        ):  # it read the thread before the other's last step was put
            results = [await agent.say("after", thread="t")]
        (outcome,) = results
        assert isinstance(outcome, Outcome)
        assert "after" in said(outcome.messages)
        await asyncio.wait([run])


async def test_a_failed_run_leaves_the_thread(frontend: Frontend) -> None:
    """A failed run leaves the thread although the caller holds its error, and so its frames."""
    answers: list[Any] = [RuntimeError("the model is away")]
    agent = agent_on(
        frontend, InMemorySaver(), policy=lambda *_: answers.pop() if answers else "hello"
    )
    try:
        await agent.say("one", thread="t")
    except RuntimeError:
        assert (await agent.say("two", thread="t")).last == "hello"


async def test_an_abandoned_stream_leaves_the_thread(frontend: Frontend) -> None:
    """A consumer that abandons a stream has ended the run."""
    agent = agent_on(frontend, InMemorySaver(), policy=look_first)
    for _ in agent.graph.stream(agent.input("one", None), PLACE):
        break
    stream = agent.graph.astream(agent.input("two", None), PLACE)
    async for _ in stream:
        break
    await stream.aclose()
    assert (await agent.say("three", thread="t")).last == "all done"


async def test_threads_of_different_savers_are_different(frontend: Frontend) -> None:
    """The same name in another store is another thread."""
    agents = [agent_on(frontend, InMemorySaver(), latency=0.05) for _ in range(2)]
    outcomes = await asyncio.gather(*(agent.say("hello", thread="t") for agent in agents))
    assert [outcome.report["reason"] for outcome in outcomes] == ["complete"] * 2


async def test_what_is_resumed_beside_itself_is_refused(frontend: Frontend) -> None:
    """Two answers to one question: the payment is made once, and one of the two is told."""
    pay = scripted_tool("pay", lambda _: "paid", args={"q": str}, latency=0.05)

    def policy(messages: Any, _: Any) -> Any:
        return "all done" if messages[-1].type == "tool" else calls(("pay", {"q": "x"}))

    specs = [pure("pay", approval=True)]
    agent = build(
        frontend,
        ScriptedChatModel(policy, latency=0.05),
        [pay],
        specs=specs,
        checkpointer=InMemorySaver(),
    )
    await agent.say("Pay x.", thread="t")
    results = await asyncio.gather(
        *(agent.resume({"main/pay#1": True}, "t") for _ in range(2)), return_exceptions=True
    )
    (refused,) = [result for result in results if isinstance(result, BaseException)]
    assert isinstance(refused, CallerError)
    assert len(pay.calls) == 1
    state = await agent.graph.aget_state(PLACE)
    assert state.values["messages"][-1].text == "all done"
    assert (await agent.say("And?", thread="t")).interrupts, "the next run asks again"


@pytest.mark.usefixtures("only_new_objects")
@pytest.mark.parametrize("how", ["s", "a"])
def test_how_a_thread_was_left_keeps_no_agent(frontend: Frontend, how: str) -> None:
    """The record of ended runs does not keep their agent in memory."""
    saver = InMemorySaver()

    def run() -> weakref.ref[Any]:
        agent = agent_on(frontend, saver)
        given = agent.input("one", None)
        state = (
            agent.graph.invoke(given, PLACE)
            if how == "s"
            else asyncio.run(agent.graph.ainvoke(given, PLACE))
        )
        assert state["messages"][-1].text == "hello, one"
        return weakref.ref(agent.graph)

    graph = run()
    for _ in range(100):
        gc.collect()
        if graph() is None:
            return
        time.sleep(0.01)
    raise AssertionError("the agent is kept")


@pytest.mark.slow
@pytest.mark.parametrize("names", [("one", "two"), ("two", "one")])
def test_two_processes_with_a_journal(
    frontend: Frontend, names: tuple[str, str], tmp_path: Path
) -> None:
    """On a new thread one of them is answered, the other is told that the thread is busy and leaves nothing."""
    said_by = {name: tmp_path / f"{name}.txt" for name in names}
    with closing(
        sqlite3.connect(tmp_path / "checkpoints.db", check_same_thread=False)
    ) as connection:
        saver = SqliteSaver(connection)
        saver.setup()
        started = [
            forked(contender.main, frontend, tmp_path, name, output=output, folder=tmp_path)
            for name, output in said_by.items()
        ]
        while not all((tmp_path / f"{name}.ready").exists() for name in names):
            assert all(process.exitcode is None for process in started)
            time.sleep(0.01)
        (tmp_path / "go").touch()
        for process in started:
            process.join(60)
        ends = [output.read_text().strip() for output in said_by.values()]
        assert sorted(ends) == ["answered", "refused"]
        agent = agent_on(frontend, saver)
        winner = names[ends.index("answered")]
        assert said(agent.graph.get_state(PLACE).values["messages"]) == [winner]
        assert said(agent.run_sync("after", thread="t").messages) == [winner, "after"]
