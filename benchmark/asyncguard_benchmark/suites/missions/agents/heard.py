"""What an agent has heard in a mission: the conversation sorted, and nothing that it does not hold."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from asyncguard_benchmark.suites.missions.agents.plan import Plan
from asyncguard_benchmark.suites.missions.terms import ASK

WAIT = "WAIT"
"""Text of a message that only waits for results, as the system message of late regimes asks for."""
_CALL = re.compile(r"n(\d+)a(\d+)")
NOTES = "lc_source"
"""Key in the metadata of messages that a runtime wrote."""
RESULT_LINE = '{"role": "tool"'
"""Beginning of a message that tells results."""


def call_id(node: int, attempt: int) -> str:
    """Return the id of a call of an agent, from which it knows later what the call was for."""
    return f"n{node}a{attempt}"


@dataclass(kw_only=True)
class Heard:
    """A conversation, as an agent of a plan reads it."""

    plan: Plan
    texts: list[str] = field(default_factory=list)
    """Texts up to the mission's message."""
    replies: list[str] = field(default_factory=list)
    """What the user said after it."""
    said: list[str] = field(default_factory=list)
    """Texts of the agent in this mission, without those that only wait."""
    notes: list[str] = field(default_factory=list)
    """Texts of the runtime, and of the system."""
    attempts: dict[int, int] = field(default_factory=dict)
    """Node -> number of calls that the agent made for it."""
    answers: dict[str, str | None] = field(default_factory=dict)
    """Id of a call -> its result; None while it runs."""
    refused: set[str] = field(default_factory=set)
    """Calls that were not made."""
    messages: int = 0
    """Messages of the agent in this mission."""
    others: Mapping[int, "Heard"] = field(default_factory=dict)
    """Earlier missions that may be under way, by their places; empty where missions are played alone."""

    @classmethod
    def of(cls, messages: Sequence[BaseMessage], plan: Plan) -> "Heard":
        """Read a conversation."""
        heard = cls(plan=plan)
        for message in messages:
            heard.take(message)
        return heard

    def take(self, message: BaseMessage) -> None:
        """Read the next message."""
        text = str(message.text)
        running = len(self.texts) == self.plan.texts
        match message:
            case SystemMessage():
                self.notes.append(text)
            case HumanMessage() if (told := _news(text)) is not None:
                for entry in told:
                    self.answers[entry["call_id"]] = entry["response"]
                    if entry.get("made") is False:
                        self.refused.add(entry["call_id"])
            case HumanMessage() if NOTES in message.additional_kwargs:
                self.notes.append(text)
            case HumanMessage():
                (self.replies if running else self.texts).append(text)
            case ToolMessage() if message.tool_call_id in self.answers:
                self._answer(message, text)
            case AIMessage() if running:
                self._own(message, text)
            case AIMessage() if not message.tool_calls:
                self.texts.append(text)

    def _own(self, message: AIMessage, text: str) -> None:
        self.messages += 1
        for call in message.tool_calls:
            self.answers[str(call["id"])] = None
            if found := _CALL.fullmatch(str(call["id"])):
                node = int(found[1])
                self.attempts[node] = self.attempts.get(node, 0) + 1
        if not message.tool_calls and text != WAIT:
            self.said.append(text)

    def _answer(self, message: ToolMessage, text: str) -> None:
        if message.status == "error":
            self.refused.add(message.tool_call_id)
        if not text.startswith('{"wait": '):
            self.answers[message.tool_call_id] = text

    # -- asked -----------------------------------------------------------------------------------------------------

    def calls_of(self, node: int) -> Iterator[str]:
        """Yield the ids of the calls for a node."""
        yield from (call_id(node, each) for each in range(1, self.attempts.get(node, 0) + 1))

    def issued(self, node: int) -> bool:
        """Return True if a call for a node was made and not refused."""
        return any(each not in self.refused for each in self.calls_of(node))

    def result(self, node: int) -> str | None:
        """Return the result of a node; None if there is none yet."""
        found = (self.answers[each] for each in self.calls_of(node) if each not in self.refused)
        return next((each for each in found if each is not None), None)

    def pending(self) -> bool:
        """Return True if a call has no result yet."""
        return any(each is None for each in self.answers.values())

    def is_over(self, node: int) -> bool:
        """Return True if a call has its result, or a question its reply."""
        if self.plan.nodes[node].name == ASK:
            asks = [n for n, each in enumerate(self.plan.nodes) if each.name == ASK]
            return asks.index(node) < len(self.replies)
        return self.result(node) is not None

    def text(self, number: int) -> str | None:
        """Return a text of the conversation by its number; None if it was not said yet.

        After the mission's message question and reply take turns, and only the replies are asked for.
        """
        if number < self.plan.texts:
            return self.texts[number] if number < len(self.texts) else None
        reply = (number - self.plan.texts) // 2
        return self.replies[reply] if reply < len(self.replies) else None


def _news(text: str) -> list[Any] | None:
    """Return the results in a message of results that came late; None if the user wrote it."""
    if not text.startswith(RESULT_LINE):
        return None
    try:
        told = list(map(json.loads, text.splitlines()))
    except ValueError:
        return None
    return [each for each in told if "call_id" in each]  # a line without a call: there is no news


def parsed(text: str) -> Any:
    """Return a result as a JSON value; a text that is none is itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text
