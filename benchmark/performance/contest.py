"""A list of peers with the peer each is compared with, resolved to what is installed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from measure import Sample, interleaved, timed_run, warm_up
from peers import Peer, UnavailableError, load
from settings import Settings


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One peer of a contest."""

    peer: str
    """As `peers.load` takes it."""
    reference: str = ""
    """The peer its figures are divided by; empty for none."""
    limit: float | None = None
    """The largest ratio that is on target."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one peer did."""

    peer: Peer
    """Which one."""
    samples: Sequence[Sample]
    """One per round."""


def run(entries: Sequence[Entry], settings: Settings, *, steps: int) -> Mapping[str, Outcome]:
    """Runs every installed peer of the entries `settings.repeats` times, interleaved; notes those that are missing."""
    peers: dict[str, Peer] = {}
    for entry in entries:
        try:
            peers[entry.peer] = load(entry.peer)
        except UnavailableError as error:
            settings.note(f"not available: {error}")
    warm_up(list(peers.values()))
    settings.note(f"{len(peers)} peers, {steps} steps, {settings.repeats} rounds")
    samples = interleaved(list(peers.values()), lambda peer: timed_run(peer, steps=steps), repeats=settings.repeats)
    return {name: Outcome(peer=peer, samples=taken) for (name, peer), taken in zip(peers.items(), samples, strict=True)}
