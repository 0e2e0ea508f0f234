"""Tables of the queue: the statements that agents and workers run on the tables of DBOS.

DBOS writes a workflow when it is enqueued, and claims and ends it in a worker. All other statements
are SQL on its documented system tables, for three reasons: one statement answers for all waiting
orders; a condition and its change are one statement, so that nothing is cancelled that has begun
and nothing is taken from a live worker; and no value is ever handed to a deserializer that its row
names, for one of them unpickles.
"""

import contextlib
import json
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

try:
    import sqlalchemy as sa
    from dbos import DBOS, DBOSClient, EnqueueOptions
    from dbos._serialization import DBOSPortableJSON
except ImportError as error:
    raise ImportError(
        "Workers need DBOS; install it with: pip install 'asyncguard[dbos]'"
    ) from error

from asyncguard.distributed.database_url import is_sqlite

APPLICATION = "asyncguard"
"""Application name in the rows, so that other applications on the same database skip them."""
WORKFLOW = "asyncguard.call"
"""Name of the one workflow, which runs one order."""
WAITING, CLAIMED, CANCELLED, SUCCESS = "ENQUEUED", "PENDING", "CANCELLED", "SUCCESS"
_OPEN = (WAITING, "DELAYED", CLAIMED)
_CHUNK = 500


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


