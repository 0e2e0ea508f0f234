"""pydantic-ai with a function model."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from pydantic_ai import Agent, Tool
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import UsageLimits

from peers import Peer, Run
from script import ANSWER, QUESTION, TOOL_DESCRIPTION, TOOL_NAME, Script


@asynccontextmanager
async def _session(script: Script, _: Path) -> AsyncIterator[Run]:
    async def decide(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        key = script.next_key()
        if key is None:
            return ModelResponse(parts=[TextPart(ANSWER)])
        return ModelResponse(parts=[ToolCallPart(TOOL_NAME, {"key": key})])

    async def look_up(key: str) -> str:
        return script.look_up(key)

    agent = Agent(
        FunctionModel(decide), tools=[Tool(look_up, name=TOOL_NAME, description=TOOL_DESCRIPTION)]
    )

    async def run() -> None:
        await agent.run(QUESTION, usage_limits=UsageLimits(request_limit=None))

    yield run


AGENT = Peer(name="pydantic-ai", session=_session)
