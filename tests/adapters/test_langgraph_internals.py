"""Each private use of LangGraph, with whichever LangGraph is installed: CI runs this at both ends of the range."""

import asyncio
import contextlib
import operator
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, HumanMessage, ToolCall
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tools import tool
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import id as ids
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.config import get_config
from langgraph.errors import GraphInterrupt
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import InjectedState, ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import get_runtime
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict, override

from asyncguard import build_agent
from asyncguard.adapters.langgraph_internals.answers import (
    INTERRUPT_ID,
    answer_beside_update,
    answer_waits,
    answers_of,
    asked_before,
    asking_with,
    count_questions,
    scratchpad_of,
    store_answers,
    stored_answers,
    storing_of_answers,
    take_unplaced_answer,
    update_of,
    used_answer,
    writes_of,
)
from asyncguard.adapters.langgraph_internals.checkpoints import (
    has_written,
    next_nodes,
    questions_and_answers,
    questions_in,
    writes_in,
)
from asyncguard.adapters.langgraph_internals.keys import (
    CHECKPOINTS,
    DURABILITY,
    REPLAYED,
    RESUMED,
    channels_of,
    config_of_run,
    saver_of,
)
from asyncguard.adapters.langgraph_internals.nodes import INJECTION, nodes_of, tools_of
from asyncguard.adapters.langgraph_internals.run import (
    calls_without_answer,
    goes_back,
    input_of,
    namespace_of_run,
    outermost_input_of,
    run_of,
    single_channels,
    streams,
)
from asyncguard.adapters.langgraph_internals.run_checkpoints import (
    base_of,
    follow_clock,
    newest_of,
    store_nothing,
    storing,
    storing_error,
    storing_of,
)
from asyncguard.adapters.langgraph_internals.run_end import (
    before_over,
    end_whole,
    when_over,
    when_over_with,
)
from asyncguard.testing import ScriptedChatModel, scripted_tool

Graph = CompiledStateGraph[Any, Any, Any, Any]
THREAD = RunnableConfig(configurable={"thread_id": "t"})


class State(TypedDict, total=False):
    value: int


def graph_of(look: Callable[[RunnableConfig], Any], saver: Any = None) -> Graph:
    """A graph of one node that looks at its configuration."""

    def node(state: State, config: RunnableConfig) -> State:
        look(config)
        return {"value": state.get("value", 0) + 1}

    graph: StateGraph[Any, Any, Any, Any] = StateGraph(State)
    graph.add_node("node", node)
    graph.add_node("after", lambda _: {})
    graph.add_edge(START, "node")
    graph.add_edge("node", "after")
    return graph.compile(checkpointer=saver)


def around(child: Graph, look: Callable[[RunnableConfig], Any], saver: Any) -> Graph:
    """A graph that runs another one in its node."""

    def run(config: RunnableConfig) -> None:
        look(config)
        child.invoke({"value": 5}, config)

    return graph_of(run, saver)


def configured(config: RunnableConfig) -> dict[str, Any]:
    """The private and public keys of a node's configuration."""
    return config["configurable"]


def newest_id(graph: Graph) -> str:
    """The id of the thread's newest checkpoint, by the public interface."""
    return str(graph.get_state(THREAD).config["configurable"]["checkpoint_id"])


def test_a_run_inside_a_node_has_the_thread_around_it_unless_it_names_one() -> None:
    """Whatever else its graph or its caller configure."""
    found: list[Any] = []

    def node(_: Any) -> dict[str, Any]:
        inner = RunnableConfig(configurable={"own": 1})
        given: list[Any] = [
            None,
            *({"configurable": each} for each in ({"other": 2}, {"thread_id": "u"})),
        ]
        found.extend(config_of_run(inner, each)["configurable"] for each in given)
        return {}

    graph = StateGraph(dict)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    graph.compile().invoke({}, {"configurable": {"thread_id": "t"}})
    assert [each["thread_id"] for each in found] == ["t", "t", "u"]
    assert [bool(each.get("checkpoint_ns")) for each in found] == [True, True, False]
    assert [each["own"] for each in found] == [1, 1, 1]
    assert found[1]["other"] == 2


