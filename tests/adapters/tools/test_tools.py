"""Tools of every kind: injected state, store and runtime, commands, direct returns, keys, agents."""

import asyncio
import re
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import InjectedToolArg, InjectedToolCallId, StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.prebuilt import InjectedState, InjectedStore
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from pydantic import BaseModel, ConfigDict

from asyncguard import (
    AsyncGuardMiddleware,
    CallerError,
    DeclarationError,
    EffectClass,
    GuardConfig,
    Mode,
    Timing,
    ToolSpec,
    build_agent,
    guarded,
)
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import AgentOf, Frontend, build, pure, script

TASKS = [{"id": "a", "goal": "Do x."}, {"id": "b", "goal": "Do y."}]
CONFIG = GuardConfig(timing=Timing(grace=0.0, linger=0.0))


@tool
async def count_messages(state: Annotated[dict[str, Any], InjectedState]) -> str:
    """Counts the messages of the conversation."""
    return f"{len(state['messages'])} messages"


@tool
async def remember(what: str, store: Annotated[BaseStore, InjectedStore()]) -> str:
    """Keeps something in the store."""
    await store.aput(("notes",), "latest", {"what": what})
    return "kept"


@tool
async def whoami(runtime: ToolRuntime) -> str:
    """Tells its own call id."""
    return f"call {runtime.tool_call_id}"


