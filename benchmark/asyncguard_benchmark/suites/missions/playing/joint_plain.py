"""The unguarded loop of missions that overlap."""

from collections.abc import Mapping

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import ToolCall

from asyncguard_benchmark.harness.environment import CallRecord
from asyncguard_benchmark.harness.protocol import entries
from asyncguard_benchmark.services.declarations import TASK_ARGUMENT
from asyncguard_benchmark.suites.missions.agents.together import Together, said_of, task_name
from asyncguard_benchmark.suites.missions.playing import chat
from asyncguard_benchmark.suites.missions.playing.joint_case import JointCase, JointPlayed
from asyncguard_benchmark.suites.missions.playing.joint_course import JointCourse


def play_joint_plain(case: JointCase, agent: Together) -> JointPlayed:
    """Play the missions of a dialogue without a runtime."""
    begun, messages = case.begun(), list[BaseMessage]([SystemMessage(case.system())])
    course, ids = begun.course, dict[int, str]()
    while not course.over:
        messages += spoken(course)
        if not course.any_open:
            # The agent has nothing to do until the user puts the next mission.
            course.clock.advance()
            messages += _late(course, ids, {})
            continue
        said = agent.say(messages)
        waits = course.hear(said)
        messages.append(said)
        messages += _replies(course, said, ids, waits=waits)
    return JointPlayed(begun=begun, messages=messages[1:], notes={})


def spoken(course: JointCourse) -> list[BaseMessage]:
    """Return the message with everything that the user says now, if there is something."""
    replies, new = course.speak()
    lines = [*replies, *(said_of(each, course.texts[each]) for each in new)]
    return [HumanMessage("\n".join(lines))] if lines else []


def task_of(call: ToolCall, course: JointCourse) -> str | None:
    """Return the mission that a call names; None if the user has put none of that name."""
    names = [task_name(each) for each in range(course.put)]
    said = call["args"].get(TASK_ARGUMENT)
    return said if said in names else None


def unnamed(call_id: str) -> ToolMessage:
    """Return the answer to a call that names no mission."""
    content = entries.error_content(f"{TASK_ARGUMENT} must name something that was asked for.")
    return ToolMessage(content, tool_call_id=call_id, status="error")


def arguments_of(call: ToolCall) -> dict[str, object]:
    """Return the arguments of a call without the name of its mission."""
    return {name: value for name, value in call["args"].items() if name != TASK_ARGUMENT}


def _replies(
    course: JointCourse, said: AIMessage, ids: dict[int, str], *, waits: bool
) -> list[BaseMessage]:
    """Return what the agent is told after a message, but for the user's words."""
    found: list[BaseMessage] = []
    calling = [task_of(call, course) for call in said.tool_calls]
    # Before the results of this tick: who answers now has not seen them.
    course.tell(said, [int(task[1:]) - 1 for task in calling if task is not None])
    now: dict[int, CallRecord] = {}
    for call, task in zip(said.tool_calls, calling, strict=True):
        name = str(call["id"])
        if task is None:
            found.append(unnamed(name))
            continue
        record = course.clock.issue(task, call["name"], arguments_of(call))
        ids[record.number] = name
        if record.due == record.issued:
            now[record.number] = record
        found.append(chat.answer(name, record, waits=record.number not in now))
    found += [chat.unreadable(str(each.get("id") or "")) for each in said.invalid_tool_calls]
    found += _late(course, ids, now)
    return found or ([] if course.speaks else [HumanMessage(chat.NO_NEWS)])


def _late(
    course: JointCourse, ids: Mapping[int, str], now: Mapping[int, CallRecord]
) -> list[BaseMessage]:
    """Return the results that are due, in one message, without those that stand in answers."""
    late = [each for each in course.clock.due() if each.number not in now]
    return [chat.news([(ids[each.number], each) for each in late])] if late else []
