"""A scripted chat model and tool for the runtimes that speak LangChain."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from typing_extensions import override

from script import ANSWER, TOOL_DESCRIPTION, TOOL_NAME, Script

Decide = Callable[[Sequence[BaseMessage]], Awaitable[AIMessage]]
"""Function that gives the model's answer to a history."""


class ScriptedChat(BaseChatModel):
    """Chat model that answers as `decide` says."""

    decide: Decide

    @property
    @override
    def _llm_type(self) -> str:
        return "scripted"

    @override
    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        """Convert the schemas and bind them, as the integrations of real providers do.

        A runtime that binds at each turn pays for it at each turn, as with a real model.
        """
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise TypeError("the comparison is asynchronous throughout")

    @override
    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=await self.decide(messages))])


def scripted_chat(script: Script) -> ScriptedChat:
    """Return the model of a script."""

    async def decide(_: Sequence[BaseMessage]) -> AIMessage:
        key = script.next_key()
        if key is None:
            return AIMessage(content=ANSWER)
        call = ToolCall(
            name=TOOL_NAME, args={"key": key}, id=f"call-{script.proposed}", type="tool_call"
        )
        return AIMessage(content="", tool_calls=[call])

    return ScriptedChat(decide=decide)


def scripted_tool(script: Script) -> BaseTool:
    """Return the tool of a script."""

    async def look_up(key: str) -> str:
        return script.look_up(key)

    return StructuredTool.from_function(
        coroutine=look_up, name=TOOL_NAME, description=TOOL_DESCRIPTION
    )
