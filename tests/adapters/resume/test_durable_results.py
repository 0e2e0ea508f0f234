"""Recorded results, and the boundary between journal and checkpoints."""

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolCallId, StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from asyncguard import (
    DeclarationError,
    GuardConfig,
    GuardedState,
    Limits,
    Ports,
    ToolSpec,
    build_agent,
)
from asyncguard.core.calls import CallState
from asyncguard.core.footprints import EffectClass
from asyncguard.core.results import Success
from asyncguard.errors import JournalError
from asyncguard.journal.intent import Intent
from asyncguard.journal.open import open_journal
from asyncguard.journal.port import AttemptState, Known
from asyncguard.runtime.clock import LoopClock
from asyncguard.runtime.executors.local import LocalExecutor
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import Agent, AgentOf, Frontend, build, pure, script
from tests.adapters.processes import CONFIG, HANG, Machine, MortalJournal, until

WRITE = calls(("write", {"text": "x"}))


@pytest.fixture
def machine(agent_of: AgentOf, tmp_path: Path) -> Iterator[Machine]:
    """A machine with a disk."""
    made = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    yield made
    made.close()


def write(outcome: Any = "written") -> Any:
    """A tool with an effect."""
    return scripted_tool("write", lambda _: outcome, args={"text": str})


async def test_a_result_that_is_too_large_is_done_and_truncated(machine: Machine) -> None:
    """The effect has happened, so the call has not failed; size and hash say what was not kept."""
    limits = Limits(max_stored_bytes=4096, max_output_bytes=512)
    config = GuardConfig(limits=limits, timing=CONFIG.timing)
    process = machine.process([write("é" * 4000)], [ToolSpec(name="write")], WRITE, config=config)
    outcome = await process.say("Write.")
    assert outcome.states("main") == {"done": 1}
    assert "truncated; 8000 bytes, sha256 " in outcome.text
    (entry,) = process.journal.entries()
    assert entry.state is CallState.DONE
    assert len(str(entry.attempts[0].result)) < 1000


@pytest.mark.parametrize("excess", [0, 1])
async def test_the_limit_of_what_is_kept_is_exact(machine: Machine, excess: int) -> None:
    """At the limit nothing is cut, one byte above it is."""
    config = GuardConfig(limits=Limits(max_stored_bytes=1000), timing=CONFIG.timing)
    process = machine.process(
        [write("x" * (1000 + excess))], [ToolSpec(name="write")], WRITE, config=config
    )
    outcome = await process.say("Write.")
    assert ("truncated" in outcome.text) is bool(excess)


class Basket(GuardedState, total=False):
    """A state with a channel of its own."""

    basket: list[str]


class WaitingJournal(MortalJournal):
    """Its writer is not done with the end of a call until it may be."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.ended = False
        self.asked, self.may_end = asyncio.Event(), asyncio.Event()

    def end_soon(self, key: str, attempt: int, result: Any) -> None:
        self.ended = True
        super().end_soon(key, attempt, result)

    async def flush(self) -> None:
        if self.ended:
            self.asked.set()
            await self.may_end.wait()
        await super().flush()


async def test_a_client_is_shown_no_result_that_is_not_recorded(
    agent_of: AgentOf, tmp_path: Path
) -> None:
    """A process that dies between both would leave it in doubt, or as if it had never been."""
    journal, seen = WaitingJournal(tmp_path / "effects.db"), list[str]()
    agent = agent_of(
        ScriptedChatModel([WRITE, "It is written."]),
        [write()],
        specs=[ToolSpec(name="write")],
        ports=Ports(journal=journal),
        checkpointer=InMemorySaver(),
    )
    place: Any = {"configurable": {"thread_id": "t"}}

    async def follow() -> None:
        async for update in agent.graph.astream(
            agent.input("Write x.", None), place, stream_mode="updates"
        ):
            seen.append(str(update))

    client = asyncio.create_task(follow())
    async with asyncio.timeout(HANG):
        await journal.asked.wait()
        assert not any("'written'" in update for update in seen)
        journal.may_end.set()
        await client
    assert any("'written'" in update for update in seen)
    journal.close()


@pytest.mark.parametrize("frontend", [Frontend.GRAPH])
async def test_a_result_is_stored_while_it_is_recorded_and_told_afterwards(
    agent_of: AgentOf, tmp_path: Path
) -> None:
    """Without a client that sees the steps, only the model's turn and the run's end wait for the journal's writer."""
    journal = WaitingJournal(tmp_path / "effects.db")
    model = ScriptedChatModel([WRITE, "It is written."])
    agent = agent_of(
        model,
        [write()],
        specs=[ToolSpec(name="write")],
        ports=Ports(journal=journal),
        checkpointer=InMemorySaver(),
    )
    place: Any = {"configurable": {"thread_id": "t"}}
    run = asyncio.create_task(agent.graph.ainvoke(agent.input("Write x.", None), place))
    async with asyncio.timeout(HANG):
        await journal.asked.wait()
        stored = (await agent.graph.aget_state(place)).values["messages"]
        asked = len(model.requests)
        journal.may_end.set()
        await run
    assert "written" in str(stored[-1].content)
    assert (asked, len(model.requests)) == (1, 2)
    journal.close()


