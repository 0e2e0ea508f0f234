"""`ChatOpenAI` against the loopback server, on both wire formats."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import reduce
from operator import add

import openai
import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from tests.support.openai_clients import chat_model
from tests.support.openai_server import (
    Answer,
    Call,
    Disconnect,
    Failure,
    FinishReason,
    Message,
    ModelRequest,
    OpenAIServer,
    Reply,
    Role,
    Surface,
    Usage,
    scripted,
)

pytestmark = pytest.mark.server

Ask = Callable[[ChatOpenAI, list[BaseMessage]], AIMessage]


def invoked(model: ChatOpenAI, messages: list[BaseMessage]) -> AIMessage:
    """Ask for the reply at once."""
    return model.invoke(messages)


def streamed(model: ChatOpenAI, messages: list[BaseMessage]) -> AIMessage:
    """Ask for the reply in chunks and add them up."""
    return reduce(add, model.stream(messages))


@pytest.fixture(params=[Surface.CHAT, Surface.RESPONSES], ids=["chat", "responses"])
def surface(request: pytest.FixtureRequest) -> Surface:
    """Run the test on each wire format."""
    return Surface(request.param)


@pytest.fixture(params=[invoked, streamed])
def ask(request: pytest.FixtureRequest) -> Ask:
    """Run the test with and without streaming."""
    chosen: Ask = request.param
    return chosen


@tool
def forecast(station: str, days: int) -> str:
    """Forecast the weather at a station."""
    return f"{days} sunny days at {station}"


HELLO: list[BaseMessage] = [HumanMessage("hello")]


def test_text_arrives_whole(surface: Surface, ask: Ask) -> None:
    """A text reply reaches the client unchanged, streamed or not, beyond ASCII, too."""
    text = 'Grüße — "quoted"\nand {braces}'
    with OpenAIServer(scripted([Reply(text=text)])) as server:
        answer = ask(chat_model(server, surface), HELLO)
    assert answer.text == text
    assert answer.tool_calls == []


def test_usage_numbers_arrive(surface: Surface, ask: Ask) -> None:
    """Token counts arrive, the cached and the reasoning share included."""
    usage = Usage(input_tokens=120, output_tokens=30, cached_tokens=100, reasoning_tokens=7)
    with OpenAIServer(scripted([Reply(text="hi", usage=usage)])) as server:
        answer = ask(chat_model(server, surface), HELLO)
    counted = answer.usage_metadata
    assert counted is not None
    assert (counted["input_tokens"], counted["output_tokens"], counted["total_tokens"]) == (
        120,
        30,
        150,
    )
    assert counted["input_token_details"]["cache_read"] == 100
    assert counted["output_token_details"]["reasoning"] == 7


def test_parallel_calls_arrive_in_order(surface: Surface, ask: Ask) -> None:
    """Text and several calls of one message arrive with their own ids and arguments."""
    reply = Reply(
        text="Looking.",
        calls=(Call.of("locate", city="Oslo"), Call.of("locate", city="Rom"), Call(name="x")),
    )
    with OpenAIServer(scripted([reply])) as server:
        answer = ask(chat_model(server, surface), HELLO)
    assert answer.text == "Looking."
    assert [(c["name"], c["args"]) for c in answer.tool_calls] == [
        ("locate", {"city": "Oslo"}),
        ("locate", {"city": "Rom"}),
        ("x", {}),
    ]
    assert len({call["id"] for call in answer.tool_calls}) == 3


@pytest.mark.parametrize("arguments", ['{"city": ', "not json", "{'city': 'Oslo'}"])
def test_malformed_arguments_arrive_as_invalid(surface: Surface, arguments: str) -> None:
    """Arguments which are not JSON go over the wire as they are, beside a valid call."""
    calls = (Call(name="locate", arguments=arguments, id="call_bad"), Call.of("locate", city="Rom"))
    with OpenAIServer(scripted([Reply(calls=calls)])) as server:
        answer = chat_model(server, surface).invoke(HELLO)
    assert [call["args"] for call in answer.tool_calls] == [{"city": "Rom"}]
    assert [(call["id"], call["args"]) for call in answer.invalid_tool_calls] == [
        ("call_bad", arguments)
    ]


def test_arguments_are_split_over_chunks(surface: Surface) -> None:
    """A stream cuts arguments into several pieces, which add up."""
    call = Call.of("forecast", station="station-of-Oslo", days=3)
    with OpenAIServer(scripted([Reply(calls=(call,))])) as server:
        chunks = list(chat_model(server, surface).stream(HELLO))
    parts = [part["args"] for chunk in chunks for part in chunk.tool_call_chunks]
    assert len([part for part in parts if part]) > 3
    assert "".join(part or "" for part in parts) == call.arguments


def test_cut_off_reply_says_so(surface: Surface, ask: Ask) -> None:
    """A reply that ran into the token limit is marked in the terms of its surface."""
    with OpenAIServer(scripted([Reply(text="and then", finish=FinishReason.LENGTH)])) as server:
        metadata = ask(chat_model(server, surface), HELLO).response_metadata
    if surface is Surface.CHAT:
        assert metadata["finish_reason"] == "length"
    else:
        assert metadata["status"] == "incomplete"
        assert metadata["incomplete_details"] == {"reason": "max_output_tokens"}


@pytest.mark.parametrize("status", [429, 503])
def test_client_retries_after_the_stated_time(surface: Surface, status: int) -> None:
    """A client with retries comes back after `Retry-After`, here a millisecond, and succeeds."""
    busy = Failure(status=status, retry_after=0.001)
    begun = time.monotonic()
    with OpenAIServer(scripted([busy, busy, Reply(text="at last")])) as server:
        assert chat_model(server, surface, max_retries=2).invoke(HELLO).text == "at last"
    # The client's own back-off would be 0.5 s or more for each retry.
    assert time.monotonic() - begun < 0.7
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (Failure(status=429), openai.RateLimitError),
        (Failure(status=500), openai.InternalServerError),
        (Failure(status=503, body="<html>bad gateway</html>"), openai.InternalServerError),
    ],
)
def test_failure_reaches_a_client_without_retries(
    surface: Surface, ask: Ask, failure: Failure, error: type[openai.APIStatusError]
) -> None:
    """A failure arrives as the client's own exception with its status, streamed or not."""
    with OpenAIServer(scripted([failure])) as server, pytest.raises(error) as caught:
        ask(chat_model(server, surface), HELLO)
    assert caught.value.status_code == failure.status


