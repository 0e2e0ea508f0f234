"""DBOS in a worker process: one workflow, one queue, JSON only."""

import logging
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

from dbos import DBOS, DBOSConfig
from typing_extensions import override

from asyncguard.distributed.dbos_internals import claim_as, forbid_pickle
from asyncguard.distributed.queue_tables import APPLICATION, PORTABLE, WORKFLOW
from asyncguard.errors import CallerError

_MOST_CLAIMS = 20
"""Number of claims after which an order is given up: it may be what kills its workers."""
_QUIET = 10.0
"""Seconds in which a text of DBOS's log is not written again."""
_IDLE_TRANSACTION = 8.0
"""Seconds after which the server ends a transaction of a frozen worker, and with it its locks."""


class DbosRuntime:
    """Delivery of orders to a function; one per process, as there is one DBOS."""

    def __init__(
        self,
        url: str,
        *,
        queue: str,
        version: str,
        owner: str,
        serve: Callable[[str], Awaitable[str]],
    ) -> None:
        """Configure DBOS; no order is claimed yet.

        Args:
            url: The database; its tables must exist.
            queue: The queue to claim orders from; it must be registered.
            version: Only orders of this version are claimed.
            owner: Process id under which orders are claimed.
            serve: Function that answers an order; it never raises but for cancellation.

        Raises:
            CallerError: Other code in this process has configured DBOS.
        """
        forbid_pickle()
        DBOS(
            config=DBOSConfig(
                name=APPLICATION,
                system_database_url=url,
                serializer=PORTABLE,
                application_version=version,
                executor_id=owner,
                # The tables were made by the worker's own look, with a message for its user.
                run_migrations=False,
                db_engine_kwargs={"hide_parameters": True},
                sys_db_idle_transaction_timeout_sec=_IDLE_TRANSACTION,
                log_level="WARNING",
                enable_otlp=False,
            )
        )
        # DBOS(...) silently returns an instance that exists already, with its own configuration.
        if DBOS.executor_id != owner:
            raise CallerError(
                "The module of the tools makes a DBOS of its own, and a process can have only one; "
                "move it to where the tools do not import it, or keep these tools in the agent's "
                "process (local=)."
            )
        # Else this process would claim from all queues of the database, those of other tools too.
        DBOS.listen_queues([queue])

        @DBOS.workflow(name=WORKFLOW, max_recovery_attempts=_MOST_CLAIMS)
        async def call(text: str) -> str:
            return await serve(text)

    def launch(self) -> None:
        """Begin to claim orders."""
        DBOS.launch()

    def rename(self, owner: str) -> None:
        """Claim orders under the new id that the journal gave this process."""
        claim_as(owner)

    def stop(self, within: float) -> threading.Thread:
        """Claim no further order, wait for running ones, and shut DBOS down; return at once.

        Args:
            within: Seconds that running orders are waited for.

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


class ToStructlog(logging.Handler):
    """Logging handler that writes DBOS's log as structured records.

    Values of its statements are hidden by the engine. While the database does not serve, DBOS says
    the same thirty times a second; a text is written once in ten seconds.
    """

    def __init__(self, log: Any, now: Callable[[], float] = time.monotonic) -> None:
        """Create a handler.

        Args:
            log: A structlog logger.
            now: Clock in seconds.
        """
        super().__init__(logging.WARNING)
        self._log, self._now = log, now
        self._said: dict[tuple[str, str | None], float] = {}
        """Texts and errors of the last ten seconds, each with the time at which it was written."""

    @override
    def emit(self, record: logging.LogRecord) -> None:
        said, raised = record.getMessage().splitlines()[0][:300], record.exc_info
        error = raised[0].__name__ if raised and raised[0] is not None else None
        now = self._now()
        self._said = {key: at for key, at in self._said.items() if now - at < _QUIET}
        if (said, error) in self._said:
            return
        self._said[said, error] = now
        write = self._log.error if record.levelno >= logging.ERROR else self._log.warning
        write("queue", said=said, **({"error": error} if error else {}))
