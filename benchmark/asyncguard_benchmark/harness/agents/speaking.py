"""The chat model that every offline agent is: reads a conversation, decides, and says so on either surface."""

import json
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, InvalidToolCall, ToolCall
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from typing_extensions import override

from asyncguard_benchmark.harness.chat_model import PlainChatModel
from asyncguard_benchmark.harness.protocol.actions import ALL_COMPLETED, CallAction, Completed, Idle
from asyncguard_benchmark.services.declarations import TASK_ARGUMENT

WAITING = "Waiting for results."
"""Text that an agent says when it has nothing to do yet."""
_CUT = 2
"""Characters that a garbled call lacks at its end: its brackets."""


@dataclass(frozen=True, kw_only=True)
class Garbled:
    """A call in broken JSON, which cannot be read."""

    call: CallAction


Decision = tuple[CallAction, ...] | Garbled | Idle | Completed
"""One turn: calls to make, a call that comes out broken, nothing, or the end."""


@dataclass(frozen=True, kw_only=True)
class BoundTools:
    """Tools that were bound to an agent."""

    functions: Mapping[str, Mapping[str, Any]]
    """Name -> name, description and parameters."""
    task_argument: str

    def takes_task(self, tool: str) -> bool:
        """Return True if a tool has the argument that names the sub-task of a call."""
        return self.task_argument in self.functions.get(tool, {}).get("parameters", {}).get(
            "properties", {}
        )


class SpeakingAgent(PlainChatModel):
    """A chat model without a model: `answer` says what to do from the messages alone.

    It remembers nothing between turns. With tools bound it speaks the native surface, without it the text surface.
    """

    task_argument: str = TASK_ARGUMENT
    """Name of the argument that says which sub-task a native call belongs to."""
    parallel: bool = False
    """True if it makes calls of several sub-tasks in one native message."""
    bound: BoundTools | None = None
    """Set by `bind_tools`."""

    @classmethod
    def fields_of(cls, kind: str, settings: Mapping[str, float]) -> dict[str, Any]:
        """Return the fields that settings stand for: of the same names, unless a subclass says otherwise.

        Args:
            kind: The name under which the agent was asked for.
            settings: The settings that were given with it.
        """
        return dict(settings)

    @abstractmethod
    def answer(self, messages: Sequence[BaseMessage]) -> Decision:
        """Return the decision in this turn."""

    @override
    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return a copy that speaks the native surface; the choice of tools stays the agent's."""
        functions = {
            each["name"]: each
            for each in (convert_to_openai_tool(tool)["function"] for tool in tools)
        }
        return self.model_copy(
            update={"bound": BoundTools(functions=functions, task_argument=self.task_argument)},
        )

    @override
    def say(self, messages: list[BaseMessage]) -> AIMessage:
        """Return the decision on the surface that the agent speaks."""
        decision = self.answer(messages)
        if self.bound is None:
            return self._say_text(decision)
        return self._say_native(decision, _calls_in(messages))

    def _say_text(self, decision: Decision) -> AIMessage:
        match decision:
            case Completed():
                return AIMessage(json.dumps({"content": ALL_COMPLETED}))
            case Idle():
                return AIMessage(json.dumps({"content": WAITING}))
            case Garbled(call=call):
                return AIMessage(_text_call(call)[:-_CUT])
            case (call, *_):
                return AIMessage(_text_call(call))
            case _:
                raise ValueError("a decision without calls must be Idle or Completed")

    def _say_native(self, decision: Decision, calls_before: int) -> AIMessage:
        match decision:
            case Completed():
                return AIMessage(ALL_COMPLETED)
            case Idle():
                return AIMessage(WAITING)
            case Garbled(call=call):
                return AIMessage("", invalid_tool_calls=[self._broken_call(call, calls_before + 1)])
            case calls:
                chosen = calls if self.parallel else calls[:1]
                return AIMessage(
                    "",
                    tool_calls=[
                        self._native_call(call, calls_before + n)
                        for n, call in enumerate(chosen, 1)
                    ],
                )

    def _native_call(self, call: CallAction, number: int) -> ToolCall:
        takes_task = self.bound is not None and self.bound.takes_task(call.tool)
        task = {self.task_argument: call.task_id} if takes_task else {}
        return ToolCall(
            name=call.tool, args={**task, **call.arguments}, id=f"call_{number}", type="tool_call"
        )

    def _broken_call(self, call: CallAction, number: int) -> InvalidToolCall:
        whole = self._native_call(call, number)
        text = json.dumps(whole["args"], ensure_ascii=False)[:-1]
        return InvalidToolCall(
            name=call.tool, args=text, id=whole["id"], error=None, type="invalid_tool_call"
        )


def _text_call(call: CallAction) -> str:
    action = {"id": call.task_id, "func_name": call.tool, "params": dict(call.arguments)}
    return json.dumps(action, ensure_ascii=False)


def _calls_in(messages: Sequence[BaseMessage]) -> int:
    said = [message for message in messages if isinstance(message, AIMessage)]
    return sum(len(message.tool_calls) + len(message.invalid_tool_calls) for message in said)
