"""Streams: tokens and pieces of calls reach the caller while the model speaks."""

from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk

from tests.adapters.messages.conftest import Serve
from tests.adapters.messages.stage import FrontEnd, Tools, agent_of, one, tasks, told
from tests.adapters.messages.test_conversations import ThreeTasks
from tests.support.openai_clients import chat_model
from tests.support.openai_server import Answer, Call, ModelRequest, Reply, Surface

pytestmark = pytest.mark.server

_LAST_WORDS = "Ants were seen, and that is all there is to say about them."


def _look_once(request: ModelRequest) -> Answer:
    if told(request, "seen ants"):
        return Reply(text=_LAST_WORDS)
    return Reply(text="I look.", calls=(Call.of("look", topic="ants", depth=1),))


async def _streamed(agent: Any, given: dict[str, Any]) -> list[AIMessageChunk]:
    stream = agent.astream(given, stream_mode="messages")
    return [message async for message, _ in stream if isinstance(message, AIMessageChunk)]


async def test_tokens_and_pieces_of_calls_arrive(
    serve: Serve, surface: Surface, front_end: FrontEnd, tools: Tools
) -> None:
    """Text comes in several pieces and once only; so do the arguments of a call."""
    server = serve(_look_once)
    chunks = await _streamed(
        agent_of(front_end, chat_model(server, surface), tools.all()), one("Look at ants.")
    )
    assert all(view.streaming for view in server.views)
    texts = [chunk.text for chunk in chunks if chunk.text]
    assert "".join(texts) == "I look." + _LAST_WORDS
    assert len(texts) > 4
    pieces = [piece for chunk in chunks for piece in chunk.tool_call_chunks]
    assert "".join(piece["args"] or "" for piece in pieces) == '{"topic": "ants", "depth": 1}'
    assert len([piece for piece in pieces if piece["args"]]) > 1


def test_tokens_arrive_at_the_sync_entry(
    serve: Serve, surface: Surface, front_end: FrontEnd, tools: Tools
) -> None:
    """``stream`` hands tokens out, too."""
    server = serve(_look_once)
    agent = agent_of(front_end, chat_model(server, surface), tools.all())
    stream = agent.stream(one("Look at ants."), stream_mode="messages")
    texts = [message.text for message, _ in stream if isinstance(message, AIMessageChunk)]
    assert "".join(texts) == "I look." + _LAST_WORDS


async def test_a_streamed_run_of_several_tasks_ends_as_another(
    serve: Serve, surface: Surface, front_end: FrontEnd, tools: Tools
) -> None:
    """Messages put together from chunks are answered to their ids, late results included."""
    server = serve(ThreeTasks(tools))
    agent = agent_of(front_end, chat_model(server, surface, streaming=True), tools.all())
    final = await agent.ainvoke(tasks("ants", "bees", "cats"))
    assert final["report"]["reason"] == "complete"
    assert tools.executed.total() == 6
