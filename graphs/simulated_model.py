"""A simulated chat model for the desks of this folder: offline, deterministic, no language model.

It plans by rules, from nothing but what a model is sent: the messages and the tools. As eager models do, it does not
wait for a result that is still to come; it goes on with a likely value, and believes it afterwards. An answer that
tells it not to guess makes it wait for the real one. An answer that lacks what it looks for is reported as it stands.

What it can do is a list of skills. By default those of a travel agent: it understands sentences such as these, one a
task::

    Book the cheapest flight to Lisbon on 2026-05-04 for Ada
    Find the price of a flight to Oslo on 2026-05-04
    Cancel booking BK-1A2B3C
    Request a visa for Peru for Ada

This file is loaded by path and imports nothing from its folder.
"""

import asyncio
import json
import re
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    ToolMessage,
)
from langchain_core.messages.tool import tool_call, tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool

Facts = Mapping[str, Any]
_LINE = re.compile(r"^(?:\[(?P<task>[^\]]+)\] )?(?P<goal>.+)$", re.MULTILINE)
_NEWS = re.compile(
    r"<(?P<tag>result-\w+)(?P<head>(?: \w+=\"[^\"]*\")*)>\n(?P<body>.*?)\n</(?P=tag)>", re.DOTALL
)
_ATTRIBUTE = re.compile(r"(\w+)=\"([^\"]*)\"")
_MARK = "\n[asyncguard: "
_ASK_AGAIN = re.compile(r"\bcall (?:it )?again\b", re.IGNORECASE)


# -- what it can do ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Step:
    """One call on the way to a goal."""

    tool: str
    """The tool to call."""
    needs: tuple[str, ...]
    """Facts that are its arguments, under the same names."""
    learns: Callable[[Any], Facts] = dict
    """Facts in its result."""
    expects: Callable[[Facts], Facts] | None = None
    """Facts that an eager reader expects in the result; without it, the model waits."""


@dataclass(frozen=True, kw_only=True)
class Skill:
    """A kind of goal, and how to reach it."""

    pattern: re.Pattern[str]
    """The sentence; its groups are the first facts."""
    steps: tuple[Step, ...]
    """Calls, in order."""
    answer: str
    """The report, filled in with facts."""


_SEARCH = Step(
    tool="search_flights",
    needs=("destination", "date"),
    learns=lambda result: {
        "flight": min(result["flights"], key=lambda offered: offered["price"])["flight"]
    },
    expects=lambda facts: {"flight": f"{facts['destination'][:3].upper()}-100"},
)
_QUOTE = Step(
    tool="quote_fare",
    needs=("flight",),
    learns=lambda result: {"offer": result["offer"], "price": result["price"]},
    expects=lambda facts: {"offer": f"{facts['flight']}-STD", "price": "a fair price"},
)
_BOOK = Step(
    tool="book_flight",
    needs=("offer", "date", "traveller"),
    expects=lambda _: {"booking": "to be confirmed"},
)
_CANCEL = Step(tool="cancel_booking", needs=("booking",), expects=dict)
_VISA = Step(
    tool="request_visa", needs=("country", "traveller"), expects=lambda _: {"visa": "to be issued"}
)

TRAVEL = (
    Skill(
        pattern=re.compile(
            r"book .*flight to (?P<destination>.+?) on (?P<date>[\d-]+) for (?P<traveller>\w+)",
            re.I,
        ),
        steps=(_SEARCH, _QUOTE, _BOOK),
        answer="Booked {flight} for {traveller}, booking {booking}.",
    ),
    Skill(
        pattern=re.compile(r"price of .*flight to (?P<destination>.+?) on (?P<date>[\d-]+)", re.I),
        steps=(_SEARCH, _QUOTE),
        answer="The cheapest flight to {destination} is {flight} for {price}.",
    ),
    Skill(
        pattern=re.compile(r"cancel booking (?P<booking>BK-\w+)", re.I),
        steps=(_CANCEL,),
        answer="Cancelled booking {booking}.",
    ),
    Skill(
        pattern=re.compile(r"visa for (?P<country>.+?) for (?P<traveller>\w+)", re.I),
        steps=(_VISA,),
        answer="The visa of {traveller} for {country} is {visa}.",
    ),
)
_HELP = "I am a simulated model. I can book a flight, find its price, cancel a booking, or request a visa."


