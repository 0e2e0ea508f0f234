"""Tables of the queue: orders as agents and workers post, find, change and remove them.

An order is a workflow of DBOS, which claims and ends it in a worker. All else goes through DBOS's
client where it can. The statements of our own stand in :mod:`dbos_internals`, for two reasons: a
condition and its change are one statement, so that nothing is cancelled that has begun and nothing
is taken from a live worker; and no answer is ever handed to a deserializer that its row names, for
one of them unpickles.
"""

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

try:
    import sqlalchemy as sa
    from dbos import (
        DBOS,
        DBOSClient,
        DBOSPortableJSONSerializer,
        EnqueueOptions,
        WorkflowStatus,
        WorkflowStatusString,
    )
except ImportError as error:
    raise ImportError(
        "Workers need DBOS; install it with: pip install 'asyncguard[dbos]'"
    ) from error

from asyncguard.distributed import dbos_internals
from asyncguard.distributed.database_url import is_sqlite

APPLICATION = "asyncguard"
"""Application name in the rows, so that other applications on the same database skip them."""
WORKFLOW = "asyncguard.call"
"""Name of the one workflow, which runs one order."""
WAITING = WorkflowStatusString.ENQUEUED.value
CLAIMED = WorkflowStatusString.PENDING.value
CANCELLED = WorkflowStatusString.CANCELLED.value
SUCCESS = WorkflowStatusString.SUCCESS.value
PORTABLE = DBOSPortableJSONSerializer()
"""Form of all values in the rows: plain JSON."""
_CHUNK = 500
"""Number of orders that one statement names; databases limit the parameters of a statement."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """An order that ended."""

    id: str
    """Name of the order."""
    state: str
    """DBOS's status.

    One of ``SUCCESS``, ``ERROR``, ``CANCELLED`` and ``MAX_RECOVERY_ATTEMPTS_EXCEEDED``.
    """
    claims: int
    """Number of times a worker claimed it."""
    answer: str | None
    """Answer of the worker; ``None`` if there is none that can be read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """Orders that no worker has claimed."""

    orders: int
    """Number of orders."""
    longest: float
    """Seconds since the oldest of them was posted."""


class ReadOnlyDatabaseError(Exception):
    """The database answers and refuses every change."""


