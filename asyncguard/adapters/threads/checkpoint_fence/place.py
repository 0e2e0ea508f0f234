"""Place of a run among the checkpoints of its thread."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from asyncguard.adapters.langgraph_internals.keys import (
    CHECKPOINTS,
    DURABILITY,
    REPLAYED,
    RESUMED,
    saver_of,
)
from asyncguard.adapters.langgraph_internals.run import goes_back, namespace_of_run, run_of
from asyncguard.adapters.langgraph_internals.run_checkpoints import base_of
from asyncguard.adapters.threads.checkpoints import id_of, of_thread
from asyncguard.adapters.threads.lineage import Lineage
from asyncguard.adapters.threads.runnable_config import thread_of
from asyncguard.runtime.clock import Backoff

_PATIENCE = 5.0
"""Seconds within which a checkpoint on its way is stored, if it is stored at all."""
_FIRST_LOOK, _LONGEST_LOOK = 0.001, 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Position of a run among the checkpoints of its thread."""

    saver: Any
    of_thread: RunnableConfig
    """Configuration that names the thread and the namespace."""
    own: str
    """Id of the checkpoint that the run stands on."""
    base: str
    """Id of the checkpoint that it began at: where it was resumed, or the head before its input."""
    resumed: bool
    """True if the run continues from a checkpoint that it has not put itself."""
    begins: bool
    """True if the run is in its first node, after an input of its own."""
    named: bool = False
    """True if the caller has named the checkpoint to begin at."""
    lineage: Lineage
    """Checkpoints of the thread."""

    @property
    def thread(self) -> str:
        """The caller's id of the thread."""
        return thread_of(self.of_thread)

    async def with_own(self) -> None:
        """Read the newest checkpoints once the run's own is among them.

        With durability ``async`` a checkpoint is stored while the node after it runs.
        """
        await self.lineage.read()
        if not await self.lineage.reach(self.own):
            await self.until(lambda: self.lineage.at(self.own) is not None)

    async def until(self, there: Callable[[], bool]) -> None:
        """Read the newest checkpoints again until a condition holds, or the time limit is over."""
        backoff = Backoff(first=_FIRST_LOOK, longest=_LONGEST_LOOK, patience=_PATIENCE)
        while not there() and not backoff.over:
            await backoff.pause()
            await self.lineage.read()

    async def put_by_others(self, since: CheckpointTuple | None) -> list[CheckpointTuple]:
        """Return the checkpoints of other runs after a given one, without unread inputs."""
        line = self.lineage
        oldest = "" if since is None else id_of(since)
        own = {self.own}
        at = line.at(self.own)
        while at is not None and id_of(at) > oldest:
            own.add(id_of(at))
            at = await line.before(at)
        return [found for found in await line.read_since(oldest) if id_of(found) not in own]


def place_of(config: RunnableConfig, *, begins: bool = False) -> Place | None:
    """Return the position of a run; ``None`` if no head is to be fenced, see :func:`stands_on`."""
    own, run = stands_on(config), run_of(config)
    if not own:
        return None
    resumed = config["configurable"].get(RESUMED) is True
    begins = begins and not resumed
    saver, thread = saver_of(config), of_thread(config)
    return Place(
        saver=saver,
        of_thread=thread,
        own=own,
        base=base_of(run) if begins and run is not None else own,
        resumed=resumed,
        begins=begins,
        named=run is not None and goes_back(run) and not namespace_of_run(run),
        lineage=Lineage(saver, thread),
    )


def stands_on(config: RunnableConfig) -> str:
    """Return the id of the checkpoint that a run stands on, empty if no head is to be fenced.

    That is a run which stores nothing before its end, or which goes back in time on purpose.
    """
    configurable = config.get("configurable", {})
    places = configurable.get(CHECKPOINTS)
    if saver_of(config) is None or not places or configurable.get(REPLAYED) is not None:
        return ""
    # Such a run puts a single checkpoint at its end.
    if configurable.get(DURABILITY) == "exit":
        return ""
    namespace = str(configurable.get("checkpoint_ns") or "").rpartition("|")[0]
    return str(places.get(namespace) or "")
