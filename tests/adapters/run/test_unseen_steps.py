"""Super-steps that nothing can see: `build_agent` takes them within one, and nothing else changes."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from contextvars import ContextVar
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AnyMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config
from langgraph.errors import GraphDrained, GraphRecursionError
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import InjectedState
from langgraph.runtime import RunControl
from langgraph.types import Command, interrupt

from asyncguard import EffectClass, GuardedState, Ports, ToolSpec, build_agent
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import shape

ASKED = {"messages": [("user", "Look up a and b.")]}
SEEN: ContextVar[str] = ContextVar("seen", default="outside")
_PLACES = ("langgraph_node", "langgraph_step", "langgraph_triggers", "langgraph_path")


def by_ainvoke(agent: Any, given: Any = ASKED, *args: Any, **options: Any) -> Any:
    """Enter an agent from a coroutine."""
    return asyncio.run(agent.ainvoke(given, *args, **options))


def by_invoke(agent: Any, given: Any = ASKED, *args: Any, **options: Any) -> Any:
    """Enter an agent from sync code."""
    return agent.invoke(given, *args, **options)


ENTRIES = pytest.mark.parametrize("enter", [by_ainvoke, by_invoke])


def model_of(*steps: Any) -> ScriptedChatModel:
    """A model that follows a script."""
    return ScriptedChatModel(list(steps))


def looks(*keys: str) -> Any:
    """Calls of the tool for some keys."""
    return calls(*(("look", {"key": key}) for key in keys))


class Desk:
    """An agent that looks up two keys, one a turn, and writes down where its code ran."""

    def __init__(self, **options: Any) -> None:
        self.places: list[tuple[Any, ...]] = []
        self.super_steps: list[str] = []

        async def look(key: str) -> str:
            """Look a key up."""
            self.note()
            return f"value of {key}"

        def step(key: str) -> Any:
            def answer(*_: Any) -> Any:
                self.note()
                return looks(key) if key else "done"

            return answer

        self.model = model_of(step("a"), step("b"), step(""))
        self.agent = build_agent(self.model, [look], journal=False, **options)

    def note(self) -> None:
        """Write down the node and the super-step of the code that runs."""
        config = get_config()
        self.places.append(tuple(config["metadata"][name] for name in _PLACES))
        self.super_steps.append(config["configurable"]["checkpoint_ns"])


async def listed(stream: AsyncIterator[Any]) -> list[Any]:
    """Everything that a stream yields."""
    return [each async for each in stream]


@ENTRIES
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_nodes_that_nothing_sees_share_a_super_step(enter: Any, version: str) -> None:
    """A run that is stored nowhere, streamed nowhere and stopped nowhere takes one super-step."""
    desk = Desk()
    result = enter(desk.agent, version=version)
    state = result.value if version == "v2" else result
    assert state["messages"][-1].text == "done"
    assert len(desk.super_steps) == 5
    assert len(set(desk.super_steps)) == 1


@pytest.mark.parametrize("mode", ["updates", "values", "tasks", "debug"])
def test_a_stream_shows_each_node(mode: Any) -> None:
    """A reader of steps gets each node by itself, and both messages before their tools ran."""
    desk = Desk()
    chunks = asyncio.run(listed(desk.agent.astream(ASKED, stream_mode=mode)))
    assert len(set(desk.super_steps)) == 5
    if mode == "updates":
        nodes = [name for chunk in chunks for name in chunk]
        assert nodes == ["prepare", "model", "execute", "model", "execute", "model"]
        assert chunks[1]["model"]["messages"][0].tool_calls[0]["args"] == {"key": "a"}


@ENTRIES
def test_code_finds_the_place_that_a_stream_would_show(enter: Any) -> None:
    """Node, number of the super-step, trigger and path in the metadata are those of a streamed run."""
    unseen, streamed = Desk(), Desk()
    enter(unseen.agent)
    asyncio.run(listed(streamed.agent.astream(ASKED)))
    assert unseen.places == streamed.places
    assert [place[0] for place in unseen.places] == [
        "model",
        "execute",
        "model",
        "execute",
        "model",
    ]


@ENTRIES
@pytest.mark.parametrize(
    "options",
    [
        {"stream_mode": "updates"},
        {"print_mode": "updates"},
        {"debug": True},
        {"interrupt_after": ["approve"]},
        {"interrupt_before": ["approve"]},
        {"config": {"callbacks": [AsyncCallbackHandler()]}},
    ],
)
def test_what_shows_or_stops_steps_keeps_them_apart(
    enter: Any, options: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Updates that are returned or printed, breakpoints and handlers get their super-steps."""
    desk = Desk()
    enter(desk.agent, **options)
    assert len(set(desk.super_steps)) == 5
    capsys.readouterr()


