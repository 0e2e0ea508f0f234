"""Barrier before an effect (the checkpoint is stored first), and location of the journal.

The key of a call is derived from the id of the model's message. If the process dies before the
message is stored, the model is asked again, its calls get other keys, and the journal cannot
recognise them. So a call with an effect is issued only after the checkpoint that holds its message
is stored: at once with durability ``sync``, when LangGraph has put it with ``async``, and never
with ``exit``, which stores nothing before the end.
"""

import asyncio
import inspect
import os
import sqlite3
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard.adapters.langgraph_internals.keys import CHECKPOINTS, DURABILITY, saver_of
from asyncguard.adapters.langgraph_internals.run_checkpoints import storing_error, storing_of
from asyncguard.adapters.threads.checkpoints import stored
from asyncguard.adapters.threads.runnable_config import thread_of
from asyncguard.errors import CallerError, JournalError
from asyncguard.journal.port import Journal
from asyncguard.runtime.clock import Backoff
from asyncguard.runtime.engine import Engine
from asyncguard.runtime.session.outbox import StoredCheckpoints

JournalTarget = Journal | str | Path | bool
"""Journal, location of one, ``True`` for one next to the checkpoints, or ``False`` for none."""

_VARIABLE = "ASYNCGUARD_JOURNAL"
_FALLBACK = Path(".asyncguard") / "effects.db"
_PATIENCE = 30.0
"""Seconds within which a checkpoint has to be stored before the call is given up."""
_FIRST_LOOK, _LONGEST_LOOK = 0.001, 0.05


class LazyJournal:
    """Journal of an agent, opened when the first run shows which checkpointer is used."""

    def __init__(self, engine: Engine, target: JournalTarget) -> None:
        """Store the target; nothing is opened yet.

        Args:
            engine: Receives the journal.
            target: Journal that the caller asked for.
        """
        self._engine = engine
        self._target = target
        if not isinstance(target, bool | str | Path):
            # Open already: a delivery may come before the first run.
            engine.inbox.forward_to(target)
        # Stays False while runs use checkpointers in memory, which need no journal.
        self._decided = engine.journal is not None or target is False
        self._lock = threading.Lock()  # two first runs may begin at the same time

    async def ready(self, config: RunnableConfig) -> None:
        """Open the journal if no earlier run has done so.

        Args:
            config: Of a node; names the checkpointer.

        Raises:
            JournalError: The journal cannot be opened.
        """
        if self._decided:
            return
        where = await _place(self._target, saver_of(config))
        if where is None and self._target is True:
            return  # this run stores nothing that outlives the process; another one may

        def open_once() -> None:
            # Imported late: an agent without a journal need not load the code for databases.
            from asyncguard.journal.open import open_journal  # noqa: PLC0415

            with self._lock:
                if not self._decided and where is not None:
                    journal = open_journal(where) if isinstance(where, str | Path) else where
                    self._engine.use_journal(journal)
                    self._decided = True

        await asyncio.to_thread(open_once)


async def _place(target: JournalTarget, saver: Any) -> Journal | str | Path | None:
    """Return the location of a run's journal, ``None`` if its checkpoints end with the process."""
    if not isinstance(target, bool):
        return target
    if saver is None or isinstance(saver, InMemorySaver):
        return None
    if named := os.environ.get(_VARIABLE):
        return named
    connection: Any = getattr(saver, "conn", None)
    if "sqlite" in type(connection).__module__:
        query = "PRAGMA database_list"
        if isinstance(connection, sqlite3.Connection):
            listed = await asyncio.to_thread(lambda: connection.execute(query).fetchall())
        else:
            listed = await (await connection.execute(query)).fetchall()
        file = next((row[2] for row in listed if row[1] == "main"), "")
        return Path(f"{file}.effects") if file else None  # no file: a database in memory
    if type(connection).__module__.startswith("psycopg"):
        return await _postgres_place(connection)
    return _FALLBACK


