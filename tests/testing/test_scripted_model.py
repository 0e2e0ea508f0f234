import asyncio
import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    ToolMessage,
)
from langchain_core.messages.tool import invalid_tool_call
from langchain_core.tools import tool

from asyncguard.testing import (
    ModelRequest,
    Provider,
    ScriptedChatModel,
    ScriptExhaustedError,
    ScriptTiming,
    VirtualClock,
    calls,
    check_history,
    check_history_all,
    run_virtual,
)


@tool
def add(a: int, b: int = 1) -> int:
    """Adds two numbers."""
    return a + b


def merged(chunks: list[Any]) -> AIMessageChunk:
    """Adds chunks up to one."""
    total = chunks[0]
    for chunk in chunks[1:]:
        total = total + chunk
    assert isinstance(total, AIMessageChunk)
    return total


def test_answers_come_in_order_with_counted_ids() -> None:
    """Strings, messages and calls become messages whose ids are the same on every run."""

    def run() -> list[BaseMessage]:
        model = ScriptedChatModel(
            [calls(("add", {"a": 1}), ("add", {"a": 2}), text="two"), AIMessage("own"), "done"]
        )
        return [model.invoke("go") for _ in range(3)]

    first = run()
    assert isinstance(first[0], AIMessage)
    assert [(call["id"], call["args"]) for call in first[0].tool_calls] == [
        ("call_1_1", {"a": 1}),
        ("call_1_2", {"a": 2}),
    ]
    assert [message.content for message in first] == ["two", "own", "done"]
    assert [message.id for message in first] == ["call-1", "call-2", "call-3"]
    assert first == run()


def test_given_ids_are_kept() -> None:
    """Ids of the script win over counted ones; an id too few is an error."""
    model = ScriptedChatModel(
        [calls(("add", {"a": 1}), ids=["mine"]), AIMessage("x", id="message")]
    )
    answer = model.invoke("go")
    assert isinstance(answer, AIMessage)
    assert answer.tool_calls[0]["id"] == "mine"
    assert model.invoke("go").id == "message"
    with pytest.raises(ValueError, match=r"2 call\(s\), but 1 id"):
        calls(("add", {}), ("add", {}), ids=["mine"])
    with pytest.raises(ValueError, match="without calls"):
        calls()


def test_a_scripted_message_is_not_changed_by_use() -> None:
    """The model answers with a copy: one message may stand in a script twice."""
    step = AIMessage("again")
    model = ScriptedChatModel([step, step])
    assert [model.invoke("go").id for _ in range(2)] == ["call-1", "call-2"]
    assert step.id is None
    assert step.usage_metadata is None


def test_requests_are_recorded_as_they_were() -> None:
    """The record holds messages, schemas and options of the time, untouched by later changes."""
    model = ScriptedChatModel(["a", "b"])
    message = HumanMessage("first")
    model.bind_tools([add], tool_choice="any", parallel_tool_calls=False).invoke(
        [message], stop=["END"]
    )
    message.content = "changed"
    model.invoke("second")
    first, second = model.requests
    assert first.messages[0].content == "first"
    assert first.tool_names == ("add",)
    assert first.tools[0]["function"]["parameters"]["required"] == ["a"]
    assert first.tool_choice == "any"
    assert first.options == {"stop": ["END"], "parallel_tool_calls": False}
    assert (second.number, second.tools, second.tool_choice, second.options) == (2, (), None, {})
    assert not first.streamed


def test_strict_and_provider_tools_are_recorded() -> None:
    """A strict schema says so; a provider's own tool passes unchanged."""
    model = ScriptedChatModel(["a"])
    model.bind_tools([add, {"type": "web_search"}], strict=True).invoke("go")
    request = model.requests[0]
    assert request.tools[0]["function"]["strict"] is True
    assert request.tools[1] == {"type": "web_search"}
    assert request.tool_names == ("add",)
    assert request.options == {"strict": True}


def test_copies_share_script_and_record() -> None:
    """Bound, shallow and deep copies continue one script."""
    model = ScriptedChatModel(["a", "b", "c"])
    answers = [
        model.bind_tools([add]).invoke("1").content,
        model.model_copy().invoke("2").content,
        copy.deepcopy(model).invoke("3").content,
    ]
    assert answers == ["a", "b", "c"]
    assert len(model.requests) == 3
    assert model.remaining == 0


