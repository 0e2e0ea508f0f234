"""Whether the state that a call came from is on disk before its effect, and where the journal is kept beside it.

A call's key follows from the id of the model's message. If the process dies and the message was not stored, the model
is asked again, its calls get other keys, and no journal can know them again. So a call with an effect is issued only
when the checkpoint that holds its message is on disk: at once with durability ``sync``, after a look at the
checkpointer with ``async``, and never with ``exit``, which stores nothing before the end.
"""

import asyncio
import os
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard.core.footprints import EffectClass
from asyncguard.core.records import CallRecord
from asyncguard.engine.durable import enter_thread
from asyncguard.engine.engine import Engine
from asyncguard.engine.journal.port import Journal
from asyncguard.engine.session import Session
from asyncguard.errors import CallerError, JournalError, ThreadBusyError
from asyncguard.frontends.namespaces import thread_of

JournalTarget = Journal | str | Path | bool
"""A journal, where to open one, ``True`` for beside the checkpoints, ``False`` for none."""

DURABILITY = "__pregel_durability"
"""Where LangGraph keeps the durability of a run in its configuration."""
_SAVER = "__pregel_checkpointer"
_PLACES = "checkpoint_map"
_REPLAYED = "__pregel_replay_state"
_RESUMED = "__pregel_resuming"
_RECENT = 4
_VARIABLE = "ASYNCGUARD_JOURNAL"
_FALLBACK = Path(".asyncguard") / "effects.db"
_PATIENCE = 30.0
_FIRST_LOOK, _LONGEST_LOOK = 0.001, 0.05


class JournalKeeper:
    """Opens the journal of an agent when its first run shows which checkpointer it has."""

    def __init__(self, engine: Engine, target: JournalTarget) -> None:
        """Make a keeper; nothing is opened yet.

        Args:
            engine: Gets the journal.
            target: What the caller wants.
        """
        self._engine = engine
        self._target = target
        self._decided = engine.journal is not None or target is False
        self._lock = threading.Lock()

    async def ready(self, config: RunnableConfig) -> None:
        """Open the journal, if that was not decided before.

        Args:
            config: Of a node; names the checkpointer.

        Raises:
            JournalError: It cannot be opened.
        """
        if self._decided:
            return
        where = await _place(self._target, config.get("configurable", {}).get(_SAVER))
        if where is None and self._target is True:
            return  # this run stores nothing that outlives the process; another one may
        await asyncio.to_thread(self._open, where)

    def _open(self, where: Journal | str | Path | None) -> None:
        from asyncguard.engine.journal.opening import open_journal  # noqa: PLC0415 - databases, only where they are used

        with self._lock:
            if not self._decided and where is not None:
                journal = open_journal(where) if isinstance(where, str | Path) else where
                self._engine.use_journal(journal)
                self._decided = True


async def _place(target: JournalTarget, saver: Any) -> Journal | str | Path | None:
    """Where the journal of a run belongs, ``None`` for a run whose checkpoints end with the process."""
    if not isinstance(target, bool):
        return target
    if not isinstance(saver, BaseCheckpointSaver) or isinstance(saver, InMemorySaver):
        return None
    if named := os.environ.get(_VARIABLE):
        return named
    if "sqlite" in type(getattr(saver, "conn", None)).__module__:
        return await _sqlite_place(saver)
    return _postgres_place(saver) or _FALLBACK


async def _sqlite_place(saver: Any) -> Path | None:
    """Beside the saver's file; ``None`` for one in memory."""
    asked = "PRAGMA database_list"
    if isinstance(saver.conn, sqlite3.Connection):
        listed = await asyncio.to_thread(lambda: saver.conn.execute(asked).fetchall())
    else:
        listed = await (await saver.conn.execute(asked)).fetchall()
    file = next((row[2] for row in listed if row[1] == "main"), "")
    return Path(f"{file}.effects") if file else None


def _postgres_place(saver: Any) -> str | None:
    connection: Any = getattr(saver, "conn", None)
    if not type(connection).__module__.startswith("psycopg"):
        return None
    if (told := getattr(connection, "conninfo", None)) is not None:  # a pool
        from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415 - only where a PostgreSQL saver is used

        parameters = {name: str(value) for name, value in conninfo_to_dict(told).items() if value is not None}
    else:
        parameters = dict(connection.info.get_parameters())
        if connection.info.password:
            parameters["password"] = connection.info.password
    return _url(parameters)


def _url(parameters: dict[str, str]) -> str:
    database = quote(parameters.pop("dbname", ""), safe="")
    return f"postgresql:///{database}?{urlencode(parameters)}"


# -- the checkpoint before the effect ------------------------------------------------------------------------------


async def ensure_stored(session: Session, config: RunnableConfig, records: Iterable[CallRecord]) -> None:
    """Wait until the checkpoint that a run stands on is on disk, if one of the calls has an effect.

    Args:
        session: The thread; nothing is asked of it without a journal.
        config: Of the node that is about to issue the calls.
        records: The calls.

    Raises:
        CallerError: The run stores nothing before its end.
        JournalError: The checkpoint did not come.
    """
    if session.engine.journal is None:
        return
    configurable = config.get("configurable", {})
    durability, saver = configurable.get(DURABILITY, "async"), configurable.get(_SAVER)
    if durability == "sync" or not isinstance(saver, BaseCheckpointSaver):
        return
    if not any(session.board.spec(record.tool).effect is not EffectClass.PURE for record in records):
        return
    if durability == "exit":
        raise CallerError(
            'With durability="exit" nothing is stored before the run ends, so a call with an effect cannot be '
            'recognised after a crash; use durability="sync", or journal=False to do without.'
        )
    for namespace, checkpoint in configurable.get(_PLACES, {}).items():
        if checkpoint != session.stored_at.get(namespace):
            await _until_stored(saver, configurable["thread_id"], namespace, checkpoint)
            session.stored_at[namespace] = checkpoint


