"""Heads of a thread: copies of a checkpoint put over all others, for LangGraph to resume there."""

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from asyncguard.adapters.threads.checkpoint_fence.place import Place
from asyncguard.adapters.threads.checkpoints import fencing_token_of, id_of, listed, put_last
from asyncguard.adapters.threads.lineage import changed_by_caller, same

_NESTED = 50
"""Number of checkpoints to list where nested agents are looked for; one of theirs is enough."""


async def append_again(place: Place, head: CheckpointTuple) -> None:
    """Append a copy of a checkpoint, unless one is the newest already."""
    newest = place.lineage.newest[0]
    if not same(newest, head):
        await put_last(place.saver, head, above=newest)


async def promote_owner_head(place: Place, number: int) -> bool:
    """Append the head of a later lease holder again if this process has covered it.

    Args:
        place: Position of the run.
        number: Fencing token of the process that stored the covering checkpoint.

    Returns:
        True if there was such a head.
    """
    line = place.lineage
    await place.with_own()
    read = await line.read_since("")
    later = next((found for found in read if fencing_token_of(found) > number), None)
    if later is None or id_of(later) > place.own:
        return False
    passed: list[CheckpointTuple] = []
    at = line.at(place.own)  # from this run's checkpoint back to the later holder's
    while at is not None and id_of(at) > id_of(later):
        passed.append(at)
        at = await line.before(at)
    if changed_by_caller(passed):
        return False
    await append_again(place, line.end_of(later))
    return True


async def fork_for_takeover(place: Place, base: CheckpointTuple | None, number: int) -> str:
    """Append a copy of the checkpoint that a run began at, as the head of this process's own line.

    Args:
        place: Position of the run.
        base: That checkpoint; without one the run began the thread itself, and shares no checkpoint
            with another process.
        number: Fencing token of this process, for the copy.

    Returns:
        Id of the copy, empty if none was put.
    """
    if base is None or await has_nested(place, base):
        return ""
    await place.with_own()
    return await put_last(place.saver, base, above=place.lineage.newest[0], number=number)


async def has_nested(place: Place, found: CheckpointTuple) -> bool:
    """Return True if nested agents are active in the step of a checkpoint.

    After a copy they would start from their beginning: LangGraph derives the names of their threads
    from the id of the checkpoint.
    """
    whole = RunnableConfig(configurable={"thread_id": place.of_thread["configurable"]["thread_id"]})
    own = place.of_thread["configurable"]["checkpoint_ns"]
    parents = {**found.metadata.get("parents", {}), own: id_of(found)}
    # Filtered by the store: in a long thread, or one that many clients want, the newest checkpoints
    # may all be the agent's own. SQLite's filter does not find names beyond ASCII.
    for options in ({"filter": {"parents": parents}}, {}):
        for other in await listed(place.saver, whole, _NESTED, **options):
            if other.config["configurable"].get("checkpoint_ns", "") == own:
                continue
            if other.metadata.get("parents", {}).get(own) == id_of(found):
                return True
    return False
