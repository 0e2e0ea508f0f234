"""Agents with one mistake each. After a refusal they do what the oracle does: they heed what they are told."""

import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.messages.tool import ToolCall
from typing_extensions import override

from asyncguard_benchmark.suites.missions.agents.heard import Heard
from asyncguard_benchmark.suites.missions.agents.oracle import Oracle
from asyncguard_benchmark.suites.missions.agents.plan import Argument, Elsewhere, FromText
from asyncguard_benchmark.suites.missions.terms import ANSWER, ASK, Letter

_WORDS = re.compile(r"[a-z]{4,}")


class Serial(Oracle):
    """Makes one call a message, in the order of the plan."""

    @override
    def chosen(self, ready: Sequence[int]) -> Sequence[int]:
        return ready[:1]


class AsksAlways(Oracle):
    """Asks the user before it does anything, whatever was said."""

    @override
    def act(self, heard: Heard) -> AIMessage:
        if not heard.said and self.plan.letter is not Letter.CLARIFY:
            return AIMessage("Could you tell me more about what you want?")
        return super().act(heard)


class Inventing(Oracle):
    """Does not ask for a missing value and makes up a plausible one."""

    def skips(self, heard: Heard) -> bool:
        """Return True while questions are skipped."""
        return not heard.refused

    @override
    def is_done(self, number: int, heard: Heard) -> bool:
        if self.plan.nodes[number].name == ASK and self.skips(heard):
            return True
        return super().is_done(number, heard)


class StandIn(Inventing):
    """Does not ask for a missing value and writes a stand-in."""

    @override
    def instead(self, argument: Argument, tool: str, heard: Heard) -> Any:
        return "TBD"


class Stale(Inventing):
    """Takes what an earlier mission had for the same argument, where there is something."""

    @override
    def skips(self, heard: Heard) -> bool:
        leaves = [leaf for node in self.plan.nodes for leaf in node.leaves]
        return super().skips(heard) and any(leaf.stale is not None for leaf in leaves)

    @override
    def read(self, argument: Argument, tool: str, heard: Heard) -> Any:
        if argument.stale is not None and not heard.refused:
            return self.value(argument.stale, heard)
        return super().read(argument, tool, heard)


class Forgetful(Oracle):
    """Reads only the mission before; what older ones told it makes up, unless a note shows it."""

    @override
    def from_text(self, value: FromText, heard: Heard) -> Any:
        if value.mission < self.plan.mission - 1:
            return self.known_again(value, heard)
        return super().from_text(value, heard)

    @override
    def elsewhere(self, value: Elsewhere, heard: Heard) -> Any:
        if value.mission < self.plan.mission - 1:
            return self.known_again(value, heard)
        return super().elsewhere(value, heard)


class CallsInChat(Oracle):
    """Calls a tool where a chat needs none: the one whose words are most like the message's."""

    @override
    def act(self, heard: Heard) -> AIMessage:
        if self.plan.letter is not Letter.CHAT or heard.messages:
            return super().act(heard)
        asked = set(_WORDS.findall(heard.texts[-1].casefold()))
        tool = max(
            self.plan.tools.values(),
            key=lambda each: len(
                asked & set(_WORDS.findall(f"{each.name} {each.description}".casefold()))
            ),
        )
        arguments = {
            name: self.invented(
                Argument(at=f"/{name}", value=FromText(text=0, mission=0)), tool.name, heard
            )
            for name in tool.required
        }
        call = ToolCall(name=tool.name, args=arguments, id="chat", type="tool_call")
        return AIMessage("", tool_calls=[call])


class AnswersEarly(Oracle):
    """Gives its answer after the first calls, whatever is open; asked again, it goes on."""

    @override
    def act(self, heard: Heard) -> AIMessage:
        ends = [text for text in heard.said if not text.endswith("?")]
        if heard.attempts and not ends:
            return AIMessage(self.end(heard))
        return super().act(heard)


class Eager(Oracle):
    """Sends dependent calls together, with guessed operands."""

    @override
    def is_ready(self, number: int, heard: Heard) -> bool:
        node = self.plan.nodes[number]
        if node.name in (ASK, ANSWER) or heard.refused:
            return super().is_ready(number, heard)
        return all(
            self.is_done(each, heard) for each in self._before(number) if self._is_question(each)
        )

    def _is_question(self, number: int) -> bool:
        return self.plan.nodes[number].name == ASK

    def _before(self, number: int) -> set[int]:
        found = set(self.plan.nodes[number].needs)
        for each in tuple(found):
            found |= self._before(each)
        return found


class OutOfOrder(Eager):
    """Makes the calls one by one, the last of the plan first, with guessed operands."""

    @override
    def chosen(self, ready: Sequence[int]) -> Sequence[int]:
        return ready[-1:]
