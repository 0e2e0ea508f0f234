"""Translation between the benchmark's protocol and the runtime's messages, both ways.

The runtime speaks LangChain messages; an agent of the benchmark speaks one of its two surfaces. The
conversation that an agent is sent is rendered, each turn, from the runtime's messages and the calls' outcomes
alone (what has not changed is not rendered again): with all guards off it is, message for message, what the
plain player sends. An idle message and one that
cannot be read are calls of tools of their own, because for a runtime a message without calls ends
the run, and in the protocol only "all completed" does.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol, Self

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage

from asyncguard_benchmark.harness.environment import CallRecord
from asyncguard_benchmark.harness.protocol import entries
from asyncguard_benchmark.harness.protocol.actions import (
    Action,
    CallAction,
    Completed,
    Idle,
    Malformed,
)
from asyncguard_benchmark.harness.protocol.surfaces import Speech
from asyncguard_benchmark.harness.scenario import Composition, Surface
from asyncguard_benchmark.services.catalogue import composition_tools
from asyncguard_benchmark.services.declarations import TASK_ARGUMENT

IDLE_TOOL = "idle_action"
UNREADABLE_TOOL = "unreadable_action"
UNKNOWN_TOOL = "unknown_tool_action"


class CallBook(Protocol):
    """Outcomes of the runtime's calls."""

    def made(self, name: str) -> bool:
        """Return True if a call has reached a tool, by the runtime's key or the provider's call id."""
        ...

    def told(self, name: str) -> CallRecord | None:
        """Return an ended call and what is told of it, by the runtime's key or the provider's call id."""
        ...

    def call_id(self, number: int) -> str:
        """Return the provider's id of an ended call, by its number."""
        ...


