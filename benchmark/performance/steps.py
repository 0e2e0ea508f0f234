"""Section `steps`: the time of one step (a model turn with one tool call, and the call) in a short run."""

from collections.abc import Iterator, Sequence

import contest
from contest import Entry
from settings import Settings
from table import Reference, Row, row

_BASE = "create_agent:PLAIN"
_DURABLE_BASE = "create_agent:SAVED"

VOLATILE = (
    Entry(peer=_BASE),
    Entry(peer="langgraph_loop:SUPER_STEP", reference=_BASE),
    Entry(peer="langgraph_loop:LOOP", reference=_BASE),
    Entry(peer="create_agent:EMPTY_HOOKS", reference=_BASE),
    Entry(peer="guarded_middleware:EMPTY_HOOKS", reference=_BASE),
    Entry(peer="pydantic_agent:AGENT", reference=_BASE),
    Entry(peer="openai_agents:AGENT", reference=_BASE),
    Entry(peer="deep_agent:AGENT", reference=_BASE),
    Entry(peer="guarded_graph:GRAPH", reference=_BASE, limit=0.8),
    Entry(
        peer="guarded_middleware:GUARDED", reference="guarded_middleware:EMPTY_HOOKS", limit=1.15
    ),
)

DURABLE = (
    Entry(peer=_DURABLE_BASE),
    Entry(peer="create_agent:DELTA", reference=_DURABLE_BASE),
    Entry(peer="langgraph_loop:LOOP_SAVED", reference=_DURABLE_BASE),
    Entry(peer="langgraph_loop:LOOP_RECORDED", reference=_DURABLE_BASE),
    Entry(peer="guarded_middleware:EMPTY_HOOKS_DELTA", reference=_DURABLE_BASE),
    Entry(peer="guarded_middleware:EMPTY_HOOKS_RECORDED", reference=_DURABLE_BASE),
    Entry(peer="deep_agent:SAVED", reference=_DURABLE_BASE),
    Entry(peer="guarded_graph:GRAPH_SAVED", reference=_DURABLE_BASE, limit=0.9),
    Entry(peer="guarded_graph:GRAPH_JOURNALED", reference=_DURABLE_BASE, limit=1.05),
    Entry(peer="guarded_middleware:GUARDED_SAVED", reference=_DURABLE_BASE),
    Entry(peer="guarded_middleware:GUARDED_DELTA", reference=_DURABLE_BASE),
    Entry(peer="guarded_middleware:GUARDED_JOURNALED", reference=_DURABLE_BASE, limit=1.3),
    Entry(peer="guarded_middleware:GUARDED_SYNC", reference=_DURABLE_BASE),
    Entry(peer="guarded_middleware:GUARDED_SYNC_JOURNALED", reference=_DURABLE_BASE),
)


def measure(settings: Settings) -> list[Row]:
    """Time a step of every peer, first with nothing kept, then with a checkpoint on the disk."""
    return [
        *_rows("no saver", VOLATILE, settings),
        *_rows("SQLite saver", DURABLE, settings),
    ]


def _rows(case: str, entries: Sequence[Entry], settings: Settings) -> Iterator[Row]:
    (outcomes,) = contest.run(
        entries, settings, lengths=(settings.steps,), repeats=settings.repeats
    )
    times = {
        name: contest.step_times(outcome, settings.steps) for name, outcome in outcomes.items()
    }
    for entry in entries:
        if entry.peer not in outcomes:
            continue
        reference = (
            Reference(
                name=outcomes[entry.reference].peer.name,
                values=times[entry.reference],
                limit=entry.limit,
            )
            if entry.reference in outcomes
            else None
        )
        heading = ("steps", f"{settings.steps} steps, {case}")
        yield row(heading, outcomes[entry.peer].peer.name, times[entry.peer], "us/step", reference)
    yield from contest.journal_rows("steps", outcomes, settings.steps)