class LosingJournal(WaitingJournal):
    """A journal whose process dies before the end of a call is on the disk."""

    def end_soon(self, key: str, attempt: int, result: Any) -> None:
        self.ended = True


@pytest.mark.parametrize("frontend", [Frontend.GRAPH])
async def test_a_result_that_is_stored_and_not_recorded_leaves_no_doubt(
    agent_of: AgentOf, machine: Machine
) -> None:
    """The next process reads it from the checkpoint, and completes the journal: an equal call is not refused."""
    journal = LosingJournal(machine.path)
    first = agent_of(
        ScriptedChatModel([WRITE, "It is written."]),
        [write()],
        specs=[ToolSpec(name="write")],
        ports=Ports(journal=journal),
        checkpointer=machine.saver,
        config=CONFIG,
    )
    place: Any = {"configurable": {"thread_id": "t"}}
    run = asyncio.create_task(first.graph.ainvoke(first.input("Write x.", None), place))
    async with asyncio.timeout(HANG):
        await journal.asked.wait()
    assert "written" in str((await first.graph.aget_state(place)).values["messages"][-1].content)
    journal.die()
    second = machine.process([write()], [ToolSpec(name="write")])
    resumed = await second.go_on()
    assert resumed.report["in_doubt"] == []
    (entry,) = second.journal.entries()
    assert (entry.state, entry.attempts[0].state) == (CallState.DONE, AttemptState.ENDED)
    third = machine.process([write()], [ToolSpec(name="write")], WRITE)
    assert (await third.say("Write x again.")).states("main") == {"done": 2}
    journal.may_end.set()
    await asyncio.gather(run, return_exceptions=True)


@pytest.mark.parametrize("frontend", [Frontend.GRAPH])
@pytest.mark.parametrize("follower", ["handler", "graph around it", "direct return"])
async def test_a_result_that_is_told_before_the_models_turn_is_recorded_first(
    agent_of: AgentOf, tmp_path: Path, follower: str
) -> None:
    """A handler and the stream of a graph around the agent are told each step, and no turn follows a direct return."""
    journal = WaitingJournal(tmp_path / "effects.db")
    told = list[str]()
    tool = write()
    tool.return_direct = follower == "direct return"
    agent = agent_of(
        ScriptedChatModel([WRITE, "It is written."]),
        [tool],
        specs=[ToolSpec(name="write")],
        ports=Ports(journal=journal),
        checkpointer=InMemorySaver(),
    )
    given, place = agent.input("Write x.", None), RunnableConfig(configurable={"thread_id": "t"})

    class Follower(AsyncCallbackHandler):
        async def on_chain_end(self, outputs: Any, **_: Any) -> None:
            told.append(str(outputs))

    async def follow() -> None:
        if follower == "graph around it":
            around = StateGraph(GuardedState)
            around.add_node("agent", agent.graph)
            around.add_edge(START, "agent")
            graph = around.compile(checkpointer=InMemorySaver())
            async for part in graph.astream(given, place, subgraphs=True):
                told.append(str(part))
        else:
            config = {**place, "callbacks": [Follower()]} if follower == "handler" else place
            told.append(str(await agent.graph.ainvoke(given, config)))

    run = asyncio.create_task(follow())
    async with asyncio.timeout(HANG):
        await journal.asked.wait()
        early = [each for each in told if "'written'" in each]
        journal.may_end.set()
        await run
    assert not early
    assert any("'written'" in each for each in told)
    journal.close()


