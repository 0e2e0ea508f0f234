"""More calls in a message than LangGraph executes at once: a wrapper does not wait for one that cannot start yet."""

import asyncio
import os
import time
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from asyncguard import (
    AsyncGuardMiddleware,
    CallerError,
    GuardConfig,
    Mode,
    Timing,
    ToolSpec,
    build_agent,
)
from asyncguard.adapters.middleware import approval_prompt, tool_calls
from asyncguard.testing import ScriptedChatModel, ToolMode, calls, run_virtual, scripted_tool
from tests.adapters.harness import AgentOf, Frontend, pure, script
from tests.adapters.processes import Machine

CALLS = 7
INPUT = {"messages": [("user", f"Read {', '.join(map(str, range(CALLS)))}.")]}
AT_ONCE = {"configurable": {"thread_id": "t"}, "recursion_limit": 99}


def agent(
    front: str,
    *,
    read: Any = None,
    calls_made: int = CALLS,
    config: GuardConfig | None = None,
    **declared: Any,
) -> Any:
    """An agent whose model reads several pages in one message."""
    read = read or scripted_tool("read", lambda given: f"page {given['page']}", args={"page": int})
    spec = ToolSpec(name="read", effect="pure", reads=(), writes=(), **declared)
    made = calls(*(("read", {"page": n}) for n in range(calls_made)))
    model = ScriptedChatModel([made, *["Read."] * CALLS])
    if front == "build_agent":
        return build_agent(model, [read], specs=[spec], config=config, checkpointer=InMemorySaver())
    guard = AsyncGuardMiddleware(specs=[spec], config=config)
    return create_agent(model, [read], middleware=[guard], checkpointer=InMemorySaver())


def pages(state: Any) -> list[str]:
    """The results of the calls."""
    return [message.content for message in state["messages"] if message.type == "tool"]