class JobTables:
    """Orders of one database. Every method blocks; all may be called from any OS thread.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: From each method, if the database does not answer.
        dbos.error.DBOSException: From each method, if it answers too late.
    """

    def __init__(self, url: str) -> None:
        """Create the access object; nothing is connected yet.

        Args:
            url: ``sqlite:///...`` or ``postgresql://...``.
        """
        self._url = url
        self._sqlite = is_sqlite(url)
        self._schema = "" if self._sqlite else "dbos."
        self._engine = _engine(url)
        self._client: DBOSClient | None = None
        """Set once the tables are known to exist."""
        self._versions: dict[str, str] = {}
        """Version of each order that was taken back; posted again, it waits for the same ones."""

    def prepare(self) -> None:
        """Create the tables if they are missing; checked once, and again after :meth:`forget`."""
        if self._client is not None:
            return
        if self._sqlite:
            file = Path(self._url.removeprefix("sqlite:///"))
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # For this user only, as it holds the arguments of calls; an existing file stays as it
            # is. SQLite gives the files that it makes beside it the same mode.
            with contextlib.suppress(FileExistsError):
                os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            with self._engine.connect() as connection:
                # The mode is stored in the file. With it, readers do not wait for a writer.
                connection.exec_driver_sql("PRAGMA journal_mode = WAL")
        DBOS.migrate(self._url)
        # DBOS would wait inside a call until the database is back; the callers have back-offs of
        # their own, and report the trouble meanwhile.
        self._client = DBOSClient(
            system_database_engine=self._engine,
            serializer=PORTABLE,
            application_name=APPLICATION,
            lazy=True,
            retry_connection_errors=False,
        )

    def forget(self) -> None:
        """Disconnect, and check for the tables again with the next :meth:`prepare`.

        They may have been dropped.
        """
        self._client = None
        self._engine.dispose()

    def check_writable(self) -> None:
        """Check that the server takes changes.

        Raises:
            ReadOnlyDatabaseError: It is a standby, was made read-only, or this role lacks rights.
        """
        if self._sqlite:
            return
        with self._engine.connect() as connection:
            takes = connection.execute(self._sql(dbos_internals.TAKES_CHANGES)).scalar_one()
        if not takes:
            raise ReadOnlyDatabaseError

    def register_queue(self, name: str, *, concurrency: int, poll: float) -> None:
        """Register a queue, or change it for all its workers.

        Args:
            name: Name of the queue.
            concurrency: Orders that one worker runs at once.
            poll: Seconds between two looks of a worker for orders.
        """
        self._open_client().register_queue(
            name, worker_concurrency=concurrency, polling_interval_sec=poll
        )

    def post(
        self,
        orders: Sequence[tuple[str, str]],
        *,
        queue: str,
        version: str,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """Write orders, all or none; an order that exists stays as it is.

        Args:
            orders: Name and text of each.
            queue: Name of the queue.
            version: Version of the workers that may claim them; one that was taken back keeps its
                own.
            check: Called when the database answers, before anything is written; what it raises is
                passed on.
        """
        client = self._open_client()
        # One transaction: an unconfirmed commit is posted again as a whole. DBOS leaves a workflow
        # whose id exists as it is, so an order that was committed is not written twice.
        with self._engine.begin() as connection:
            check()
            for name, text in orders:
                options = EnqueueOptions(
                    workflow_name=WORKFLOW,
                    queue_name=queue,
                    workflow_id=name,
                    app_version=self._versions.get(name, version),
                )
                client.enqueue_in_transaction(connection, options, text)

    def ended(self, names: Collection[str]) -> list[Ended]:
        """Return those of the orders that ended."""
        sql, found = self._sql(dbos_internals.ENDED), []
        with self._engine.connect() as connection:
            for chunk in _chunks(names):
                values = {"names": chunk, "open": dbos_internals.OPEN}
                for name, state, claims, form, output in connection.execute(sql, values):
                    try:
                        # A row in another form than ours has no answer, whatever it holds.
                        said = PORTABLE.deserialize(output) if form == PORTABLE.name() else None
                    except ValueError:
                        said = None
                    answer = said if isinstance(said, str) else None
                    found.append(Ended(id=name, state=state, claims=claims or 0, answer=answer))
        return found

    def present(self, names: Collection[str]) -> set[str]:
        """Return those of the orders that exist."""
        return {order.workflow_id for order in self._named(names)}

    def cancelled(self, names: Collection[str]) -> set[str]:
        """Return those of the orders that were cancelled."""
        return {order.workflow_id for order in self._named(names, status=CANCELLED)}

    def cancel(self, name: str, *, begun: bool) -> None:
        """Cancel an order that has not ended.

        Args:
            name: Name of the order.
            begun: True to cancel it even if a worker has claimed it.
        """
        states = dbos_internals.OPEN if begun else dbos_internals.UNCLAIMED
        self._change(dbos_internals.CANCEL, state=CANCELLED, name=name, open=states)

    def latest(self, keys: Collection[str]) -> dict[str, int]:
        """Return the latest attempt of those calls that have an order, by key."""
        found: dict[str, int] = {}
        for key, number, _, _, _ in self._of_calls(keys):
            found[key] = max(found.get(key, 0), number)
        return found

    def take_back(self, keys: Collection[str]) -> dict[str, int]:
        """Remove the orders of calls that no worker has claimed.

        An order that is posted again keeps its version: its call may need the former tools.

        Args:
            keys: Keys of the calls.

        Returns:
            The latest attempt of each call with an order that a worker has claimed and not ended.
        """
        waiting, until = {}, 0
        for key, number, state, version, made in self._of_calls(keys):
            if state in dbos_internals.UNCLAIMED:
                waiting[f"{key}.{number}"] = version
                until = max(until, made)
        self._versions |= waiting
        for chunk in _chunks(waiting):
            self._change(
                dbos_internals.TAKE_BACK,
                names=chunk,
                workflow=WORKFLOW,
                unclaimed=dbos_internals.UNCLAIMED,
                # This may come late, as from a frozen process, when another has sent them again.
                until=until,
            )
        # After the removal: one may have been claimed meanwhile.
        found: dict[str, int] = {}
        for key, number, state, _, _ in self._of_calls(keys):
            if state in dbos_internals.OPEN:
                found[key] = max(found.get(key, 0), number)
        return found

    def _of_calls(self, keys: Collection[str]) -> Iterator[tuple[str, int, str, str, int]]:
        """Yield key, attempt, state, version and time of posting of all orders of some calls."""
        with self._engine.connect() as connection:
            # A prefix as a range ("/" follows "." in ASCII): the primary key serves it, and no
            # character of a key is a wildcard in it.
            sql = self._sql(dbos_internals.LATEST)
            for key in keys:
                rows = connection.execute(sql, {"low": f"{key}.", "high": f"{key}/"}).fetchall()
                for name, state, version, made in rows:
                    if (tail := name[len(key) + 1 :]).isdecimal():
                        yield key, int(tail), state, version, made

    def owners(self) -> set[str]:
        """Return the ids of the processes that have claimed orders and not ended them."""
        values = {"claimed": CLAIMED, "workflow": WORKFLOW}
        with self._engine.connect() as connection:
            rows = connection.execute(self._sql(dbos_internals.OWNERS), values).fetchall()
        return {owner for (owner,) in rows if owner}

    def claimed(self, owner: str) -> set[str]:
        """Return the orders that a process has claimed and not ended."""
        values = {"claimed": CLAIMED, "workflow": WORKFLOW, "owner": owner}
        with self._engine.connect() as connection:
            return set(connection.execute(self._sql(dbos_internals.CLAIMED), values).scalars())

    def claimant(self, name: str) -> str | None:
        """Return the id of the process that has claimed an order and not ended it, if one has."""
        found = (order.executor_id for order in self._named([name], status=CLAIMED))
        return next(found, None)

    def give_back(self, owners: Collection[str], *, names: Collection[str] | None = None) -> int:
        """Put the orders that these processes had claimed back into their queues; return how many.

        One statement: an order that a live worker has claimed meanwhile names another owner and is
        left alone, however many reapers are at work.

        Args:
            owners: Ids of the processes.
            names: Only these orders; ``None``: all.
        """
        values = {
            "waiting": WAITING,
            "claimed": CLAIMED,
            "workflow": WORKFLOW,
            "owners": tuple(owners),
        }
        if names is None:
            return self._change(dbos_internals.GIVE_BACK, **values)
        named = dbos_internals.GIVE_BACK_NAMED
        return sum(self._change(named, **values, names=chunk) for chunk in _chunks(names))

    def adopt(self, names: Collection[str], *, old: str, new: str) -> int:
        """Transfer claimed orders from a process's lost id to its new one; return how many."""
        return self._change(
            dbos_internals.ADOPT, claimed=CLAIMED, names=tuple(names), old=old, new=new
        )

    def waiting(self, queue: str) -> dict[str, Waiting]:
        """Return the waiting orders of a queue, by the version whose workers may claim them."""
        values = {"queue": queue, "state": WAITING, "workflow": WORKFLOW}
        with self._engine.connect() as connection:
            rows = connection.execute(self._sql(dbos_internals.WAITING), values).fetchall()
        return {
            str(version): Waiting(orders=count, longest=age / 1000) for version, count, age in rows
        }

    def misaddressed(self, names: Collection[str], version: str) -> dict[str, int]:
        """Return how many waiting orders only workers of other versions may claim, by version.

        Args:
            names: Names of the orders.
            version: Version whose workers may claim the others.
        """
        found = [order.app_version for order in self._named(names, status=WAITING)]
        return dict(Counter(other for other in found if other is not None and other != version))

    def versions(self) -> list[str]:
        """Return all versions that workers ever announced, the latest first."""
        return [found["version_name"] for found in self._open_client().list_application_versions()]

    def prune(self, older_than: float) -> int:
        """Remove orders that ended at least this many seconds ago; return how many."""
        client, removed = self._open_client(), 0
        until = (datetime.now(UTC) - timedelta(seconds=older_than)).isoformat()
        while True:
            # In portions: the first look of a worker may find the orders of months.
            found = client.list_workflows(
                name=WORKFLOW,
                completed_before=until,
                limit=_CHUNK,
                load_input=False,
                load_output=False,
            )
            if not found:
                return removed
            client.delete_workflows([order.workflow_id for order in found])
            removed += len(found)

    def close(self) -> None:
        """Disconnect."""
        self._engine.dispose()

    def _sql(self, text: str) -> sa.TextClause:
        now = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
        if not self._sqlite:
            now = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"
        clause = sa.text(text.format(schema=self._schema, now=now))
        lists = [name for name in ("names", "open", "owners", "unclaimed") if f":{name}" in text]
        return clause.bindparams(*(sa.bindparam(name, expanding=True) for name in lists))

    def _open_client(self) -> DBOSClient:
        assert self._client is not None  # prepare() came first
        return self._client

    def _named(self, names: Collection[str], status: str | None = None) -> Iterator[WorkflowStatus]:
        """Yield the orders of these names, only those in a state if one is given."""
        # Never with an empty list, for which DBOS returns all workflows.
        for chunk in _chunks(names):
            # Without their values, which DBOS would deserialize as the row asks, by pickle, too.
            yield from self._open_client().list_workflows(
                workflow_ids=chunk, status=status, load_input=False, load_output=False
            )

    def _change(self, text: str, **values: Any) -> int:
        with self._engine.begin() as connection:
            return connection.execute(self._sql(text), values).rowcount


def _chunks(names: Collection[str]) -> Iterator[list[str]]:
    ordered = sorted(names)
    for start in range(0, len(ordered), _CHUNK):
        yield ordered[start : start + _CHUNK]


def _engine(url: str) -> sa.Engine:
    # Errors are logged, and parameters hold the arguments of calls. The ping replaces a connection
    # that a restarted server has closed, before a statement fails on it.
    options: dict[str, Any] = {"hide_parameters": True, "pool_pre_ping": True, "pool_size": 3}
    if not is_sqlite(url):
        made = sa.make_url(url).set(drivername="postgresql+psycopg")
        timeouts: Mapping[str, Any] = {"connect_timeout": 5, "application_name": APPLICATION}
        return sa.create_engine(made, connect_args={**timeouts, **made.query}, **options)
    engine = sa.create_engine(url, **options)

    @sa.event.listens_for(engine, "connect")
    def _prepare(connection: Any, _: Any) -> None:
        # A writer locks at the start of its transaction, so it waits there and never fails halfway.
        connection.isolation_level = "IMMEDIATE"
        connection.execute("PRAGMA busy_timeout = 30000")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")

    return engine