@tool
def noting(what: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Returns a command with its own message and one for the user's side."""
    return Command(
        update={"messages": [ToolMessage(content=f"noted {what}", tool_call_id=tool_call_id)]}
    )


def test_injected_arguments_reach_the_tool_and_not_the_model(agent_of: AgentOf) -> None:
    """State, store and runtime are filled in; no schema shows them."""
    store = InMemoryStore()
    model = ScriptedChatModel(
        [calls(("count_messages", {}), ("remember", {"what": "tea"}), ("whoami", {})), "done"]
    )
    tools: list[Any] = [count_messages, remember, whoami]
    outcome = agent_of(model, tools, store=store).run("Go.")
    assert outcome.answer("call_1_1") == "2 messages"
    assert outcome.answer("call_1_2") == "kept"
    assert outcome.answer("call_1_3") == "call call_1_3"
    item = store.get(("notes",), "latest")
    assert item is not None
    assert item.value == {"what": "tea"}
    shown = {
        s["function"]["name"]: set(s["function"]["parameters"]["properties"])
        for s in model.requests[0].tools
    }
    assert shown == {"count_messages": set(), "remember": {"what"}, "whoami": set()}


@tool
def describe(state: Annotated[dict[str, Any], InjectedState], runtime: ToolRuntime) -> str:
    """A sync tool that asks for the same."""
    return f"{len(state['messages'])} messages for {runtime.tool_call_id}"


def test_injected_arguments_reach_sync_tools_through_the_sync_entry(agent_of: AgentOf) -> None:
    """``invoke`` fills them in, too."""
    outcome = agent_of(ScriptedChatModel([calls(("describe", {})), "done"]), [describe]).run_sync(
        "Go."
    )
    assert outcome.answer("call_1_1") == "2 messages for call_1_1"


def test_a_deferred_tool_sees_the_state_of_the_moment_when_it_runs(agent_of: AgentOf) -> None:
    """It does not get the state of the message that made the call."""
    slow = scripted_tool("slow", lambda a: "slow", args={}, latency=5.0)
    quick = scripted_tool("quick", lambda a: "quick", args={}, latency=1.0)
    model = ScriptedChatModel(
        script(
            calls(("slow", {"task_id": "a"}), ("quick", {"task_id": "b"})),
            calls(("count_messages", {"task_id": "a"}), ("quick", {"task_id": "b"})),
        )
    )
    specs = [ToolSpec(name="count_messages", takes_from=())]
    agent = agent_of(model, [slow, quick, count_messages], specs=specs, config=CONFIG)
    outcome = agent.run(tasks=TASKS)
    # 4 when the call was made (task, message, two answers); at 5 s the message that made it and more stand there, too.
    told = next(part for part in outcome.text.splitlines() if part.endswith(" messages"))
    assert int(told.split()[0]) > 5


def test_a_tool_may_return_a_command(agent_of: AgentOf) -> None:
    """Its message answers the call."""
    outcome = agent_of(ScriptedChatModel([calls(("noting", {"what": "x"})), "done"]), [noting]).run(
        "Go."
    )
    assert outcome.answer("call_1_1") == "noted x"


@pytest.mark.parametrize("status", ["success", "error"])
def test_a_message_of_a_tool_answers_its_own_call(status: str, agent_of: AgentOf) -> None:
    """A tool's message answers its own call although it names another, as providers require."""

    @tool
    def noting_elsewhere(what: str) -> ToolMessage:
        """Answers with a message that names another call."""
        return ToolMessage(content=f"noted {what}", tool_call_id="of another run", status=status)

    model = ScriptedChatModel([calls(("noting_elsewhere", {"what": "x"})), "done"])
    outcome = agent_of(model, [noting_elsewhere]).run("Go.")
    assert outcome.answer("call_1_1") == "noted x"


@pytest.mark.parametrize("order", ["message first", "command first", "two commands"])
def test_a_tool_may_return_a_list_of_messages_and_commands(order: str, agent_of: AgentOf) -> None:
    """The model reads the message, and the state gets the updates, as in ``create_agent``."""

    @tool
    def noting_both(what: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> list[Any]:
        """Notes in two ways."""
        noted = ToolMessage(content=f"noted {what}", tool_call_id=tool_call_id)
        said: Command[Any] = Command(update={"messages": [HumanMessage("and kept")]})
        match order:
            case "message first":
                return [noted, said]
            case "command first":
                return [said, noted]
        return [said, Command(update={"messages": [noted]})]

    model = ScriptedChatModel([calls(("noting_both", {"what": "x"})), "done"])
    outcome = agent_of(model, [noting_both]).run("Go.")
    assert outcome.answer("call_1_1") == "noted x"
    assert outcome.text.count("and kept") == 1


def test_a_tool_that_replaces_the_history_runs_once(agent_of: AgentOf) -> None:
    """Its answer follows its call in the new history, which then needs no other one."""
    ran: list[str] = []

    @tool
    def shorten(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Replaces the conversation by a summary."""
        ran.append(tool_call_id)
        call = {"name": "shorten", "args": {}, "id": tool_call_id, "type": "tool_call"}
        messages = [
            RemoveMessage(id=REMOVE_ALL_MESSAGES),
            HumanMessage("Summary: go."),
            AIMessage("", tool_calls=[call]),
            ToolMessage("shortened", tool_call_id=tool_call_id),
        ]
        return Command(update={"messages": messages})

    agent = agent_of(ScriptedChatModel([calls(("shorten", {})), "done"]), [shorten])
    outcome = agent.run("Go.")
    assert len(ran) == 1
    assert [message.type for message in outcome.messages] == ["human", "ai", "tool", "ai"]
    agent.check_histories()


def test_a_tool_that_clears_the_history_leaves_no_answer_without_a_call(frontend: Frontend) -> None:
    """A provider would refuse it in each later request of the thread."""

    @tool
    def clear() -> Command[Any]:
        """Clears the conversation, as in LangChain's documentation."""
        return Command(update={"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES)]})

    model = ScriptedChatModel([calls(("clear", {})), "Cleared.", "Hello."])
    # Not by agent_of: the request after the removal is empty, which its check refuses.
    agent = build(frontend, model, [clear], checkpointer=InMemorySaver())
    assert [message.type for message in agent.run("Clear.", thread="a").messages] == ["ai"]
    agent.run("Hello?", thread="a")
    assert [message.type for message in model.requests[-1].messages] == ["ai", "human"]


def test_a_late_command_is_told_as_news(agent_of: AgentOf) -> None:
    """A late command is shown as news, also if a placeholder had announced the call."""

    @tool
    async def slow_note(
        what: str, tool_call_id: Annotated[str, InjectedToolCallId]
    ) -> Command[Any]:
        """Notes slowly."""
        await asyncio.sleep(5.0)
        return Command(
            update={"messages": [ToolMessage(content=f"noted {what}", tool_call_id=tool_call_id)]}
        )

    quick = scripted_tool("quick", lambda a: "quick", args={})
    model = ScriptedChatModel(
        script(calls(("slow_note", {"what": "x", "task_id": "a"}), ("quick", {"task_id": "b"})))
    )
    outcome = agent_of(model, [slow_note, quick], config=CONFIG).run(tasks=TASKS)
    assert outcome.text.count("noted x") == 1
    assert any("noted x" in notice for notice in outcome.news())


@tool(return_direct=True)
def final(q: str) -> str:
    """Its result is the answer of the run."""
    return f"final {q}"


def test_a_direct_result_ends_the_run(agent_of: AgentOf) -> None:
    """No model turn follows, as in ``create_agent``."""
    model = ScriptedChatModel([calls(("final", {"q": "x"}))])
    outcome = agent_of(model, [final]).run("Go.")
    assert outcome.last == "final x"
    assert len(model.requests) == 1


def test_a_tool_gets_its_idempotency_key(agent_of: AgentOf) -> None:
    """A call has one idempotency key for all attempts, which the model is not shown."""
    tool_ = scripted_tool(
        "pay", [ConnectionError("reset"), "paid", "paid"], args={"q": str, "key": str}
    )
    spec = ToolSpec(name="pay", effect=EffectClass.KEYED, key_argument="key")
    model = ScriptedChatModel([calls(("pay", {"q": "x"})), calls(("pay", {"q": "x"})), "done"])
    outcome = agent_of(model, [tool_], specs=[spec], config=CONFIG).run("Pay x twice.")
    first, again, second = (call.args["key"] for call in tool_.calls)
    assert first == again != second
    assert "key" not in str(model.requests[0].tools)
    assert first not in outcome.text


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (
            ToolSpec(name="pay", effect=EffectClass.KEYED, key_argument="kee"),
            "argument 'kee', which its key_argument",
        ),
        (
            ToolSpec(name="pay", mode=Mode.EXTERNAL, token_argument="tok"),
            "no argument 'tok', which its token_argument",
        ),
        (ToolSpec(name="pay", mode=Mode.EXTERNAL), "name the argument that takes the token"),
        (
            ToolSpec(name="pay", token_argument="key"),
            "names a token_argument, but is not external, so no result is delivered by a token",
        ),
        (
            ToolSpec(name="pay", writes=["order:{task_id}:{q}", "account:{typo}"]),
            "no argument 'typo', which its writes names; it takes q, key",
        ),
        (
            ToolSpec(name="pay", reads=["{Q}"]),
            "no argument 'Q', which its reads names; it takes q, key",
        ),
        (
            ToolSpec(name="pay", result_schema={"properties": {"price": {"unit": 5}}}),
            'The schema of the result of pay: "unit" must be a text, not int; write',
        ),
    ],
)
def test_what_the_runtime_fills_in_has_to_reach_the_tool(
    agent_of: AgentOf, spec: ToolSpec, said: str
) -> None:
    """A key or token under a name that the tool does not have would be dropped, and the effect repeated without it."""
    tool_ = scripted_tool("pay", lambda a: "paid", args={"q": str, "key": str})
    model = ScriptedChatModel(script(calls(("pay", {"q": "x"})), ever="done"))
    with pytest.raises(DeclarationError, match=said):
        agent_of(model, [tool_], specs=[spec]).run("Pay x.")
    assert tool_.calls == []


def test_a_refused_declaration_is_refused_again() -> None:
    """The middleware meets the tools in a run; the next run does not continue with the tool that was refused."""
    tool_ = scripted_tool("pay", lambda a: "paid", args={"q": str})
    guard = AsyncGuardMiddleware(
        specs=[ToolSpec(name="pay", effect=EffectClass.KEYED, key_argument="key")]
    )
    agent = create_agent(ScriptedChatModel(["done", "done"]), [tool_], middleware=[guard])
    for _ in range(2):
        with pytest.raises(DeclarationError, match="'key'"):
            agent.invoke({"messages": [("user", "Pay.")]})


def test_a_key_must_not_be_marked_as_injected(agent_of: AgentOf) -> None:
    """LangGraph would drop it on the way to the tool."""

    @guarded(effect="keyed", key_argument="key")
    def pay(q: str, key: Annotated[str, InjectedToolArg] = "") -> str:
        """Pay."""
        return "paid"

    with pytest.raises(DeclarationError, match="InjectedToolArg"):
        agent_of(ScriptedChatModel(["done"]), [tool(pay)]).run("Pay x.")


def test_a_tool_that_takes_anything_takes_a_key(agent_of: AgentOf) -> None:
    """A tool that accepts any argument accepts a key that its schema does not name."""

    class Anything(BaseModel):
        model_config = ConfigDict(extra="allow")
        q: str

    seen: list[dict[str, Any]] = []

    def pay_(**given: Any) -> str:
        seen.append(given)
        return "paid"

    pay = StructuredTool.from_function(pay_, name="pay", description="Pay.", args_schema=Anything)
    spec = ToolSpec(name="pay", effect=EffectClass.KEYED, key_argument="key")
    agent_of(ScriptedChatModel([calls(("pay", {"q": "x"})), "done"]), [pay], specs=[spec]).run(
        "Pay x."
    )
    assert [set(given) for given in seen] == [{"q", "key"}]


def test_a_model_cannot_give_an_injected_argument(agent_of: AgentOf) -> None:
    """A key that the model makes up is refused."""
    tool_ = scripted_tool("pay", lambda a: "paid", args={"q": str, "key": str})
    spec = ToolSpec(name="pay", effect=EffectClass.KEYED, key_argument="key")
    model = ScriptedChatModel(script(calls(("pay", {"q": "x", "key": "mine"})), ever="done"))
    outcome = agent_of(model, [tool_], specs=[spec]).run("Pay x.")
    assert tool_.calls == []
    assert "key" in outcome.answer("call_1_1")


def test_content_blocks_of_a_late_result_arrive_as_blocks(agent_of: AgentOf) -> None:
    """An image that comes late is an image in the notification."""
    image = {"type": "image", "base64": "aGk=", "mime_type": "image/png"}
    draw = scripted_tool(
        "draw", lambda a: [{"type": "text", "text": "a map"}, image], args={}, latency=5.0
    )
    quick = scripted_tool("quick", lambda a: "quick", args={})
    model = ScriptedChatModel(
        script(calls(("draw", {"task_id": "a"}), ("quick", {"task_id": "b"})))
    )
    outcome = agent_of(
        model, [draw, quick], specs=[pure("draw"), pure("quick")], config=CONFIG
    ).run(tasks=TASKS)
    blocks = [block for m in outcome.messages if isinstance(m.content, list) for block in m.content]
    assert image in blocks


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        ([{"type": "text", "text": ""}], ""),
        ([{"type": "text"}], ""),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "\n"}], "a"),
    ],
    ids=str,
)
@pytest.mark.parametrize("late", [False, True])
def test_a_block_of_blank_text_is_not_sent(
    late: bool, said: list[Any], sent: str, agent_of: AgentOf
) -> None:
    """An MCP server answers so if a text is empty, and Anthropic refuses such a block; the state keeps it."""
    answer = scripted_tool("answer", [said], args={}, latency=5.0 if late else 0.0)
    steps = [calls(("answer", {})), "wait", "done"] if late else [calls(("answer", {})), "done"]
    model = ScriptedChatModel(steps)
    spec = pure("answer", mode=Mode.BACKGROUND)
    agent = agent_of(model, [answer], specs=[spec])
    agent.run("Go.")
    agent.check_histories()
    if not late:
        assert agent.outcomes[0].messages[2].content == said
        (told,) = [m for m in model.requests[-1].messages if isinstance(m, ToolMessage)]
        assert told.text == sent