@pytest.mark.parametrize(
    "ask", [ScriptedChatModel.invoke, lambda model, text: list(model.stream(text))]
)
def test_an_exhausted_script_says_so(ask: Callable[[ScriptedChatModel, str], Any]) -> None:
    """One request too many names the model, the length and what was asked; it is recorded all the same."""
    model = ScriptedChatModel(["only"], name="planner")
    model.invoke("first")
    with pytest.raises(
        ScriptExhaustedError, match=r"'planner' holds 1 answer\(s\).*request 2.*'and now\?'"
    ):
        ask(model, "and now?")
    assert len(model.requests) == 2


@pytest.mark.parametrize("script", ["text", AIMessage("text"), calls(("add", {}))])
def test_a_single_answer_is_no_script(script: Any) -> None:
    """A bare answer, above all a string, is refused instead of being taken letter by letter."""
    with pytest.raises(TypeError, match="put a single answer into a list"):
        ScriptedChatModel(script)


async def test_errors_of_the_script_are_raised() -> None:
    """An exception in the script is what the caller gets, and the next request continues."""
    model = ScriptedChatModel(
        [ConnectionError("429"), lambda messages, tools: TimeoutError("late"), "fine"]
    )
    with pytest.raises(ConnectionError, match="429"):
        model.invoke("go")
    with pytest.raises(TimeoutError, match="late"):
        await model.ainvoke("go")
    assert (await model.ainvoke("go")).content == "fine"


def test_functions_decide_from_messages_and_tools() -> None:
    """A policy sees the request and answers every one; a step function answers one."""

    def policy(messages: Any, tools: Any) -> Any:
        return f"{messages[-1].content} with {[schema['function']['name'] for schema in tools]}"

    endless = ScriptedChatModel(policy)
    assert endless.bind_tools([add]).invoke("x").content == "x with ['add']"
    assert endless.invoke("y").content == "y with []"
    assert endless.remaining is None
    stepped = ScriptedChatModel([lambda messages, tools: policy, "last"])
    assert [stepped.invoke("z").content for _ in range(2)] == ["z with []", "last"]


def test_a_step_that_returns_no_answer_is_an_error() -> None:
    """A forgotten return is reported as such."""
    with pytest.raises(TypeError, match="not NoneType"):
        ScriptedChatModel([lambda messages, tools: None]).invoke("go")  # type: ignore[arg-type, return-value]


def test_latency_passes_on_the_loop() -> None:
    """Concurrent requests overlap; the record tells their arrival in loop time."""
    model = ScriptedChatModel(["a", "b"], latency=lambda request: 10.0 * request.number)

    async def main() -> list[Any]:
        async def later() -> Any:
            await asyncio.sleep(3)
            return await model.ainvoke("two")

        return await asyncio.gather(model.ainvoke("one"), later())

    run = run_virtual(main())
    assert [answer.content for answer in run.result] == ["a", "b"]
    assert run.elapsed == 23
    assert [request.at for request in model.requests] == [0, 3]


def test_sync_latency_uses_the_given_sleep() -> None:
    """The sync variants wait through ScriptTiming, which a hand-moved clock makes instant."""
    clock = VirtualClock()
    model = ScriptedChatModel(
        ["a", "b"], latency=5, timing=ScriptTiming(clock=clock.time, sleep=clock.sleep)
    )
    model.invoke("one")
    list(model.stream("two"))
    assert clock.time() == 10
    assert [request.at for request in model.requests] == [0, 5]


SPOKEN = [
    AIMessage("some words,  spaced\nover lines ", name="agent"),
    AIMessage(
        "",
        tool_calls=[
            {"name": "add", "args": {"a": 1, "b": [2, {"c": "d"}]}, "id": "x", "type": "tool_call"}
        ],
    ),
    AIMessage(
        [{"type": "text", "text": "block"}],
        tool_calls=[
            {"name": n, "args": {}, "id": n, "type": "tool_call"} for n in ("first", "second")
        ],
        additional_kwargs={"kept": "yes"},
    ),
    AIMessage(""),
]


@pytest.mark.parametrize("message", SPOKEN)
async def test_a_stream_adds_up_to_the_answer(message: AIMessage) -> None:
    """Chunks, sync and async, sum to what the unstreamed model answers, with usage counted once."""
    whole = ScriptedChatModel([message]).invoke("go")
    model = ScriptedChatModel([message, message], id_prefix="call")
    sync = merged(list(model.stream("go")))
    asynchronous = merged([chunk async for chunk in model.astream("go")])
    assert isinstance(whole, AIMessage)
    for total in (sync, asynchronous):
        assert total.content == whole.content
        assert total.tool_calls == whole.tool_calls
        assert total.additional_kwargs == whole.additional_kwargs
        assert total.response_metadata == whole.response_metadata
        assert total.usage_metadata == whole.usage_metadata
    assert [request.streamed for request in model.requests] == [True, True]