# -- reading the conversation ------------------------------------------------------------------------------------------


class Standing(Enum):
    """State of a call, as far as the conversation shows it."""

    OPEN = "open"
    ANSWERED = "answered"
    FAILED = "failed"


@dataclass(kw_only=True)
class Attempt:
    """One call that the model made."""

    task: str
    tool: str
    arguments: dict[str, Any]
    call_id: str
    standing: Standing = Standing.OPEN
    answer: Any = None
    """The result, or the text of a failure."""
    note: str = ""
    """Remark of the runtime about the result."""

    def end(self, text: str, *, failed: bool) -> None:
        """Take an answer; a text that is neither an error nor data is a promise of a later answer."""
        if failed:
            self.standing, self.answer = Standing.FAILED, text
            return
        said, _, note = text.partition(_MARK)
        try:
            self.answer = json.loads(said)
        except ValueError:
            return
        self.note = note.removesuffix("]")
        self.standing = Standing.ANSWERED


@dataclass(kw_only=True)
class Goal:
    """Something that the user wants, and the calls that were made for it since."""

    task: str
    skill: Skill
    facts: dict[str, Any]
    attempts: list[Attempt] = field(default_factory=list)


@dataclass(kw_only=True)
class Conversation:
    """The messages, read from the first to the last."""

    first_task: str
    skills: Sequence[Skill]
    goals: dict[str, Goal] = field(default_factory=dict)
    attempts: list[Attempt] = field(default_factory=list)

    def read(self, message: BaseMessage) -> None:
        """Read one message."""
        if isinstance(message, AIMessage):
            self._own(message)
        elif isinstance(message, ToolMessage):
            for attempt in self.attempts:
                if attempt.call_id == message.tool_call_id:
                    attempt.end(str(message.text), failed=message.status == "error")
        elif isinstance(message, HumanMessage):
            text = str(message.text)
            for news in _NEWS.finditer(text):
                self._news(dict(_ATTRIBUTE.findall(news["head"])), news["body"])
            self._wishes(_NEWS.sub("", text))

    def _own(self, message: AIMessage) -> None:
        for call in message.tool_calls:
            arguments = dict(call["args"])
            task = arguments.pop("task_id", self.first_task)
            attempt = Attempt(
                task=task, tool=call["name"], arguments=arguments, call_id=str(call["id"])
            )
            self.attempts.append(attempt)
            if task in self.goals:
                self.goals[task].attempts.append(attempt)

    def _news(self, head: Mapping[str, str], body: str) -> None:
        """Results come after their calls: by label where the calls are numbered, else for the earliest open one."""
        task = head.get("task", self.first_task)
        same = [
            attempt
            for attempt in self.attempts
            if (attempt.task, attempt.tool) == (task, head.get("tool"))
        ]
        number = head.get("call", "").rpartition("#")[2]
        meant = same[int(number) - 1 : int(number)] if number.isdecimal() else same
        for attempt in meant:
            if attempt.standing is Standing.OPEN:
                attempt.end(body, failed=head.get("status") not in ("done", "resolved"))
                return

    def _wishes(self, text: str) -> None:
        for line in _LINE.finditer(text):
            for skill in self.skills:
                if found := skill.pattern.search(line["goal"]):
                    task = line["task"] or self.first_task
                    self.goals[task] = Goal(task=task, skill=skill, facts=found.groupdict())
                    break


# -- planning ----------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Plan:
    """The next step for one goal: a call, a report, or (with neither) waiting."""

    call: tuple[str, dict[str, Any]] | None = None
    report: str = ""


def plan(goal: Goal) -> Plan:
    """Follow the steps of a goal as far as they were made, and find the next.

    Args:
        goal: With the calls that were made for it.
    """
    facts, guessed = dict(goal.facts), False
    for step in goal.skill.steps:
        made = [attempt for attempt in goal.attempts if attempt.tool == step.tool]
        last = made[-1] if made else None
        if last is not None and last.standing is Standing.ANSWERED:
            try:
                facts |= step.learns(last.answer)
            except (KeyError, TypeError):
                return Plan(report=f"I do not understand the answer of {step.tool}: {last.answer}")
        elif last is not None and last.standing is Standing.OPEN:
            if step.expects is None:
                return Plan()
            facts |= step.expects(facts)  # running ahead: what is likely is taken for a fact
            guessed = True
        else:
            arguments = {name: facts[name] for name in step.needs}
            done = [each.tool for each in goal.attempts if each.standing is Standing.ANSWERED]
            return _next(step.tool, arguments, last, guessed=guessed, done=done)
    notes = [f"(Of {attempt.tool}: {attempt.note}.)" for attempt in goal.attempts if attempt.note]
    return Plan(report=" ".join([goal.skill.answer.format(**facts), *notes]))


