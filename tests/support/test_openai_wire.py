"""The bytes themselves: bodies and events validated against the SDK's own types, and the SDK's strict accumulators."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from tests.support.openai_clients import asking, post
from tests.support.openai_server import (
    Call,
    Disconnect,
    ModelRequest,
    OpenAIServer,
    Reply,
    Surface,
    scripted,
)

pytestmark = pytest.mark.server

ARGUMENTS = '{"city": "Oslo", "days": 3}'
REPLY = Reply(
    text="Looking it up.",
    calls=(Call(name="locate", arguments=ARGUMENTS), Call(name="locate", arguments='{"city":')),
)
SLOW_TOOL = {
    "type": "function",
    "name": "locate",
    "async": True,
    "parameters": {"type": "object", "properties": {}},
}


def events(text: str) -> Iterator[dict[str, Any]]:
    """Yield the data of every event in a stream, the closing mark aside."""
    for block in text.split("\n\n"):
        data = next(
            (
                line.removeprefix("data: ")
                for line in block.splitlines()
                if line.startswith("data: ")
            ),
            "[DONE]",
        )
        if data != "[DONE]":
            yield json.loads(data)


def test_chat_completion_has_the_sdk_shape() -> None:
    """A completion validates against the SDK's type, calls and finish reason included."""
    with OpenAIServer(scripted([REPLY])) as server:
        completion = ChatCompletion.model_validate(
            post(server, Surface.CHAT, asking(Surface.CHAT)).json()
        )
    (choice,) = completion.choices
    assert choice.finish_reason == "tool_calls"
    assert choice.message.tool_calls is not None
    assert [call.id for call in choice.message.tool_calls] == ["call_00000001", "call_00000002"]


def test_chat_stream_ends_as_the_service_ends_it() -> None:
    """Chunks share one id, usage is null until the last one, which has no choices, and `[DONE]` closes the stream."""
    body = asking(Surface.CHAT, stream=True, stream_options={"include_usage": True})
    with OpenAIServer(scripted([REPLY])) as server:
        text = post(server, Surface.CHAT, body).text
    chunks = [ChatCompletionChunk.model_validate(event) for event in events(text)]
    assert text.endswith("data: [DONE]\n\n")
    assert len({chunk.id for chunk in chunks}) == 1
    assert [chunk.usage is None for chunk in chunks] == [True] * (len(chunks) - 1) + [False]
    assert chunks[-1].choices == []
    assert chunks[-2].choices[0].finish_reason == "tool_calls"


def test_chat_stream_without_usage_has_none() -> None:
    """Usage is streamed only on request."""
    with OpenAIServer(scripted([REPLY])) as server:
        text = post(server, Surface.CHAT, asking(Surface.CHAT, stream=True)).text
    assert not any("usage" in event for event in events(text))


def test_response_has_the_sdk_shape() -> None:
    """A response object validates against the SDK's type."""
    with OpenAIServer(scripted([REPLY])) as server:
        response = Response.model_validate(
            post(server, Surface.RESPONSES, asking(Surface.RESPONSES)).json()
        )
    assert response.status == "completed"
    assert response.output_text == REPLY.text
    assert [item.type for item in response.output] == ["message", "function_call", "function_call"]


def test_response_events_come_in_order() -> None:
    """Every event validates, the numbers have no gap, and each item is opened, filled and closed in turn."""
    adapter: TypeAdapter[ResponseStreamEvent] = TypeAdapter(ResponseStreamEvent)
    with OpenAIServer(scripted([REPLY])) as server:
        sent = list(
            events(post(server, Surface.RESPONSES, asking(Surface.RESPONSES, stream=True)).text)
        )
    for event in sent:
        assert adapter.validate_python(event).type == event["type"]
    assert [event["sequence_number"] for event in sent] == list(range(len(sent)))
    kinds = [event["type"].removeprefix("response.") for event in sent]
    order = [
        kind for kind, previous in zip(kinds, [None, *kinds], strict=False) if kind != previous
    ]
    one_call = [
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
    ]
    assert order == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        *one_call,
        *one_call,
        "completed",
    ]


