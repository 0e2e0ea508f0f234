"""The unguarded loop: agent, tools and user take turns."""

from typing import Any

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable

from asyncguard_benchmark.harness.chat_model import DelegatingChatModel, PlainChatModel
from asyncguard_benchmark.suites.missions.playing import chat
from asyncguard_benchmark.suites.missions.playing.case import TASK, Case, Played
from asyncguard_benchmark.suites.missions.playing.course import Course
from asyncguard_benchmark.suites.missions.playing.shelf import Stand


def play_plain(case: Case, agent: BaseChatModel) -> Played:
    """Play a mission without a runtime."""
    begun, messages = case.begun(), case.opening()
    model, first, ids = bound(agent, case), len(messages), dict[int, str]()
    while not begun.course.over:
        said = asked(model, messages)
        waits = begun.course.waits(said)
        begun.course.hear(said)
        messages.append(said)
        messages += _replies(begun.course, said, ids, waits=waits)
    return Played(begun=begun, messages=messages[first:], notes={})


def bound(
    agent: BaseChatModel, case: Case
) -> PlainChatModel | Runnable[LanguageModelInput, AIMessage]:
    """Return an agent with the tools of a mission; a program has its own."""
    if isinstance(agent, PlainChatModel) and not isinstance(agent, DelegatingChatModel):
        return agent
    bound: PlainChatModel | Runnable[LanguageModelInput, AIMessage]
    bound = agent.bind_tools(schemas_of(case.stand))
    return bound


def schemas_of(stand: Stand) -> list[dict[str, Any]]:
    """Return the tools of a dialogue in the form of OpenAI's chat API."""
    tools = stand.tools.values()
    return [{"type": "function", "function": each.function_schema()} for each in tools]


def asked(
    model: PlainChatModel | Runnable[LanguageModelInput, AIMessage], messages: list[BaseMessage]
) -> AIMessage:
    """Return the next message of an agent; a program is asked without LangChain's callbacks, which cost more."""
    return model.say(messages) if isinstance(model, PlainChatModel) else model.invoke(messages)


def _replies(
    course: Course, said: AIMessage, ids: dict[int, str], *, waits: bool
) -> list[BaseMessage]:
    """Return what the agent is told after a message."""
    clock = course.clock
    issued = [
        (clock.issue(TASK, call["name"], call["args"]), str(call["id"])) for call in said.tool_calls
    ]
    ids |= {record.number: name for record, name in issued}
    found: list[BaseMessage] = [
        chat.answer(name, record, waits=record.due > record.issued) for record, name in issued
    ]
    found += [chat.unreadable(str(each.get("id") or "")) for each in said.invalid_tool_calls]
    if not found and not waits:
        # Before the results of this tick: who answers now has not seen them.
        reply = course.tell(str(said.text))
        found += [] if reply is None else [HumanMessage(reply)]
    now = {record.number for record, _ in issued if record.due == record.issued}
    late = [each for each in clock.due() if each.number not in now]
    if late and not course.ended:
        found.append(chat.news([(ids[each.number], each) for each in late]))
    return found or ([HumanMessage(chat.NO_NEWS)] if waits else [])
