"""The agent of missions that overlap: one simulated agent for each, which hear of the conversation what is theirs.

Missions are named m1, m2, and so on. A part of a text that is about one begins a line with ``[m2]:``; calls say theirs
by the argument ``task_id``. Everything that the agents have to say goes into one message.
"""

import json
import re
from collections.abc import Iterator, Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import ToolCall
from pydantic import SkipValidation
from typing_extensions import override

from asyncguard_benchmark.harness.chat_model import PlainChatModel
from asyncguard_benchmark.services.declarations import TASK_ARGUMENT
from asyncguard_benchmark.suites.missions.agents.heard import NOTES, RESULT_LINE, WAIT, Heard
from asyncguard_benchmark.suites.missions.agents.oracle import STUCK, Oracle
from asyncguard_benchmark.suites.missions.agents.plan import Plan

_PART = re.compile(r"^\[m(\d+)\]: ?", re.MULTILINE)
_CALL = re.compile(r"m(\d+)\.(.+)", re.DOTALL)
NEEDS_NO_TOOL = "no tool needed"
"""What an agent says of a mission for which it has called nothing, so that its end is not taken for forgetting."""


def task_name(mission: int) -> str:
    """Return the name of a mission, which is counted from 0."""
    return f"m{mission + 1}"


def said_of(mission: int, text: str) -> str:
    """Return a part of a text that is about one mission."""
    return f"[{task_name(mission)}]: {text}"


def parts_of(text: str) -> Iterator[tuple[int, str]]:
    """Yield mission, from 0, and words of the parts of a text; what stands before the first part is about none."""
    pieces = _PART.split(text)
    yield from (
        (int(name) - 1, words.strip())
        for name, words in zip(pieces[1::2], pieces[2::2], strict=True)
    )


class Together(PlainChatModel):
    """Agents of all missions as one."""

    agents: SkipValidation[Sequence[Oracle]]
    """By mission; each has the plan of its own."""

    @override
    def say(self, messages: list[BaseMessage]) -> AIMessage:
        """Return the next message."""
        heard = _Heard([each.plan for each in self.agents])
        for message in messages:
            heard.take(message)
        calls, lines = list[ToolCall](), list[str]()
        for mission, one in heard.open():
            said = self.agents[mission].act(one)
            text = str(said.text)
            if said.tool_calls:
                calls += [_named(mission, each) for each in said.tool_calls]
            elif text not in (WAIT, STUCK):
                claim = "" if one.attempts else f"{NEEDS_NO_TOOL} so far. "
                lines.append(said_of(mission, f"{claim}{text}"))
        if calls or lines:
            return AIMessage("\n".join(lines), tool_calls=calls)
        return AIMessage(WAIT if heard.pending() else STUCK)


def _named(mission: int, call: ToolCall) -> ToolCall:
    task = task_name(mission)
    arguments = {TASK_ARGUMENT: task, **call["args"]}
    return ToolCall(name=call["name"], args=arguments, id=f"{task}.{call['id']}", type="tool_call")


class _Heard:
    """The conversation, sorted by missions."""

    def __init__(self, plans: Sequence[Plan]) -> None:
        self._missions: list[Heard] = []
        for plan in plans:
            earlier = dict(enumerate(self._missions))
            self._missions.append(Heard(plan=plan, others=earlier))
        self._silent = [False] * len(plans)
        """By mission: True after a text that ended it or asked the user, until the user answers."""

    def open(self) -> Iterator[tuple[int, Heard]]:
        """Yield the missions about which there may be something to say."""
        for mission, each in enumerate(self._missions):
            if each.texts and not self._silent[mission]:
                yield mission, each

    def pending(self) -> bool:
        """Return True if a call has no result yet."""
        return any(each.pending() for each in self._missions)

    def take(self, message: BaseMessage) -> None:
        text = str(message.text)
        match message:
            case AIMessage():
                self._own(message, text)
            case ToolMessage() if found := _CALL.fullmatch(message.tool_call_id):
                self._missions[int(found[1]) - 1].take(
                    message.model_copy(update={"tool_call_id": found[2]})
                )
            case HumanMessage() if text.startswith(RESULT_LINE):
                self._results(text)
            case HumanMessage() if NOTES not in message.additional_kwargs:
                for mission, words in parts_of(text):
                    self._silent[mission] = False
                    self._missions[mission].take(HumanMessage(words))
            case _:
                for each in self._missions:
                    each.notes.append(text)

    def _results(self, text: str) -> None:
        for line in text.splitlines():
            entry = json.loads(line)
            found = _CALL.fullmatch(entry.get("call_id", ""))
            if found:
                told = json.dumps({**entry, "call_id": found[2]})
                self._missions[int(found[1]) - 1].take(HumanMessage(told))

    def _own(self, message: AIMessage, text: str) -> None:
        said = dict(parts_of(text))
        for mission, each in enumerate(self._missions):
            calls = [
                ToolCall(name=call["name"], args=call["args"], id=found[2], type="tool_call")
                for call in message.tool_calls
                if (found := _CALL.fullmatch(str(call["id"]))) and int(found[1]) == mission + 1
            ]
            if calls:
                each.take(AIMessage("", tool_calls=calls))
            elif mission in said:
                # An end before the results may be sent back, and then is said again.
                self._silent[mission] = not each.pending()
                each.take(AIMessage(said[mission]))