def test_a_run_has_its_checkpointer_and_a_nested_one_that_of_the_graph_around_it() -> None:
    """A graph without one stores nothing."""
    seen: list[Any] = []
    look = lambda config: seen.append(saver_of(config))  # noqa: E731
    saver = InMemorySaver()
    around(graph_of(look), look, saver).invoke({"value": 1}, THREAD)
    graph_of(look).invoke({"value": 1})
    assert seen == [saver, saver, None]


@pytest.mark.parametrize(
    ("options", "expected"), [({}, "sync"), ({"durability": "exit"}, "exit")], ids=["kept", "asked"]
)
def test_the_durability_of_a_run_has_a_default_that_a_caller_may_override(
    options: dict[str, Any], expected: str
) -> None:
    """The key sets it, and shows it to the node."""
    seen: list[Any] = []
    graph = graph_of(
        lambda config: seen.append(configured(config).get(DURABILITY)), InMemorySaver()
    )
    bound = graph.with_config(RunnableConfig(configurable={DURABILITY: "sync"}))
    bound.invoke({"value": 1}, THREAD, **options)
    assert seen == [expected]
    assert len(list(graph.get_state_history(THREAD))) == (1 if expected == "exit" else 4)


def test_a_run_knows_the_checkpoints_that_it_stands_on() -> None:
    """Its own, which the public runtime names, too, and those of the graphs around it."""
    seen: list[dict[str, str]] = []
    own: list[str] = []

    def look(config: RunnableConfig) -> None:
        seen.append(dict(configured(config)[CHECKPOINTS]))
        info = get_runtime().execution_info
        assert info is not None
        own.append(info.checkpoint_id)
        run = run_of(config)
        assert run is not None
        assert newest_of(run) == info.checkpoint_id
        assert seen[-1][namespace_of_run(run)] == info.checkpoint_id

    around(graph_of(look), look, InMemorySaver()).invoke({"value": 1}, THREAD)
    assert [sorted(each.values()) for each in seen] == [own[:1], sorted(own)]
    assert [namespace.split(":")[0] for namespace in sorted(seen[1])] == ["", "node"]


@pytest.mark.parametrize(("asked", "told"), [(["values"], False), (["values", "custom"], True)])
def test_a_run_knows_its_stream_modes(asked: list[str], told: bool) -> None:
    """Its own and those of the graph around it, through which its events would go."""
    seen: list[bool] = []

    def look(config: RunnableConfig) -> None:
        seen.append(streams(config, "custom"))

    modes: Any = asked
    list(around(graph_of(look), look, None).stream({"value": 1}, stream_mode=modes, subgraphs=True))
    assert seen == [told, told]


def test_a_run_that_goes_back_in_time_says_so() -> None:
    """By a key, and by the checkpoint that it was given."""
    seen: list[tuple[bool, bool]] = []

    def look(config: RunnableConfig) -> None:
        run = run_of(config)
        assert run is not None
        seen.append((configured(config).get(REPLAYED) is not None, goes_back(run)))

    graph = graph_of(look, InMemorySaver())
    graph.invoke({"value": 1}, THREAD)
    before = next(found for found in graph.get_state_history(THREAD) if found.next == ("node",))
    graph.invoke(None, before.config)
    assert seen == [(False, False), (True, True)]


def test_a_run_inside_one_that_goes_back_in_time_says_so() -> None:
    """Its own checkpoint is not named: the run around it looks it up."""
    seen: list[bool] = []

    def look(config: RunnableConfig) -> None:
        run = run_of(config)
        assert run is not None
        seen.append(goes_back(run))

    inner = graph_of(look, saver=True)
    outer: StateGraph[Any, Any, Any, Any] = StateGraph(State)
    outer.add_node("inner", inner)
    outer.add_edge(START, "inner")
    graph = outer.compile(checkpointer=InMemorySaver())
    graph.invoke({"value": 1}, THREAD)
    before = next(found for found in graph.get_state_history(THREAD) if found.next == ("inner",))
    graph.invoke(None, before.config)
    assert seen == [False, True]


