"""What the LangGraph peers share: running a compiled graph, with and without an SQLite saver."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from peers import Peer, Run, Session
from script import QUESTION, Script

Build = Callable[[Script, BaseCheckpointSaver[Any] | None], Any]
"""Compiles a graph around a script."""

# More super-steps per tool call than any of the graphs needs.
_SUPER_STEPS_PER_STEP = 20


def graph_peer(name: str, build: Build) -> Peer:
    """Returns a peer that keeps nothing."""
    return Peer(name=name, session=_session(build, saved=False))


def saved_graph_peer(name: str, build: Build) -> Peer:
    """Returns a peer that checkpoints into an SQLite file, with the saver's own settings."""
    return Peer(name=f"{name}:sqlite", session=_session(build, saved=True))


def _session(build: Build, *, saved: bool) -> Session:
    @asynccontextmanager
    async def session(script: Script, folder: Path) -> AsyncIterator[Run]:
        if not saved:
            yield runner(build(script, None), script)
            return
        async with open_saver(folder) as saver:
            yield runner(build(script, saver), script)

    return session


@asynccontextmanager
async def open_saver(folder: Path) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """Opens a saver; closing its connection moves the write-ahead log into the file, so its size is what is stored."""
    async with AsyncSqliteSaver.from_conn_string(str(folder / "checkpoints.sqlite")) as saver:
        await saver.setup()
        yield saver


def runner(graph: Any, script: Script) -> Run:
    """Returns what drives a graph from question to answer."""
    config = {
        "configurable": {"thread_id": "performance"},
        "recursion_limit": 100 + _SUPER_STEPS_PER_STEP * script.steps,
    }

    async def run() -> None:
        await graph.ainvoke({"messages": [("user", QUESTION)]}, config)

    return run