@pytest.fixture(autouse=True)
def _a_long_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the wait for a wrapper be longer than any of these tests needs."""
    for module in (approval_prompt, tool_calls):
        monkeypatch.setattr(module, "ARRIVAL", 10.0)


@pytest.mark.parametrize("front", ["build_agent", "create_agent"])
@pytest.mark.parametrize("most", [1, 2, 3, CALLS])
def test_calls_beyond_max_concurrency_do_not_wait_for_each_other(most: int, front: str) -> None:
    """Quick calls take no time, however many of them LangGraph executes at once."""

    async def main() -> tuple[Any, float]:
        state = await agent(front).ainvoke(INPUT, AT_ONCE | {"max_concurrency": most})
        return state, asyncio.get_running_loop().time()

    state, seconds = run_virtual(main()).result
    assert pages(state) == [f"page {n}" for n in range(CALLS)]
    assert seconds < 1.0


@pytest.mark.parametrize("front", ["build_agent", "create_agent"])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_person_is_asked_at_once(most: int, front: str) -> None:
    """The question names the held calls whose wrappers run; every call is approved in the end."""

    async def main() -> tuple[Any, float]:
        built = agent(front, approval=True)
        limited = AT_ONCE | {"max_concurrency": most}
        state = await built.ainvoke(INPUT, limited)
        for _ in range(CALLS):
            if not state.get("__interrupt__"):
                break
            answers = {item.id: True for item in state["__interrupt__"]}
            state = await built.ainvoke(Command(resume=answers), limited)
        return state, asyncio.get_running_loop().time()

    state, seconds = run_virtual(main()).result
    assert not state.get("__interrupt__")
    told = " ".join(message.text for message in state["messages"])
    assert [n for n in range(CALLS) if f"page {n}" not in told] == []
    assert seconds < 1.0


@pytest.mark.parametrize("most", [2, None], ids=["two", "as many as there are threads"])
def test_calls_beyond_the_threads_of_a_sync_run_do_not_wait(most: int | None) -> None:
    """A sync run has five threads on one core, and one more for each further core; on a real clock."""
    began = time.monotonic()
    number = min(32, (os.cpu_count() or 1) + 4) + 1
    built = agent("create_agent", calls_made=number)
    asked = {"messages": [("user", f"Read {', '.join(map(str, range(number)))}.")]}
    state = built.invoke(asked, AT_ONCE | ({"max_concurrency": most} if most else {}))
    assert pages(state) == [f"page {n}" for n in range(number)]
    assert time.monotonic() - began < 10.0


@pytest.mark.parametrize("mode", [Mode.FOREGROUND, Mode.BACKGROUND])
@pytest.mark.parametrize("front", ["build_agent", "create_agent"])
@pytest.mark.parametrize("most", [1, 2, 3, None])
def test_no_more_calls_run_at_once(most: int | None, front: str, mode: Mode) -> None:
    """Whatever the front end and the mode; each call ends, in as little time as the bound allows."""
    running: list[int] = []
    highest = 0

    async def page(given: Any) -> str:
        nonlocal highest
        running.append(given["page"])
        highest = max(highest, len(running))
        await asyncio.sleep(1.0)
        running.remove(given["page"])
        return f"page {given['page']}"

    async def main() -> tuple[Any, float]:
        read = scripted_tool("read", page, args={"page": int}, mode=ToolMode.ASYNC)
        built = agent(front, read=read, mode=mode)
        state = await built.ainvoke(INPUT, AT_ONCE | {"max_concurrency": most})
        return state, asyncio.get_running_loop().time()

    state, seconds = run_virtual(main()).result
    told = " ".join(message.text for message in state["messages"])
    assert [n for n in range(CALLS) if f"page {n}" not in told] == []
    assert highest == (most or CALLS)
    assert seconds == pytest.approx(ceil(CALLS / highest), abs=0.2)


def test_work_outside_takes_no_place() -> None:
    """A call whose result is delivered from outside is open, and the next one runs all the same."""
    order = scripted_tool("order", ["sent"], args={"page": int, "token": str})
    specs = [
        ToolSpec(name="order", mode=Mode.EXTERNAL, token_argument="token"),
        ToolSpec(name="read", effect="pure"),
    ]
    read = scripted_tool("read", lambda given: f"page {given['page']}", args={"page": int})
    made = calls(("order", {"page": 1}), ("read", {"page": 2}))
    model = ScriptedChatModel([made, "Ordered."])
    built = build_agent(model, [order, read], specs=specs, checkpointer=InMemorySaver())
    asked = {"messages": [("user", "Order page 1 and read page 2.")]}
    state = run_virtual(built.ainvoke(asked, AT_ONCE | {"max_concurrency": 1})).result
    assert "page 2" in pages(state)


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
@pytest.mark.parametrize("front", ["build_agent", "create_agent"])
@pytest.mark.parametrize("most", [1, 2, None])
def test_tools_that_ask_get_their_turns(most: int | None, front: str, sync: bool) -> None:
    """A wrapper whose call has ended does not wait for the question of one that cannot start before it returns."""
    number = 3 if most or not sync else min(32, (os.cpu_count() or 1) + 4) + 1
    given: list[tuple[int, str]] = []

    def ask(arguments: Any) -> str:
        given.append((arguments["page"], interrupt(f"page {arguments['page']}?")))
        return "asked"

    read = scripted_tool("read", ask, args={"page": int})
    built = agent(front, read=read, interrupts=True, calls_made=number)
    limited = AT_ONCE | ({"max_concurrency": most} if most else {})
    sent: Any = {"messages": [("user", f"Read {', '.join(map(str, range(number)))}.")]}
    for _ in range(number + 1):
        state = (
            built.invoke(sent, limited)
            if sync
            else run_virtual(asyncio.wait_for(built.ainvoke(sent, limited), 60.0)).result
        )
        if not state.get("__interrupt__"):
            break
        sent = Command(resume={item.id: item.value for item in state["__interrupt__"]})
    assert sorted(given) == [(n, f"page {n}?") for n in range(number)]


@pytest.mark.parametrize("most", [2.5, float("inf")])
def test_a_bound_may_be_any_number(most: float) -> None:
    """LangGraph takes what a semaphore takes."""
    limited: Any = AT_ONCE | {"max_concurrency": most}
    assert len(pages(run_virtual(agent("build_agent").ainvoke(INPUT, limited)).result)) == CALLS


def test_no_wave_waits_for_the_grace_window() -> None:
    """Nothing else can end before the wrapper of an ended call returns."""
    patient = GuardConfig(timing=Timing(grace=5.0))

    async def main() -> float:
        await agent("create_agent", config=patient).ainvoke(INPUT, AT_ONCE | {"max_concurrency": 1})
        return asyncio.get_running_loop().time()

    assert run_virtual(main()).result < 5.0


# LangGraph leaves the tasks that it has not started when a run is cancelled.
@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("ignore:coroutine 'arun_with_retry':RuntimeWarning")
@pytest.mark.filterwarnings("ignore:Exception ignored in. <coroutine object arun_with_retry")
@pytest.mark.parametrize("later", [1, 2, None])
@pytest.mark.parametrize("most", [1, 2, 3])
async def test_after_a_kill_the_calls_that_had_not_begun_are_made(
    most: int, later: int | None, agent_of: AgentOf, tmp_path: Path
) -> None:
    """Also those whose wrappers LangGraph had not started, and starts when others have returned."""
    begun: list[int] = []
    all_begun = asyncio.Event()

    async def hangs(arguments: Any) -> str:
        begun.append(arguments["page"])
        if len(begun) == most:
            all_begun.set()
        return await asyncio.Future()

    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    spec = ToolSpec(name="read", reads=(), writes=())
    made = calls(*(("read", {"page": n}) for n in range(CALLS)))
    first = machine.process([scripted_tool("read", hangs, args={"page": int})], [spec], made)
    limits = [AT_ONCE | ({"max_concurrency": each} if each else {}) for each in (most, later)]
    first.run = asyncio.create_task(first.agent.graph.ainvoke(INPUT, limits[0], durability="sync"))
    await all_begun.wait()
    await first.die()
    read = scripted_tool("read", lambda given: f"page {given['page']}", args={"page": int})
    second = machine.process([read], [spec]).agent.graph
    state = await second.ainvoke(None, limits[1], durability="sync")
    told = " ".join(message.text for message in state["messages"])
    assert [n for n in range(CALLS) if f"page {n}" in told] == sorted({*range(CALLS)} - {*begun})
    assert len(state["report"]["in_doubt"]) == most
    machine.close()


@pytest.mark.parametrize("most", [1, 2, 3, None])
def test_a_question_beside_calls_that_wait_is_asked_once(most: int | None) -> None:
    """The tool works, asks and works again: it is executed twice, whatever else begins meanwhile."""
    begun: list[float] = []

    async def ask(arguments: Any) -> str:
        begun.append(asyncio.get_running_loop().time())
        await asyncio.sleep(4.0)
        return str(interrupt("which?"))

    specs = [
        ToolSpec(name="ask", interrupts=True, reads=(), writes=()),
        ToolSpec(name="read", effect="pure", reads=(), writes=(), mode=Mode.BACKGROUND),
    ]
    tools = [
        scripted_tool("ask", ask, args={"page": int}, mode=ToolMode.ASYNC),
        scripted_tool("read", lambda _: "read", args={"page": int}, latency=1.0),
    ]
    made = calls(("ask", {"page": 9}), *(("read", {"page": n}) for n in range(3)))
    model = ScriptedChatModel([made, *["Read."] * CALLS])
    built = build_agent(model, tools, specs=specs, checkpointer=InMemorySaver())
    limited = AT_ONCE | {"max_concurrency": most}

    async def main() -> Any:
        state = await built.ainvoke({"messages": [("user", "Read 0, 1, 2 and 9.")]}, limited)
        assert [item.value for item in state["__interrupt__"]] == ["which?"]
        return await built.ainvoke(Command(resume="that"), limited)

    run_virtual(main())
    assert begun == [0.0, 4.0]


class _SlowWrappers(AgentMiddleware):
    """Other middleware that keeps a call for a while before the guard sees it."""

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        await asyncio.sleep(request.tool_call["args"]["page"] / 10)
        return await handler(request)


@pytest.mark.parametrize("frontend", [Frontend.MIDDLEWARE])
async def test_after_a_kill_a_call_that_other_middleware_keeps_is_made(
    agent_of: AgentOf, tmp_path: Path
) -> None:
    """Its wrapper comes later than all others, and had not returned before the kill."""
    begun = asyncio.Event()

    async def hangs(_: Any) -> str:
        begun.set()
        return await asyncio.Future()

    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    spec = ToolSpec(name="read", reads=(), writes=())
    made = calls(*(("read", {"page": n}) for n in (0, 2, 4)))
    first = machine.process(
        [scripted_tool("read", hangs, args={"page": int})], [spec], made, outside=[_SlowWrappers()]
    )
    first.run = asyncio.create_task(first.agent.graph.ainvoke(INPUT, AT_ONCE, durability="sync"))
    await begun.wait()
    await first.die()
    read = scripted_tool("read", lambda given: f"page {given['page']}", args={"page": int})
    second = machine.process([read], [spec], outside=[_SlowWrappers()]).agent.graph
    state = await second.ainvoke(None, AT_ONCE, durability="sync")
    told = " ".join(message.text for message in state["messages"])
    assert [n for n in (0, 2, 4) if f"page {n}" in told] == [2, 4]
    machine.close()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("most", [1, 2, None])
@pytest.mark.parametrize(
    "names",
    [
        ("pay", "read"),
        ("pay", "ask"),
        ("pay", "pay", "read"),
        ("pay", "ask", "pay"),
        ("write", "ask", "write"),
    ],
    ids=" ".join,
)
async def test_after_an_answer_in_another_process_every_call_is_made(
    names: tuple[str, ...], most: int | None, agent_of: AgentOf, tmp_path: Path
) -> None:
    """The wrapper of a held call asks, and that of a deferred one stops: had it returned, no wrapper would be there."""
    done: list[int] = []

    def act(arguments: Any) -> str:
        done.append(arguments["page"])
        return f"page {arguments['page']}"

    def ask(arguments: Any) -> str:
        interrupt({"page": arguments["page"]})
        return act(arguments)

    async def write(arguments: Any) -> str:
        await asyncio.sleep(arguments["page"] / 100)
        return act(arguments)

    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    specs = [
        ToolSpec(name="pay", approval=True, reads=(), writes=()),
        ToolSpec(name="ask", interrupts=True, reads=(), writes=()),
        ToolSpec(name="read", reads=(), writes=()),
        ToolSpec(name="write", reads=(), writes=("desk",)),
    ]
    tools = [
        scripted_tool(name, does, args={"page": int})
        for name, does in [("pay", act), ("ask", ask), ("read", act), ("write", write)]
    ]
    made: Any = [calls(*((name, {"page": n}) for n, name in enumerate(names)))]
    limited: Any = AT_ONCE | ({"max_concurrency": most} if most else {})
    given: Any = INPUT
    for _ in range(CALLS):
        process = machine.process(tools, specs, *made, config=GuardConfig())
        state = await process.agent.graph.ainvoke(given, limited, durability="sync")
        if not (asked := state.get("__interrupt__")):
            break
        given, made = Command(resume={item.id: True for item in asked}), []
    told = " ".join(message.text for message in state["messages"])
    assert sorted(done) == list(range(len(names)))
    assert [n for n in done if f"page {n}" not in told] == []
    assert state["report"]["reason"] == "complete"
    machine.close()


@pytest.mark.parametrize("made", [("pay", "ask"), ("pay", "read", "pay"), ("pay", "write", "ask")])
@pytest.mark.parametrize("most", [1, 2, None])
def test_after_a_refused_input_every_question_comes(
    most: int | None, made: tuple[str, ...], agent_of: AgentOf
) -> None:
    """All wrappers are executed once more, those of held calls before the one that asks."""
    done: list[int] = []

    def act(arguments: Any) -> str:
        if arguments["asks"]:
            interrupt("which?")
        done.append(arguments["number"])
        return "done"

    args = {"number": int, "asks": bool}
    names = ("pay", "ask", "read", "write")
    built = agent_of(
        ScriptedChatModel(
            script(
                calls(
                    *((name, {"number": n, "asks": name == "ask"}) for n, name in enumerate(made))
                )
            )
        ),
        [scripted_tool(name, act, args=args, latency=n % 3) for n, name in enumerate(names)],
        specs=[
            ToolSpec(name="pay", approval=True, reads=(), writes=()),
            ToolSpec(name="ask", interrupts=True, reads=(), writes=()),
            pure("read", reads=()),
            ToolSpec(name="write", reads=(), writes=("desk",)),
        ],
        checkpointer=InMemorySaver(),
    )
    limited: Any = {"max_concurrency": most} if most else {}

    async def main() -> Any:
        assert (await built.go(built.input("Go.", None), "t", **limited)).interrupts
        with pytest.raises(CallerError):
            await built.go({"messages": []}, "t", **limited)
        outcome = await built.go(None, "t", **limited)
        for _ in made:
            if asked := outcome.state.get("__interrupt__"):
                yes = Command(resume={item.id: True for item in asked})
                outcome = await built.go(yes, "t", **limited)
        return outcome

    assert run_virtual(main()).result.report["reason"] == "complete"
    assert sorted(done) == list(range(len(made)))


@pytest.mark.parametrize("bounds", [(2, 1), (3, 1), (None, 1)], ids=str)
def test_an_answer_is_taken_before_another_wrapper_asks(
    bounds: tuple[int | None, int], agent_of: AgentOf
) -> None:
    """The wrapper that has the answer may start last: the person is not asked the same twice."""
    made = calls(("sign", {"n": 0, "task_id": "a"}), ("pay", {"n": 1, "task_id": "b"}))
    done: list[int] = []

    def act(arguments: Any) -> str:
        if arguments["n"] == 0:
            interrupt("which?")
        done.append(arguments["n"])
        return "done"

    built = agent_of(
        ScriptedChatModel(script(made)),
        [scripted_tool(name, act, args={"n": int}) for name in ("pay", "sign")],
        specs=[
            ToolSpec(name="pay", approval=True, reads=(), writes=()),
            ToolSpec(name="sign", approval=True, interrupts=True, reads=(), writes=()),
        ],
        config=GuardConfig(premature=False, grounding=False),
        checkpointer=InMemorySaver(),
    )
    asked: list[str] = []

    async def main() -> Any:
        tasks = [{"id": task, "goal": f"Pay {task}."} for task in "ab"]
        given: Any = {"messages": [], "tasks": tasks}
        for turn in range(6):
            most = bounds[min(turn, 1)]
            outcome = await built.go(given, "t", **({"max_concurrency": most} if most else {}))
            if not outcome.interrupts:
                break
            asked.extend(
                call["key"]
                for value in outcome.interrupts
                if value != "which?"
                for call in value["calls"]
            )
            given = Command(resume={item.id: True for item in outcome.state["__interrupt__"]})
        return outcome

    assert run_virtual(main()).result.report["reason"] == "complete"
    assert sorted(asked) == ["a/sign#1", "b/pay#1"]
    assert sorted(done) == [0, 1]