@pytest.mark.parametrize("by_id", [False, True], ids=["whichever", "by-id"])
def test_an_answer_is_seen_before_its_question_is_asked_again(*, by_id: bool) -> None:
    """With what came beside it; such a run differs from one with an input, and has other notes."""
    resumed: list[bool] = []
    received: list[tuple[list[Any], bool]] = []
    notes: list[Any] = []
    channel: list[Any] = []

    def ask(config: RunnableConfig) -> None:
        resumed.append(configured(config).get(RESUMED) is True)
        notes.append(scratchpad_of(config))
        read = channels_of(config)
        assert read is not None
        channel.append(read("value"))
        received.append(([*answers_of(notes[-1])], answer_waits(notes[-1])))
        assert interrupt("may it?") == "yes"

    graph = graph_of(ask, InMemorySaver())
    graph.invoke({"value": 1}, THREAD)
    asked = graph.get_state(THREAD).interrupts[0].id
    assert INTERRUPT_ID.fullmatch(asked)
    answer = {asked: "yes"} if by_id else "yes"
    graph.invoke(Command(resume=answer, update={"value": 7}), THREAD)
    assert resumed == [False, True]
    assert received == [([], False), (["yes"], False) if by_id else ([], True)]
    assert notes[0] is not notes[1]
    assert channel == [1, 7]


@dataclass
class Change:
    value: int


@pytest.mark.parametrize(
    "update", [{"value": 1}, [("value", 1)], Change(1)], ids=["mapping", "pairs", "object"]
)
def test_the_update_of_a_command_is_read_as_langgraph_reads_it(update: Any) -> None:
    """In each of the forms that it accepts."""
    assert update_of(Command(update=update)) == {"value": 1}
    assert list(writes_of(Command(update=update))) == [("value", 1)]


def test_the_channels_that_take_one_write_are_found() -> None:
    """Those of keys without a reducer: LangGraph refuses a second write of a step into one."""

    class Both(TypedDict, total=False):
        plain: int
        gathered: Annotated[list[int], operator.add]

    found: list[set[str]] = []

    def look(_: Any, config: RunnableConfig) -> None:
        found.append(single_channels(config) & {"plain", "gathered"})

    graph = StateGraph(Both)
    graph.add_node("look", look)
    graph.add_edge(START, "look")
    graph.compile().invoke({"plain": 1})
    assert found == [{"plain"}]


def test_a_run_has_its_input_and_the_checkpoint_that_it_began_at() -> None:
    """The input as it was given; the first run of a thread begins at none."""
    inputs: list[Any] = []
    bases: list[str] = []

    def look(config: RunnableConfig) -> None:
        run = run_of(config)
        assert run is not None
        inputs.append(input_of(config))
        assert nodes_of(config) == ["__start__", "node", "after"]
        bases.append(base_of(run))

    graph = graph_of(look, InMemorySaver())
    given = {"value": 1}
    graph.invoke(given, THREAD)
    first = newest_id(graph)
    graph.invoke({"value": 2}, THREAD)
    assert inputs == [given, {"value": 2}]
    assert bases == ["", first]


