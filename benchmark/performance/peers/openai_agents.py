"""The OpenAI Agents SDK with a model of its own interface; tracing is off, as it would leave this machine."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from agents.items import TResponseStreamEvent
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputItem,
    ResponseOutputMessage,
    ResponseOutputText,
)

from peers import Peer, Run
from script import ANSWER, QUESTION, TOOL_DESCRIPTION, TOOL_NAME, Script


class _ScriptedModel(Model):
    def __init__(self, script: Script) -> None:
        self._script = script

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        return ModelResponse(output=[self._next_item()], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[TResponseStreamEvent]:
        raise TypeError("the comparison does not stream")

    def _next_item(self) -> ResponseOutputItem:
        key = self._script.next_key()
        if key is not None:
            number = self._script.proposed
            return ResponseFunctionToolCall(
                type="function_call",
                name=TOOL_NAME,
                arguments=json.dumps({"key": key}),
                call_id=f"call-{number}",
            )
        text = ResponseOutputText(type="output_text", text=ANSWER, annotations=[])
        return ResponseOutputMessage(
            type="message", id="answer", role="assistant", status="completed", content=[text]
        )


@asynccontextmanager
async def _session(script: Script, _: Path) -> AsyncIterator[Run]:
    async def look_up(key: str) -> str:
        return script.look_up(key)

    tool = function_tool(look_up, name_override=TOOL_NAME, description_override=TOOL_DESCRIPTION)
    agent = Agent(name="performance", model=_ScriptedModel(script), tools=[tool])

    async def run() -> None:
        await Runner.run(
            agent, QUESTION, max_turns=script.steps + 1, run_config=RunConfig(tracing_disabled=True)
        )

    yield run


AGENT = Peer(name="openai-agents", session=_session)
