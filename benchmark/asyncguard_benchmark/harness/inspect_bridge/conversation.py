"""One episode's model: a chat model for the benchmark whose answers come from Inspect's model interface.

Players call their agent from a thread of their own, some on an event loop in that thread. Inspect's `generate` belongs
to the loop of the evaluation, where the sample's transcript, limits and cancellation are, so every call is sent there
and waited for.
"""

from collections.abc import Sequence
from typing import Any

from anyio import from_thread
from inspect_ai.model import ChatMessage, ChatMessageAssistant, Model, ModelOutput
from inspect_ai.tool import ToolInfo
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.runnables import Runnable
from pydantic import Field, SkipValidation
from typing_extensions import override

from asyncguard_benchmark.harness.chat_model import PlainChatModel
from asyncguard_benchmark.harness.inspect_bridge.messages import said, to_inspect, tool_info

_Told = tuple[str, str, str | None, str | None]


class Conversation:
    """Everything that was said in an episode, as Inspect has it."""

    def __init__(self, notes: dict[str, Any]) -> None:
        """Begin.

        Args:
            notes: Metadata of the first message of every request: what a simulated agent has to know of the episode.
        """
        self.messages: list[ChatMessage] = []
        """The last request, and its answer once there is one."""
        self.output: ModelOutput | None = None
        """The last answer; None before the first."""
        self._notes = notes
        self._told: list[_Told] = []
        self._said: dict[str, ChatMessageAssistant] = {}

    def request(self, messages: Sequence[BaseMessage]) -> list[ChatMessage]:
        """Return the messages of the next request.

        A message that stood at the same place before is the same object, so a log holds it once; the model's own
        messages are those that it gave, with their reasoning.
        """
        told = [_told(message) for message in messages]
        fresh = to_inspect(messages)
        kept = 0
        for old, new in zip(self._told, told, strict=False):
            if old != new:
                break
            kept += 1
        fresh[:kept] = self.messages[:kept]
        for place, message in enumerate(messages):
            if message.id in self._said:
                fresh[place] = self._said[message.id]
        fresh[0].metadata = {**(fresh[0].metadata or {}), **self._notes}
        self._told, self.messages = told, fresh
        return list(fresh)

    def answered(self, output: ModelOutput) -> AIMessage:
        """Keep an answer, and return it as the benchmark reads it."""
        message = output.message
        self.output = output
        if message.id is not None:
            self._said[message.id] = message
        answer = said(message, output)
        self.messages.append(message)
        self._told.append(_told(answer))
        return answer


def _told(message: BaseMessage) -> _Told:
    call = message.tool_call_id if isinstance(message, ToolMessage) else None
    return message.type, str(message.text), call, message.id


class InspectChatModel(PlainChatModel):
    """A chat model that asks Inspect's model; to be called from a thread that anyio started."""

    model: SkipValidation[Model]
    conversation: SkipValidation[Conversation]
    tools: SkipValidation[Sequence[ToolInfo]] = Field(default=())
    """Set by `bind_tools`."""

    @override
    def bind_tools(
        self, tools: Sequence[Any], **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return a copy whose requests offer the tools."""
        return self.model_copy(update={"tools": [tool_info(tool) for tool in tools]})

    @override
    def say(self, messages: list[BaseMessage]) -> AIMessage:
        """Return the model's answer; what Inspect raises (a limit, a cancellation) ends the episode."""
        return self.conversation.answered(from_thread.run(self._generate_there, messages))

    async def _generate_there(self, messages: list[BaseMessage]) -> ModelOutput:
        request = self.conversation.request(messages)
        return await self.model.generate(request, tools=self.tools)