def test_an_agent_can_be_the_tool_of_an_agent(agent_of: AgentOf) -> None:
    """Two calls of the inner agent at once keep their tasks, results and ledgers apart."""
    look = scripted_tool("look", lambda a: f"found {a['q']}", args={"q": str}, latency=2.0)

    def inner_policy(messages: Any, _: Any) -> Any:
        question = str(messages[0].content)
        return (
            f"{question}: {messages[-1].content}"
            if messages[-1].type == "tool"
            else calls(("look", {"q": question}))
        )

    inner = agent_of(ScriptedChatModel(inner_policy, id_prefix="inner"), [look])

    @guarded(effect="pure")
    @tool
    async def research(question: str) -> str:
        """Asks the inner agent."""
        state = await inner.graph.ainvoke(inner.input(question, None))
        return str(state["messages"][-1].content)

    model = ScriptedChatModel(
        script(
            calls(
                ("research", {"question": "x", "task_id": "a"}),
                ("research", {"question": "y", "task_id": "b"}),
            )
        )
    )
    outcome = agent_of(model, [research], config=CONFIG).run(tasks=TASKS)
    assert "x: found x" in outcome.text
    assert "y: found y" in outcome.text
    assert outcome.elapsed == pytest.approx(2.0)


def test_a_tool_of_an_agent_with_a_thread_may_be_an_agent(agent_of: AgentOf) -> None:
    """The inner agent runs inside the outer one's thread without mixing with it."""
    inner = agent_of(ScriptedChatModel(script(ever="inner answer"), id_prefix="inner"), [final])

    @tool
    async def delegate(question: str) -> str:
        """Asks the inner agent."""
        state = await inner.graph.ainvoke(inner.input(question, None))
        return str(state["messages"][-1].content)

    model = ScriptedChatModel(
        [calls(("delegate", {"question": "x"})), calls(("delegate", {"question": "y"})), "done"]
    )
    agent = agent_of(model, [delegate], checkpointer=InMemorySaver())
    outcome = run_virtual(agent.say("Go.", thread="t")).result
    assert outcome.answer("call_1_1") == outcome.answer("call_2_1") == "inner answer"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"config": {"grounding": False}},
            "config must be a GuardConfig, not dict; build one with GuardConfig(...).",
        ),
        ({"config": {}}, "config must be a GuardConfig, not dict"),
        ({"specs": ["pay"]}, "specs[0] must be a ToolSpec, not str; build one with ToolSpec(...)."),
        (
            {"specs": [ToolSpec(name="pay"), ToolSpec(name="pay", timeout=5)]},
            "Two items of specs declare the tool 'pay'; leave one.",
        ),
        ({"specs": ToolSpec(name="pay")}, "specs must be a list of ToolSpec, not ToolSpec."),
        ({"journal": 7}, "journal must be a path, a postgresql:// URL"),
    ],
    ids=["config", "empty config", "name for a spec", "two specs", "spec for a list", "journal"],
)
def test_what_is_handed_over_has_to_be_what_it_is_for(given: dict[str, Any], said: str) -> None:
    """Refused when the agent or the middleware is made, with what to write."""
    with pytest.raises(CallerError, match=re.escape(said)):
        build_agent(ScriptedChatModel(["done"]), [], **given)
    with pytest.raises(CallerError, match=re.escape(said)):
        AsyncGuardMiddleware(**given)