@dataclass(frozen=True, kw_only=True)
class Translation:
    """Translation for one episode."""

    composition: Composition
    surface: Surface
    speech: Speech
    book: CallBook
    idle_is_text: Callable[[], bool]
    """True if an idle message may reach the runtime as interim text, on which it waits."""
    unknown_tools_pass: bool
    """True if a tool that does not exist is called all the same, as in the plain player, to be
    answered by an error."""
    refuse: Callable[[str], str | None] = lambda tool: None
    """Asked with the tool of each call that the agent makes: why it is refused before the runtime sees it, or None."""
    remind: Callable[[], str | None] = lambda: None
    """Asked when the agent says that all is done: a reminder in place of the end, or None."""
    wording: bool = True
    """True if the agent is told why a call was refused, False if it is told only that it was."""
    _rendered: dict[int, "_Turn"] = field(default_factory=dict)
    """Turns as they were rendered last, by the identity of the agent's message."""

    # -- to the runtime --------------------------------------------------------------------------------------------

    def to_runtime(self, said: AIMessage, actions: Sequence[Action], turn: int) -> AIMessage:
        """Return an agent's message as the runtime reads it.

        Args:
            said: Message of the agent.
            actions: What it says, as `speech` reads it.
            turn: Number of the message, from 1; makes the call ids of the text surface.
        """
        keep = {"said": {name: getattr(said, name) for name in _KEPT}}
        calls = [
            call
            for number, action in enumerate(actions, 1)
            for call in self._calls(action, f"{turn}_{number}")
        ]
        if not calls:
            return AIMessage(content=str(said.text) or "Waiting.", additional_kwargs=keep)
        return AIMessage(content="", tool_calls=calls, additional_kwargs=keep)

    def _calls(self, action: Action, number: str) -> Iterator[ToolCall]:
        fallback_id = f"call_{number}"
        first = self.composition.task_ids[0]
        match action:
            case CallAction():
                yield self._call(action, action.call_id or fallback_id, first)
            case Malformed():
                for call_id in action.call_ids or (fallback_id,):
                    yield _tool_call(
                        UNREADABLE_TOOL, {**self._task(first), "reason": action.reason}, call_id
                    )
            case Idle() if not self.idle_is_text():
                yield _tool_call(IDLE_TOOL, self._task(first), fallback_id)
            case Completed() if (words := self.remind()) is not None:
                # An idle call keeps the run going; its words stand in the reply to it.
                yield _tool_call(IDLE_TOOL, {**self._task(first), _WORDS: words}, fallback_id)
            case Idle() | Completed():
                pass

    def _call(self, action: CallAction, call_id: str, first: str) -> ToolCall:
        refused = self.refuse(action.tool)
        if refused is not None:
            return _tool_call(UNREADABLE_TOOL, {**self._task(first), "reason": refused}, call_id)
        task = self._task(action.task_id)
        if action.tool in composition_tools(self.composition) or not self.unknown_tools_pass:
            return _tool_call(action.tool, {**task, **action.arguments}, call_id)
        return _tool_call(
            UNKNOWN_TOOL,
            {**task, "tool": action.tool, "arguments": dict(action.arguments)},
            call_id,
        )

    def _task(self, task_id: str) -> dict[str, Any]:
        """Return the task argument: the runtime has it where there are several tasks."""
        return {TASK_ARGUMENT: task_id} if len(self.composition.sub_tasks) > 1 else {}

    # -- to the agent ----------------------------------------------------------------------------------------------

    def to_agent(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Return the conversation as the agent is sent it."""
        rendered = self.speech.opening()
        heard: list[BaseMessage] = []
        said: AIMessage | None = None
        for message in messages:
            if isinstance(message, AIMessage) and "said" in message.additional_kwargs:
                rendered += self._turn(said, heard, answered=True) if said is not None else []
                said, heard = message, []
            elif not isinstance(message, AIMessage):
                heard.append(message)
        if said is not None:
            rendered += self._turn(said, heard, answered=bool(heard))
        return rendered

    def _turn(
        self, said: AIMessage, heard: Sequence[BaseMessage], *, answered: bool
    ) -> Sequence[BaseMessage]:
        """Return a message of the agent and its answer; rendered again only if they, or outcomes of calls, changed."""
        known = self._rendered.get(id(said))
        if known is not None and known.is_final(heard):
            return known.messages
        facts = [(answered, *self._facts(message)) for message in heard] or [(answered,)]
        if known is None or known.facts != facts:
            own = known.messages[0] if known else AIMessage(**said.additional_kwargs["said"])
            messages = [own, *(self._reply(said, heard) if answered else ())]
            known = self._rendered[id(said)] = _Turn(
                said=said, heard=heard, facts=facts, messages=messages
            )
        return known.messages

    def _facts(self, message: BaseMessage) -> tuple[Any, ...]:
        """Return what the rendering of a message depends on: the message, and what is known of its calls."""
        if isinstance(message, ToolMessage):
            return (
                message,
                self.book.told(message.tool_call_id),
                self.book.made(message.tool_call_id),
            )
        return message, *map(self.book.told, _news(message))

    def _reply(self, said: AIMessage, heard: Sequence[BaseMessage]) -> list[BaseMessage]:
        tools = {str(call["id"]): call["name"] for call in said.tool_calls}
        answers = [
            _Answer.of(m, tools, self.book, wording=self.wording)
            for m in heard
            if isinstance(m, ToolMessage)
        ]
        others = [message for message in heard if not isinstance(message, ToolMessage)]
        late = sorted((record for message in others for record in self._told(message)), key=_order)
        words = [text for message in others if (text := self._words(message))]
        words += [call["args"][_WORDS] for call in said.tool_calls if _WORDS in call["args"]]
        if self.surface is Surface.TEXT:
            return [_text_reply(answers, late, words)]
        return self._native_reply(answers, late, words)

    def _native_reply(
        self, answers: Sequence["_Answer"], late: Sequence[CallRecord], words: Sequence[str]
    ) -> list[BaseMessage]:
        replies: list[BaseMessage] = [
            answer.tool_message() for answer in answers if answer.kind != "nothing"
        ]
        news = [entries.result(record, self.book.call_id(record.number)) for record in late]
        if news or words:
            replies.append(
                HumanMessage("\n".join([*([entries.lines(news)] if news else []), *words]))
            )
        return replies or [HumanMessage(_NO_NEWS)]

    def _told(self, message: BaseMessage) -> list[CallRecord]:
        return [record for key in _news(message) if (record := self.book.told(key)) is not None]

    def _words(self, message: BaseMessage) -> str:
        """Return the words of a message beside results: all of it, or the news of calls that were not made."""
        text, keys = str(message.text), _news(message)
        if not any(self.book.told(key) is not None for key in keys):
            return text
        blocks = [found[0] for found in _BLOCK.finditer(text)]
        return "\n".join(
            block for key, block in zip(keys, blocks, strict=True) if self.book.told(key) is None
        )


@dataclass(frozen=True, kw_only=True)
class _Turn:
    """One message of the agent as the runtime has it, and what was made of it and of its answers."""

    said: AIMessage
    """Held, so that no other message gets its identity."""
    heard: Sequence[BaseMessage]
    facts: Sequence[tuple[Any, ...]]
    messages: Sequence[BaseMessage]

    def is_final(self, heard: Sequence[BaseMessage]) -> bool:
        """Return True if the answers are these, and the outcomes of all calls in them are known."""
        return (
            self._told
            and len(heard) == len(self.heard) > 0  # a turn without any may be answered later
            and all(now is then for now, then in zip(heard, self.heard, strict=True))
        )

    @cached_property
    def _told(self) -> bool:
        """True if no fact can change any more: a call ends once."""
        return all(known is not None for fact in self.facts for known in fact)


@dataclass(frozen=True, kw_only=True)
class _Answer:
    """One ToolMessage of the runtime, sorted by what it means in the protocol."""

    call_id: str
    kind: Literal["nothing", "wait", "error", "result"]
    content: str
    record: CallRecord | None = None

    @classmethod
    def of(
        cls, message: ToolMessage, tools: Mapping[str, str], book: CallBook, *, wording: bool
    ) -> Self:
        call_id, text = message.tool_call_id, str(message.text)
        tool = tools.get(call_id, "")
        mark = (message.additional_kwargs.get("lc_data") or {}).get("kind")
        record = book.told(call_id)
        if tool == IDLE_TOOL:
            return cls(call_id=call_id, kind="nothing", content="")
        if tool == UNREADABLE_TOOL or (message.status == "error" and record is None):
            said = text if wording or tool == UNREADABLE_TOOL else _NOT_MADE
            return cls(call_id=call_id, kind="error", content=entries.error_content(said))
        if mark == "placeholder" or record is None:
            # A call that the runtime holds back has reached no executor: it says why in words.
            words = entries.executing(text) if book.made(call_id) else text
            return cls(call_id=call_id, kind="wait", content=entries.wait_content(words))
        return cls(
            call_id=call_id, kind="result", content=entries.answer_content(record), record=record
        )

    def tool_message(self) -> ToolMessage:
        status: Literal["success", "error"] = "error" if self.kind == "error" else "success"
        return ToolMessage(self.content, tool_call_id=self.call_id, status=status)


def _text_reply(
    answers: Sequence[_Answer], late: Sequence[CallRecord], words: Sequence[str]
) -> BaseMessage:
    told = [entries.note(answer.content) for answer in answers if answer.kind in ("wait", "error")]
    due = [*late, *(answer.record for answer in answers if answer.record is not None)]
    told += [entries.result(record) for record in sorted(due, key=_order)]
    if not told and not words:
        return HumanMessage(_NO_NEWS)
    return HumanMessage("\n".join([*([entries.lines(told)] if told else []), *words]))


def _news(message: BaseMessage) -> Sequence[str]:
    """Return the keys of the calls of whose end a message tells."""
    data = message.additional_kwargs.get("lc_data") or {}
    return data["calls"] if data.get("kind") == "results" else ()


def _order(record: CallRecord) -> tuple[int, int]:
    return record.due, record.number


def _tool_call(tool: str, arguments: dict[str, Any], call_id: str) -> ToolCall:
    return ToolCall(name=tool, args=arguments, id=call_id, type="tool_call")


_BLOCK = re.compile(r"<(result-\w+)[^>\n]*>\n.*?\n</\1>", re.DOTALL)
"""One piece of news as the runtime writes it; nothing that a tool says can look like its last line."""
_NOT_MADE = "The call was not made."
_WORDS = "reminder_in_place_of_the_end"
_KEPT = ("content", "tool_calls", "invalid_tool_calls", "id")
_NO_NEWS = entries.lines([entries.note(entries.wait_content(entries.NO_NEWS))])
