"""An agent in its own process, whose payment a worker makes."""

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from asyncguard import DbosExecutor, Ports, build_agent, open_journal
from asyncguard.testing import ScriptedChatModel, Step, calls
from tests.distributed import shop
from tests.distributed.bench import VERSION

CONFIG: Any = {"configurable": {"thread_id": "t"}}
CANCEL = {"cancel": ["main"]}


def say(text: str) -> dict[str, Any]:
    """A message of the user, as input of a run."""
    return {"messages": [("user", text)]}


def decide(messages: Any, tools: Any, *, seconds: float) -> Step:
    """Pay once, also if the call was not run and may be wanted still; then end."""
    ends = [str(message.content) for message in messages if isinstance(message, ToolMessage)]
    if ends and not ("was not run" in ends[-1] and isinstance(messages[-1], HumanMessage)):
        return "All done."
    return calls(("pay_slowly", {"amount": 1, "seconds": seconds}))


async def run(
    database: str,
    journal: str,
    folder: Path,
    given: Any = None,
    *,
    seconds: float = 0.0,
    executor: type[DbosExecutor] = DbosExecutor,
) -> list[str]:
    """Run the thread; the texts of its messages.

    Args:
        database: The queue.
        journal: The journal.
        folder: Where the thread is.
        given: Input of the run; without one the thread continues, or begins.
        seconds: How long the payment takes.
        executor: Class of the executor.
    """
    opened = open_journal(journal)
    sender = executor(database, journal=opened, application_version=VERSION)
    try:
        async with AsyncSqliteSaver.from_conn_string(str(folder / "threads.db")) as saver:
            agent = build_agent(
                ScriptedChatModel(partial(decide, seconds=seconds)),
                shop.TOOLS,
                checkpointer=saver,
                journal=opened,
                ports=Ports(executor=sender),
            )
            begun = (await agent.aget_state(CONFIG)).next
            if given is None and not begun:
                given = say("Pay.")
            state = await agent.ainvoke(given, CONFIG)
        return [str(message.content) for message in state["messages"]]
    finally:
        sender.close()
        opened.close()


def main(folder: Path, said: str = "", cancel: str = "") -> None:
    """Be the process: begin the thread, continue it, with a message if there is one, or cancel it; print the texts."""
    given = CANCEL if cancel else say(said) if said else None
    database = folder / "calls.db"
    texts = asyncio.run(run(str(database), f"{database}.journal", folder, given, seconds=3.0))
    print(json.dumps(texts))  # noqa: T201 - what the test reads


def be(
    database: str, journal: str, folder: Path, executor: type[DbosExecutor] = DbosExecutor
) -> None:
    """Be a process that begins or continues the thread, whose payment takes no time."""
    asyncio.run(run(database, journal, folder, executor=executor))
