"""Surfaces: actions and deliveries as messages, and back; the plain player speaks through one of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from asyncguard_benchmark.harness.environment import CallRecord
from asyncguard_benchmark.harness.protocol import entries, prompts
from asyncguard_benchmark.harness.protocol.actions import (
    Action,
    CallAction,
    Malformed,
    read_native,
    read_text,
)
from asyncguard_benchmark.harness.scenario import Composition, Contract
from asyncguard_benchmark.services.catalogue import composition_tools
from asyncguard_benchmark.services.declarations import TASK_ARGUMENT, Tool


@dataclass(frozen=True, kw_only=True)
class Step:
    """One action of an assistant message, and the call that it led to."""

    action: Action
    record: CallRecord | None = None
    """The issued call; None if the action was none."""

    @property
    def waits(self) -> bool:
        """Return True if a call was issued whose result comes later."""
        return self.record is not None and self.record.due > self.record.issued


class Speech(Protocol):
    """Protocol of one surface: it opens a conversation, reads it and continues it."""

    def opening(self) -> list[BaseMessage]:
        """Return the messages before the first turn."""
        ...

    def read(self, message: AIMessage) -> tuple[Action, ...]:
        """Return the actions of an assistant message, at least one."""
        ...

    def reply(self, steps: Sequence[Step], delivered: Sequence[CallRecord]) -> list[BaseMessage]:
        """Return the environment's answer to one assistant message."""
        ...


class TextSpeech:
    """The paper's text protocol: one JSON action a message, all answers of a turn in one user message."""

    def __init__(
        self,
        composition: Composition,
        *,
        example: str | None = None,
        contract: Contract = Contract.OURS,
    ) -> None:
        self._composition = composition
        self._example = example
        self._contract = contract

    def opening(self) -> list[BaseMessage]:
        """Return the contract with the API list, then the tasks."""
        return [*self._opening]

    @cached_property
    def _opening(self) -> tuple[BaseMessage, ...]:
        # A player opens the conversation again in each turn.
        system = prompts.text_system_prompt(self._composition, self._example, self._contract)
        return SystemMessage(system), HumanMessage(prompts.first_user_message(self._composition))

    def read(self, message: AIMessage) -> tuple[Action, ...]:
        """Return exactly one action."""
        return (read_text(str(message.text), self._composition.task_ids, self._contract),)

    def reply(self, steps: Sequence[Step], delivered: Sequence[CallRecord]) -> list[BaseMessage]:
        """Return the answer to the action, then every result now due."""
        answers = [entry for step in steps if (entry := _note(step)) is not None]
        answers += [entries.result(record) for record in delivered]
        return [
            HumanMessage(
                entries.lines(answers or [entries.note(entries.wait_content(entries.NO_NEWS))])
            )
        ]


class NativeSpeech:
    """The provider's tool calling: every call is answered by its tool message, later results by one user message."""

    def __init__(
        self, composition: Composition, *, example: str | None = None, parallel: bool = False
    ) -> None:
        self._composition = composition
        self._example = example
        self._parallel = parallel
        self._call_ids: dict[int, str] = {}

    def opening(self) -> list[BaseMessage]:
        """Return the contract, then the tasks."""
        return [*self._opening]

    @cached_property
    def _opening(self) -> tuple[BaseMessage, ...]:
        system = prompts.native_system_prompt(self._example)
        return SystemMessage(system), HumanMessage(prompts.first_user_message(self._composition))

    def read(self, message: AIMessage) -> tuple[Action, ...]:
        """Return one action, or several calls if that is allowed."""
        return read_native(message, self._composition.task_ids, parallel=self._parallel)

    def reply(self, steps: Sequence[Step], delivered: Sequence[CallRecord]) -> list[BaseMessage]:
        """Return a tool message for every call, in order; then, if there is more to say, one user message."""
        answered: set[int] = set()
        replies: list[BaseMessage] = []
        for step in steps:
            if isinstance(step.action, Malformed):
                content = entries.error_content(step.action.reason)
                replies += [
                    ToolMessage(content, tool_call_id=i, status="error")
                    for i in step.action.call_ids
                ]
            if step.record is not None and isinstance(step.action, CallAction):
                call_id = step.action.call_id or ""
                self._call_ids[step.record.number] = call_id
                content = (
                    entries.wait_content(entries.EXECUTING)
                    if step.waits
                    else entries.answer_content(step.record)
                )
                answered |= set() if step.waits else {step.record.number}
                replies.append(ToolMessage(content, tool_call_id=call_id))
        later = [record for record in delivered if record.number not in answered]
        if later:
            news = [entries.result(record, self._call_ids[record.number]) for record in later]
            replies.append(HumanMessage(entries.lines(news)))
        return replies or [
            HumanMessage(entries.lines([entries.note(entries.wait_content(entries.NO_NEWS))]))
        ]


def _note(step: Step) -> entries.Entry | None:
    if isinstance(step.action, Malformed):
        return entries.note(entries.error_content(step.action.reason))
    return entries.note(entries.wait_content(entries.EXECUTING)) if step.waits else None


def native_tools(composition: Composition) -> list[dict[str, Any]]:
    """Return the tools of a composition for `bind_tools`, each with the task argument."""
    return [
        native_tool(tool, composition.task_ids) for tool in composition_tools(composition).values()
    ]


def native_tool(tool: Tool, task_ids: Sequence[str]) -> dict[str, Any]:
    """One tool in the OpenAI format, with a required enum argument that says which sub-task a call belongs to."""
    parameters = dict(tool.parameters)
    task = {
        "type": "string",
        "enum": list(task_ids),
        "description": "Id of the task that this call belongs to.",
    }
    parameters["properties"] = {TASK_ARGUMENT: task, **parameters["properties"]}
    parameters["required"] = [TASK_ARGUMENT, *parameters["required"]]
    return {"type": "function", "function": {**tool.function_schema(), "parameters": parameters}}
