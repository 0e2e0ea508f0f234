"""Common part of the LangGraph peers: running a compiled graph, with and without an SQLite saver."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
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
    """Return a peer that keeps nothing."""
    return Peer(name=name, session=_session(build, saved=False))


def saved_graph_peer(name: str, build: Build, **options: Any) -> Peer:
    """Return a peer that checkpoints into an SQLite file, with the saver's own settings; the options are the run's."""
    return Peer(
        name=f"{name}:{place_of(options)}", session=_session(build, saved=True, options=options)
    )


def place_of(options: Mapping[str, Any]) -> str:
    """Return the place and durability of a peer's checkpoints, as its name gives them."""
    return "sqlite, sync" if options.get("durability") == "sync" else "sqlite"


def _session(
    build: Build, *, saved: bool, options: Mapping[str, Any] = MappingProxyType({})
) -> Session:
    @asynccontextmanager
    async def session(script: Script, folder: Path) -> AsyncIterator[Run]:
        if not saved:
            yield runner(build(script, None), script)
            return
        async with open_saver(folder) as saver:
            yield runner(build(script, saver), script, **options)

    return session


@asynccontextmanager
async def open_saver(folder: Path) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """Open a saver; closing its connection moves the write-ahead log into the file, so its size is what is stored."""
    async with AsyncSqliteSaver.from_conn_string(str(folder / "checkpoints.sqlite")) as saver:
        await saver.setup()
        yield saver


def runner(graph: Any, script: Script, **options: Any) -> Run:
    """Return what drives a graph from question to answer, with options of the run."""
    config = {
        "configurable": {"thread_id": "performance"},
        "recursion_limit": 100 + _SUPER_STEPS_PER_STEP * script.steps,
    }

    async def run() -> None:
        await graph.ainvoke({"messages": [("user", QUESTION)]}, config, **options)

    return run
