"""LangGraph's savers, which die before or after a step is stored."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from reliability.cases import Database, Point
from reliability.killing import Trigger


class Steps:
    """What the saver has to know of the run: whether what a point waits for has happened."""

    def __init__(self, trigger: Trigger) -> None:
        """Make a watch."""
        self.trigger = trigger
        self.answered = False
        """The model has answered."""
        self.merged = False
        """The result of the target is in the ledger."""

    def before(self) -> None:
        """Something is about to be stored."""
        if self.answered:
            self.trigger.at(Point.C1)
        if self.merged:
            self.trigger.at(Point.C10)

    def after(self) -> None:
        """A whole step was stored."""
        if self.answered:
            self.trigger.at(Point.C2)
        if self.merged:
            self.trigger.at(Point.C11)


class _Watched(BaseCheckpointSaver[Any]):
    """Tells the watch of every write; mixed into a saver."""

    steps: Steps | None = None

    async def aput(self, *args: Any, **kwargs: Any) -> Any:
        """Store a step."""
        if self.steps is not None:
            self.steps.before()
        stored = await super().aput(*args, **kwargs)
        if self.steps is not None:
            self.steps.after()
        return stored

    async def aput_writes(self, *args: Any, **kwargs: Any) -> None:
        """Store what a node wrote."""
        if self.steps is not None:
            self.steps.before()
        await super().aput_writes(*args, **kwargs)


class WatchedSqlite(_Watched, AsyncSqliteSaver):
    """The SQLite saver."""


class WatchedPostgres(_Watched, AsyncPostgresSaver):
    """The PostgreSQL saver."""


async def make_tables(url: str) -> None:
    """Make the tables of a server's database, which cases share: two processes at it at once would lock each other."""
    async with AsyncPostgresSaver.from_conn_string(url) as made:
        await made.setup()


@asynccontextmanager
async def saver(database: Database, place: str, steps: Steps) -> AsyncIterator[Any]:
    """A saver that is ready.

    Args:
        database: Which.
        place: Folder of the case, or URL of the server's database.
        steps: What watches it.
    """
    match database:
        case Database.SQLITE:
            opened: Any = WatchedSqlite.from_conn_string(str(Path(place) / "threads.sqlite"))
        case Database.POSTGRES:
            opened = WatchedPostgres.from_conn_string(place)
    async with opened as made:
        await made.setup()
        made.steps = steps
        yield made