async def _postgres_place(connection: Any) -> str:
    """Return the URL of the saver's own database."""
    if (conninfo := getattr(connection, "conninfo", None)) is not None:  # a pool
        # Imported late: psycopg is installed only where a PostgreSQL saver is used.
        from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415
        from psycopg.pq import Conninfo  # noqa: PLC0415

        # The pool's own keywords win over its address; others are options of psycopg.
        known = {option.keyword.decode() for option in Conninfo.get_defaults()}
        more = await _called(connection.kwargs) or {}
        more = {name: value for name, value in more.items() if name in known}
        parameters = {
            name: str(value)
            for name, value in conninfo_to_dict(await _called(conninfo), **more).items()
            if value is not None
        }
    else:
        parameters = dict(connection.info.get_parameters())
        if connection.info.password:  # psycopg leaves it out of the parameters
            parameters["password"] = connection.info.password
    database = quote(parameters.pop("dbname", ""), safe="")
    return f"postgresql:///{database}?{urlencode(parameters)}"


async def _called(value: Any) -> Any:
    """Return a setting of a pool, which may be a function or coroutine function that returns it."""
    if not callable(value):
        return value
    value = await asyncio.to_thread(value)  # it may ask a service for a password
    return await value if inspect.isawaitable(value) else value


# -- the checkpoint before the effect --------------------------------------------------


async def ensure_stored(
    config: RunnableConfig, known: StoredCheckpoints, *, written_down: bool
) -> None:
    """Wait until the checkpoint that a run stands on is stored, if the journal records its calls.

    Args:
        config: Of the node that is about to issue the calls.
        known: Checkpoints of the thread that are known to be stored; found ones are added.
        written_down: True if the journal has to recognise one of the calls after a crash.

    Raises:
        CallerError: The run stores nothing before its end.
        JournalError: The checkpoint was not stored in time.
    """
    if not written_down:
        return
    configurable = config.get("configurable", {})
    durability, saver = configurable.get(DURABILITY, "async"), saver_of(config)
    if durability == "sync" or saver is None:
        return
    if durability == "exit":
        raise CallerError(
            'With durability="exit" nothing is stored before the run ends, so a call with an '
            'effect cannot be recognised after a crash; use durability="sync", or journal=False '
            "to do without."
        )
    # An agent inside another graph needs the checkpoints of all graphs around it, too.
    for namespace, checkpoint in configurable.get(CHECKPOINTS, {}).items():
        if not known.covers(namespace, checkpoint):
            place = RunnableConfig(
                configurable={
                    "thread_id": configurable["thread_id"],
                    "checkpoint_ns": namespace,
                    "checkpoint_id": checkpoint,
                }
            )
            await _until_stored(saver, place, config)
            known.note(namespace, checkpoint)


async def _until_stored(saver: Any, place: RunnableConfig, config: RunnableConfig) -> None:
    backoff = Backoff(first=_FIRST_LOOK, longest=_LONGEST_LOOK)
    names = place["configurable"]
    storing = storing_of(config, names["checkpoint_ns"], names["checkpoint_id"])
    try:
        async with asyncio.timeout(_PATIENCE):
            if storing is not None:
                await _ended(storing)
                if not storing.cancelled() and storing.exception() is None:
                    return
            while True:
                await backoff.pause()  # first, as LangGraph has only just begun to store it
                if await stored(saver, place) is not None:
                    return
                if (error := storing_error(config)) is not None:
                    raise JournalError(
                        f"The checkpoint of thread {thread_of(place)!r} before the call could not "
                        f"be stored ({type(error).__name__}: {error}); nothing was issued. "
                        "Check that the checkpointer's database can be written."
                    ) from error
    except TimeoutError as error:
        raise JournalError(
            f"The checkpoint of thread {thread_of(place)!r} before the call was not stored within "
            f"{_PATIENCE:g} s; nothing was issued. "
            "Check that the checkpointer's database can be written."
        ) from error


async def _ended(storing: Any) -> None:
    """Wait until a future of a thread pool or of any event loop has ended, and leave it alone."""
    if storing.done():
        return
    loop = asyncio.get_running_loop()
    seen = loop.create_future()

    def told() -> None:
        if not seen.done():  # it is cancelled if the patience has ended
            seen.set_result(None)

    def tell(_: object) -> None:
        # The loop may be closed by then: nothing waits any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(told)

    its = storing.get_loop() if isinstance(storing, asyncio.Future) else None
    if its is loop:  # the usual case, which needs no other way to wake this one
        storing.add_done_callback(lambda _: told())
    elif its is not None:
        its.call_soon_threadsafe(storing.add_done_callback, tell)
    else:
        storing.add_done_callback(tell)
    await seen
