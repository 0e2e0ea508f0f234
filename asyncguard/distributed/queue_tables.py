"""The orders in the tables of DBOS: what agents and workers ask of them.

DBOS writes a workflow when it is enqueued and claims and ends it in a worker. Everything else is asked here in SQL of
its documented system tables, for three reasons: one statement answers for all waiting orders; a condition and its
change are one statement, so that nothing is cancelled that has begun and nothing is taken from a live worker; and no
value is ever handed to a deserializer that its row names, for one of them unpickles.
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
"""Name that the rows carry, so that other applications on the same database leave them alone."""
WORKFLOW = "asyncguard.call"
"""Name of the one workflow: run one order."""
WAITING, CLAIMED, CANCELLED, SUCCESS = "ENQUEUED", "PENDING", "CANCELLED", "SUCCESS"
_OPEN = (WAITING, "DELAYED", CLAIMED)
_CHUNK = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """An order that is over."""

    id: str
    """Its name."""
    state: str
    """As DBOS names it: ``SUCCESS``, ``ERROR``, ``CANCELLED`` or ``MAX_RECOVERY_ATTEMPTS_EXCEEDED``."""
    claims: int
    """How often a worker took it."""
    answer: str | None
    """What the worker answered, ``None`` if there is nothing that can be read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """Orders that no worker has taken."""

    orders: int
    """How many."""
    longest: float
    """Seconds since the oldest of them was posted."""


