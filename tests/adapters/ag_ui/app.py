"""Application that the tests start: guarded agents over AG-UI, with threads in a file.

Calls of the slow tool end after a request to ``/hold`` only when ``/release`` was asked for.
"""

import asyncio
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import uvicorn
from ag_ui_langgraph import add_langgraph_fastapi_endpoint
from fastapi import FastAPI
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from asyncguard import AgUiAgent, EffectClass, GuardConfig, ToolSpec
from asyncguard.testing import ScriptedChatModel, Step, calls, scripted_tool
from tests.adapters.harness import Frontend, build
from tests.examples.ui import desk

EARLY = "All done too early."


class World:
    """The model and the slow tool, whose calls end a little after the next early text."""

    def __init__(self) -> None:
        self.may_end = asyncio.Event()
        self.may_end.set()
        self._claimed = asyncio.Event()

    def speak(self, messages: Sequence[AnyMessage], _: Any) -> Step:
        """Make three calls, one of them without its argument; then claim an end until all is there."""
        if not any(isinstance(message, AIMessage) for message in messages):
            return calls(
                ("quick", {"q": "x", "task_id": "a"}),
                ("slow", {"q": "y", "task_id": "b"}),
                ("quick", {"task_id": "a"}),
            )
        if any("slowly found y" in message.text for message in messages):
            return "Both are done."
        self._claimed.set()
        self._claimed = asyncio.Event()
        return EARLY

    async def answer(self, arguments: Mapping[str, Any]) -> str:
        """The outcome of a call of the slow tool."""
        with suppress(TimeoutError):  # a repeated call may have to end before the model speaks
            await asyncio.wait_for(self._claimed.wait(), 1.5)
        await asyncio.sleep(0.2)
        await self.may_end.wait()
        return f"slowly found {arguments['q']}"


def agents(saver: AsyncSqliteSaver, world: World) -> Mapping[str, AgUiAgent]:
    """One agent of each adapter, one that holds early texts back, and one that asks, by path."""
    tools = [
        scripted_tool("quick", lambda a: f"found {a['q']}", args={"q": str}),
        scripted_tool("slow", world.answer, args={"q": str}),
    ]
    specs = [ToolSpec(name=tool.name, effect=EffectClass.PURE) for tool in tools]
    made = {}
    for frontend in Frontend:
        for hold in (False, True):
            path = f"{frontend.value}{'/hold' if hold else ''}"
            config = GuardConfig(hold_text=hold)
            model = ScriptedChatModel(world.speak)
            agent = build(frontend, model, tools, specs=specs, config=config, checkpointer=saver)
            made[path] = AgUiAgent(name=path.replace("/", "_"), graph=agent.graph)
        agent = build(frontend, desk.model(), desk.TOOLS, ports=desk.ports(), checkpointer=saver)
        path = f"{frontend.value}/desk"
        made[path] = AgUiAgent(
            name=path.replace("/", "_"), graph=agent.graph, emit_interrupt_outcome=True
        )
    return made


def run(file: str, port: Connection) -> None:
    """Serve until the process is ended.

    Args:
        file: Where threads are stored.
        port: Is told the number of the free port.
    """
    asyncio.run(_serve(file, port))


async def _serve(file: str, port: Connection) -> None:
    app, world = FastAPI(), World()

    @app.post("/hold")
    async def _() -> None:
        world.may_end.clear()

    @app.post("/release")
    async def _() -> None:
        world.may_end.set()

    async with AsyncSqliteSaver.from_conn_string(file) as saver:
        for path, agent in agents(saver, world).items():
            add_langgraph_fastapi_endpoint(app, agent, f"/{path}")
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            listening.listen()
            port.send(listening.getsockname()[1])
            config = uvicorn.Config(app, log_level="warning")
            await uvicorn.Server(config).serve(sockets=[listening])