@ENTRIES
def test_a_time_limit_of_a_step_is_one_for_each_node(enter: Any) -> None:
    """With LangGraph's `step_timeout` a node has the time of one super-step, as set."""
    desk = Desk()
    desk.agent.step_timeout = 60
    enter(desk.agent)
    assert len(set(desk.super_steps)) == 5


@ENTRIES
def test_a_saver_stores_each_node(enter: Any) -> None:
    """With a checkpointer the model's message is stored before its tool runs, and so is each node."""
    saver = InMemorySaver()
    desk = Desk(checkpointer=saver)
    place: Any = {"configurable": {"thread_id": "t"}}
    enter(desk.agent, ASKED, place)
    assert len(set(desk.super_steps)) == 5
    following = [state.next for state in desk.agent.get_state_history(place)][::-1]
    assert following == [
        ("__start__",),
        ("prepare",),
        ("model",),
        ("execute",),
        ("model",),
        ("execute",),
        ("model",),
        (),
    ]


class Outer(TypedDict, total=False):
    """State of a graph around the agent."""

    messages: list[AnyMessage]


def around(agent: Any) -> Any:
    """A graph whose one node calls the agent."""
    graph = StateGraph(Outer)

    async def ask(_: Outer) -> Any:
        return {"messages": (await agent.ainvoke(ASKED))["messages"]}

    graph.add_node("ask", ask)
    graph.add_edge(START, "ask")
    return graph.compile()


def test_a_stream_of_the_graph_around_shows_each_node() -> None:
    """A stream with subgraphs shows the nodes of an agent that its node has invoked."""
    desk = Desk()
    chunks = asyncio.run(
        listed(around(desk.agent).astream({}, stream_mode="updates", subgraphs=True))
    )
    inner = [name for path, chunk in chunks if path for name in chunk]
    assert inner == ["prepare", "model", "execute", "model", "execute", "model"]


def test_an_agent_in_a_tool_does_not_inherit_the_silence_of_the_one_around() -> None:
    """A run inside an unseen run that is streamed shows its own nodes."""
    inner, shown = Desk(), []

    async def ask(question: str) -> str:
        """Ask the other agent."""
        async for chunk in inner.agent.astream(ASKED, stream_mode="updates"):
            shown.extend(chunk)
        return "asked"

    outer = build_agent(model_of(calls(("ask", {"question": "?"})), "done"), [ask], journal=False)
    asyncio.run(outer.ainvoke({"messages": [("user", "Ask.")]}))
    assert shown == ["prepare", "model", "execute", "model", "execute", "model"]


def _busy(told: list[Any]) -> Any:
    """Two tasks with slow, failing and deferred calls; what happens is written down."""
    slow = scripted_tool(
        "slow", lambda given: f"{given['key']} it is", args={"key": str}, latency=5
    )
    flaky = scripted_tool("flaky", [ConnectionError("reset"), "mended"], args={"key": str})
    specs = [ToolSpec(name="flaky", effect=EffectClass.PURE), ToolSpec(name="slow")]
    wishes = calls(
        ("slow", {"task_id": "one", "key": "x"}),
        ("slow", {"task_id": "one", "key": "y"}),
        ("flaky", {"task_id": "two", "key": "z"}),
    )
    numbers = itertools.count()
    return build_agent(
        model_of(wishes, *["done"] * 4),
        [slow, flaky],
        specs=specs,
        journal=False,
        ports=Ports(
            observers=(lambda seen: told.append((seen.event.kind, seen.label)),),
            new_id=lambda: f"id{next(numbers)}",
        ),
    )


