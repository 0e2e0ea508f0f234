"""Refusals of the loopback server, as of the service, and requests that it must accept."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.openai_chat import ChatWire
from tests.support.openai_clients import asking, post
from tests.support.openai_responses import ResponsesWire
from tests.support.openai_rules import RefusedError, strict_problem
from tests.support.openai_server import OpenAIServer, Surface, scripted

USER = {"role": "user", "content": "hello"}


def called(*ids: str, **changes: Any) -> dict[str, Any]:
    """Return an assistant message which calls, one call to an id."""
    function = {"name": "locate", "arguments": "{}"}
    calls = [
        {"id": call_id, "type": "function", "function": {**function, **changes}} for call_id in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id: str) -> dict[str, Any]:
    """Return the tool message for a call."""
    return {"role": "tool", "tool_call_id": call_id, "content": "ok"}


def call_item(call_id: str, **changes: Any) -> dict[str, Any]:
    """Return a call as the responses surface replays it."""
    return {
        "type": "function_call",
        "call_id": call_id,
        "name": "locate",
        "arguments": "{}",
        **changes,
    }


def output_item(call_id: str) -> dict[str, Any]:
    """Return a result as the responses surface takes it."""
    return {"type": "function_call_output", "call_id": call_id, "output": "ok"}


def closed(**properties: Any) -> dict[str, Any]:
    """Return an object schema as strict mode wants it."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def offer(surface: Surface, *functions: dict[str, Any]) -> dict[str, Any]:
    """Return a request that offers these functions, in the shape of the surface."""
    flat = [{"type": "function", **function} for function in functions]
    nested = [{"type": "function", "function": function} for function in functions]
    return asking(surface, tools=nested if surface is Surface.CHAT else flat)


def parse(surface: Surface, body: dict[str, Any]) -> None:
    """Read a body as a surface does."""
    wire = ChatWire() if surface is Surface.CHAT else ResponsesWire()
    wire.parse(body)


@pytest.mark.parametrize(
    "messages",
    [
        [USER, called("a"), result("a")],
        [USER, called("a", "b"), result("b"), result("a"), USER],
        # The service pairs within one round, so an id may come again later.
        [USER, called("a"), result("a"), called("a"), result("a")],
        [USER, {"role": "assistant", "content": [{"type": "text", "text": "hi"}]}, USER],
    ],
)
def test_paired_chat_history_is_accepted(messages: list[dict[str, Any]]) -> None:
    """Each round answers its calls, in any order."""
    ChatWire().parse({"model": "m", "messages": messages})


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([], "at least one"),
        (["hello"], "at least one"),
        ([{"role": "narrator", "content": "x"}], "role"),
        ([{"role": "user", "content": None}], "content"),
        ([{"role": "assistant", "content": None}], "content"),
        ([{"role": "user", "content": "x", "name": "a b"}], "name"),
        ([USER, called("a")], "these have none: a"),
        ([USER, called("a", "b"), result("a")], "these have none: b"),
        ([USER, called("a"), USER, result("a")], "these have none: a"),
        (
            [USER, called("a"), {"role": "system", "content": "news"}, result("a")],
            "these have none",
        ),
        ([USER, result("a")], "nothing asked for 'a'"),
        ([USER, called("a"), result("a"), result("b")], "nothing asked for 'b'"),
        ([USER, called("a"), result("a"), USER, result("a")], "nothing asked for 'a'"),
        ([USER, called("a"), result("a"), result("a")], "Duplicate tool message"),
        ([USER, called("a", "a"), result("a")], "Duplicate tool call id"),
        ([USER, called(""), result("")], r"tool_calls\[0\].id"),
        ([USER, called("  ")], r"tool_calls\[0\].id"),
        ([USER, called("a" * 41)], "longer than 40"),
        ([USER, called()], "tool_calls"),
        ([USER, called("a"), {"role": "tool", "content": "ok"}], "tool_call_id"),
        ([USER, called("a", name="no spaces")], "name"),
        ([USER, called("a", arguments={})], "arguments"),
    ],
)
def test_broken_chat_history_is_refused(messages: list[Any], reason: str) -> None:
    """Calls and results that do not pair, and fields of the wrong kind, are refused with their reason."""
    with pytest.raises(RefusedError, match=reason):
        ChatWire().parse({"model": "m", "messages": messages})