def _next(
    tool: str,
    arguments: dict[str, Any],
    last: Attempt | None,
    *,
    guessed: bool,
    done: Sequence[str],
) -> Plan:
    if last is None:
        return Plan(call=(tool, arguments))
    if guessed:
        return Plan()  # it was told not to guess
    if last.arguments == arguments and not _ASK_AGAIN.search(str(last.answer)):
        before = f"\nDone before that: {', '.join(done)}." if done else ""
        return Plan(report=f"{tool} failed: {last.answer}{before}")
    return Plan(call=(tool, arguments))


def decide(
    messages: Sequence[BaseMessage],
    tools: Sequence[Mapping[str, Any]],
    skills: Sequence[Skill],
    greeting: str,
) -> AIMessage:
    """The next message: the next call of every goal, or a report.

    Args:
        messages: The conversation.
        tools: Schemas of the tools, in OpenAI's form.
        skills: What can be done.
        greeting: What is said where there is no goal.
    """
    tasks = _tasks_in(tools)
    conversation = Conversation(first_task=tasks[0] if tasks else "", skills=skills)
    for message in messages:
        conversation.read(message)
    plans = {task: plan(goal) for task, goal in conversation.goals.items()}
    offered = {tool["function"]["name"] for tool in tools}
    calls = [
        tool_call(
            name=made.call[0],
            args={**({"task_id": task} if tasks else {}), **made.call[1]},
            id=_new_id(),
        )
        for task, made in plans.items()
        if made.call is not None and made.call[0] in offered
    ]
    if calls:
        return AIMessage(content="", tool_calls=calls)
    lines = [
        f"[{task}] {made.report}" if tasks else made.report
        for task, made in plans.items()
        if made.report
    ]
    return AIMessage(content="\n".join(lines) or ("I wait for the results." if plans else greeting))


def _tasks_in(tools: Sequence[Mapping[str, Any]]) -> list[str]:
    """The tasks that calls can be made for, as the tools' schemas name them; empty with a single task."""
    for tool in tools:
        properties = tool["function"].get("parameters", {}).get("properties", {})
        if "task_id" in properties:
            return list(properties["task_id"]["enum"])
    return []


def _new_id() -> str:
    return f"call_{uuid.uuid4().hex[:24]}"  # unique beyond this process: threads of a server outlive it


# -- the chat model ----------------------------------------------------------------------------------------------------


class SimulatedModel(BaseChatModel):
    """The rules above as a LangChain chat model: async and streamed, after some latency."""

    latency: float = 0.05
    """Seconds until it answers."""
    skills: tuple[Skill, ...] = TRAVEL
    """Kinds of goals that it can reach."""
    greeting: str = _HELP
    """Its answer to a request that no skill covers."""

    @property
    def _llm_type(self) -> str:
        return "simulated-agent"

    def bind_tools(
        self, tools: Sequence[Any], **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Bind the tools' schemas; that is all the model knows of them."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _decide(self, messages: Sequence[BaseMessage], bound: Mapping[str, Any]) -> AIMessage:
        return decide(messages, bound.get("tools", []), self.skills, self.greeting)

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._decide(messages, kwargs))])

    async def _agenerate(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> ChatResult:
        await asyncio.sleep(self.latency)
        return self._generate(messages, **kwargs)

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        await asyncio.sleep(self.latency)
        for chunk in _chunks(self._decide(messages, kwargs)):
            yield ChatGenerationChunk(message=chunk)


def _chunks(message: AIMessage) -> Iterator[AIMessageChunk]:
    for index, call in enumerate(message.tool_calls):
        part = tool_call_chunk(
            name=call["name"], args=json.dumps(call["args"]), id=call["id"], index=index
        )
        yield AIMessageChunk(content="", tool_call_chunks=[part])
    for word in re.findall(r"\S+\s*", str(message.text)):
        yield AIMessageChunk(content=word)
