"""The model and the tool of a workload, for agents that speak LangChain.

Keys read "task-<task>:<link>". The tool turns a key into the next one of its task, so that the model can make a call
only when it has seen the result before it; and it sees that in any text but its own, wherever a runtime puts it.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.tools import BaseTool, StructuredTool

from chat import ScriptedChat
from workload import Workload

TOOL = "follow"
Work = Callable[[], Awaitable[Any]]
"""Works on a workload from its beginning to its end; the agent is there already."""
_KEY = re.compile(r"task-(\d+):(\d+)")


@dataclass(kw_only=True)
class Chains:
    """One run of a workload."""

    workload: Workload
    """The chains of calls."""
    task_argument: str = ""
    """Name of the argument in which the runtime takes the task of a call; empty without one."""
    executed: int = 0
    """Number of calls that ran."""
    turns: int = 0
    """Number of turns of the model."""
    _asked: dict[int, int] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        """Return True if every call ran once."""
        return self.executed == self.workload.tasks * self.workload.links

    def tasks(self) -> list[dict[str, str]]:
        """Return the tasks as asyncguard takes them."""
        return [
            {"id": f"task-{task}", "goal": f"Follow this key to its end: {key_of(task, 0)}"}
            for task in range(self.workload.tasks)
        ]

    def model(self) -> ScriptedChat:
        """Return a model that makes, in one turn, the next call of every task whose result it has."""
        return ScriptedChat(decide=self._decide)

    def tool(self) -> BaseTool:
        """Return the tool, which takes as long as the workload says."""
        return StructuredTool.from_function(
            coroutine=self._follow,
            name=TOOL,
            description="Follows a key to the next one of its task.",
        )

    async def _decide(self, messages: Sequence[BaseMessage]) -> AIMessage:
        self.turns += 1
        known = _known_links(messages)
        await asyncio.sleep(self.workload.model)
        calls = []
        for task, link in sorted(known.items()):
            if link < self.workload.links and self._asked.get(task, -1) < link:
                self._asked[task] = link
                calls.append(self._call(task, link))
        return AIMessage(content="" if calls else "Nothing more to do.", tool_calls=calls)

    def _call(self, task: int, link: int) -> ToolCall:
        arguments = {"key": key_of(task, link)}
        if self.task_argument:
            arguments[self.task_argument] = f"task-{task}"
        return ToolCall(name=TOOL, args=arguments, id=f"call-{task}-{link}", type="tool_call")

    async def _follow(self, key: str) -> str:
        task, link = (int(part) for part in _KEY.fullmatch(key).groups())  # type: ignore[union-attr]  # keys are ours
        await asyncio.sleep(self.workload.tool[task][link])
        self.executed += 1
        return key_of(task, link + 1)


def key_of(task: int, link: int) -> str:
    """Return the argument of a task's call; link 0 stands in its goal."""
    return f"task-{task}:{link}"


def _known_links(messages: Sequence[BaseMessage]) -> dict[int, int]:
    known: dict[int, int] = {}
    for message in messages:
        if isinstance(message, AIMessage):
            continue
        for task, link in _KEY.findall(str(message.content)):
            known[int(task)] = max(known.get(int(task), 0), int(link))
    return known