@pytest.mark.parametrize("frontend", [Frontend.GRAPH])
async def test_a_state_update_outlives_the_process_that_got_it(machine: Machine) -> None:
    """A tool answered with a command, the process died before the checkpoint: the update is the journal's to give."""

    @tool
    async def fill(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Fill the basket."""
        told = ToolMessage(content="filled", tool_call_id=tool_call_id)
        return Command(update={"basket": ["apple"], "messages": [told]})

    @tool
    async def look() -> str:
        """Look."""
        if not died:
            await asyncio.Event().wait()
        return "nothing"

    died: list[bool] = []
    both = calls(("fill", {}), ("look", {}))
    old = machine.process([fill, look], [pure("look")], both, state_schema=Basket)
    old.begin("Fill it and look.", durability="sync")
    await until(
        lambda: any(entry.attempts[0].result is not None for entry in old.journal.entries())
    )
    await old.die()
    died.append(True)
    new = machine.process([fill, look], [pure("look")], state_schema=Basket)
    await new.go_on(durability="sync")
    state = await new.agent.graph.aget_state({"configurable": {"thread_id": "t"}})
    assert state.values["basket"] == ["apple"]
    assert len([intent for intent in new.journal.begun if intent.tool == "fill"]) == 1


@pytest.mark.parametrize("frontend", [Frontend.GRAPH])
async def test_a_state_update_outlives_a_question_that_another_process_has_the_answer_to(
    machine: Machine,
) -> None:
    """The end of the call is stored before the question, its update only when the result is told."""

    @tool
    async def fill(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Fill the basket."""
        told = ToolMessage(content="filled", tool_call_id=tool_call_id)
        return Command(update={"basket": ["apple"], "messages": [told]})

    tools = [fill, scripted_tool("pay", ["paid"], args={})]
    specs = [ToolSpec(name="pay", approval=True)]
    both = calls(("fill", {}), ("pay", {}))
    old = machine.process(tools, specs, both, state_schema=Basket)
    assert (await old.say("Fill it and pay.")).interrupts
    await old.die()
    new = machine.process(tools, specs, state_schema=Basket)
    await new.go_on()
    state = await new.agent.graph.aget_state({"configurable": {"thread_id": "t"}})
    assert state.values["basket"] == ["apple"]


@pytest.mark.parametrize("frontend", [Frontend.GRAPH])
async def test_a_thread_that_answers_late_settles_the_doubt(machine: Machine) -> None:
    """A sync tool cannot be stopped at its timeout; what it answers afterwards is what happened."""

    @tool
    def slow() -> str:
        """Take a while."""
        time.sleep(0.15)
        return "done after all"

    steps = (calls(("slow", {})), calls(("wait", {})))
    wait = scripted_tool("wait", lambda _: asyncio.sleep(0.4, "waited"))
    specs = [ToolSpec(name="slow", timeout=0.05), pure("wait")]
    process = machine.process([slow, wait], specs, *steps)
    outcome = await process.say("Go.")
    assert "not known whether slow#1 took effect" in outcome.text
    assert "done after all" in outcome.text
    assert outcome.report["in_doubt"] == []
    (entry,) = process.journal.entries()
    assert entry.state is CallState.RESOLVED


async def test_a_journal_that_cannot_be_written_lets_nothing_begin(machine: Machine) -> None:
    """The call fails with the reason, and its tool is not entered."""
    process = machine.process([tool_ := write()], [ToolSpec(name="write")], WRITE)

    async def full(_: Any) -> Any:
        raise JournalError(
            "The journal /srv/effects.db failed: no room.",
            reason="the disk is full; free some space",
        )

    process.journal.begin = full  # type: ignore[method-assign]
    outcome = await process.say("Write.")
    assert tool_.calls == []
    assert outcome.states("main") == {"failed": 1}
    assert "the disk is full" in outcome.text
    assert "/srv" not in outcome.text, "a path is shown to the model"


async def test_an_outcome_that_cannot_be_written_reaches_its_thread(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    """The effect has happened and is known here; that the disk is full now does not make it unknown."""
    journal: MortalJournal

    def act(_: Any) -> str:
        journal.on_disk("PRAGMA max_page_count = 1")
        return "x" * 100_000

    tools, declared = [scripted_tool("write", act, args={"text": str})], [ToolSpec(name="write")]
    process = machine.process(tools, declared, WRITE)
    journal = process.journal
    outcome = await process.say("Write.")
    assert outcome.states("main") == {"done": 1}
    (entry,) = journal.entries()
    assert entry.attempts[0].state is AttemptState.INTENT
    said = f"the outcome of attempt 1 of call {entry.key} was not written"
    assert any(
        record.message.startswith(said) and "free some space" in record.message
        for record in caplog.records
    )
    journal.on_disk("PRAGMA max_page_count = 1000000")
    await until(lambda: journal.entries()[0].attempts[0].state is AttemptState.ENDED)


@pytest.mark.parametrize("restarted", [False, True], ids=["same process", "another process"])
async def test_the_journal_says_what_the_thread_says_at_the_next_entry(
    machine: Machine, restarted: bool
) -> None:
    """The disk was full when the call ended: what the thread has as done is not pending in the journal for ever."""
    journal: MortalJournal

    def act(_: Any) -> str:
        journal.on_disk("PRAGMA max_page_count = 1")
        return "x" * 100_000

    tools, declared = [scripted_tool("write", act, args={"text": str})], [ToolSpec(name="write")]
    process = machine.process(tools, declared, WRITE)
    journal = process.journal
    assert (await process.say("Write.")).states("main") == {"done": 1}
    if restarted:
        journal.die()
        process = machine.process(tools, declared)
        journal = process.journal
    else:
        journal.on_disk("PRAGMA max_page_count = 1000000")
    await process.say("And now?")
    await journal.flush()
    await until(lambda: journal.entries()[0].state is CallState.DONE)
    await until(lambda: journal.entries()[0].attempts[0].state is AttemptState.ENDED)


class Mute:
    """A result whose ``str`` and ``repr`` raise."""

    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


@pytest.mark.parametrize("odd", [{("a", 1): 2}, Mute(), 10**5000], ids=["keys", "mute", "huge"])
async def test_an_outcome_that_no_database_takes_is_an_outcome(machine: Machine, odd: Any) -> None:
    """The effect has happened, and the journal says so, if not what was answered."""
    journal = MortalJournal(machine.path)
    await journal.acquire("s", "t", (), lambda _: None)
    intent = Intent(
        session="s",
        namespace="",
        task="main",
        label="write#1",
        key="k",
        attempt=1,
        tool="write",
        effect=EffectClass.AT_MOST_ONCE,
        arguments={},
        fingerprint="f",
    )
    await journal.begin(intent)
    journal.end_soon("k", 1, Success(content=odd))
    verdict = await journal.begin(intent)
    journal.close()
    assert isinstance(verdict, Known)
    assert isinstance(verdict.result, Success)
    assert "could not be kept" in str(verdict.result.content)


class Ending(BaseException):
    """As bindings to other languages raise where their code panics."""


@pytest.mark.parametrize("error", [Ending, SystemExit, GeneratorExit])
@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
def test_a_tool_that_ends_its_interpreter_had_begun(
    agent_of: AgentOf, tmp_path: Path, error: type[BaseException], sync: bool
) -> None:
    """The effect may have happened: the call is in doubt, not cancelled, and the run ends."""
    made: list[str] = []

    def act(text: str) -> str:
        """Write."""
        made.append(text)
        raise error("after the effect")

    async def act_later(text: str) -> str:
        """Write."""
        return act(text)

    given = StructuredTool.from_function(act, None if sync else act_later, name="write")
    model = ScriptedChatModel(script(WRITE, WRITE))
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        agent = agent_of(
            model, [given], specs=[ToolSpec(name="write")], config=CONFIG, checkpointer=saver
        )
        state = agent.graph.invoke(
            {"messages": [("user", "Write.")]}, {"configurable": {"thread_id": "t"}}
        )
    assert made == ["x"]
    assert state["report"]["in_doubt"] == ["main/write#1"]


class SlowSaver(InMemorySaver):
    """Checkpoints take a moment to be stored."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = 0
        self.stored = 0
        self.looks = 0

    async def aget_tuple(self, config: Any) -> Any:
        self.looks += "checkpoint_id" in config["configurable"]
        return await super().aget_tuple(config)

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        self.begun += 1
        await asyncio.sleep(0.05)
        placed = await super().aput(config, checkpoint, metadata, new_versions)
        self.stored += 1
        return placed


async def test_an_effect_waits_until_the_message_that_asked_for_it_is_stored(
    machine: Machine,
) -> None:
    """With durability "async" checkpoints follow later; what has no effect waits for nothing.

    Waiting reads nothing: under load, threads that look again and again keep each other's checkpoints from the store.
    """
    machine.saver = saver = SlowSaver()
    missing: dict[str, int] = {}

    def effect_of(name: str) -> Any:
        def act(_: Any) -> str:
            missing[name] = saver.begun - saver.stored
            return "done"

        return scripted_tool(name, act, args={"text": str})

    steps = (calls(("read", {"text": "x"})), calls(("write", {"text": "x"})))
    process = machine.process(
        [effect_of("read"), effect_of("write")], [pure("read"), ToolSpec(name="write")], *steps
    )
    await process.say("Read and write.", durability="async")
    assert missing["read"] > 0
    assert missing["write"] == 0
    assert saver.looks == 0


async def test_a_run_without_a_thread_id_has_its_effects_written_down(
    frontend: Frontend, tmp_path: Path
) -> None:
    """The journal records the effects of a run that cannot be resumed, for a person to see."""
    journal = open_journal(tmp_path / "effects.db")
    model = ScriptedChatModel(script(WRITE))
    agent = build(
        frontend,
        model,
        [write()],
        specs=[ToolSpec(name="write")],
        config=CONFIG,
        ports=Ports(journal=journal),
    )
    outcome = await agent.say("Write.")
    assert outcome.states("main") == {"done": 1}
    (entry,) = journal.entries()
    assert (entry.thread, entry.state) == ("", CallState.DONE)
    journal.close()


# -- the embedded default ------------------------------------------------------------------------------------------


async def test_the_journal_lies_beside_the_checkpoints_of_an_async_saver(
    frontend: Frontend, tmp_path: Path
) -> None:
    """The journal of an async saver needs no configuration."""
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        agent = default_agent(frontend, saver)
        outcome = await agent.say("Write.", thread="t")
    assert outcome.states("main") == {"done": 1}
    check_default(tmp_path)


def test_the_journal_lies_beside_the_checkpoints_of_a_sync_saver(
    frontend: Frontend, tmp_path: Path
) -> None:
    """A sync saver with the sync entry has its journal beside the checkpoints, too."""
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        agent = default_agent(frontend, saver)
        outcome = agent.run_sync("Write.", thread="t")
    assert outcome.states("main") == {"done": 1}
    check_default(tmp_path)


def default_agent(frontend: Frontend, saver: Any) -> Agent:
    """An agent with a checkpointer and nothing else."""
    model = ScriptedChatModel(script(WRITE))
    return build(
        frontend,
        model,
        [write()],
        specs=[ToolSpec(name="write")],
        config=CONFIG,
        checkpointer=saver,
    )


def check_default(folder: Path) -> None:
    """The journal is there, for its owner only, and knows the call."""
    path = folder / "threads.db.effects"
    assert path.stat().st_mode & 0o777 == 0o600
    journal = open_journal(path, create=False)
    (entry,) = journal.entries()
    assert (entry.label, entry.thread, entry.state) == ("write#1", "t", CallState.DONE)
    journal.close()


@pytest.mark.slow
@pytest.mark.parametrize("said", ["in kwargs", "by functions", "in both"])
async def test_a_pool_says_in_several_ways_where_its_database_is(
    frontend: Frontend, postgres_url: str, said: str
) -> None:
    """The journal is in the saver's database, however the pool was told of it; its options are not the journal's."""
    whole = {name: value for name, value in conninfo_to_dict(postgres_url).items() if value}
    options: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}

    async def parts() -> dict[str, Any]:
        return options

    ways: dict[str, tuple[Any, Any]] = {
        "in kwargs": ("", {**options, **whole}),
        "by functions": (lambda: postgres_url, parts),
        "in both": (f"{postgres_url.rpartition('/')[0]}/other", {**options, **whole}),
    }
    where, more = ways[said]
    pool: Any = AsyncConnectionPool(where, kwargs=more, min_size=1, max_size=2, open=False)
    async with pool:
        saver = AsyncPostgresSaver(pool)
        await saver.setup()
        await default_agent(frontend, saver).say("Write.", thread="t")
    with closing(open_journal(postgres_url, create=False)) as journal:
        assert [entry.label for entry in journal.entries()] == ["write#1"]


async def test_checkpoints_in_memory_have_no_journal(
    frontend: Frontend, tmp_path: Path, monkeypatch: Any
) -> None:
    """They end with the process, and so does all that a journal could be asked about."""
    monkeypatch.chdir(tmp_path)
    outcome = await default_agent(frontend, InMemorySaver()).say("Write.", thread="t")
    async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
        await default_agent(frontend, saver).say("Write.", thread="t")
    assert outcome.states("main") == {"done": 1}
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - pathlib's would count as blocking here


async def test_the_environment_names_another_place(
    frontend: Frontend, tmp_path: Path, monkeypatch: Any
) -> None:
    """One variable for all agents of a deployment."""
    monkeypatch.setenv("ASYNCGUARD_JOURNAL", str(tmp_path / "there" / "effects.db"))
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        await default_agent(frontend, saver).say("Write.", thread="t")
    assert (tmp_path / "there" / "effects.db").exists()
    assert not (tmp_path / "threads.db.effects").exists()


# -- agents as tools of agents -------------------------------------------------------------------------------------


async def test_an_agent_as_a_tool_has_its_own_calls_in_the_same_journal(
    frontend: Frontend, tmp_path: Path
) -> None:
    """Both write to one file and neither waits for the other; the inner call has its own thread and namespace."""
    inner_tool = write("inner written")
    inner = build_agent(
        ScriptedChatModel(script(WRITE, ever="inner done")),
        [inner_tool],
        specs=[ToolSpec(name="write")],
        config=CONFIG,
    )

    @tool
    async def delegate(goal: str) -> str:
        """Delegate the goal to another agent."""
        said = await inner.ainvoke({"messages": [("user", goal)]})
        return str(said["messages"][-1].content)

    model = ScriptedChatModel(script(calls(("delegate", {"goal": "Write."}))), id_prefix="outer")
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        agent = build(
            frontend,
            model,
            [delegate],
            specs=[ToolSpec(name="delegate")],
            config=CONFIG,
            checkpointer=saver,
        )
        async with asyncio.timeout(10):
            outcome = await agent.say("Go.", thread="t")
    assert "inner done" in outcome.text
    journal = open_journal(tmp_path / "threads.db.effects", create=False)
    entries = journal.entries()
    assert sorted(entry.label for entry in entries) == ["delegate#1", "write#1"]
    assert len({entry.session for entry in entries}) == 2
    assert len({entry.namespace for entry in entries}) == 2
    journal.close()


# -- executors that run calls elsewhere ----------------------------------------------------------------------------


class Elsewhere(LocalExecutor):
    """An executor that says that all but one tool run on another machine."""

    local = frozenset({"write"})


@pytest.mark.parametrize("frontend", [Frontend.GRAPH])
def test_a_tool_that_takes_something_of_the_graph_is_not_sent_elsewhere(frontend: Frontend) -> None:
    """The agent is not built; the error names every such tool and what to do."""

    @tool
    async def remember(tool_call_id: Annotated[str, InjectedToolCallId]) -> str:
        """Remember."""
        return tool_call_id

    ports = Ports(executor=Elsewhere(LoopClock()))
    with pytest.raises(
        DeclarationError, match=r"'remember' takes something of the graph .*; name it in local="
    ):
        build(frontend, ScriptedChatModel([]), [remember, write()], ports=ports)
    asking = ToolSpec(name="write", interrupts=True)
    build(frontend, ScriptedChatModel([]), [write()], specs=[asking], ports=ports)