async def _until_stored(saver: Any, thread: str, namespace: str, checkpoint: str) -> None:
    place = RunnableConfig(configurable={"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": checkpoint})
    look = _look(saver, place)
    pause = _FIRST_LOOK
    try:
        async with asyncio.timeout(_PATIENCE):
            while True:
                await asyncio.sleep(pause)  # it is never there at once
                if await look():
                    return
                pause = min(2 * pause, _LONGEST_LOOK)
    except TimeoutError as error:
        raise JournalError(
            f"The checkpoint before the call was not stored within {_PATIENCE:g} s; nothing was issued. See whether "
            "the checkpointer's database can be written."
        ) from error


def _look(saver: Any, place: RunnableConfig) -> Callable[[], Any]:
    """Asks whether a checkpoint is stored."""

    async def look() -> bool:
        return await _stored(saver, place) is not None

    return look


async def _stored(saver: Any, place: RunnableConfig) -> Any:
    """A stored checkpoint, by the saver's async entry if it has one of its own."""
    if type(saver).aget_tuple is not BaseCheckpointSaver.aget_tuple:
        try:
            return await saver.aget_tuple(place)
        except NotImplementedError:  # the sync SQLite saver has the entry and refuses to be asked by it
            pass
    return await asyncio.to_thread(saver.get_tuple, place)


async def take_thread(session: Session, config: RunnableConfig, *, again: bool) -> None:
    """Take the thread of a session for this process, unless another one has carried it on since the run read its state.

    Where a late run has put checkpoints of its own behind the other's, the other's last one is put there once more, so
    that the thread goes on from what was done.

    Args:
        session: The thread.
        config: Of the node that is run.
        again: Whether to ask the journal where the thread is held already: its ledger was folded anew.

    Raises:
        ThreadBusyError: Another process is at work on the thread, or has been since.
        JournalError: The journal cannot be read or written.
    """
    journal = session.engine.journal
    # Nobody else can have carried on what this process had last; the checkpoint may be an older one on purpose.
    ours = journal is not None and not session.entered and await journal.holds(session.thread)
    try:
        taken = await enter_thread(session, thread_of(config), again=again)
    except ThreadBusyError:
        await _give_back(config)
        raise
    if taken and not ours and await _give_back(config):
        session.leave()
        raise ThreadBusyError("Another process has carried the thread on since this run read its state; run it again.")


async def _give_back(config: RunnableConfig) -> bool:
    """Put the thread's head back where a late run has covered it; whether the run is late."""
    configurable = config.get("configurable", {})
    saver, places = configurable.get(_SAVER), configurable.get(_PLACES)
    if not isinstance(saver, BaseCheckpointSaver) or not places or configurable.get(_REPLAYED) is not None:
        return False  # who goes back in time does so on purpose
    namespace = "|".join(str(configurable.get("checkpoint_ns") or "").split("|")[:-1])
    own = places.get(namespace)
    if own is None:
        return False
    place = RunnableConfig(configurable={"thread_id": configurable["thread_id"], "checkpoint_ns": namespace})
    resumed = configurable.get(_RESUMED) is True
    beside = _beside(own, [found async for found in _newest(saver, place)], resumed=resumed)
    if beside is not None and _id_of(beside.config) < own:
        await _put_last(saver, beside)
    return beside is not None


def _beside(own: str, newest: Sequence[CheckpointTuple], *, resumed: bool) -> CheckpointTuple | None:
    """The latest checkpoint that somebody else has put behind a run's, or among those that it began with.

    Args:
        own: Id of the checkpoint that the run stands on.
        newest: Checkpoints of the thread, the latest first; their ids rise with time.
        resumed: Whether the run goes on from a checkpoint that it has not put itself.
    """
    expected: str | None = own
    for found in newest:
        if _id_of(found.config) != expected:
            return found if found is not newest[0] or _id_of(found.config) > own else None
        began = found.metadata.get("source") == "input"
        if resumed or not (began or expected == own):
            return None
        expected = None if found.parent_config is None else _id_of(found.parent_config)
    return None


def _id_of(config: RunnableConfig) -> str:
    return str(config["configurable"]["checkpoint_id"])


async def _newest(saver: Any, place: RunnableConfig) -> AsyncIterator[CheckpointTuple]:
    """The latest checkpoints: a run has put two of its own at most when its first node begins."""
    if type(saver).alist is not BaseCheckpointSaver.alist:
        try:
            async for found in saver.alist(place, limit=_RECENT):
                yield found
        except NotImplementedError:  # as for single checkpoints
            pass
        else:
            return
    for found in await asyncio.to_thread(lambda: list(saver.list(place, limit=_RECENT))):
        yield found


async def _put_last(saver: Any, found: CheckpointTuple) -> None:
    """Store a checkpoint once more, as the latest of its thread."""
    again = Checkpoint(**{**found.checkpoint, "id": str(uuid6(clock_seq=-1))})
    metadata = CheckpointMetadata(**{**found.metadata, "source": "fork"})
    if type(saver).aput is not BaseCheckpointSaver.aput:
        try:
            await saver.aput(found.config, again, metadata, {})
        except NotImplementedError:
            pass
        else:
            return
    await asyncio.to_thread(saver.put, found.config, again, metadata, {})