@pytest.mark.parametrize(
    "items",
    [
        "hello",
        [USER, call_item("a"), output_item("a")],
        [USER, call_item("a"), call_item("b"), USER, output_item("b"), output_item("a")],
        [USER, call_item("a", **{"async": True})],
        [
            USER,
            {"type": "reasoning", "id": "rs_1", "summary": []},
            call_item("a"),
            output_item("a"),
        ],
    ],
)
def test_paired_items_are_accepted(items: Any) -> None:
    """Each call has an output somewhere after it, or is asynchronous."""
    ResponsesWire().parse({"model": "m", "input": items})


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        ([], "at least one"),
        (None, "at least one"),
        ([{"type": "telepathy"}], "type"),
        ([{"role": "tool", "content": "x"}], "role"),
        ([{"role": "user", "content": "x", "name": "ann"}], "name"),
        ([USER, call_item("a")], "No tool output found for function call a"),
        ([USER, output_item("a")], "No tool call found"),
        ([USER, output_item("a"), call_item("a")], "No tool call found"),
        (
            [USER, call_item("a"), output_item("a"), output_item("a")],
            "Duplicate function call output",
        ),
        ([USER, call_item("a"), call_item("a"), output_item("a")], "Duplicate function call"),
        ([USER, call_item(" ")], "call_id"),
        ([USER, call_item("a" * 65)], "longer than 64"),
        ([USER, call_item("a", name="no spaces")], "name"),
        ([USER, call_item("a", arguments={})], "arguments"),
        ([USER, call_item("a", id="call_a"), output_item("a")], "must begin with 'fc'"),
        ([USER, call_item("a", id="fc_1"), call_item("b", id="fc_1")], "Duplicate item"),
    ],
)
def test_broken_items_are_refused(items: Any, reason: str) -> None:
    """Calls and outputs that do not pair, and ids which the service did not give, are refused."""
    with pytest.raises(RefusedError, match=reason):
        ResponsesWire().parse({"model": "m", "input": items})


@pytest.mark.parametrize("surface", Surface)
@pytest.mark.parametrize(
    ("functions", "reason"),
    [
        ([{"name": "two words"}], "name"),
        ([{"name": ""}], "name"),
        ([{"name": "a" * 65}], "name"),
        ([{"name": "line\n"}], "name"),
        ([{"name": "same"}, {"name": "same"}], "unique"),
        ([{"name": "f", "parameters": {"type": "array", "items": {}}}], "type object"),
        (
            [
                {
                    "name": "f",
                    "parameters": {"type": "object", "properties": {"x": {"type": "array"}}},
                }
            ],
            "missing items",
        ),
        (
            [{"name": "f", "strict": True, "parameters": {"type": "object", "properties": {}}}],
            "additionalProperties",
        ),
        (
            [
                {
                    "name": "f",
                    "strict": True,
                    "parameters": {**closed(x={"type": "string"}), "required": []},
                }
            ],
            "required",
        ),
    ],
)
def test_bad_tools_are_refused(
    surface: Surface, functions: list[dict[str, Any]], reason: str
) -> None:
    """Tool names and schemas are checked on both surfaces."""
    with pytest.raises(RefusedError, match=reason):
        parse(surface, offer(surface, *functions))


@pytest.mark.parametrize("surface", Surface)
def test_loose_tools_are_accepted(surface: Surface) -> None:
    """Without `strict` an object may be open, its properties optional, its schema absent."""
    loose = {
        "type": "object",
        "properties": {"x": {"oneOf": [{"type": "string"}, {"type": "null"}]}},
    }
    parse(surface, offer(surface, {"name": "a" * 64}, {"name": "f", "parameters": loose}))


