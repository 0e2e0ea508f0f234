"""An agent in its own process, whose payment a worker makes."""

import asyncio
import json
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from asyncguard import DbosExecutor, Ports, build_agent, open_journal
from asyncguard.testing import ScriptedChatModel, Step, calls
from tests.distributed import shop
from tests.distributed.bench import VERSION


def decide(messages: Any, tools: Any) -> Step:
    """Pay once, also if the call was not run and may be wanted still; then end."""
    ends = [str(message.content) for message in messages if isinstance(message, ToolMessage)]
    if ends and not ("was not run" in ends[-1] and isinstance(messages[-1], HumanMessage)):
        return "All done."
    return calls(("pay_slowly", {"amount": 1, "seconds": 3.0}))


async def _main(folder: Path, said: str, cancel: str) -> None:
    journal = open_journal(folder / "calls.db.journal")
    executor = DbosExecutor(folder / "calls.db", journal=journal, application_version=VERSION)
    config: Any = {"configurable": {"thread_id": "t"}}
    async with AsyncSqliteSaver.from_conn_string(str(folder / "threads.db")) as saver:
        agent = build_agent(
            ScriptedChatModel(decide),
            shop.TOOLS,
            checkpointer=saver,
            journal=journal,
            ports=Ports(executor=executor),
        )
        begun = (await agent.aget_state(config)).next
        given: Any = {"messages": [("user", said or "Pay.")]} if said or not begun else None
        if cancel:
            given = {"cancel": ["main"]}
        state = await agent.ainvoke(given, config)
    print(json.dumps([str(message.content) for message in state["messages"]]))  # noqa: T201 - what the test reads
    executor.close()
    journal.close()


def main(folder: Path, said: str = "", cancel: str = "") -> None:
    """Be the process: begin the thread, continue it, with a message if there is one, or cancel it; print the texts."""
    asyncio.run(_main(folder, said, cancel))