@ENTRIES
def test_an_agent_in_a_tool_finds_its_thread_without_being_given_the_config(enter: Any) -> None:
    """As LangGraph's own graphs do; so its approval reaches the person, and the answer the tool."""
    paid = list[int]()

    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return f"paid {amount}"

    cashier = build_agent(
        model_of(calls(("pay", {"amount": 40})), "Paid 40."),
        [pay],
        specs=[ToolSpec(name="pay", approval=True)],
        checkpointer=True,
    )

    def ask(question: str) -> str:
        """Ask the cashier."""
        state = cashier.invoke({"messages": [("user", question)]})
        return str(state["messages"][-1].content)

    agent = build_agent(
        model_of(calls(("ask", {"question": "Pay 40."})), "all done"),
        [ask],
        specs=[ToolSpec(name="ask", interrupts=True)],
        checkpointer=InMemorySaver(),
    )
    thread = {"configurable": {"thread_id": "t"}}
    asked = enter(agent, ASKED, thread)
    assert [each.value["calls"][0]["tool"] for each in asked["__interrupt__"]] == ["pay"]
    state = enter(agent, Command(resume=True), thread)
    assert ("Paid 40." in [message.content for message in state["messages"]], paid) == (True, [40])


def test_a_run_in_one_super_step_makes_the_same_events_and_messages() -> None:
    """Retry, lateness and completion are as in a run that is streamed node by node."""
    given = {"tasks": [{"id": "one", "goal": "x and y"}, {"id": "two", "goal": "z"}]}

    async def once(unseen: bool) -> Any:
        events: list[Any] = []
        agent = _busy(events)
        if unseen:
            state = await agent.ainvoke(given)
        else:
            state = (await listed(agent.astream(given, stream_mode="values")))[-1]
        return shape(state["messages"]), state["report"], events

    seen, unseen = (run_virtual(once(each)).result for each in (False, True))
    assert seen == unseen
    kinds = {kind for kind, _ in unseen[2]}
    assert {"call_diagnosed", "call_recovered", "call_retired", "calls_delivered"} <= kinds


@ENTRIES
def test_an_error_of_the_model_reaches_the_caller(enter: Any) -> None:
    """A node that raises after others ends the run with its error, and the next run is a new one."""
    model = model_of(looks("a"), ValueError("broken"), "fine")

    async def look(key: str) -> str:
        """Look."""
        return key

    agent = build_agent(model, [look], journal=False)
    with pytest.raises(ValueError, match="broken"):
        enter(agent)
    assert enter(agent)["messages"][-1].text == "fine"


def _asking() -> tuple[Any, list[str]]:
    entered: list[str] = []

    async def look(key: str) -> str:
        """Look."""
        entered.append(key)
        return str(interrupt(f"May I look at {key}?")) if key == "b" else key

    return build_agent(model_of(looks("a"), looks("b"), "done"), [look], journal=False), entered


@ENTRIES
def test_a_question_leaves_what_was_done_before_it(enter: Any) -> None:
    """An interrupt in a tool shows the messages up to it, and the tool is entered once."""
    agent, entered = _asking()
    result = enter(agent)
    assert [item.value for item in result["__interrupt__"]] == ["May I look at b?"]
    assert [message.type for message in result["messages"]] == ["human", "ai", "tool", "ai"]
    assert entered == ["a", "b"]
    streamed, _ = _asking()
    chunks = asyncio.run(listed(streamed.astream(ASKED, stream_mode="values")))
    seen = [chunk for chunk in chunks if "messages" in chunk][-1]
    assert shape(seen["messages"]) == shape(result["messages"])


def _streamed(agent: Any, given: Any, config: Any) -> Any:
    return asyncio.run(listed(agent.astream(given, config)))


def _limited(limit: int, enter: Callable[[Any, Any, Any], Any]) -> str:
    desk = Desk()
    try:
        enter(desk.agent, ASKED, {"recursion_limit": limit})
    except GraphRecursionError:
        return f"refused after {len(desk.super_steps)}"
    return "done"


@pytest.mark.sampled(2)
@ENTRIES
@pytest.mark.parametrize("limit", range(1, 9))
def test_the_recursion_limit_counts_each_node(limit: int, enter: Any) -> None:
    """A limit of LangGraph ends a run at the same node, seen or unseen."""
    assert _limited(limit, enter) == _limited(limit, _streamed)


def test_the_limits_tried_are_on_both_sides_of_the_edge() -> None:
    """Of the limits above one is just enough, and one is not."""
    ends = [_limited(limit, by_ainvoke) for limit in (1, 8)]
    assert ends[0].startswith("refused")
    assert ends[1] == "done"


