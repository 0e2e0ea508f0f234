"""Messages of a mission: the prompt, and how results are told."""

import json
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import ToolCall

from asyncguard_benchmark.harness.environment import CallRecord
from asyncguard_benchmark.harness.protocol import entries
from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.suites.missions.agents.heard import WAIT
from asyncguard_benchmark.suites.missions.dialogues import Message

_LATE = (
    "Results of tools may come after some messages. If all you can do is to wait for one, answer with the one "
    f"word {WAIT}."
)
NO_NEWS = entries.lines([entries.note(entries.wait_content(entries.NO_NEWS))])


def system_text(time: str, regime: Regime) -> str:
    """Return the system message: the current date, and in late regimes how to wait."""
    day = date.fromisoformat(time[:10])
    text = f"Current Date: {time} {day:%A}"
    return text if regime is Regime.SYNC else f"{text}\n{_LATE}"


def hint_text() -> str:
    """Return the sentence of the arm `ask-hint`."""
    return "If a required value is not told to you, ask the user for it before you call anything."


def opening(system: str, prompt: Iterable[Message]) -> list[BaseMessage]:
    """Return the messages before the agent's first."""
    return [SystemMessage(system), *map(_message, prompt)]


def _message(said: Message) -> BaseMessage:
    content = said["content"] or ""
    if said["role"] == "user":
        return HumanMessage(content)
    if said["role"] == "tool":
        return ToolMessage(content, tool_call_id=said["tool_call_id"])
    return AIMessage(content, tool_calls=[_call(each) for each in said.get("tool_calls", ())])


def _call(said: Any) -> ToolCall:
    function = said["function"]
    arguments = json.loads(function["arguments"])
    return ToolCall(name=function["name"], args=arguments, id=said["id"], type="tool_call")


def answer(call_id: str, record: CallRecord, *, waits: bool) -> ToolMessage:
    """Return the answer to a call: its result, or that it runs."""
    content = entries.wait_content(entries.EXECUTING) if waits else entries.answer_content(record)
    return ToolMessage(content, tool_call_id=call_id)


def unreadable(call_id: str) -> ToolMessage:
    """Return the answer to a call whose arguments are not JSON."""
    content = entries.error_content("The arguments are not a JSON object.")
    return ToolMessage(content, tool_call_id=call_id, status="error")


def news(told: Sequence[tuple[str, CallRecord]]) -> HumanMessage:
    """Return one message with results that came late, each with the id of its call."""
    return HumanMessage(entries.lines(entries.result(record, name) for name, record in told))