def test_sdk_accumulates_both_streams() -> None:
    """The SDK's own stream helpers, which check identities and order, end with the whole reply."""
    with (
        OpenAIServer(scripted([REPLY, REPLY])) as server,
        OpenAI(base_url=server.base_url, api_key="key") as client,
    ):
        with client.chat.completions.stream(
            model="gpt-4.1", messages=[{"role": "user", "content": "hello"}]
        ) as chat_stream:
            message = chat_stream.get_final_completion().choices[0].message
        with client.responses.stream(model="gpt-4.1", input="hello") as response_stream:
            response = response_stream.get_final_response()
    assert message.content == response.output_text == REPLY.text
    assert message.tool_calls is not None
    assert [call.function.arguments for call in message.tool_calls] == [
        call.arguments for call in REPLY.calls
    ]
    called = [item.arguments for item in response.output if item.type == "function_call"]
    assert called == [call.arguments for call in REPLY.calls]


def test_async_call_may_stay_unanswered() -> None:
    """A call of a tool declared `async` is marked so, and a later request may leave it open or answer it."""
    call = Call.of("locate", city="Oslo")
    opening = asking(Surface.RESPONSES, tools=[SLOW_TOOL])
    answers = [
        Reply(text="Meanwhile:", calls=(call,)),
        Reply(text="still working"),
        Reply(text="done"),
    ]
    with OpenAIServer(scripted(answers)) as server:
        items = post(server, Surface.RESPONSES, opening).json()["output"]
        assert items[-1]["async"] is True
        history = [*opening["input"], *items, {"role": "user", "content": "and?"}]
        assert post(server, Surface.RESPONSES, {**opening, "input": history}).status_code == 200
        output = {"type": "function_call_output", "call_id": items[-1]["call_id"], "output": "here"}
        assert (
            post(server, Surface.RESPONSES, {**opening, "input": [*history, output]}).status_code
            == 200
        )
        assert (
            post(
                server, Surface.RESPONSES, {**opening, "input": [*history, output, output]}
            ).status_code
            == 400
        )
    assert server.views[-1].results == {items[-1]["call_id"]: "here"}


def test_broken_stream_keeps_no_response() -> None:
    """A response whose stream broke cannot be continued, one that came through can."""
    broken = Disconnect(reply=Reply(text="one two"), after_events=4)
    with OpenAIServer(scripted([broken, Reply(text="whole"), Reply(text="next")])) as server:
        with pytest.raises(httpx.RemoteProtocolError):
            post(server, Surface.RESPONSES, asking(Surface.RESPONSES, stream=True))
        lost = asking(Surface.RESPONSES, previous_response_id="resp_00000001")
        assert (
            post(server, Surface.RESPONSES, lost).json()["error"]["code"]
            == "previous_response_not_found"
        )
        kept = post(server, Surface.RESPONSES, asking(Surface.RESPONSES)).json()
        following = asking(Surface.RESPONSES, previous_response_id=kept["id"])
        assert post(server, Surface.RESPONSES, following).status_code == 200


def test_response_sent_without_store_is_not_kept() -> None:
    """`"store": false` means that the response cannot be continued."""
    with OpenAIServer(scripted([REPLY])) as server:
        response = post(server, Surface.RESPONSES, asking(Surface.RESPONSES, store=False)).json()
        following = asking(Surface.RESPONSES, previous_response_id=response["id"])
        assert (
            post(server, Surface.RESPONSES, following).json()["error"]["param"]
            == "previous_response_id"
        )


def test_block_ends_after_its_last_request() -> None:
    """Leaving the block waits for a policy that is still at work, and its client still gets the reply."""
    entered, released, finished = threading.Event(), threading.Event(), threading.Event()

    def policy(_request: ModelRequest) -> Reply:
        entered.set()
        released.wait(10)
        finished.set()
        return Reply(text="late")

    def release_once_closing(serving: threading.Thread) -> None:
        serving.join()
        released.set()

    with ThreadPoolExecutor(2) as pool:
        with OpenAIServer(policy) as server:
            asked = pool.submit(post, server, Surface.CHAT, asking(Surface.CHAT))
            assert entered.wait(10)
            pool.submit(
                release_once_closing,
                next(t for t in threading.enumerate() if t.name == "openai-server"),
            )
        assert finished.is_set()
        assert asked.result().status_code == 200


def test_same_script_gives_the_same_bytes() -> None:
    """Ids and times are counted, not drawn: two runs send the same stream."""

    def run(surface: Surface) -> str:
        with OpenAIServer(scripted([REPLY])) as server:
            return post(server, surface, asking(surface, stream=True)).text

    assert run(Surface.CHAT) == run(Surface.CHAT)
    assert run(Surface.RESPONSES) == run(Surface.RESPONSES)
