"""A client that goes away: a web server cancels the stream at every step until it is gone, as anyio's scopes do."""

import asyncio
from pathlib import Path
from typing import Any

import anyio
import pytest
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import Ports
from asyncguard.journal.sql.journal import SqlJournal
from asyncguard.journal.sql.processes import ProcessKind
from asyncguard.journal.sql.sqlite import SqliteStore
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import AgentOf, script
from tests.adapters.processes import until

PLACE: Any = {"configurable": {"thread_id": "t"}}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("journaled", [False, True], ids=["no journal", "journal"])
@pytest.mark.parametrize("after", [1, 4], ids=["before the calls", "while they run"])
async def test_its_thread_is_free_again(
    agent_of: AgentOf, tmp_path: Path, after: int, *, journaled: bool
) -> None:
    """The next message is answered, in this process and in another one."""
    saver, journals = InMemorySaver(), list[SqlJournal]()

    def process(*made: Any) -> Any:
        if journaled:
            store = SqliteStore(tmp_path / "effects.db", ProcessKind.AGENT)
            journals.append(SqlJournal(store))
        return agent_of(
            ScriptedChatModel(script(*made, ever="all said"), id_prefix=f"p{len(journals)}"),
            [scripted_tool("look", lambda _: asyncio.sleep(0.2, "seen"), args={"q": str})],
            checkpointer=saver,
            ports=Ports(journal=journals[-1] if journaled else None),
        ).graph

    graph, seen = process(calls(("look", {"q": "x"}))), list[Any]()

    async def serve() -> None:
        given = {"messages": [("user", "Look.")]}
        modes = ["messages", "custom", "updates"]
        async for part in graph.astream(given, PLACE, stream_mode=modes, durability="sync"):
            seen.append(part)

    async with anyio.create_task_group() as clients:
        clients.start_soon(serve)
        await until(lambda: len(seen) >= after)
        clients.cancel_scope.cancel()
    await asyncio.sleep(0.3)
    for each in (graph, process()) if journaled else (graph,):
        state = await each.ainvoke({"messages": [("user", "And?")]}, PLACE, durability="sync")
        assert state["messages"][-1].text == "all said"
    for journal in journals:
        journal.close()
