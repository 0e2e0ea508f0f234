"""The least that a record of calls costs: a row before a call begins, and its outcome after it, both flushed to disk.

A peer with it has no guards, no leases and nothing to resume from. It shows what is left of a target for what a journal
is for.
"""

import asyncio
import queue
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.base import BaseCheckpointSaver

from peers import Peer, Run
from peers.graphs import open_saver, place_of, runner
from script import Script

_TABLE = "CREATE TABLE calls (key TEXT PRIMARY KEY, arguments TEXT, result TEXT)"
_BEGUN = "INSERT INTO calls (key, arguments) VALUES (?, ?)"
_ENDED = "UPDATE calls SET result = ? WHERE key = ?"
_Row = tuple[str, tuple[str, str], "asyncio.Future[None] | None"]


class TwoRows:
    """Two rows of each call in an SQLite file, written by one thread; what comes together shares a transaction."""

    def __init__(self, path: Path) -> None:
        """Open the file.

        Args:
            path: A new file.
        """
        self._queue: queue.SimpleQueue[_Row | None] = queue.SimpleQueue()
        self._path = path
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    async def begin(self, key: str, arguments: str) -> None:
        """Write that a call begins; return once that is on the disk."""
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.put((_BEGUN, (key, arguments), written))
        await written

    def end(self, key: str, result: str) -> None:
        """Write the outcome of a call, while the caller goes on."""
        self._queue.put((_ENDED, (result, key), None))

    def close(self) -> None:
        """Write what is left, and close the file."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        connection = sqlite3.connect(self._path, isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(_TABLE)
        more = True
        while more:
            rows = [self._queue.get()]
            while not self._queue.empty():
                rows.append(self._queue.get())
            more = None not in rows
            connection.execute("BEGIN IMMEDIATE")
            for row in filter(None, rows):
                connection.execute(row[0], row[1])
            connection.execute("COMMIT")
            for row in filter(None, rows):
                if (written := row[2]) is not None:
                    written.get_loop().call_soon_threadsafe(written.set_result, None)
        connection.close()


@contextmanager
def two_rows(folder: Path) -> Iterator[TwoRows]:
    """Open such a record in a folder, and close it."""
    rows = TwoRows(folder / "calls.sqlite")
    try:
        yield rows
    finally:
        rows.close()


def recorded(tool: BaseTool, rows: TwoRows) -> BaseTool:
    """Return a tool whose calls leave two rows each."""
    made = 0

    async def call(key: str) -> Any:
        nonlocal made
        made += 1
        name = str(made)
        await rows.begin(name, key)
        result = await tool.ainvoke({"key": key})
        rows.end(name, str(result))
        return result

    return StructuredTool.from_function(
        coroutine=call, name=tool.name, description=tool.description, args_schema=tool.args_schema
    )


def recorded_graph_peer(
    name: str, build: Callable[[Script, BaseCheckpointSaver[Any], TwoRows], Any], **options: Any
) -> Peer:
    """Return a peer with checkpoints in an SQLite file and its calls in another one; the options are the run's."""

    @asynccontextmanager
    async def session(script: Script, folder: Path) -> AsyncIterator[Run]:
        with two_rows(folder) as rows:
            async with open_saver(folder) as saver:
                yield runner(build(script, saver, rows), script, **options)

    return Peer(name=f"{name}:{place_of(options)}+two rows a call", session=session)
