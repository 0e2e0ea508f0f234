"""The agent that makes no mistake, and the base of those that make one."""

import json
import re
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import ToolCall
from pydantic import SkipValidation
from typing_extensions import override

from asyncguard_benchmark.harness.chat_model import PlainChatModel
from asyncguard_benchmark.harness.pointers import PointerError, put, resolve
from asyncguard_benchmark.suites.missions.agents.heard import WAIT, Heard, call_id, parsed
from asyncguard_benchmark.suites.missions.agents.plan import (
    Argument,
    Elsewhere,
    FromResult,
    FromText,
    Given,
    Plan,
    Value,
    mark_of,
    open_by,
    opened,
)
from asyncguard_benchmark.suites.missions.terms import ANSWER, ASK

STUCK = "I cannot go on with this."
"""Text of an agent that waits for nothing and can do nothing."""
_WORD = re.compile(r"[\w.:@/+-]*\w")
_LONGEST = 8
"""Words of the longest value that is known again in a note."""
_ID = re.compile(r"\b[A-Z]+-?\d+\b")


class UnreadableError(Exception):
    """The conversation does not tell a value."""


class Oracle(PlainChatModel):
    """Follow the plan: all calls that are ready in one message, each question once, the end last."""

    plan: SkipValidation[Plan]
    seed: int = 0

    @override
    def say(self, messages: list[BaseMessage]) -> AIMessage:
        """Return the next message."""
        return self.act(Heard.of(messages, self.plan))

    def act(self, heard: Heard) -> AIMessage:
        """Return the next message to what was heard."""
        ready = [number for number in self.left(heard) if self.is_ready(number, heard)]
        calls = [each for each in ready if self.plan.nodes[each].name not in (ASK, ANSWER)]
        if calls:
            return self.call(self.chosen(calls), heard)
        if ready:
            node = self.plan.nodes[ready[0]]
            return AIMessage(self.question(node.asked) if node.name == ASK else self.end(heard))
        return AIMessage(WAIT if heard.pending() else STUCK)

    # -- what a mistake changes ------------------------------------------------------------------------------------

    def chosen(self, ready: Sequence[int]) -> Sequence[int]:
        """Return the calls of the next message, of those that are ready."""
        return ready

    def is_ready(self, number: int, heard: Heard) -> bool:
        """Return True if all that a node needs is there."""
        node = self.plan.nodes[number]
        return all(self.is_done(each, heard) for each in node.needs) and all(
            mission in heard.others and heard.others[mission].is_over(each)
            for mission, each in node.follows
        )

    def is_done(self, number: int, heard: Heard) -> bool:
        """Return True if a node has its result, or a question its reply."""
        return heard.is_over(number)

    def read(self, argument: Argument, tool: str, heard: Heard) -> Any:
        """Return the value of a leaf.

        Raises:
            UnreadableError: the conversation does not tell it.
        """
        return self.value(argument.value, heard)

    def instead(self, argument: Argument, tool: str, heard: Heard) -> Any:
        """Return what stands for a value that cannot be read."""
        return self.invented(argument, tool, heard)

    # -- parts -----------------------------------------------------------------------------------------------------

    def left(self, heard: Heard) -> Iterator[int]:
        """Yield the nodes that are not begun."""
        for number in range(len(self.plan.nodes)):
            if not heard.issued(number) and not self.is_done(number, heard):
                yield number

    def call(self, numbers: Sequence[int], heard: Heard) -> AIMessage:
        """Return a message with the calls of some nodes."""
        calls = []
        for number in numbers:
            node = self.plan.nodes[number]
            arguments: Any = node.arguments
            for leaf in node.leaves:
                try:
                    value = self.read(leaf, node.name, heard)
                except UnreadableError:
                    value = self.instead(leaf, node.name, heard)
                arguments = put(arguments, leaf.at, value)
            name = call_id(number, heard.attempts.get(number, 0) + 1)
            calls.append(ToolCall(name=node.name, args=arguments, id=name, type="tool_call"))
        return AIMessage("", tool_calls=calls)

    def question(self, asked: Sequence[str]) -> str:
        """Return a question for what is missing."""
        return f"Could you tell me the {' and the '.join(asked)}?"

    def end(self, heard: Heard) -> str:
        """Return the final text, with the facts that it states."""
        told = []
        for fact in self.plan.facts:
            try:
                told.append(str(self.value(fact, heard)))
            except UnreadableError:
                continue
        return f"Done. {', '.join(told)}" if told else "Done."

    def value(self, value: Value, heard: Heard) -> Any:
        """Return a value from what was heard.

        Raises:
            UnreadableError: nothing tells it.
        """
        match value:
            case Given():
                return value.value
            case FromResult():
                return self._from_result(value, heard)
            case FromText():
                return self.from_text(value, heard)
            case Elsewhere():
                return self.elsewhere(value, heard)
        found, worked = open_by(value.sealed, [self.value(each, heard) for each in value.inputs])
        if not found:
            raise UnreadableError
        return worked

    def _from_result(self, value: FromResult, heard: Heard) -> Any:
        result = heard.result(value.node)
        if result is None:
            raise UnreadableError
        try:
            return resolve(parsed(result), value.pointer)
        except PointerError as problem:
            raise UnreadableError from problem

    def elsewhere(self, value: Elsewhere, heard: Heard) -> Any:
        """Return a value that an earlier mission tells, which may be under way.

        Raises:
            UnreadableError: it does not tell it, or not yet.
        """
        other = heard.others.get(value.mission)
        if other is None:
            raise UnreadableError
        return self.value(value.value, other)

    def from_text(self, value: FromText, heard: Heard) -> Any:
        """Return a value that stands in a text."""
        text = heard.text(value.text)
        if text is None:
            raise UnreadableError
        read = text[value.start : value.end]
        if value.sealed:
            found, told = opened(value.sealed, read)
        else:
            found, told = True, _number(read) if value.number else read
        if not found or told is None:
            raise UnreadableError
        return told

    def known_again(self, value: FromText | Elsewhere, heard: Heard) -> Any:
        """Return a value that a note of the runtime shows.

        Raises:
            UnreadableError: none does.
        """
        for note in heard.notes:
            words = list(_WORD.finditer(note))
            for first, word in enumerate(words):
                for last in words[first : first + _LONGEST]:
                    read = note[word.start() : last.end()]
                    if mark_of(read) == value.mark:
                        return _number(read) if _is_number(value) else read
        raise UnreadableError

    def draw(self, heard: Heard, *key: object) -> Random:
        """Return a source of chance that depends on seed, mission, message and key alone."""
        return Random(repr((self.seed, self.plan.key, heard.messages, *key)))

    def invented(self, argument: Argument, tool: str, heard: Heard) -> Any:
        """Return a plausible value by the schema, or one that looks like others of the conversation."""
        draw = self.draw(heard, tool, argument.at)
        name = argument.at.split("/")[1]
        schema = self.plan.tools[tool].properties.get(name, {})
        schema = schema.get("items", schema) if argument.at.count("/") > 1 else schema
        if options := schema.get("enum"):
            return draw.choice(options)
        kinds = schema.get("type", "string")
        if "integer" in kinds or "number" in kinds:
            return draw.randint(2, 99)
        if "boolean" in kinds:
            return draw.random() < 0.5
        if "date" in f"{name} {schema.get('description', '')}".casefold():
            return f"2026-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"
        seen = sorted({each for text in heard.texts for each in _ID.findall(text)})
        if seen:
            # A look-alike: the letters of an id that was said, with other digits.
            return re.sub(r"\d", lambda _: str(draw.randint(0, 9)), draw.choice(seen))
        return f"{draw.choice(('Alex', 'Robin', 'Kim', 'Sascha'))} {draw.randint(2, 99)}"


def _is_number(value: Value) -> bool:
    """Return True if a value is known to be a number."""
    inner = value.value if isinstance(value, Elsewhere) else value
    return isinstance(inner, FromText) and inner.number


def _number(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