def test_tasks_are_a_list() -> None:
    """A text is not taken for a task per letter, nor a task for the list of its fields."""
    for agent in (
        build_agent(ScriptedChatModel(["done"]), []),
        create_agent(ScriptedChatModel(["done"]), [], middleware=[AsyncGuardMiddleware()]),
    ):
        for given in ("Do it", {"id": "a", "goal": "Do it"}):
            with pytest.raises(CallerError, match='"tasks" takes a list, not'):
                agent.invoke({"messages": [], "tasks": given})


def test_guarded_needs_its_parentheses() -> None:
    """Left out, the error says what to write."""
    bare: Any = guarded
    with pytest.raises(DeclarationError, match=r"write @guarded\(\)"):

        @bare
        def pay(q: str) -> str:
            """Pay."""
            return q


def test_a_schema_is_shown_as_it_is_when_the_agent_is_built(agent_of: AgentOf) -> None:
    """What an earlier agent hid of a tool, or its schema was then, has no effect on a later one."""
    schema: dict[str, Any] = {"type": "object", "properties": {"key": {"type": "string"}}}

    async def answered(**arguments: Any) -> str:
        return "ok"

    served = StructuredTool(
        name="served", description="Of a server.", args_schema=schema, coroutine=answered
    )

    def shown(*specs: ToolSpec) -> set[str]:
        model = ScriptedChatModel(["a: no tool needed\nb: no tool needed"])
        agent_of(model, [served], specs=specs, config=CONFIG).run("Go.", tasks=TASKS)
        return set(model.requests[0].tools[0]["function"]["parameters"]["properties"])

    keyed = ToolSpec(name="served", effect=EffectClass.KEYED, key_argument="key")
    assert shown(keyed) == {"task_id"}
    assert shown() == {"task_id", "key"}
    schema["properties"]["place"] = {"type": "string"}
    assert shown() == {"task_id", "key", "place"}