def test_tool_shapes_of_the_other_surface_are_refused() -> None:
    """Chat nests a function and knows no asynchronous tools; responses does the opposite."""
    nested = {"type": "function", "function": {"name": "f"}}
    with pytest.raises(RefusedError, match="async"):
        ChatWire().parse(asking(Surface.CHAT, tools=[{**nested, "async": True}]))
    with pytest.raises(RefusedError, match="name"):
        ChatWire().parse(asking(Surface.CHAT, tools=[{"type": "function", "name": "f"}]))
    with pytest.raises(RefusedError, match="function"):
        ResponsesWire().parse(asking(Surface.RESPONSES, tools=[nested]))


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (closed(), None),
        (closed(x={"type": "string"}), None),
        (closed(x={"anyOf": [{"type": "string"}, {"type": "null"}]}), None),
        (closed(x={"anyOf": [{"type": "string"}, closed(from_call={"type": "string"})]}), None),
        (
            closed(x={"anyOf": [{"type": "string"}, {"type": "object", "properties": {}}]}),
            "additionalProperties",
        ),
        (closed(x={"type": "array", "items": {"type": "object"}}), "additionalProperties"),
        (closed(x={"type": ["array", "null"]}), "missing items"),
        (closed(x={"oneOf": [{"type": "string"}]}), "oneOf"),
        (closed(x={}), "'type' key"),
        (
            {**closed(x={"$ref": "#/$defs/X"}), "$defs": {"X": {"type": "object"}}},
            "additionalProperties",
        ),
        ({"anyOf": [closed()]}, "root"),
    ],
)
def test_strict_schema_rules(schema: dict[str, Any], problem: str | None) -> None:
    """Strict mode closes every object at every depth and allows `anyOf`."""
    found = strict_problem(schema)
    if problem is None:
        assert found is None
    else:
        assert found is not None
        assert problem in found


def test_strict_answer_schema_is_checked() -> None:
    """A strict structured answer follows the same rules on both surfaces."""
    named = {"name": "verdict", "strict": True, "schema": {"type": "object", "properties": {}}}
    with pytest.raises(RefusedError, match="response_format"):
        ChatWire().parse(
            asking(Surface.CHAT, response_format={"type": "json_schema", "json_schema": named})
        )
    with pytest.raises(RefusedError, match=r"text\.format"):
        ResponsesWire().parse(
            asking(Surface.RESPONSES, text={"format": {"type": "json_schema", **named}})
        )


@pytest.mark.server
@pytest.mark.parametrize("surface", Surface)
def test_refusal_has_the_error_shape(surface: Surface) -> None:
    """A refusal is a 400 whose body names kind, parameter and code."""
    with OpenAIServer(scripted([])) as server:
        answer = post(server, surface, {**asking(surface), "model": ""})
    assert answer.status_code == 400
    assert answer.json() == {
        "error": {
            "message": "you must provide a model parameter",
            "type": "invalid_request_error",
            "param": "model",
            "code": "missing_required_parameter",
        }
    }
    assert server.errors == ()


@pytest.mark.server
@pytest.mark.parametrize(
    ("path", "headers", "content", "status"),
    [
        ("/chat/completions", {"authorization": "Bearer key"}, b"{", 400),
        ("/chat/completions", {"authorization": "Bearer key"}, b"[]", 400),
        ("/chat/completions", {}, b"{}", 401),
        ("/embeddings", {"authorization": "Bearer key"}, b"{}", 404),
    ],
)
def test_request_outside_the_protocol_is_refused(
    path: str, headers: dict[str, str], content: bytes, status: int
) -> None:
    """No JSON object, no key or an unknown path: refused with the service's status, and recorded."""
    with OpenAIServer(scripted([])) as server:
        answer = httpx.post(server.base_url + path, content=content, headers=headers, timeout=20)
    assert answer.status_code == status
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
    assert len(server.refusals) == 1
    assert server.errors == ()


Rounds = st.lists(
    st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True), min_size=1, max_size=4
)


@given(rounds=Rounds, data=st.data())
def test_dropping_or_repeating_any_result_is_refused(
    rounds: list[list[int]], data: st.DataObject
) -> None:
    """A well-formed history of any shape is accepted; without one result, or with one twice, it is refused."""
    messages: list[dict[str, Any]] = [USER]
    items: list[dict[str, Any]] = [USER]
    for number, calls in enumerate(rounds):
        ids = [f"call_{number}_{call}" for call in calls]
        messages += [called(*ids), *(result(i) for i in data.draw(st.permutations(ids)))]
        items += [
            *(call_item(i) for i in ids),
            *(output_item(i) for i in data.draw(st.permutations(ids))),
        ]
    histories = (
        (ChatWire(), "messages", messages, "role", "tool"),
        (ResponsesWire(), "input", items, "type", None),
    )
    for wire, field, history, key, marker in histories:
        wire.parse({"model": "m", field: history})
        results = [
            n
            for n, entry in enumerate(history)
            if entry.get(key) == (marker or "function_call_output")
        ]
        chosen = data.draw(st.sampled_from(results))
        for damaged in (
            history[:chosen] + history[chosen + 1 :],
            history[: chosen + 1] + history[chosen:],
        ):
            with pytest.raises(RefusedError):
                wire.parse({"model": "m", field: damaged})
