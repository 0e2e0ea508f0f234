"""DBOS in a worker: one workflow, one queue, JSON only."""

import logging
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from dbos import DBOS, DBOSConfig, _serialization
from dbos._serialization import DBOSPortableJSON, Serializer
from dbos._utils import GlobalParams
from typing_extensions import override

from asyncguard.distributed.queue_tables import APPLICATION, WORKFLOW
from asyncguard.errors import CallerError

_MOST_CLAIMS = 20
"""An order whose workers died so often is given up: it may be what kills them."""
_IDLE_TRANSACTION = 8.0
"""Seconds after which the server ends a transaction of a worker that froze in it, and with it its locks."""


class DbosRuntime:
    """Brings orders to a function. There is one in a process, as there is one DBOS."""

    def __init__(
        self,
        url: str,
        *,
        queue: str,
        version: str,
        owner: str,
        serve: Callable[[str], Awaitable[str]],
    ) -> None:
        """Configure DBOS; nothing is taken yet.

        Args:
            url: The database; its tables are there.
            queue: The queue to take orders from; it is registered.
            version: Only orders of this version are taken.
            owner: Under whose name orders are taken.
            serve: Answers an order; never raises but for cancellation.

        Raises:
            CallerError: Somebody else in this process has configured DBOS.
        """
        _refuse_pickles()
        DBOS(
            config=DBOSConfig(
                name=APPLICATION,
                system_database_url=url,
                serializer=DBOSPortableJSON,
                application_version=version,
                executor_id=owner,
                run_migrations=False,
                db_engine_kwargs={"hide_parameters": True},
                sys_db_idle_transaction_timeout_sec=_IDLE_TRANSACTION,
                log_level="WARNING",
                enable_otlp=False,
            )
        )
        if GlobalParams.executor_id != owner:  # it hands out the one there is, and says nothing
            raise CallerError(
                "The module of the tools makes a DBOS of its own, and a process has one only; move it to where the "
                "tools do not import it, or keep these tools in the agent's process (local=)."
            )
        DBOS.listen_queues([queue])

        @DBOS.workflow(name=WORKFLOW, max_recovery_attempts=_MOST_CLAIMS)
        async def call(text: str) -> str:
            return await serve(text)

    def launch(self) -> None:
        """Begin to take orders."""
        DBOS.launch()

    def rename(self, owner: str) -> None:
        """Take orders under another name from now on: the journal knows this process by another process id."""
        GlobalParams.executor_id = (
            owner  # read at each look into the queue; DBOS has no public way to change it
        )

    def stop(self, within: float) -> threading.Thread:
        """Take nothing new, let what runs end, and shut DBOS down; returns at once.

        Args:
            within: Seconds that what runs is waited for.

        Returns:
            The thread that does so.
        """

        def destroy() -> None:
            DBOS.destroy(
                destroy_registry=True, workflow_completion_timeout_sec=max(1, round(within))
            )

        thread = threading.Thread(target=destroy, name="asyncguard-drain", daemon=True)
        thread.start()
        return thread


class _NoPickle(Serializer):
    """Stands where DBOS keeps its pickle serializer, which it uses for every row that asks for it."""

    @override
    def serialize(self, data: Any) -> str:
        return DBOSPortableJSON.serialize(str(data))

    @override
    def deserialize(self, serialized_data: str) -> Any:
        raise TypeError("A row asks to be unpickled; workers read JSON only.")

    @override
    def name(self) -> str:
        return "py_pickle"


def _refuse_pickles() -> None:
    """Let nothing in this process be unpickled, whatever a row says of itself."""
    _serialization.DBOSDefaultSerializer = _NoPickle()


class ToStructlog(logging.Handler):
    """What DBOS logs, as structured records; values of its statements are hidden by its engine."""

    def __init__(self, log: Any) -> None:
        """Make a handler.

        Args:
            log: A structlog logger.
        """
        super().__init__(logging.WARNING)
        self._log = log

    @override
    def emit(self, record: logging.LogRecord) -> None:
        write = self._log.error if record.levelno >= logging.ERROR else self._log.warning
        write("queue", said=record.getMessage().splitlines()[0][:300])
