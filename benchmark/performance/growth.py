"""Section `growth`: what a step costs, in time and bytes, when many came before it."""

from collections.abc import Iterator, Mapping

import contest
from contest import Entry, Outcome
from settings import Settings
from table import Reference, Row, row

_BASE = "create_agent:SAVED"

# Limits on the ratio to _BASE at the long run: time, then bytes.
_TIME_LIMITS = {
    "guarded_graph:GRAPH_SAVED": 0.35,
    "guarded_middleware:GUARDED_SAVED": 1.2,
    "guarded_middleware:GUARDED_DELTA": 1.0,
    "guarded_middleware:GUARDED_JOURNALED": 1.0,
}
_BYTE_LIMITS = {
    "guarded_graph:GRAPH_SAVED": 0.05,
    "guarded_middleware:GUARDED_SAVED": 1.1,
    "guarded_middleware:GUARDED_DELTA": 0.1,
    "guarded_middleware:GUARDED_JOURNALED": 0.1,
}
# Limits on a peer's ratio to itself: a constant price per step, and bytes in proportion to the steps.
_OWN_TIME_LIMITS = dict.fromkeys(
    ("guarded_graph:GRAPH", "guarded_graph:GRAPH_SAVED", "guarded_graph:GRAPH_JOURNALED"), 1.3
)
_OWN_BYTE_LIMITS = dict.fromkeys(
    ("guarded_graph:GRAPH_SAVED", "guarded_graph:GRAPH_JOURNALED"), 4.5
)
# Bytes are compared over this part of the long run: at a few steps a file is mostly its empty pages.
_PART = 4

PEERS = (
    Entry(peer="create_agent:PLAIN"),
    Entry(peer=_BASE),
    Entry(peer="create_agent:DELTA", reference=_BASE),
    Entry(peer="langgraph_loop:LOOP_SAVED", reference=_BASE),
    Entry(peer="guarded_graph:GRAPH"),
    Entry(peer="guarded_graph:GRAPH_SAVED", reference=_BASE),
    Entry(peer="guarded_graph:GRAPH_JOURNALED", reference=_BASE),
    Entry(peer="guarded_middleware:GUARDED_SAVED", reference=_BASE),
    Entry(peer="guarded_middleware:GUARDED_DELTA", reference=_BASE),
    Entry(peer="guarded_middleware:GUARDED_JOURNALED", reference=_BASE),
)


def measure(settings: Settings) -> list[Row]:
    """Run every peer at three lengths and compare it with `create_agent` and with itself; nothing without that."""
    part = settings.long_steps // _PART
    short, middle, long = contest.run(
        PEERS,
        settings,
        lengths=(settings.steps, part, settings.long_steps),
        repeats=settings.long_repeats,
    )
    if _BASE not in long:
        return []
    return [
        *_times(short, long, settings),
        *contest.journal_rows("growth", long, settings.long_steps),
        *_bytes(middle, long, settings),
    ]


def _times(
    short: Mapping[str, Outcome], long: Mapping[str, Outcome], settings: Settings
) -> Iterator[Row]:
    before = {name: contest.step_times(outcome, settings.steps) for name, outcome in short.items()}
    after = {
        name: contest.step_times(outcome, settings.long_steps) for name, outcome in long.items()
    }
    for name, outcome in long.items():
        base = Reference(
            name=long[_BASE].peer.name, values=after[_BASE], limit=_TIME_LIMITS.get(name)
        )
        yield row(
            ("growth", f"{settings.long_steps} steps"),
            outcome.peer.name,
            after[name],
            "us/step",
            base,
        )
    for name, outcome in long.items():
        own = Reference(
            name=f"its {settings.steps} steps",
            values=before[name],
            limit=_OWN_TIME_LIMITS.get(name),
        )
        yield row(
            ("growth", "price of a later step"), outcome.peer.name, after[name], "us/step", own
        )


def _bytes(
    middle: Mapping[str, Outcome], long: Mapping[str, Outcome], settings: Settings
) -> Iterator[Row]:
    before = {name: _kilobytes(outcome) for name, outcome in middle.items()}
    after = {name: _kilobytes(outcome) for name, outcome in long.items()}
    stored = [name for name in long if any(after[name])]
    for name in stored:
        base = Reference(
            name=long[_BASE].peer.name, values=after[_BASE], limit=_BYTE_LIMITS.get(name)
        )
        yield row(
            ("growth", f"stored, {settings.long_steps} steps"),
            long[name].peer.name,
            after[name],
            "kB",
            base,
        )
    for name in stored:
        part = settings.long_steps // _PART
        own = Reference(
            name=f"its {part} steps", values=before[name], limit=_OWN_BYTE_LIMITS.get(name)
        )
        yield row(
            ("growth", f"stored, {_PART} x the steps"), long[name].peer.name, after[name], "kB", own
        )


def _kilobytes(outcome: Outcome) -> list[float]:
    return [sample.bytes / 1000 for sample in outcome.samples]
