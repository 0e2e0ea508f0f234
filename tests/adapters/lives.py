"""One life of an agent as the README shows it, in a process of its own.

Its case says the folder that outlives the processes, the adapter, the entry, the life's number, what is told
about the tools, and what is said. In its first life every tool of the case hangs once it has begun, so that the parent
can kill the process while ``before_model`` (or the node ``execute``) waits.
"""

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from asyncguard import AsyncGuardMiddleware, build_agent, guarded
from asyncguard.testing import ScriptedChatModel, calls

THREAD: Any = {"configurable": {"thread_id": "t"}}
TASKS = [
    {"id": "a", "goal": "Do look, mark, book, move, send, pay, list_bookings."},
    {"id": "b", "goal": "Check y."},
]
DECLARED: dict[str, dict[str, Any]] = {
    "look": {"effect": "pure", "reads": [], "takes_from": []},
    "mark": {"effect": "idempotent", "reads": [], "takes_from": [], "writes": ["mark"]},
    "book": {
        "effect": "keyed",
        "key_argument": "key",
        "reads": [],
        "takes_from": [],
        "writes": ["book"],
    },
    "move": {
        "effect": "probed",
        "probe": "seen",
        "reads": [],
        "takes_from": [],
        "writes": ["move"],
    },
    "send": {
        "effect": "probed",
        "probe": "seen",
        "reads": [],
        "takes_from": [],
        "writes": ["send"],
    },
    "pay": {"reads": [], "takes_from": [], "writes": ["pay"]},
    "list_bookings": {"effect": "pure", "reads": ["book"], "takes_from": []},
    "check": {"effect": "pure", "reads": [], "takes_from": []},
}
"""Declarations of tools; ``list_bookings`` has to wait for ``book``, ``check`` never hangs."""


class Life:
    """Tools, model and agent of one process in one case."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.case = case
        self.folder = Path(case["folder"])
        self.number: int = case["life"]

    def note(self, *words: str) -> None:
        """Append a line to the file that outlives the process, as an effect does."""
        with (self.folder / "effects.txt").open("a") as file:
            file.write(" ".join((*words, str(self.number))) + "\n")

    def took_effect(self, name: str) -> bool:
        """Return True if an earlier process or this one has recorded the effect."""
        path = self.folder / "effects.txt"
        return path.exists() and any(
            line.split()[:2] == ["effect", name] for line in path.read_text().splitlines()
        )

    def tools(self) -> list[Any]:
        """The tools, guarded functions as in the README."""
        declared = {**DECLARED, **self.case.get("declared", {})}
        made = [self._tool(name, declared[name]) for name in (*self.case["calls"], "check")]
        return [*made, self._probe()]

    def _begin(self, name: str, key: str) -> bool:
        """Begin a call of a tool and return True if it hangs."""
        if name != "send" or self.number:  # the first life dies before this one has its effect
            self.note("effect", name, key or "-")
        self.note("begun", name)
        return self.number == 0 and name != "check"

    def _tool(self, name: str, declaration: dict[str, Any]) -> Any:
        def act_now(item: str, key: str = "") -> str:
            if self._begin(name, key):
                time.sleep(60)
            return f"{name} {item} is done"

        async def act_soon(item: str, key: str = "") -> str:
            if self._begin(name, key):
                await asyncio.sleep(60)
            return f"{name} {item} is done"

        act: Any = act_now if self.case["entry"] == "sync" else act_soon
        act.__name__, act.__doc__ = name, f"Do {name}."
        return guarded(**declaration)(tool(act))

    def _probe(self) -> Any:
        @guarded(effect="pure")
        def seen(item: str) -> dict[str, Any]:
            """Tell whether it happened."""
            name = "move" if item == "move" else "send"
            return {"happened": self.took_effect(name), "result": f"{name} had happened"}

        return seen

    def speak(self, messages: Sequence[Any], _: Any) -> Any:
        """The model: all calls at once, then patience, then an end."""
        if not any(isinstance(message, AIMessage) and message.tool_calls for message in messages):
            wanted = [(name, {"item": name, "task_id": "a"}) for name in self.case["calls"]]
            return calls(*wanted, ("check", {"item": "y", "task_id": "b"}))
        self.note("spoke")
        return "I wait." if self.number == 0 else "That is all."

    def agent(self, saver: Any) -> Any:
        """The agent as the README builds it."""
        model = ScriptedChatModel(self.speak, id_prefix=f"life{self.number}")
        if self.case["front"] == "build_agent":
            return build_agent(model, self.tools(), checkpointer=saver)
        return create_agent(
            model, self.tools(), middleware=[AsyncGuardMiddleware()], checkpointer=saver
        )

    def payload(self) -> Any:
        """Return the run's input: tasks in the first life, a new message if the case has one."""
        said = self.case.get("said")
        if self.number == 0:
            return {"messages": [], "tasks": TASKS}
        return {"messages": [("user", said)]} if said else None

    def told(self, state: Any) -> None:
        """Write the result of the run to a file for the parent."""
        texts = [str(message.content) for message in state["messages"]]
        (self.folder / f"told{self.number}.json").write_text(
            json.dumps({"report": state["report"], "texts": texts})
        )


def live(life: Life) -> None:
    """Run once through the sync entry."""
    with SqliteSaver.from_conn_string(str(life.folder / "threads.db")) as saver:
        life.told(life.agent(saver).invoke(life.payload(), THREAD, durability="sync"))


async def alive(life: Life) -> None:
    """Run once through the async entry."""
    async with AsyncSqliteSaver.from_conn_string(str(life.folder / "threads.db")) as saver:
        life.told(await life.agent(saver).ainvoke(life.payload(), THREAD, durability="sync"))


def main(case: dict[str, Any]) -> None:
    """Play a case."""
    life = Life(case)
    runs: dict[str, Callable[[], None]] = {
        "sync": lambda: live(life),
        "async": lambda: asyncio.run(alive(life)),
    }
    runs[life.case["entry"]]()