class JobTables:
    """Orders of one database. Every method blocks; all may be called from any OS thread.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: From each method, if the database does not answer.
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

    def prepare(self) -> None:
        """Create the tables if they are missing; checked once, and again after :meth:`forget`."""
        if self._client is not None:
            return
        if self._sqlite:
            _make_private(Path(self._url.removeprefix("sqlite:///")))
            with self._engine.connect() as connection:
                # The mode is stored in the file. With it, readers do not wait for a writer.
                connection.exec_driver_sql("PRAGMA journal_mode = WAL")
        DBOS.migrate(self._url)
        self._client = DBOSClient(
            system_database_engine=self._engine,
            serializer=DBOSPortableJSON,
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

    def register_queue(self, name: str, *, concurrency: int, poll: float) -> None:
        """Register a queue, or change it for all its workers.

        Args:
            name: Name of the queue.
            concurrency: Orders that one worker runs at once.
            poll: Seconds between two looks of a worker for orders.
        """
        assert self._client is not None  # prepare() came first
        self._client.register_queue(name, worker_concurrency=concurrency, polling_interval_sec=poll)

    def post(self, orders: Sequence[tuple[str, str]], *, queue: str, version: str) -> None:
        """Write orders, all or none; an order that exists stays as it is.

        Args:
            orders: Name and text of each.
            queue: Name of the queue.
            version: Version of the workers that may claim them.
        """
        assert self._client is not None  # prepare() came first
        with self._engine.begin() as connection:
            for name, text in orders:
                options = EnqueueOptions(
                    workflow_name=WORKFLOW, queue_name=queue, workflow_id=name, app_version=version
                )
                self._client.enqueue_in_transaction(connection, options, text)

    def ended(self, names: Collection[str]) -> list[Ended]:
        """Return those of the orders that ended."""
        sql = """SELECT s.workflow_uuid, s.status, s.recovery_attempts, s.serialization, o.output
            FROM {schema}workflow_status s
            LEFT JOIN {schema}workflow_output o ON o.workflow_uuid = s.workflow_uuid
            WHERE s.workflow_uuid IN :names AND s.status NOT IN :open"""
        rows = self._each(sql, names, open=_OPEN)
        return [
            Ended(id=name, state=state, claims=claims or 0, answer=_readable(serialization, output))
            for name, state, claims, serialization, output in rows
        ]

    def present(self, names: Collection[str]) -> set[str]:
        """Return those of the orders that exist."""
        rows = self._each(
            "SELECT workflow_uuid FROM {schema}workflow_status WHERE workflow_uuid IN :names", names
        )
        return {name for (name,) in rows}

    def cancelled(self, names: Collection[str]) -> set[str]:
        """Return those of the orders that were cancelled."""
        sql = """SELECT workflow_uuid FROM {schema}workflow_status
            WHERE workflow_uuid IN :names AND status = :state"""
        return {name for (name,) in self._each(sql, names, state=CANCELLED)}

    def cancel(self, name: str, *, begun: bool) -> None:
        """Cancel an order that has not ended.

        Args:
            name: Name of the order.
            begun: True to cancel it even if a worker has claimed it.
        """
        self._change(
            """UPDATE {schema}workflow_status
            SET status = :state, owner_xid = NULL, queue_name = NULL,
                started_at_epoch_ms = NULL, updated_at = {now}, completed_at = {now}
            WHERE workflow_uuid = :name AND status IN :open""",
            state=CANCELLED,
            name=name,
            open=_OPEN if begun else (WAITING, "DELAYED"),
        )

    def latest(self, keys: Collection[str]) -> dict[str, int]:
        """Return the latest attempt of those calls that have an order, by key."""
        found: dict[str, int] = {}
        with self._engine.connect() as connection:
            # A prefix as a range ("/" follows "." in ASCII): the primary key serves it, and no
            # character of a key is a wildcard in it.
            sql = self._sql(
                "SELECT workflow_uuid FROM {schema}workflow_status "
                "WHERE workflow_uuid > :low AND workflow_uuid < :high"
            )
            for key in keys:
                rows = connection.execute(sql, {"low": f"{key}.", "high": f"{key}/"}).fetchall()
                numbers = [
                    int(tail) for (name,) in rows if (tail := name[len(key) + 1 :]).isdecimal()
                ]
                if numbers:
                    found[key] = max(numbers)
        return found

    def owners(self) -> set[str]:
        """Return the ids of the processes that have claimed orders and not ended them."""
        sql = """SELECT DISTINCT executor_id FROM {schema}workflow_status
            WHERE status = :state AND name = :workflow"""
        with self._engine.connect() as connection:
            rows = connection.execute(
                self._sql(sql), {"state": CLAIMED, "workflow": WORKFLOW}
            ).fetchall()
        return {owner for (owner,) in rows if owner}

    def give_back(self, owners: Collection[str]) -> int:
        """Put the orders that these processes had claimed back into their queues; return how many.

        One statement: an order that a live worker has claimed meanwhile names another owner and is
        left alone, however many reapers are at work.
        """
        return self._change(
            """UPDATE {schema}workflow_status
            SET status = :waiting, owner_xid = NULL, started_at_epoch_ms = NULL, updated_at = {now}
            WHERE status = :claimed AND name = :workflow
                AND queue_name IS NOT NULL AND executor_id IN :owners""",
            waiting=WAITING,
            claimed=CLAIMED,
            workflow=WORKFLOW,
            owners=tuple(owners),
        )

    def adopt(self, names: Collection[str], *, old: str, new: str) -> int:
        """Transfer claimed orders from a process's lost id to its new one; return how many."""
        return self._change(
            """UPDATE {schema}workflow_status SET executor_id = :new
            WHERE executor_id = :old AND status = :claimed AND workflow_uuid IN :names""",
            claimed=CLAIMED,
            names=tuple(names),
            old=old,
            new=new,
        )

    def waiting(self, queue: str) -> dict[str, Waiting]:
        """Return the waiting orders of a queue, by the version whose workers may claim them."""
        sql = """SELECT application_version, count(*), {now} - min(created_at)
            FROM {schema}workflow_status
            WHERE queue_name = :queue AND status = :state AND name = :workflow
            GROUP BY application_version"""
        with self._engine.connect() as connection:
            values = {"queue": queue, "state": WAITING, "workflow": WORKFLOW}
            return {
                str(version): Waiting(orders=count, longest=age / 1000)
                for version, count, age in connection.execute(self._sql(sql), values)
            }

    def misaddressed(self, names: Collection[str], version: str) -> dict[str, int]:
        """Return how many waiting orders only workers of other versions may claim, by version.

        Args:
            names: Names of the orders.
            version: Version whose workers may claim the others.
        """
        rows = self._each(
            """SELECT application_version FROM {schema}workflow_status
            WHERE workflow_uuid IN :names AND status = :state
                AND application_version <> :version""",
            names,
            state=WAITING,
            version=version,
        )
        return dict(Counter(str(found) for (found,) in rows))

    def versions(self) -> list[str]:
        """Return all versions that workers ever announced, the latest first."""
        sql = """SELECT version_name FROM {schema}application_versions
            WHERE application_name = :application ORDER BY version_timestamp DESC"""
        with self._engine.connect() as connection:
            rows = connection.execute(self._sql(sql), {"application": APPLICATION}).fetchall()
        return [str(name) for (name,) in rows]

    def prune(self, older_than: float) -> int:
        """Remove orders that ended at least this many seconds ago; return how many."""
        condition = (
            """name = :workflow AND completed_at IS NOT NULL AND completed_at < {now} - :age"""
        )
        values = {"workflow": WORKFLOW, "age": int(older_than * 1000)}
        with self._engine.begin() as connection:
            for table in ("workflow_input", "workflow_output"):
                sql = f"""DELETE FROM {{schema}}{table} WHERE workflow_uuid IN
                    (SELECT workflow_uuid FROM {{schema}}workflow_status WHERE {condition})"""
                connection.execute(self._sql(sql), values)
            removed = connection.execute(
                self._sql(f"DELETE FROM {{schema}}workflow_status WHERE {condition}"), values
            )
        return removed.rowcount

    def close(self) -> None:
        """Disconnect."""
        self._engine.dispose()

    def _sql(self, text: str) -> sa.TextClause:
        now = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
        if not self._sqlite:
            now = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"
        clause = sa.text(text.format(schema=self._schema, now=now))
        lists = [name for name in ("names", "open", "owners") if f":{name}" in text]
        return clause.bindparams(*(sa.bindparam(name, expanding=True) for name in lists))

    def _each(self, text: str, names: Collection[str], **values: Any) -> Iterator[Any]:
        sql, ordered = self._sql(text), sorted(names)
        with self._engine.connect() as connection:
            for start in range(0, len(ordered), _CHUNK):
                yield from connection.execute(
                    sql, {"names": ordered[start : start + _CHUNK], **values}
                ).fetchall()

    def _change(self, text: str, **values: Any) -> int:
        with self._engine.begin() as connection:
            return connection.execute(self._sql(text), values).rowcount


def _make_private(path: Path) -> None:
    """Create the file for this user only, because it holds the arguments of calls.

    An existing file stays as it is.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _readable(serialization: str | None, output: str | None) -> str | None:
    """Return the text that a worker answered; ``None`` for a row in another form than ours."""
    if serialization != DBOSPortableJSON.name() or output is None:
        return None
    try:
        value = json.loads(output)
    except ValueError:
        return None
    return value if isinstance(value, str) else None


def _engine(url: str) -> sa.Engine:
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
