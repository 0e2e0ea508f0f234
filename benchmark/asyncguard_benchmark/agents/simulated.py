"""The chat model that all simulated agents are: reads the conversation, decides, and says so on either surface."""

import json
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ConfigDict
from typing_extensions import override

from asyncguard_benchmark.agents.plan import Plan
from asyncguard_benchmark.agents.progress import TaskProgress, progress_of
from asyncguard_benchmark.agents.reading import MessageReader, read_message, read_questions
from asyncguard_benchmark.agents.transcript import read_transcript
from asyncguard_benchmark.executors.declarations import TASK_ARGUMENT
from asyncguard_benchmark.protocol.actions import ALL_COMPLETED, CallAction, Completed, Idle

WAITING = "Waiting for results."
"""What an agent says when it has nothing to do yet."""

Decision = tuple[CallAction, ...] | Idle | Completed
"""One turn: calls to make, nothing, or the end."""


@dataclass(frozen=True, kw_only=True)
class BoundTools:
    """What binding tools tells an agent."""

    with_task: frozenset[str]
    """Names of the tools that take the task argument."""


class SimulatedAgent(BaseChatModel):
    """A chat model without a model: `decide` says what to do from where the sub-tasks stand.

    It sees the messages it is sent and its plan, and remembers nothing between turns. With tools bound it speaks the
    native surface, without it the text surface.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    plan: Plan
    """Which tool comes next and where values come from; holds no value of a result."""
    reader: MessageReader = read_message
    """Reads the messages of the front end that the agent runs behind."""
    task_argument: str = TASK_ARGUMENT
    """Name of the argument that says which sub-task a native call belongs to."""
    parallel: bool = False
    """Whether it makes calls of several sub-tasks in one native message."""
    most_refusals: int = 8
    """Refusals of one step after which it gives the sub-task up."""
    bound: BoundTools | None = None
    """Set by `bind_tools`."""

    @abstractmethod
    def decide(self, tasks: Sequence[TaskProgress]) -> Decision:
        """What to do in this turn, from where the sub-tasks stand."""

    @property
    @override
    def _llm_type(self) -> str:
        return f"simulated-{type(self).__name__}"

    @override
    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """A copy that speaks the native surface; the choice of tools stays the agent's."""
        functions = [convert_to_openai_tool(tool)["function"] for tool in tools]
        taking = (f["name"] for f in functions if self.task_argument in f.get("parameters", {}).get("properties", {}))
        return self.model_copy(update={"bound": BoundTools(with_task=frozenset(taking))})

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        task_ids = [task.task_id for task in self.plan.tasks]
        attempts = read_transcript(messages, task_ids, self.reader, self.task_argument)
        decision = self.decide(progress_of(self.plan, attempts, read_questions(messages)))
        message = self._say_text(decision) if self.bound is None else self._say_native(decision, len(attempts))
        return ChatResult(generations=[ChatGeneration(message=message)])

    @override
    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        # Deciding takes microseconds; the inherited way would send it to a thread.
        return self._generate(messages, stop)

    def _say_text(self, decision: Decision) -> AIMessage:
        match decision:
            case Completed():
                action: dict[str, Any] = {"content": ALL_COMPLETED}
            case Idle():
                action = {"content": WAITING}
            case (call, *_):
                action = {"id": call.task_id, "func_name": call.tool, "params": dict(call.arguments)}
            case _:
                raise ValueError("a decision without calls must be Idle or Completed")
        return AIMessage(json.dumps(action, ensure_ascii=False))

    def _say_native(self, decision: Decision, calls_before: int) -> AIMessage:
        match decision:
            case Completed():
                return AIMessage(ALL_COMPLETED)
            case Idle():
                return AIMessage(WAITING)
            case calls:
                chosen = calls if self.parallel else calls[:1]
                return AIMessage(
                    "", tool_calls=[self._native_call(call, calls_before + n) for n, call in enumerate(chosen, 1)]
                )

    def _native_call(self, call: CallAction, number: int) -> ToolCall:
        takes_task = self.bound is not None and call.tool in self.bound.with_task
        task = {self.task_argument: call.task_id} if takes_task else {}
        return ToolCall(name=call.tool, args={**task, **call.arguments}, id=f"call_{number}", type="tool_call")


def call_of(task: TaskProgress, position: int, values: dict[str, Any]) -> CallAction:
    """The action that makes a step with these operand values."""
    return CallAction(
        task_id=task.plan.task_id, tool=task.step(position).tool, arguments=task.arguments(position, values)
    )
