"""Messages and tools of LangChain as Inspect has them, and back.

Theory of operation. What a model is told must be the same text as without Inspect, so nothing is said by Inspect's own
fields for errors, which some providers put into words: a refused call is marked in the message's metadata, which no
provider sends. A call whose arguments could not be parsed keeps their text in `parse_error`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    ModelOutput,
)
from inspect_ai.tool import ToolCall, ToolInfo, ToolParams
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    InvalidToolCall,
    SystemMessage,
    ToolMessage,
    UsageMetadata,
)
from langchain_core.messages import ToolCall as LangChainCall

from asyncguard_benchmark.errors import BenchmarkError

_STATUS = "status"


class ForeignMessageError(BenchmarkError):
    """A message is of a kind that the benchmark's protocol does not have."""


def to_inspect(messages: Sequence[BaseMessage]) -> list[ChatMessage]:
    """Return a conversation as Inspect's models take it.

    Raises:
        ForeignMessageError: a message is none of system, human, AI and tool.
    """
    tools: dict[str, str] = {}
    found: list[ChatMessage] = []
    for message in messages:
        text = str(message.text)
        match message:
            case SystemMessage():
                found.append(ChatMessageSystem(content=text))
            case HumanMessage():
                found.append(ChatMessageUser(content=text))
            case AIMessage():
                tools |= {call["id"] or "": call["name"] for call in message.tool_calls}
                tools |= {
                    call["id"] or "": call["name"] or "" for call in message.invalid_tool_calls
                }
                found.append(assistant(message))
            case ToolMessage():
                found.append(
                    ChatMessageTool(
                        content=text,
                        tool_call_id=message.tool_call_id,
                        function=tools.get(message.tool_call_id),
                        metadata={_STATUS: message.status},
                    )
                )
            case _:
                raise ForeignMessageError(f"Inspect has no form for a {type(message).__name__}")
    return found


def assistant(message: AIMessage) -> ChatMessageAssistant:
    """Return an agent's message as Inspect has it; a call that could not be parsed says its text as the error."""
    calls = [
        ToolCall(id=call["id"] or "", function=call["name"], arguments=call["args"])
        for call in message.tool_calls
    ]
    calls += [
        ToolCall(
            id=call["id"] or "",
            function=call["name"] or "",
            arguments={},
            parse_error=call["args"] or "The arguments could not be parsed.",
        )
        for call in message.invalid_tool_calls
    ]
    return ChatMessageAssistant(
        id=message.id, content=str(message.text), tool_calls=calls or None, source="generate"
    )


def from_inspect(messages: Sequence[ChatMessage]) -> list[BaseMessage]:
    """Return a conversation of `to_inspect` as the benchmark's agents read it."""
    found: list[BaseMessage] = []
    for message in messages:
        match message:
            case ChatMessageSystem():
                found.append(SystemMessage(message.text))
            case ChatMessageUser():
                found.append(HumanMessage(message.text))
            case ChatMessageAssistant():
                found.append(said(message))
            case ChatMessageTool():
                status: Literal["success", "error"] = (
                    "error" if (message.metadata or {}).get(_STATUS) == "error" else "success"
                )
                found.append(
                    ToolMessage(
                        message.text, tool_call_id=message.tool_call_id or "", status=status
                    )
                )
    return found


def said(message: ChatMessageAssistant, output: ModelOutput | None = None) -> AIMessage:
    """Return a model's message as the benchmark reads it.

    Args:
        message: The message; its reasoning is left out.
        output: The answer that holds it, for the tokens and the snapshot's name; None if it was said earlier.
    """
    calls = message.tool_calls or []
    return AIMessage(
        id=message.id,
        content=message.text,
        tool_calls=[
            LangChainCall(
                name=call.function, args=call.arguments, id=call.id or None, type="tool_call"
            )
            for call in calls
            if call.parse_error is None
        ],
        invalid_tool_calls=[
            InvalidToolCall(
                name=call.function,
                args=call.parse_error,
                id=call.id or None,
                error=None,
                type="invalid_tool_call",
            )
            for call in calls
            if call.parse_error is not None
        ],
        response_metadata={} if output is None else {"model_name": output.model},
        usage_metadata=None if output is None else _usage(output),
    )


def _usage(output: ModelOutput) -> UsageMetadata | None:
    told = output.usage
    if told is None:
        return None
    cached, written = told.input_tokens_cache_read or 0, told.input_tokens_cache_write or 0
    # Inspect counts cached tokens apart, LangChain among the others.
    prompt = told.input_tokens + cached + written
    return UsageMetadata(
        input_tokens=prompt,
        output_tokens=told.output_tokens,
        total_tokens=prompt + told.output_tokens,
        input_token_details={"cache_read": cached, "cache_creation": written},
        output_token_details={"reasoning": told.reasoning_tokens or 0},
    )


def tool_info(tool: Mapping[str, Any]) -> ToolInfo:
    """Return a tool in the OpenAI format as Inspect has it.

    Inspect's form of a schema has no bounds on the number of items or properties, no `uniqueItems` and no exclusive
    bounds of numbers: a model is not told those.
    """
    function = tool["function"]
    return ToolInfo(
        name=function["name"],
        description=function["description"],
        parameters=ToolParams.model_validate(function["parameters"]),
    )


def openai_tool(tool: ToolInfo) -> dict[str, Any]:
    """Return a tool of Inspect in the OpenAI format."""
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters.model_dump(exclude_none=True),
        },
    }