@ENTRIES
def test_a_run_that_is_asked_to_drain_ends_before_its_next_node(enter: Any) -> None:
    """A request that comes while the model speaks is heeded before the tool begins."""
    control, entered = RunControl(), []

    def step(*_: Any) -> Any:
        control.request_drain("shutdown")
        return looks("a")

    async def look(key: str) -> str:
        """Look."""
        entered.append(key)
        return key

    agent = build_agent(model_of(step), [look], journal=False)
    with pytest.raises(GraphDrained):
        enter(agent, control=control)
    assert entered == []


def test_a_tool_that_reads_the_state_finds_the_message_that_calls_it() -> None:
    """Values of the graph are those of the node in which a tool runs."""
    seen: list[Sequence[AnyMessage]] = []

    @tool
    async def look(key: str, state: Annotated[dict[str, Any], InjectedState]) -> str:
        """Look a key up."""
        seen.append(state["messages"])
        return key

    agent = build_agent(model_of(looks("a"), "done"), [look], journal=False)
    asyncio.run(agent.ainvoke(ASKED))
    assert seen[0][-1].tool_calls[0]["args"] == {"key": "a"}  # type: ignore[union-attr]


class Counting(GuardedState, total=False):
    """State with a channel of the user's own."""

    count: int


@ENTRIES
def test_commands_of_tools_are_applied_in_their_place(enter: Any) -> None:
    """An update by a tool's command reaches its channel, and its messages stand after the answers."""

    @tool
    async def look(key: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Look a key up."""
        told = ToolMessage(f"value of {key}", tool_call_id=tool_call_id)
        return Command(update={"messages": [told], "count": len(key)})

    async def plain(key: str) -> Command[Any]:
        """Look a key up without anything of the graph."""
        return Command(update={"count": 10 * len(key)})

    for used, name, expected in ((look, "look", 3), (plain, "plain", 30)):
        model = model_of(*[calls((name, {"key": "abc"})), "done"] * 2)
        agent = build_agent(model, [used], journal=False, state_schema=Counting)
        result = enter(agent)
        assert [message.type for message in result["messages"]] == ["human", "ai", "tool", "ai"]
        assert enter(agent, output_keys="count") == expected


def test_values_in_the_context_stay_in_their_node() -> None:
    """A context variable that the model sets is not seen by its next turn, nor by the caller."""
    values: list[str] = []

    def step(answer: Any) -> Any:
        def say(*_: Any) -> Any:
            values.append(SEEN.get())
            SEEN.set("inside")
            return answer

        return say

    async def look(key: str) -> str:
        """Look."""
        return key

    async def main() -> str:
        SEEN.set("caller")
        agent = build_agent(model_of(step(looks("a")), step("done")), [look], journal=False)
        await agent.ainvoke(ASKED)
        return SEEN.get()

    assert asyncio.run(main()) == "caller"
    assert values == ["caller", "caller"]


def test_other_tasks_of_the_loop_get_their_turn_at_each_node() -> None:
    """A long run of instant models and tools does not keep its neighbours waiting."""
    ticks: list[int] = []

    async def neighbour() -> None:
        while True:
            ticks.append(len(desk.super_steps))
            await asyncio.sleep(0)

    desk = Desk()

    async def main() -> None:
        other = asyncio.create_task(neighbour())
        await desk.agent.ainvoke(ASKED)
        other.cancel()

    asyncio.run(main())
    assert set(range(1, 5)) <= set(ticks)


def _counted() -> tuple[Any, list[int]]:
    steps: list[int] = []

    async def look(key: str) -> Command[Any]:
        """Look a key up, and write into a channel of the user's own."""
        steps.append(get_config()["metadata"]["langgraph_step"])
        return Command(update={"count": len(steps)})

    model = model_of(looks("a"), looks("b"), looks("c"), "done")
    return build_agent(model, [look], journal=False, state_schema=Counting), steps


@ENTRIES
def test_super_steps_within_others_are_counted_to_the_end(enter: Any) -> None:
    """Number and limit go on rising after a tool's command, with which LangGraph takes over."""
    (unseen, steps), (streamed, shown) = _counted(), _counted()
    enter(unseen)
    asyncio.run(listed(streamed.astream(ASKED)))
    assert steps == shown == [3, 5, 7]
    with pytest.raises(GraphRecursionError):
        enter(_counted()[0], ASKED, {"recursion_limit": 6})
