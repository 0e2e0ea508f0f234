"""Steps of the process that holds the lease: they have its token, and are undone if it is lost."""

from langchain_core.runnables import RunnableConfig

from asyncguard.adapters.langgraph_internals.checkpoints import has_written
from asyncguard.adapters.langgraph_internals.keys import saver_of
from asyncguard.adapters.state import Thread
from asyncguard.adapters.threads.checkpoint_fence.heads import promote_owner_head
from asyncguard.adapters.threads.checkpoint_fence.place import place_of, stands_on
from asyncguard.adapters.threads.checkpoints import of_thread, stored
from asyncguard.adapters.threads.lineage import LEDGER
from asyncguard.adapters.threads.run_lock import continued
from asyncguard.adapters.threads.runnable_config import thread_of
from asyncguard.errors import ThreadBusyError
from asyncguard.runtime.session.lease import Lease


class Owned:
    """Block after which a run ends if it has lost the lease; what it has stored since is undone.

    The check comes before a step is stored; the journal is asked only if the process may have been
    frozen for long. A run also ends if the process that held the thread before, and may not have
    ended, has stored its first step. A block that raises ``ThreadBusyError`` itself is undone in
    the same way.
    """

    def __init__(self, lease: Lease, config: RunnableConfig) -> None:
        """Make a block.

        Args:
            lease: Of the thread.
            config: Of the node that is run.
        """
        self._lease = lease
        self._config = config

    async def __aenter__(self) -> None:
        """Do nothing: the lease was acquired before."""

    async def __aexit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Check the lease, unless the block has raised: that error has priority.

        Raises:
            ThreadBusyError: Another process has acquired the thread, or has stored the step.
        """
        if isinstance(error, ThreadBusyError):
            await self._undo()
        elif error is None:
            try:
                await self._lease.ensure_held()
                await self._ensure_unwritten()
            except ThreadBusyError:
                await self._undo()
                raise

    async def _ensure_unwritten(self) -> None:
        config, shared = self._config, self._lease.shared_step
        if not shared or shared != stands_on(config):
            return
        place = of_thread(config)
        place["configurable"]["checkpoint_id"] = shared
        found = await stored(saver_of(config), place)
        if found is not None and has_written(config, found, LEDGER):
            raise ThreadBusyError(continued(thread_of(config), "read its state"))

    async def _undo(self) -> None:
        if self._lease.acquired and (place := place_of(self._config)) is not None:
            await promote_owner_head(place, self._lease.fencing_token)


def with_fencing_token(identity: Thread, lease: Lease) -> Thread:
    """Return the identity of a thread with this process's fencing token, for the state."""
    if not lease.fencing_token:
        return identity
    return Thread(session=identity["session"], nonce=identity["nonce"], number=lease.fencing_token)