def test_disconnect_is_a_connection_error(surface: Surface, ask: Ask) -> None:
    """A connection that closes before the first byte is a connection error, not a status."""
    with OpenAIServer(scripted([Disconnect()])) as server, pytest.raises(openai.APIConnectionError):
        ask(chat_model(server, surface), HELLO)


def test_stream_can_break_in_the_middle(surface: Surface) -> None:
    """A stream that breaks has delivered its first events and then raises."""
    broken = Disconnect(reply=Reply(text="one two three four " * 5), after_events=7)
    seen: list[str] = []
    with OpenAIServer(scripted([broken])) as server, pytest.raises(openai.APIConnectionError):
        seen.extend(chunk.text for chunk in chat_model(server, surface).stream(HELLO))
    assert "".join(seen).startswith("one two thr")
    assert server.errors == ()


def test_unanswered_call_is_refused(surface: Surface, ask: Ask) -> None:
    """A history with an unanswered call is refused and never reaches the policy."""
    history = [
        *HELLO,
        AIMessage("", tool_calls=[{"name": "locate", "args": {"city": "Oslo"}, "id": "call_7"}]),
        HumanMessage("well?"),
    ]
    with (
        OpenAIServer(scripted([Reply(text="never said")])) as server,
        pytest.raises(openai.BadRequestError) as caught,
    ):
        ask(chat_model(server, surface), history)
    assert "call_7" in str(caught.value)
    assert caught.value.type == "invalid_request_error"
    assert len(server.refusals) == 1
    assert server.views == ()


def test_second_result_for_a_call_is_refused(surface: Surface) -> None:
    """Two tool messages for one call are refused."""
    history = [
        *HELLO,
        AIMessage("", tool_calls=[{"name": "locate", "args": {}, "id": "call_7"}]),
        ToolMessage("pending", tool_call_id="call_7"),
        ToolMessage("done", tool_call_id="call_7"),
    ]
    with (
        OpenAIServer(scripted([])) as server,
        pytest.raises(openai.BadRequestError, match="Duplicate"),
    ):
        chat_model(server, surface).invoke(history)


def test_exhausted_script_is_explained(surface: Surface) -> None:
    """One request too many gives a 500 which says why, is not retried, and is recorded."""
    with OpenAIServer(scripted([Reply(text="only one")])) as server:
        model = chat_model(server, surface, max_retries=5)
        model.invoke(HELLO)
        with pytest.raises(openai.InternalServerError, match="script held 1 answers"):
            model.invoke(HELLO)
    assert len(server.requests) == 2
    assert len(server.errors) == 1
    assert "ScriptExhaustedError" in server.errors[0]


def test_fault_in_a_policy_is_recorded(surface: Surface) -> None:
    """A policy that raises is a fault of the test, visible in `errors`."""

    def policy(request: ModelRequest) -> Answer:
        raise KeyError(request.model)

    with OpenAIServer(policy) as server, pytest.raises(openai.InternalServerError):
        chat_model(server, surface).invoke(HELLO)
    assert server.errors == ("KeyError: 'gpt-4.1'",)


def test_request_is_recorded_without_its_key(surface: Surface) -> None:
    """Path, headers, body and the neutral view are kept; the key is not."""
    with OpenAIServer(scripted([Reply(text="hi")])) as server:
        chat_model(server, surface).bind_tools([forecast], strict=True).invoke(
            [SystemMessage("be brief"), *HELLO]
        )
    (request,) = server.requests
    assert request.path == surface
    assert "user-agent" in request.headers
    assert "authorization" not in request.headers
    assert request.body["model"] == "gpt-4.1"
    assert request.view is not None
    assert request.view.messages == (
        Message(role=Role.SYSTEM, text="be brief"),
        Message(role=Role.USER, text="hello"),
    )
    (offered,) = request.view.tools
    assert (offered.name, offered.strict) == ("forecast", True)
    assert offered.parameters["required"] == ["station", "days"]


def test_clients_are_served_at_the_same_time(surface: Surface) -> None:
    """Requests overlap: each policy call waits for the other one, which a serial server would never end."""
    both = threading.Barrier(2, timeout=10)

    def policy(_request: ModelRequest) -> Answer:
        both.wait()
        return Reply(text="met")

    with OpenAIServer(policy) as server:
        answers = chat_model(server, surface).batch([HELLO, HELLO])
    assert [answer.text for answer in answers] == ["met", "met"]
    assert server.errors == ()


def test_every_thread_ends_with_the_block(surface: Surface) -> None:
    """Nothing of the server outlives its block, and its port is closed."""
    before = set(threading.enumerate())
    with OpenAIServer(scripted([Reply(text="hi")])) as server:
        model = chat_model(server, surface)
        model.invoke(HELLO)
        assert any(thread.name == "openai-server" for thread in threading.enumerate())
    assert set(threading.enumerate()) <= before
    with pytest.raises(openai.APIConnectionError):
        model.invoke(HELLO)