def test_what_a_run_stores_after_a_checkpoint_of_a_later_time_sorts_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The clock goes back by an hour, as that of another machine may; its input alone sorts before."""

    def follow(config: RunnableConfig) -> None:
        run = run_of(config)
        assert run is not None
        follow_clock(run)

    graph = graph_of(follow, InMemorySaver())
    graph.invoke({"value": 1}, THREAD)
    first = newest_id(graph)
    earlier = SimpleNamespace(time_ns=lambda: time.time_ns() - 3600 * 10**9)
    monkeypatch.setattr(ids, "time", earlier)
    monkeypatch.setattr(ids, "_last_v6_timestamp", None)
    graph.invoke({"value": 2}, THREAD)
    assert newest_id(graph) > first
    assert graph.get_state(THREAD).values["value"] == 3  # of both inputs


@pytest.mark.parametrize("base", ["", "not an id", "f" * 8 + "-ffff-6fff-bfff-" + "f" * 12])
def test_a_time_that_no_clock_shows_is_not_followed(
    monkeypatch: pytest.MonkeyPatch, base: str
) -> None:
    """A forged checkpoint would end the time of all threads of the process."""
    monkeypatch.setattr(ids, "_last_v6_timestamp", 1)
    loop: Any = SimpleNamespace(
        _initial_checkpoint_config={"configurable": {"checkpoint_id": base}}
    )
    follow_clock(loop)
    assert ids._last_v6_timestamp == 1


def test_a_run_has_the_tools_of_its_graph() -> None:
    """Those of a ``ToolNode``, which ``create_agent`` makes, too; a graph without one has none."""
    pay = scripted_tool("pay", ["paid"])
    found: list[Any] = []

    class Looking(AgentMiddleware):
        def before_agent(self, state: Any, runtime: Any) -> None:
            found.extend(tools_of(get_config()))

    create_agent(ScriptedChatModel(["Done."]), [pay], middleware=[Looking()]).invoke(
        {"messages": [HumanMessage("Go.")]}
    )
    assert found == [pay]
    graph_of(lambda config: found.extend(tools_of(config))).invoke({"value": 1}, THREAD)
    assert found == [pay]


def test_a_node_of_an_inner_graph_has_the_input_of_the_outermost_run() -> None:
    """Its own input is what the outer graph gives it."""
    inputs: list[Any] = []

    def look(config: RunnableConfig) -> None:
        inputs.append(outermost_input_of(config))
        interrupt("?")

    outer: StateGraph[Any, Any, Any, Any] = StateGraph(State)
    outer.add_node("inner", graph_of(look, None))
    outer.add_edge(START, "inner")
    graph = outer.compile(checkpointer=InMemorySaver())
    given, answer = {"value": 1}, Command(resume="yes")
    graph.invoke(given, THREAD)
    graph.invoke(answer, THREAD)
    assert inputs == [given, answer]


def test_an_answer_beside_an_update_is_stored_so_that_it_replaces_an_older_one(
    tmp_path: Path,
) -> None:
    """SQLite keeps the older one, as LangGraph stores them; an answer alone needs nothing."""
    found: list[Any] = []

    class Dying(BaseException):
        pass

    def look(config: RunnableConfig) -> None:
        beside = answer_beside_update(config)
        if not isinstance(outermost_input_of(config), Command):
            interrupt("?")
        if beside is None:
            found.append(None)
            raise Dying
        checkpointer, place, writes = beside
        checkpointer.put_writes(place, *writes)
        stored = saver.get_tuple(THREAD)
        assert stored is not None
        written = stored.pending_writes or ()
        found.extend(value for _, channel, value in written if "resume" in channel)

    with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        graph = graph_of(look, saver)
        graph.invoke({"value": 1}, THREAD)
        with pytest.raises(Dying):
            graph.invoke(Command(resume="left"), THREAD)
        graph.invoke(Command(resume="new", update={"value": 5}), THREAD)
    assert found == [None, "new"]


def test_the_next_node_of_a_stored_thread_is_found_in_a_graph_without_it() -> None:
    """The public `next` is empty there."""
    saver = InMemorySaver()
    stopped = graph_of(lambda _: None, saver)
    stopped.invoke({"value": 1}, THREAD, interrupt_before=["after"])
    assert next_nodes(saver.get_tuple(THREAD)) == ["after"]
    builder = StateGraph(State)
    builder.add_node("node", lambda state: state)
    builder.add_edge(START, "node")
    assert builder.compile(checkpointer=saver).get_state(THREAD).next == ()
    assert next_nodes(None) == []


def test_the_questions_of_a_stored_thread_are_found() -> None:
    """With the checkpoint after which they were asked."""
    saver = InMemorySaver()
    graph_of(lambda _: interrupt({"ask": 1}), saver).invoke({"value": 1}, THREAD)
    asked = saver.get_tuple(THREAD)
    assert asked is not None
    assert questions_in(asked) == [{"ask": 1}]


@pytest.mark.parametrize("frequency", [1, 1000], ids=["copies", "writes"])
def test_what_was_written_into_a_channel_is_found(frequency: int) -> None:
    """As a copy of the channel or as the newest write, and what a question then made LangGraph drop."""

    def fold(state: Any, writes: Any) -> list[int]:
        return [*(state or ()), *chain(*writes)]

    class Numbers(TypedDict, total=False):
        numbers: Annotated[list[int], DeltaChannel(fold, snapshot_frequency=frequency)]

    graph: StateGraph[Any, Any, Any, Any] = StateGraph(Numbers)
    graph.add_node("first", lambda _: {"numbers": [1]})
    graph.add_node("second", lambda _: {"numbers": [2]})
    graph.add_node("asks", lambda _: interrupt("?"))
    graph.add_edge(START, "first")
    graph.add_edge("first", "second")
    graph.add_edge("first", "asks")
    saver = InMemorySaver()
    graph.compile(checkpointer=saver).invoke({"numbers": [0]}, THREAD)
    asked, before, *_ = saver.list(THREAD)
    held = [[0, 1]] if frequency == 1 else []
    assert writes_in(asked, "numbers") == [*held, [2]]
    assert writes_in(before, "numbers")[-1] == [1]
    assert writes_in(asked, "other") == []


@pytest.mark.parametrize("drops", [False, True], ids=["kept", "dropped"])
def test_an_answer_without_a_name_is_given_to_the_next_question_unless_it_is_dropped(
    *, drops: bool
) -> None:
    """In a run without an answer; and a task knows that it has asked, and that a question has got the answer."""
    seen: list[tuple[list[Any], bool]] = []

    def look(config: RunnableConfig) -> None:
        seen.append(([each.value for each in asked_before(config)], used_answer(config)))
        if drops and len(seen) > 2:
            assert take_unplaced_answer(scratchpad_of(config)) == "one"
            assert take_unplaced_answer(scratchpad_of(config)) is None
        interrupt("first?")
        interrupt("second?")

    graph = graph_of(look, InMemorySaver())
    graph.invoke({"value": 1}, THREAD)
    graph.invoke(Command(resume="one"), THREAD)
    left = graph.invoke(None, THREAD).get("__interrupt__", ())
    assert [each.value for each in left] == (["second?"] if drops else [])
    assert seen == [([], False), (["first?"], False), (["second?"], True)]


def test_what_a_task_has_stored_is_found_by_who_runs_it() -> None:
    """The next node has stored nothing there."""
    configs: list[RunnableConfig] = []
    saver = InMemorySaver()
    graph_of(configs.append, saver).invoke({"value": 1}, THREAD)
    places = [each for each in saver.list(THREAD) if each.pending_writes]
    stored = [
        [has_written(configs[0], each, name) for each in places] for name in State.__annotations__
    ]
    assert [sum(found) for found in stored] == [1]
    assert not any(has_written(configs[0], each, "other") for each in places)


def test_answers_are_stored_with_the_question_at_which_a_task_stops() -> None:
    """Also those that no question has got; the list is the one that the next execution is given."""
    seen: list[list[Any]] = []

    def look(config: RunnableConfig) -> None:
        answers = answers_of(scratchpad_of(config))
        seen.append([list(answers), *stored_answers(run_of(config))])
        if len(seen) == 1:
            answers.append("mine")
            store_answers(config)
            count_questions(scratchpad_of(config), 1)
        interrupt("?")

    saver = InMemorySaver()
    graph = graph_of(look, saver)
    graph.invoke({"value": 1}, THREAD)
    assert stored_answers(saver.get_tuple(THREAD)) == [["mine"]]
    graph.invoke(None, THREAD)
    assert seen == [[[]], [["mine"], ["mine"]]]
    assert stored_answers(None) == []


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_answers_are_stored_at_once_beside_their_question(tmp_path: Path, durability: Any) -> None:
    """In the place of those that were stored with it, by a run that stores anything before its end."""
    found: list[Any] = []

    class Dying(BaseException):
        pass

    def look(config: RunnableConfig) -> None:
        answers = answers_of(scratchpad_of(config))
        if not answers:
            answers.append("before")
            store_answers(config)
            count_questions(scratchpad_of(config), 1)
            interrupt("?")
        storing = storing_of_answers(config, [*answers, "more"])
        if storing is not None:
            checkpointer, place, writes = storing
            checkpointer.put_writes(place, *writes)
        stored = saver.get_tuple(THREAD)
        assert stored is not None
        found.append(questions_and_answers(stored))
        raise Dying

    with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        graph = graph_of(look, saver)
        (asked,) = graph.invoke({"value": 1}, THREAD)["__interrupt__"]
        with pytest.raises(Dying):
            graph.invoke(Command(resume={asked.id: "mine"}), THREAD, durability=durability)
    answers = ["before"] if durability == "exit" else ["before", "mine", "more"]
    assert found == [[([asked], answers)]]


@pytest.mark.parametrize("placed", [False, True], ids=["after", "in-place"])
def test_a_tool_is_given_the_answers_that_a_node_lends_it(*, placed: bool) -> None:
    """What LangGraph stores of them is not stored; a question without an answer has the id of its place."""
    seen: list[Any] = []

    def none_waits(_: bool = False) -> None:
        return None

    def again(_: Any) -> None:
        seen.append(interrupt("again?"))

    def look(config: RunnableConfig) -> None:
        seen.append(interrupt("first?"))
        answers = ["lent", *answers_of(scratchpad_of(config))]
        ahead = iter([0] if placed else [len(answers)])
        lent = asking_with(config, answers, ahead.__next__, none_waits)
        RunnableLambda(again).invoke(None, lent)

    saver = InMemorySaver()
    graph = graph_of(look, saver)
    graph.invoke({"value": 1}, THREAD)
    left = graph.invoke(Command(resume="one"), THREAD).get("__interrupt__", ())
    assert seen == (["one", "lent"] if placed else ["one"])
    assert [each.value for each in left] == ([] if placed else ["again?"])
    if not placed:
        assert stored_answers(saver.get_tuple(THREAD)) == [["one"]]


def test_the_next_question_of_a_task_has_the_number_that_a_node_gives_it() -> None:
    """Middleware that asks in the task later is given no answer of those before."""
    seen: list[Any] = []

    def look(config: RunnableConfig) -> None:
        answers = answers_of(scratchpad_of(config))
        answers.insert(0, "ours")
        count_questions(scratchpad_of(config), 1)
        seen.append(interrupt("theirs?"))

    graph = graph_of(look, InMemorySaver())
    graph.invoke({"value": 1}, THREAD)
    graph.invoke(Command(resume="one"), THREAD)
    assert seen == ["one"]


async def test_the_storing_of_each_checkpoint_that_a_node_stands_on_is_found() -> None:
    """By namespace and id, of the graph and of the one around it, before a synchronous and an asynchronous run."""
    found: list[bool] = []

    def look(config: RunnableConfig) -> None:
        for namespace, checkpoint in configured(config)[CHECKPOINTS].items():
            known = storing_of(config, namespace, checkpoint)
            found.append(known is not None)
            assert storing_of(config, namespace, "another") is None

    graph = around(graph_of(look), lambda _: None, InMemorySaver())
    graph.invoke({"value": 1}, THREAD, durability="async")
    assert found == [True, True]
    await graph.ainvoke({"value": 1}, THREAD, durability="async")
    assert found == [True] * 4


class Broken(InMemorySaver):
    """Checkpointer that cannot store."""

    @override
    def put(self, *args: Any, **options: Any) -> Any:
        raise OSError("disk full")


def test_a_checkpoint_that_could_not_be_stored_shows_its_error() -> None:
    """With durability async the run goes on meanwhile, and a graph inside it sees the error, too."""
    seen: list[BaseException | None] = []

    def look(config: RunnableConfig) -> None:
        run = run_of(config)
        assert run is not None
        with pytest.raises(OSError, match="disk full"):
            storing(run).result(10)
        seen.append(storing_error(config))

    graph = around(graph_of(look), lambda _: None, Broken())
    with pytest.raises(OSError, match="disk full"):
        graph.invoke({"value": 1}, THREAD, durability="async")
    assert [type(error) for error in seen] == [OSError]


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("how", ["result", "error", "closed", "interrupt"])
async def test_a_run_that_ends_waits(how: str, sync: bool) -> None:
    """For what was passed first after what was passed last, and before the caller has its result."""
    over: list[str] = []
    loop = asyncio.get_running_loop()

    async def write() -> None:
        await asyncio.sleep(0)
        over.append("written")

    async def look(_: Any, config: RunnableConfig) -> None:
        run = run_of(config)
        assert run is not None
        before_over(run, write)
        when_over(run, over.append, "ended")
        if how == "error":
            raise LookupError
        if how == "interrupt":
            interrupt("may it?")

    def look_from_thread(_: Any, config: RunnableConfig) -> None:
        asyncio.run_coroutine_threadsafe(look(_, config), loop).result()

    graph: StateGraph[Any, Any, Any, Any] = StateGraph(State)
    graph.add_node("look", RunnableLambda(look_from_thread, look))
    graph.add_edge(START, "look")
    compiled = graph.compile(checkpointer=InMemorySaver())

    def play() -> None:
        steps = compiled.stream({"value": 1}, THREAD)
        with contextlib.suppress(LookupError):
            next(steps)
            if how != "closed":
                list(steps)
        steps.close()  # type: ignore[attr-defined]

    async def aplay() -> None:
        steps = compiled.astream({"value": 1}, THREAD)
        with contextlib.suppress(LookupError):
            await anext(steps)
            if how != "closed":
                _ = [step async for step in steps]
        await steps.aclose()  # type: ignore[attr-defined]

    await (asyncio.to_thread(play) if sync else aplay())
    assert over == ["ended", "written"]


@pytest.mark.parametrize("how", ["result", "error", "closed", "interrupt"])
def test_the_end_of_a_run_is_reported_however_it_comes(how: str) -> None:
    """Once, and not before it."""
    over: list[str] = []
    errors: list[BaseException | None] = []

    def look(config: RunnableConfig) -> None:
        run = run_of(config)
        assert run is not None
        end_whole(run, over.append, "whole")
        when_over(run, over.append, how)
        when_over_with(run, errors.append)
        assert over == []
        if how == "error":
            raise LookupError
        if how == "interrupt":
            interrupt("may it?")

    graph = graph_of(look, InMemorySaver())
    steps = graph.stream({"value": 1}, THREAD)
    if how == "error":
        with pytest.raises(LookupError):
            list(steps)
    elif how == "closed":
        next(steps)
        assert over == []
        steps.close()  # type: ignore[attr-defined]
    else:
        list(steps)
    assert over == [how, "whole"]
    kind = {"error": LookupError, "closed": GeneratorExit, "interrupt": GraphInterrupt}.get(how)
    assert [type(error) for error in errors] == [kind or type(None)]


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "as-langgraph-is"])
async def test_a_run_that_is_left_again_and_again_ends(*, whole: bool) -> None:
    """Its node has ended before the end is told; if LangGraph saw to that, the second case fails."""
    order: list[str] = []
    begun = asyncio.Event()

    async def look(_: Any, config: RunnableConfig) -> None:
        run = run_of(config)
        assert run is not None
        (end_whole if whole else when_over)(run, order.append, "told")
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            order.append("ended")

    graph: StateGraph[Any, Any, Any, Any] = StateGraph(State)
    graph.add_node("look", look)
    graph.add_node("beside", lambda _: None)  # LangGraph runs a single node in the caller's task
    graph.add_edge(START, "look")
    graph.add_edge(START, "beside")
    run = asyncio.create_task(graph.compile().ainvoke({"value": 1}))
    await begun.wait()
    while not run.done():
        run.cancel()
        await asyncio.sleep(0)
    for _ in range(20):
        await asyncio.sleep(0)
    assert order == (["ended", "told"] if whole else [])


def test_the_calls_of_a_super_step_whose_tasks_have_not_returned() -> None:
    """The one that has asked counts among them until it is executed again; a hook has none."""
    seen: list[str] = []

    class Look(AgentMiddleware):
        def before_model(self, *_: Any) -> None:
            seen.append("".join(sorted(calls_without_answer(get_config()))))

        def wrap_tool_call(self, request: ToolCallRequest, handler: Any) -> Any:
            seen.append("".join(sorted(calls_without_answer(get_config()))))
            if request.tool_call["id"] == "b":
                interrupt("which?")
            return handler(request)

    made = [ToolCall(name="read", args={"page": n}, id=n, type="tool_call") for n in "abc"]
    model = ScriptedChatModel([AIMessage("", tool_calls=made), "Done."])
    read = scripted_tool("read", lambda given: f"page {given['page']}", args={"page": str})
    graph = create_agent(model, [read], middleware=[Look()], checkpointer=InMemorySaver())
    limited = RunnableConfig(**THREAD, max_concurrency=1)
    graph.invoke({"messages": [("user", "Read.")]}, limited)
    assert seen == ["", "abc", "bc", "bc"]
    graph.invoke(Command(resume="that"), limited)
    assert seen[4:] == ["b", ""]


@pytest.mark.parametrize("refused", [True, False], ids=["refused", "as-langgraph-is"])
def test_a_refused_run_stores_nothing_at_its_end(*, refused: bool) -> None:
    """If LangGraph stops storing at the end of a run that failed, the second case fails."""

    def look(config: RunnableConfig) -> None:
        if refused:
            store_nothing(config)
        raise LookupError

    graph = graph_of(look, InMemorySaver())
    with pytest.raises(LookupError):
        graph.invoke({"value": 1}, THREAD, durability="exit")
    assert len(list(graph.get_state_history(THREAD))) == (0 if refused else 1)


def test_a_failed_injection_shows_in_the_traceback() -> None:
    """The tool was not called."""
    called: list[int] = []

    @tool
    def look(value: Annotated[int, InjectedState("missing")]) -> str:
        """Look."""
        called.append(value)
        return "seen"

    call = ToolCall(name="look", args={}, id="1", type="tool_call")
    node = ToolNode([look], handle_tool_errors=False)
    graph = graph_of(lambda config: node.invoke([call], config))
    with pytest.raises(KeyError) as caught:
        graph.invoke({"value": 1})
    frames = [frame.f_code for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    assert INJECTION in frames
    assert called == []


@pytest.mark.parametrize("saver", [None, InMemorySaver()])
@pytest.mark.filterwarnings("ignore:Adding")
def test_what_is_added_to_one_agent_is_in_no_other_one(saver: InMemorySaver | None) -> None:
    """The compiled graph that agents share is copied: each has its own nodes, edges and name."""
    one, other = (
        build_agent(ScriptedChatModel([name]), [], checkpointer=saver, name=name)
        for name in ("one", "other")
    )

    one.builder.add_node("mine", lambda state: state).add_edge("mine", END)

    assert (one.name, other.name) == ("one", "other")
    assert "mine" in one.builder.nodes.keys() - other.builder.nodes.keys()
    assert other.builder.edges == {(START, "prepare")}
    for agent in (one, other):
        said = agent.invoke(
            {"messages": [HumanMessage("hi")]}, {"configurable": {"thread_id": agent.name}}
        )
        assert said["messages"][-1].text == agent.name
