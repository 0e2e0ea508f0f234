"""Conversations with one agent in which a test chooses the tools' answers, without a runtime."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from asyncguard_benchmark.harness.agents.plan import plan_of
from asyncguard_benchmark.harness.agents.speaking import SpeakingAgent
from asyncguard_benchmark.harness.protocol import entries
from asyncguard_benchmark.harness.protocol.actions import CallAction, Completed
from asyncguard_benchmark.harness.protocol.surfaces import NativeSpeech, TextSpeech, native_tools
from asyncguard_benchmark.harness.scenario import Composition, Domain, Surface
from asyncguard_benchmark.services.catalogue import fresh_executor
from asyncguard_benchmark.suites.hazards.tasks import HazardTask, alone, load_hazard_tasks

MOST_TURNS = 60
"""Limit on the turns of a conversation that should end by itself."""

TASKS: Mapping[str, HazardTask] = {task.id: task for task in load_hazard_tasks(Domain.TREASURY)}
"""The tasks that the conversations are about."""


@dataclass(frozen=True, kw_only=True)
class Told:
    """Answer of a tool in place of the true one."""

    text: str | Callable[[str], str]
    """The answer, or a function that makes it from the true one."""
    note: str = ""
    """Note of the runtime beside the answer."""
    acts: bool = False
    """True if the tool does its work all the same."""


def broken(words: str, *, acts: bool = False) -> Told:
    """Return a failure."""
    return Told(text=json.dumps({"error": words}), acts=acts)


def changed(change: Callable[[Any], Any], note: str = "") -> Told:
    """Return a true answer in another form."""
    return Told(text=lambda text: json.dumps(change(json.loads(text))), note=note, acts=True)


@dataclass(kw_only=True)
class Talk:
    """Record of a conversation."""

    calls: list[CallAction] = field(default_factory=list)
    ended: bool = False
    """True if the agent ended the conversation."""
    states: dict[str, Any] = field(default_factory=dict)
    """Task -> its state in the end."""

    @property
    def tools(self) -> list[str]:
        """The tools that were called, in order."""
        return [call.tool for call in self.calls]

    def arguments(self, tool: str) -> list[Mapping[str, Any]]:
        """Arguments of every call of a tool."""
        return [call.arguments for call in self.calls if call.tool == tool]

    @property
    def closings(self) -> list[str]:
        """The calls that ended a task."""
        return [tool for tool in self.tools if tool in ("submit_answer", "report_problem")]


def talk(
    agent: type[SpeakingAgent],
    task: str,
    surface: Surface,
    told: Mapping[str, Sequence[Told | None]] | None = None,
    *,
    late: bool = False,
    **settings: Any,
) -> Talk:
    """Lets an agent work on one task.

    Args:
        agent: Its class.
        task: Id.
        surface: How it speaks.
        told: By tool, what its first calls are answered with; None for the true answer, as for all later calls.
        late: Whether each result comes one message late.
        settings: Fields of the agent.
    """
    composition = alone(TASKS[task])
    speech = TextSpeech(composition) if surface is Surface.TEXT else NativeSpeech(composition)
    model = agent(plan=plan_of(composition), **settings)
    bound = model if surface is Surface.TEXT else model.bind_tools(native_tools(composition))
    world = _World(composition, {tool: list(each) for tool, each in (told or {}).items()})
    messages, found, held = speech.opening(), Talk(), []
    for _ in range(MOST_TURNS):
        said = bound.invoke(messages)
        actions = speech.read(said)
        if isinstance(actions[0], Completed):
            found.ended = True
            break
        results = [(each, *world.call(each)) for each in actions if isinstance(each, CallAction)]
        found.calls += [action for action, *_ in results]
        messages += [said, *_reply(surface, results, held, late=late)]
        held = results if late else []
    found.states = {name: executor.public_state() for name, executor in world.executors.items()}
    return found


class _World:
    """True tools, whose answers a test replaces."""

    def __init__(self, composition: Composition, told: dict[str, list[Told | None]]) -> None:
        self.executors = {task.id: fresh_executor(task) for task in composition.sub_tasks}
        self._told = told

    def call(self, action: CallAction) -> tuple[str, str]:
        """Return response and note."""
        queue = self._told.get(action.tool) or [None]
        told = queue.pop(0) if action.tool in self._told and queue else None
        if told is None:
            return self.executors[action.task_id].call(action.tool, action.arguments), ""
        true = (
            self.executors[action.task_id].call(action.tool, action.arguments) if told.acts else ""
        )
        return (told.text(true) if callable(told.text) else told.text), told.note


_Result = tuple[CallAction, str, str]


def _reply(
    surface: Surface, results: list[_Result], held: list[_Result], *, late: bool
) -> list[BaseMessage]:
    wait = entries.wait_content(entries.EXECUTING)
    news = [_entry(surface, *each) for each in (held if late else results)]
    if surface is Surface.TEXT:
        lines = [entries.note(wait)] * (late and len(results)) + news
        return [
            HumanMessage(
                entries.lines(lines or [entries.note(entries.wait_content(entries.NO_NEWS))])
            )
        ]
    told: list[BaseMessage] = [
        ToolMessage(wait if late else _noted(text, note), tool_call_id=action.call_id)
        for action, text, note in results
    ]
    if late and news:
        told.append(HumanMessage(entries.lines(news)))
    return told or [
        HumanMessage(entries.lines([entries.note(entries.wait_content(entries.NO_NEWS))]))
    ]


def _noted(text: str, note: str) -> str:
    return json.dumps({"response": text, "note": note}) if note else text


def _entry(surface: Surface, action: CallAction, text: str, note: str) -> entries.Entry:
    native = {} if surface is Surface.TEXT else {"call_id": action.call_id}
    return {
        "role": "tool",
        "id": action.task_id,
        **native,
        "function name": entries.signature(action.tool, action.arguments),
        "response": text,
        **({"note": note} if note else {}),
    }