def test_calls_are_streamed_in_pieces() -> None:
    """No single chunk holds a call's whole arguments, as with real providers."""
    chunks = list(ScriptedChatModel([calls(("add", {"a": 12345}))]).stream("go"))
    pieces = [
        piece["args"]
        for chunk in chunks
        if isinstance(chunk, AIMessageChunk)
        for piece in chunk.tool_call_chunks
    ]
    assert len(pieces) == 2
    assert "".join(piece or "" for piece in pieces) == '{"a": 12345}'


def test_malformed_calls_pass_unstreamed_as_invalid() -> None:
    """An invalid call of the script reaches the caller as it is."""
    broken = invalid_tool_call(name="add", args='{"a": oops', id="bad", error="not JSON")
    answer = ScriptedChatModel([AIMessage("", invalid_tool_calls=[broken])]).invoke("go")
    assert isinstance(answer, AIMessage)
    assert answer.invalid_tool_calls == [broken]
    assert answer.response_metadata["finish_reason"] == "tool_calls"


def test_usage_is_reported() -> None:
    """Usage grows with what was asked and is the script's own where it gives one."""
    model = ScriptedChatModel(["answer", "answer"])
    short, long = model.invoke("x" * 40), model.invoke("x" * 400)
    assert isinstance(short, AIMessage)
    assert isinstance(long, AIMessage)
    assert short.usage_metadata == {"input_tokens": 10, "output_tokens": 1, "total_tokens": 11}
    assert long.usage_metadata is not None
    assert long.usage_metadata["input_tokens"] == 100


def test_threads_share_one_script_without_loss() -> None:
    """Fifty requests from eight threads get fifty different answers and numbers."""
    model = ScriptedChatModel([str(number) for number in range(50)])
    with ThreadPoolExecutor(max_workers=8) as pool:
        answers = list(pool.map(lambda _: model.invoke("go").content, range(50)))
    assert sorted(answers, key=str) == sorted((str(number) for number in range(50)), key=str)
    assert [request.number for request in model.requests] == list(range(1, 51))


def test_it_drives_create_agent() -> None:
    """A LangChain agent runs on it to the end, and every history it sends is valid everywhere."""
    model = ScriptedChatModel(
        [calls(("add", {"a": 1}), ("add", {"a": 5, "b": 5})), "2 and 10"], latency=1
    )
    agent = create_agent(model, [add])
    run = run_virtual(agent.ainvoke({"messages": [HumanMessage("add")]}))
    assert run.result["messages"][-1].content == "2 and 10"
    assert run.elapsed == 2
    assert [
        message.content
        for message in model.requests[1].messages
        if isinstance(message, ToolMessage)
    ] == [
        "2",
        "10",
    ]
    assert all(request.tool_names == ("add",) for request in model.requests)
    for request in model.requests:
        check_history_all(request.messages)


async def test_streaming_through_an_agent_uses_the_stream() -> None:
    """An agent streamed by messages makes the model stream."""
    model = ScriptedChatModel([calls(("add", {"a": 1})), "well done"])
    agent = create_agent(model, [add])
    texts = [
        chunk.content
        async for chunk, _ in agent.astream(
            {"messages": [HumanMessage("add")]}, stream_mode="messages"
        )
        if isinstance(chunk, AIMessageChunk) and chunk.content
    ]
    assert texts == ["well ", "done"]
    assert all(request.streamed for request in model.requests)


@pytest.mark.parametrize("streaming", [False, True])
def test_signed_calls_satisfy_gemini_3(streaming: bool) -> None:
    """With sign_calls, answers are what Gemini 3 accepts back; without, they are not."""

    def history(sign: bool) -> list[BaseMessage]:
        model = ScriptedChatModel([calls(("add", {"a": 1}), ("add", {"a": 2}))], sign_calls=sign)
        answer = merged(list(model.stream("go"))) if streaming else model.invoke("go")
        return [
            HumanMessage("go"),
            answer,
            ToolMessage("1", tool_call_id="call_1_1"),
            ToolMessage("2", tool_call_id="call_1_2"),
        ]

    check_history(history(sign=True), Provider.GEMINI, gemini3=True)
    with pytest.raises(AssertionError, match="calls_are_signed"):
        check_history(history(sign=False), Provider.GEMINI, gemini3=True)


def test_requests_are_values() -> None:
    """The record is a fresh list of frozen values: a test cannot damage it."""
    model = ScriptedChatModel(["a"])
    model.invoke("go")
    model.requests.clear()
    assert [type(request) for request in model.requests] == [ModelRequest]
    with pytest.raises(AttributeError):
        model.requests[0].number = 7  # type: ignore[misc]
