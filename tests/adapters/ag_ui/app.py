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
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.config import get_stream_writer
from langgraph.types import interrupt

from asyncguard import AgUiAgent, EffectClass, GuardConfig, ToolSpec
from asyncguard.testing import ScriptedChatModel, Step, calls, scripted_tool
from tests.adapters.harness import Agent, Frontend, build
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


def asking(frontend: Frontend, world: World, saver: AsyncSqliteSaver) -> Agent:
    """An agent whose tools need a person; they tell when they go on, and end as the slow tool may."""

    async def goes_on() -> None:
        get_stream_writer()({"type": "goes on"})
        await world.may_end.wait()

    @tool
    async def choose(q: str) -> str:
        """Let the user choose."""
        chosen = interrupt({"message": f"Which {q}?"})
        await goes_on()
        return f"chosen {chosen}"

    async def pay(arguments: Mapping[str, Any]) -> str:
        await goes_on()
        return f"paid {arguments['q']}"

    made = {
        "pay": calls(("pay", {"q": "x"})),
        "choose": calls(("choose", {"q": "x"})),
        "both": calls(("choose", {"q": "x"}), ("choose", {"q": "y"})),
    }
    return build(
        frontend,
        ScriptedChatModel(lambda said, _: made.get(said[-1].text, "Done.")),
        [choose, scripted_tool("pay", pay, args={"q": str})],
        specs=[
            ToolSpec(name="choose", effect=EffectClass.PURE),
            ToolSpec(name="pay", effect=EffectClass.IDEMPOTENT, approval=True),
        ],
        checkpointer=saver,
    )


def agents(saver: AsyncSqliteSaver, world: World) -> Mapping[str, AgUiAgent]:
    """One agent of each adapter, one that holds early texts back, and two that ask, by path."""
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
        ports = desk.ports()
        agent = build(frontend, desk.model(), desk.TOOLS, ports=ports, checkpointer=saver)
        for name, each in (("desk", agent), ("asking", asking(frontend, world, saver))):
            made[f"{frontend.value}/{name}"] = AgUiAgent(
                name=f"{frontend.value}_{name}", graph=each.graph, emit_interrupt_outcome=True
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
