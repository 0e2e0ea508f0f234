"""LangGraph's savers, which die before or after a step is stored."""

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from reliability.cases import Case, Database, Point
from reliability.killing import Trigger
from reliability.places import THREADS, Place

_QUESTION, _ANSWER = "__interrupt__", "__resume__"
"""LangGraph's channels for what a person is asked and answers."""


class Steps:
    """Progress of the run as the saver has to know it: whether the condition of a point has come true."""

    def __init__(self, trigger: Trigger) -> None:
        """Make a watch."""
        self.trigger = trigger
        self.answered = False
        """The model has answered."""
        self.merged = False
        """The result of the target is in the ledger."""

    def before(self, writes: Iterable[Any] = ()) -> None:
        """Note that something is about to be stored: a step, or the writes of a node."""
        channels = {channel for channel, *_ in writes}
        if _QUESTION in channels:
            self.trigger.at(Point.A0)
        if _ANSWER in channels:
            self.trigger.at(Point.A2)
        if self.answered:
            self.trigger.at(Point.C1)
        if self.merged:
            self.trigger.at(Point.C10)

    def wrote(self, writes: Iterable[Any]) -> None:
        """Note that the writes of a node were stored."""
        if _ANSWER in {channel for channel, *_ in writes}:
            self.trigger.at(Point.A3)

    def after(self) -> None:
        """Note that a whole step was stored."""
        if self.answered:
            self.trigger.at(Point.C2)
        if self.merged:
            self.trigger.at(Point.C11)


class _Watched(BaseCheckpointSaver[Any]):
    """Mixin of a saver that tells the watch of every write."""

    steps: Steps | None = None

    async def aput(self, *args: Any, **kwargs: Any) -> Any:
        """Store a step."""
        if self.steps is not None:
            self.steps.before()
        stored = await super().aput(*args, **kwargs)
        if self.steps is not None:
            self.steps.after()
        return stored

    async def aput_writes(self, config: Any, writes: Any, *args: Any, **kwargs: Any) -> None:
        """Store what a node wrote."""
        if self.steps is not None:
            self.steps.before(writes)
        await super().aput_writes(config, writes, *args, **kwargs)
        if self.steps is not None:
            self.steps.wrote(writes)

    def put(self, *args: Any, **kwargs: Any) -> Any:
        """Store a step."""
        if self.steps is not None:
            self.steps.before()
        stored = super().put(*args, **kwargs)
        if self.steps is not None:
            self.steps.after()
        return stored

    def put_writes(self, config: Any, writes: Any, *args: Any, **kwargs: Any) -> None:
        """Store what a node wrote."""
        if self.steps is not None:
            self.steps.before(writes)
        super().put_writes(config, writes, *args, **kwargs)
        if self.steps is not None:
            self.steps.wrote(writes)


class WatchedSqlite(_Watched, AsyncSqliteSaver):
    """The SQLite saver."""


class WatchedPostgres(_Watched, AsyncPostgresSaver):
    """The PostgreSQL saver."""


class WatchedSqliteSync(_Watched, SqliteSaver):
    """The SQLite saver for sync code."""


class WatchedPostgresSync(_Watched, PostgresSaver):
    """The PostgreSQL saver for sync code."""


async def make_tables(url: str) -> None:
    """Make the tables of a server's database, which cases share: two processes at it at once would lock each other."""
    async with AsyncPostgresSaver.from_conn_string(url) as made:
        await made.setup()


@asynccontextmanager
async def saver(database: Database, place: str, steps: Steps) -> AsyncIterator[Any]:
    """Yield a saver that is ready.

    Args:
        database: Kind of database.
        place: Folder of the case, or URL of the server's database.
        steps: Watches the saver.
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


@contextmanager
def shown_saver(case: Case, place: Place, steps: Steps) -> Iterator[Any]:
    """Yield a saver as the README opens it; it is watched only where a process dies at a point.

    Args:
        case: Case to play.
        place: Place of the case.
        steps: Watches the saver.
    """
    watched = case.point is not None
    if case.database is Database.SQLITE:
        kind: Any = WatchedSqliteSync if watched else SqliteSaver
        opened = kind.from_conn_string(str(place.folder / THREADS))
    else:
        kind = WatchedPostgresSync if watched else PostgresSaver
        opened = kind.from_conn_string(place.url)
    with opened as made:
        if case.database is Database.POSTGRES:
            made.setup()
        if watched:
            made.steps = steps
        yield made


@asynccontextmanager
async def shown_saver_async(case: Case, place: Place, steps: Steps) -> AsyncIterator[Any]:
    """Yield the same for async code."""
    watched = case.point is not None
    if case.database is Database.SQLITE:
        kind: Any = WatchedSqlite if watched else AsyncSqliteSaver
        opened = kind.from_conn_string(str(place.folder / THREADS))
    else:
        kind = WatchedPostgres if watched else AsyncPostgresSaver
        opened = kind.from_conn_string(place.url)
    async with opened as made:
        if case.database is Database.POSTGRES:
            await made.setup()
        if watched:
            made.steps = steps
        yield made
