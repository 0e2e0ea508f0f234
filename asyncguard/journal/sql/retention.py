"""How long ended calls are kept."""

from asyncguard.core.calls import CallState
from asyncguard.journal.sql.store import Store

KEPT = 30 * 86_400.0
"""Seconds for which an ended call is kept unless somebody prunes."""
_BETWEEN = 86_400.0
"""Seconds between two automatic prunings, of whatever process."""
_ENDED = (
    CallState.DONE,
    CallState.FAILED,
    CallState.RESOLVED,
    CallState.REJECTED,
    CallState.SQUASHED,
    CallState.CANCELLED,
    CallState.EXPIRED,
)


def prune(store: Store, older_than: float) -> int:
    """Remove ended calls with attempts, mail and tokens; also processes and threads that nothing refers to any more.

    What is pending or in doubt stays: without it the call would be made again.

    Args:
        store: The database.
        older_than: Seconds without a change.

    Returns:
        How many calls were removed.
    """
    before = store.now() - older_than
    states = ", ".join("?" * len(_ENDED))
    ended = f"SELECT key FROM calls WHERE updated_at < ? AND state IN ({states})"
    values = (before, *(state.value for state in _ENDED))
    count = int(store.execute(f"SELECT count(*) FROM ({ended}) AS ended", values)[0][0])
    if count:
        for table in ("attempts", "tokens", "mail", "calls"):
            store.execute(f"DELETE FROM {table} WHERE key IN ({ended})", values)
    store.execute(
        "DELETE FROM processes WHERE ended_at < ? AND epoch NOT IN "
        "(SELECT a.epoch FROM attempts a WHERE a.state = 'intent')",
        (before,),
    )
    store.execute(
        "DELETE FROM threads WHERE seen_at < ? AND NOT EXISTS "
        "(SELECT 1 FROM calls c WHERE c.session = threads.session)",
        (before,),
    )
    return count


def prune_daily(store: Store) -> None:
    """Remove what ended long ago, unless some process did so lately."""
    rows = store.execute("SELECT value FROM meta WHERE name = 'pruned_at'")
    now = store.now()
    # Written by us as a whole number; anything else, or a time in the future, is as good as never.
    last = int(rows[0][0]) if rows and str(rows[0][0]).isdecimal() else 0
    if 0 <= now - last < _BETWEEN:
        return
    prune(store, KEPT)
    store.execute("DELETE FROM meta WHERE name = 'pruned_at'")
    store.execute("INSERT INTO meta (name, value) VALUES ('pruned_at', ?)", (str(int(now)),))