class JobTables:
    """The orders of one database. Every method blocks; all may be called from any thread.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: From each method, if the database cannot be asked.
    """

    def __init__(self, url: str) -> None:
        """Make the tables' representative; nothing is connected yet.

        Args:
            url: ``sqlite:///...`` or ``postgresql://...``.
        """
        self._url = url
        self._sqlite = is_sqlite(url)
        self._schema = "" if self._sqlite else "dbos."
        self._engine = _engine(url)
        self._client: DBOSClient | None = None

    def prepare(self) -> None:
        """Make the tables if they are not there yet; looked at once, and again after :meth:`forget`."""
        if self._client is not None:
            return
        if self._sqlite:
            _make_private(Path(self._url.removeprefix("sqlite:///")))
            with self._engine.connect() as connection:
                # For good: readers do not wait for the one who writes.
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
        """Connect and look anew with the next :meth:`prepare`: the tables may not be there any more."""
        self._client = None
        self._engine.dispose()

    def register_queue(self, name: str, *, concurrency: int, poll: float) -> None:
        """Make a queue, or change it for all its workers.

        Args:
            name: Its name.
            concurrency: How many orders one worker runs at once.
            poll: Seconds between two looks of a worker for orders.
        """
        assert self._client is not None  # prepare() came first
        self._client.register_queue(name, worker_concurrency=concurrency, polling_interval_sec=poll)

    def post(self, orders: Sequence[tuple[str, str]], *, queue: str, version: str) -> None:
        """Write orders, all or none; one that is there stays as it is.

        Args:
            orders: Name and text of each.
            queue: Where they wait.
            version: Which workers may take them.
        """
        assert self._client is not None  # prepare() came first
        with self._engine.begin() as connection:
            for name, text in orders:
                options = EnqueueOptions(
                    workflow_name=WORKFLOW, queue_name=queue, workflow_id=name, app_version=version
                )
                self._client.enqueue_in_transaction(connection, options, text)

    def ended(self, names: Collection[str]) -> list[Ended]:
        """Those of the orders that are over."""
        sql = """SELECT s.workflow_uuid, s.status, s.recovery_attempts, s.serialization, o.output
            FROM {schema}workflow_status s LEFT JOIN {schema}workflow_output o ON o.workflow_uuid = s.workflow_uuid
            WHERE s.workflow_uuid IN :names AND s.status NOT IN :open"""
        rows = self._each(sql, names, open=_OPEN)
        return [
            Ended(id=name, state=state, claims=claims or 0, answer=_readable(serialization, output))
            for name, state, claims, serialization, output in rows
        ]

    def present(self, names: Collection[str]) -> set[str]:
        """Those of the orders that are there at all."""
        rows = self._each(
            "SELECT workflow_uuid FROM {schema}workflow_status WHERE workflow_uuid IN :names", names
        )
        return {name for (name,) in rows}

    def cancelled(self, names: Collection[str]) -> set[str]:
        """Those of the orders that somebody cancelled."""
        sql = "SELECT workflow_uuid FROM {schema}workflow_status WHERE workflow_uuid IN :names AND status = :state"
        return {name for (name,) in self._each(sql, names, state=CANCELLED)}

    def cancel(self, name: str, *, begun: bool) -> None:
        """Cancel an order that is not over.

        Args:
            name: The order.
            begun: Whether also one that a worker has taken.
        """
        self._change(
            """UPDATE {schema}workflow_status SET status = :state, owner_xid = NULL, queue_name = NULL,
                started_at_epoch_ms = NULL, updated_at = {now}, completed_at = {now}
            WHERE workflow_uuid = :name AND status IN :open""",
            state=CANCELLED,
            name=name,
            open=_OPEN if begun else (WAITING, "DELAYED"),
        )

    def latest(self, keys: Collection[str]) -> dict[str, int]:
        """The latest attempt of those calls of which an order is there."""
        found: dict[str, int] = {}
        with self._engine.connect() as connection:
            # A prefix as a range: served by the primary key, and no character of a key is a wildcard in it.
            sql = self._sql(
                "SELECT workflow_uuid FROM {schema}workflow_status WHERE workflow_uuid > :low AND workflow_uuid < :high"
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
        """The processes that have taken orders and not ended them."""
        sql = "SELECT DISTINCT executor_id FROM {schema}workflow_status WHERE status = :state AND name = :workflow"
        with self._engine.connect() as connection:
            rows = connection.execute(
                self._sql(sql), {"state": CLAIMED, "workflow": WORKFLOW}
            ).fetchall()
        return {owner for (owner,) in rows if owner}

    def give_back(self, owners: Collection[str]) -> int:
        """Put the orders that these processes had taken back into their queues; how many.

        One statement: an order that a live worker has taken meanwhile names another owner and is left alone, however
        many reapers are at work.
        """
        return self._change(
            """UPDATE {schema}workflow_status
            SET status = :waiting, owner_xid = NULL, started_at_epoch_ms = NULL, updated_at = {now}
            WHERE status = :claimed AND name = :workflow AND queue_name IS NOT NULL AND executor_id IN :owners""",
            waiting=WAITING,
            claimed=CLAIMED,
            workflow=WORKFLOW,
            owners=tuple(owners),
        )

    def adopt(self, names: Collection[str], *, old: str, new: str) -> int:
        """Carry on under another name what a process had taken, because it lost its first; how many orders."""
        return self._change(
            """UPDATE {schema}workflow_status SET executor_id = :new
            WHERE executor_id = :old AND status = :claimed AND workflow_uuid IN :names""",
            claimed=CLAIMED,
            names=tuple(names),
            old=old,
            new=new,
        )

    def waiting(self, queue: str) -> dict[str, Waiting]:
        """What waits in a queue, by the version of the workers that may take it."""
        sql = """SELECT application_version, count(*), {now} - min(created_at) FROM {schema}workflow_status
            WHERE queue_name = :queue AND status = :state AND name = :workflow GROUP BY application_version"""
        with self._engine.connect() as connection:
            values = {"queue": queue, "state": WAITING, "workflow": WORKFLOW}
            return {
                str(version): Waiting(orders=count, longest=age / 1000)
                for version, count, age in connection.execute(self._sql(sql), values)
            }

    def misaddressed(self, names: Collection[str], version: str) -> dict[str, int]:
        """Return how many of some waiting orders only workers of another version may take, by that version.

        Args:
            names: The orders.
            version: The version whose workers may take the others.
        """
        rows = self._each(
            """SELECT application_version FROM {schema}workflow_status
            WHERE workflow_uuid IN :names AND status = :state AND application_version <> :version""",
            names,
            state=WAITING,
            version=version,
        )
        return dict(Counter(str(found) for (found,) in rows))

    def versions(self) -> list[str]:
        """The versions that workers announced, ever; the latest first."""
        sql = """SELECT version_name FROM {schema}application_versions
            WHERE application_name = :application ORDER BY version_timestamp DESC"""
        with self._engine.connect() as connection:
            rows = connection.execute(self._sql(sql), {"application": APPLICATION}).fetchall()
        return [str(name) for (name,) in rows]

    def prune(self, older_than: float) -> int:
        """Remove orders that ended some seconds ago; how many."""
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
    """Make the file, for this user only: it holds the arguments of calls. One that is there stays as it is."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _readable(serialization: str | None, output: str | None) -> str | None:
    """The text that a worker answered; of a row in another form than ours, nothing is looked at."""
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
        connection.isolation_level = (
            "IMMEDIATE"  # a writer waits for its turn and never fails halfway
        )
        connection.execute("PRAGMA busy_timeout = 30000")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")

    return engine
