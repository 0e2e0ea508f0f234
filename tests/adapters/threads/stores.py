"""LangGraph's savers on disk: one interface to drive an agent with sync and async ones."""

import asyncio
import sqlite3
from collections.abc import Coroutine, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import StateSnapshot
from psycopg.rows import dict_row

T = TypeVar("T")


class Kind(Enum):
    """Class of the saver."""

    SQLITE = "SqliteSaver"
    SQLITE_ASYNC = "AsyncSqliteSaver"
    POSTGRES = "PostgresSaver"
    POSTGRES_ASYNC = "AsyncPostgresSaver"

    @property
    def in_file(self) -> bool:
        """True if it stores to a file and needs no server."""
        return self in (Kind.SQLITE, Kind.SQLITE_ASYNC)

    @property
    def asynchronous(self) -> bool:
        """True if its agents run on a loop."""
        return self in (Kind.SQLITE_ASYNC, Kind.POSTGRES_ASYNC)


def strict() -> JsonPlusSerializer:
    """Return LangGraph's serializer as ``LANGGRAPH_STRICT_MSGPACK=true`` would set it up.

    LangGraph reads the variable only once, when it is imported.
    """
    return JsonPlusSerializer(allowed_msgpack_modules=None)


def place(thread: str) -> dict[str, Any]:
    """A config that names a thread."""
    return {"configurable": {"thread_id": thread}}


class Store:
    """A database of checkpoints with a saver that is open on it."""

    def __init__(self, kind: Kind, target: str, serde: SerializerProtocol) -> None:
        self.kind = kind
        self.target = target
        self.serde = serde
        self.saver: Any = None
        self._connection: Any = None
        self._runner = asyncio.Runner() if kind.asynchronous else None

    def open(self) -> None:
        """Connect, and make the tables if there are none."""
        match self.kind:
            case Kind.SQLITE:
                self._connection = sqlite3.connect(self.target, check_same_thread=False)
                self.saver = SqliteSaver(self._connection, serde=self.serde)
                self.saver.setup()
            case Kind.POSTGRES:
                self._connection = psycopg.connect(
                    self.target, autocommit=True, row_factory=dict_row
                )
                self.saver = PostgresSaver(self._connection, serde=self.serde)
                self.saver.setup()
            case _:
                self._on_loop(self._open())

    async def _open(self) -> None:
        if self.kind is Kind.SQLITE_ASYNC:
            self._connection = AsyncSqliteSaver.from_conn_string(self.target)
            self.saver = await self._connection.__aenter__()
            self.saver.serde = self.serde
        else:
            self._connection = AsyncPostgresSaver.from_conn_string(self.target, serde=self.serde)
            self.saver = await self._connection.__aenter__()
        await self.saver.setup()

    def reopen(self) -> None:
        """Continue as another process would, with a connection of its own."""
        self._disconnect()
        self.open()

    def close(self) -> None:
        """Disconnect for good."""
        self._disconnect()
        if self._runner is not None:
            self._runner.close()

    def _disconnect(self) -> None:
        if self._runner is not None:
            self._on_loop(self._connection.__aexit__(None, None, None))
        else:
            self._connection.close()

    # -- driving an agent ------------------------------------------------------------------------------------------

    def invoke(
        self, graph: Any, payload: Any, config: Mapping[str, Any], **options: Any
    ) -> Mapping[str, Any]:
        """Run the agent until it ends or asks."""
        if self._runner is None:
            result: Mapping[str, Any] = graph.invoke(payload, config, **options)
            return result
        return self._on_loop(graph.ainvoke(payload, config, **options))

    def state(self, graph: Any, config: Mapping[str, Any]) -> StateSnapshot:
        """Return the stored state of a thread, or of one of its checkpoints."""
        if self._runner is None:
            snapshot: StateSnapshot = graph.get_state(config)
            return snapshot
        return self._on_loop(graph.aget_state(config))

    def history(self, graph: Any, config: Mapping[str, Any]) -> list[StateSnapshot]:
        """All checkpoints of a thread, the latest first."""
        if self._runner is None:
            return list(graph.get_state_history(config))
        return self._on_loop(_listed(graph.aget_state_history(config)))

    def update(self, graph: Any, config: Mapping[str, Any], values: Any) -> Mapping[str, Any]:
        """Write into a thread from outside; the config of the checkpoint that this makes."""
        if self._runner is None:
            made: Mapping[str, Any] = graph.update_state(config, values)
            return made
        return self._on_loop(graph.aupdate_state(config, values))

    def forget(self, thread: str) -> None:
        """Delete a thread."""
        if self._runner is None:
            self.saver.delete_thread(thread)
        else:
            self._on_loop(self.saver.adelete_thread(thread))

    def _on_loop(self, work: Coroutine[Any, Any, T]) -> T:
        assert self._runner is not None
        results: list[T] = []

        async def keep_result() -> None:
            results.append(await work)

        # As the task's result it would be printed, as in `run_virtual`: half the time of a long conversation.
        self._runner.run(keep_result())
        return results[0]


async def _listed(items: Any) -> list[Any]:
    return [item async for item in items]


def sqlite_target(folder: Path) -> str:
    """A file that is not there yet."""
    return str(folder / "checkpoints.sqlite")
