"""A list of peers with the peer each is compared with, resolved to what is installed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from measure import Sample, interleaved, seconds, timed_run, uncertainty, warm_up
from peers import Peer, UnavailableError, load
from settings import Settings
from table import Reference, Row, row


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One peer of a contest."""

    peer: str
    """As `peers.load` takes it."""
    reference: str = ""
    """The peer its figures are divided by; empty for none."""
    limit: float | None = None
    """The largest ratio that is on target."""


JOURNALS = {
    "guarded_graph:GRAPH_JOURNALED": "guarded_graph:GRAPH_SAVED",
    "guarded_middleware:GUARDED_SYNC_JOURNALED": "guarded_middleware:GUARDED_SYNC",
    "guarded_middleware:GUARDED_JOURNALED": "guarded_middleware:GUARDED_DELTA",
}
"""Peers with a journal, and what each is without; the last waits for its checkpoint, too."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Measurements of one peer."""

    peer: Peer
    """The peer."""
    samples: Sequence[Sample]
    """One per round."""


def run(
    entries: Sequence[Entry], settings: Settings, *, lengths: Sequence[int], repeats: int
) -> list[Mapping[str, Outcome]]:
    """Run every installed peer of the entries at every length, all interleaved, and note the peers that are missing.

    Args:
        entries: The peers.
        settings: Of the comparison.
        lengths: Tool calls of a run.
        repeats: Rounds at most.

    Returns:
        For each length the outcomes by peer, as the entries name it.
    """
    peers: dict[str, Peer] = {}
    for entry in entries:
        try:
            peers[entry.peer] = load(entry.peer)
        except UnavailableError as error:
            settings.note(f"not available: {error}")
    warm_up(list(peers.values()))
    settings.note(
        f"{len(peers)} peers, {', '.join(map(str, lengths))} steps, {repeats} rounds at most"
    )
    heats = [(steps, name) for steps in lengths for name in peers]
    places = {heat: place for place, heat in enumerate(heats)}
    compared = [
        (places[steps, entry.peer], places[steps, entry.reference])
        for steps in lengths
        for entry in entries
        if entry.peer in peers and entry.reference in peers
    ]
    taken = interleaved(
        heats,
        lambda heat: timed_run(peers[heat[1]], steps=heat[0]),
        repeats=repeats,
        enough=lambda samples: (
            bool(compared)
            and all(
                uncertainty(seconds(samples[own]), seconds(samples[other])) <= settings.precision
                for own, other in compared
            )
        ),
    )
    samples = dict(zip(heats, taken, strict=True))
    return [
        {name: Outcome(peer=peer, samples=samples[steps, name]) for name, peer in peers.items()}
        for steps in lengths
    ]


def step_times(outcome: Outcome, steps: int) -> list[float]:
    """Return the microseconds of a step, one figure per round."""
    return [sample.seconds / steps * 1e6 for sample in outcome.samples]


def journal_rows(section: str, outcomes: Mapping[str, Outcome], steps: int) -> Iterator[Row]:
    """Yield steps with a journal beside those without: the intent before the call, and the outcome after it."""
    for name, without in JOURNALS.items():
        if name in outcomes and without in outcomes:
            plain = outcomes[without]
            yield row(
                (section, f"journal, {steps} steps"),
                outcomes[name].peer.name,
                step_times(outcomes[name], steps),
                "us/step",
                Reference(name=plain.peer.name, values=step_times(plain, steps)),
            )
