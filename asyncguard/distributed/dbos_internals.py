"""All use of DBOS beyond its public interface: two of its internals, and SQL on its tables.

Everything else goes through the names that the package ``dbos`` exports. Each item here says why no
public call does the same, and what breaks if DBOS changes.
``tests/distributed/test_dbos_internals`` exercises each of them with the lowest and the newest DBOS
that ``pyproject.toml`` allows, and ``tests/test_private_use`` finds such a use anywhere else.

The statements run on system tables that DBOS documents and migrates. A renamed column makes its
statement fail, so orders wait and the worker reports that the database is away; none is lost.

Own code, not DBOS's client: its calls change or unpickle what must stay as it is.
"""

from typing import Any

from dbos import DBOSPortableJSONSerializer, Serializer, WorkflowStatusString, _serialization
from dbos._utils import GlobalParams
from typing_extensions import override

_ACTIVE = (WorkflowStatusString.ENQUEUED, WorkflowStatusString.DELAYED)
UNCLAIMED = tuple(status.value for status in _ACTIVE)
"""States of an order that no worker has claimed."""
OPEN = (*UNCLAIMED, WorkflowStatusString.PENDING.value)
"""States of an order that has not ended."""


class _NoPickle(Serializer):
    """Replacement of DBOS's pickle serializer; it has the same name and reads nothing."""

    @override
    def serialize(self, data: Any) -> str:
        return DBOSPortableJSONSerializer().serialize(str(data))

    @override
    def deserialize(self, serialized_data: str) -> Any:
        raise TypeError("A row asks to be unpickled; workers read JSON only.")

    @override
    def name(self) -> str:
        return "py_pickle"


def forbid_pickle() -> None:
    """Prevent that DBOS unpickles anything in this process.

    Why: the configured serializer is not the only one. Each row names its own, and DBOS unpickles
    every row that names ``py_pickle``, so that a row would run its writer's code in the worker.
    If DBOS keeps its default serializer elsewhere, such rows are unpickled again.
    """
    _serialization.DBOSDefaultSerializer = _NoPickle()


def claim_as(owner: str) -> None:
    """Claim orders under another executor id from now on.

    Why: DBOS reads the id from its configuration once, and a new configuration needs a restart,
    which would end the running calls. A process that lost its connection has a new id in the
    journal. If DBOS keeps its own copy of the id, this worker claims under an id that the other
    workers take for dead, and its orders are put back while they run; the journal still refuses to
    begin an effect twice.

    Args:
        owner: The new id; ``DBOS.executor_id`` shows it.
    """
    GlobalParams.executor_id = owner


# -- statements --------------------------------------------------
#
# {schema} stands for the prefix of the tables, {now} for the milliseconds of the database's clock.

TAKES_CHANGES = """SELECT current_setting('transaction_read_only') = 'off'
    AND has_table_privilege('{schema}workflow_status', 'INSERT')
    AND has_table_privilege('{schema}workflow_status', 'UPDATE')"""
"""Whether PostgreSQL would take changes of orders; no public call says so without a change."""

ENDED = """SELECT s.workflow_uuid, s.status, s.recovery_attempts, s.serialization, o.output
    FROM {schema}workflow_status s
    LEFT JOIN {schema}workflow_output o ON o.workflow_uuid = s.workflow_uuid
    WHERE s.workflow_uuid IN :names AND s.status NOT IN :open"""
"""Answers of the orders that ended.

Why: ``list_workflows`` and the handles deserialize an answer as its row asks, by pickle, too. The
agent's process may use DBOS for other things, so the pickle serializer must not be replaced there.
If DBOS stores answers elsewhere, they count as unreadable (``UNREADABLE_ANSWER``).
"""

CANCEL = """UPDATE {schema}workflow_status
    SET status = :state, owner_xid = NULL, queue_name = NULL,
        started_at_epoch_ms = NULL, updated_at = {now}, completed_at = {now}
    WHERE workflow_uuid = :name AND status IN :open"""
"""Cancellation of an order in one of the given states, as ``cancel_workflows`` writes it.

Why: that call also cancels an order that a worker has claimed, which a closed executor must not do,
and one that was given up, whose number of claims is the reason to report.
"""

LATEST = """SELECT workflow_uuid, status, application_version, created_at
    FROM {schema}workflow_status WHERE workflow_uuid > :low AND workflow_uuid < :high"""
"""Orders of one call, in a range of names.

Why: ``list_workflows(workflow_id_prefix=...)`` compares by LIKE, which no index serves, and reads
the orders of thirty days each time that a thread is resumed.
"""

TAKE_BACK = """DELETE FROM {schema}workflow_status
    WHERE workflow_uuid IN :names AND name = :workflow AND status IN :unclaimed
        AND created_at <= :until"""
"""Removal of those of the orders that no worker has claimed and no agent has sent again since.

Why: ``delete_workflows`` also removes an order that a worker has claimed meanwhile, and a cancelled
one would stay as it is when its call is sent again.
"""

CLAIMED = """SELECT workflow_uuid FROM {schema}workflow_status
    WHERE status = :claimed AND name = :workflow AND executor_id = :owner"""
"""Orders that a worker has claimed and not ended.

Why: see :data:`OWNERS`.
"""

OWNERS = """SELECT DISTINCT executor_id FROM {schema}workflow_status
    WHERE status = :claimed AND name = :workflow"""
"""Executor ids under which orders are claimed.

Why: each worker asks four times a second, and ``list_workflows`` returns a record of 29 fields for
each running call of all workers: 35 ms for 800 calls, where this takes 1 ms.
"""

GIVE_BACK = """UPDATE {schema}workflow_status
    SET status = :waiting, owner_xid = NULL, started_at_epoch_ms = NULL, updated_at = {now}
    WHERE status = :claimed AND name = :workflow
        AND queue_name IS NOT NULL AND executor_id IN :owners"""
"""Return of a worker's orders to their queues: of a dead one's all, of a live one's those named.

Why: ``resume_workflows`` would also take orders from a live worker, and it forgets how often they
were claimed, which is what ends the retries of an order that kills each of its workers.
"""

GIVE_BACK_NAMED = f"{GIVE_BACK} AND workflow_uuid IN :names"
"""The same for some of the orders.

Why: see :data:`GIVE_BACK`.
"""

ADOPT = """UPDATE {schema}workflow_status SET executor_id = :new
    WHERE executor_id = :old AND status = :claimed AND workflow_uuid IN :names"""
"""Transfer of claimed orders to their worker's new id.

Why: no public call changes the executor id of a workflow. See :func:`claim_as`.
"""

WAITING = """SELECT application_version, count(*), {now} - min(created_at)
    FROM {schema}workflow_status
    WHERE queue_name = :queue AND status = :state AND name = :workflow
    GROUP BY application_version"""
"""Number and age of a queue's waiting orders.

Why: the public calls list and do not count, and each agent asks every five seconds, however long
the queue is. The age is by the database's clock, which is the one that wrote the rows.
"""
