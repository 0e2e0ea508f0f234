"""Indexes over open calls: call keys by name, and by the resources that they read or write.

Exact resource names are looked up in a dictionary, so that finding a conflict costs the same with
thousands of pending calls as with ten; only names that end in a wildcard are compared one by one.
"""

from collections.abc import Collection, Hashable, Iterator
from typing import Generic, TypeVar

from asyncguard.core.footprints import Footprint, overlap

K = TypeVar("K", bound=Hashable)


class KeyMultimap(dict[K, str | dict[str, None]], Generic[K]):
    """Map from a name to the keys of its calls, in insertion order.

    A name without calls has no entry. A set of one, as most are, is the key itself: with thousands
    of open calls, dictionaries of one entry would take more memory than the records.
    """

    def put(self, name: K, key: str) -> None:
        """Add a call to a name."""
        held = self.get(name)
        if held is None:
            self[name] = key
        elif isinstance(held, dict):
            held[key] = None
        elif held != key:
            self[name] = {held: None, key: None}

    def drop(self, name: K, key: str) -> None:
        """Remove a call from a name, if it is there."""
        held = self.get(name)
        if held == key:
            del self[name]
        elif isinstance(held, dict):
            held.pop(key, None)
            if not held:
                del self[name]

    def of(self, name: K) -> Collection[str]:
        """Return the keys of a name's calls."""
        held = self.get(name, ())
        return (held,) if isinstance(held, str) else held


class ResourceIndex:
    """Index of the open calls by the resources that they read and write, in insertion order."""

    def __init__(self) -> None:
        """Make an empty index."""
        # Reads under False, writes under True.
        self._exact: dict[bool, KeyMultimap[str]] = {False: KeyMultimap(), True: KeyMultimap()}
        self._wild: dict[bool, KeyMultimap[str]] = {False: KeyMultimap(), True: KeyMultimap()}

    def add(self, key: str, footprint: Footprint) -> None:
        """Add the declared resources of an open call; the barrier orders the unknown ones."""
        for writing, name in _names(footprint):
            self._side(writing, name).put(name, key)

    def remove(self, key: str, footprint: Footprint) -> None:
        """Remove a call that is no longer open."""
        for writing, name in _names(footprint):
            self._side(writing, name).drop(name, key)

    def holders(self, name: str, *, writing: bool) -> Iterator[str]:
        """Yield the open calls that read (or write) a resource overlapping ``name``."""
        # A wildcard may overlap any name, so all are compared; an exact name is looked up.
        if name.endswith("*"):
            yield from self._overlapping(self._exact[writing], name)
        else:
            yield from self._exact[writing].of(name)
        yield from self._overlapping(self._wild[writing], name)

    def _overlapping(self, side: KeyMultimap[str], name: str) -> Iterator[str]:
        for other in side:
            if overlap(name, other):
                yield from side.of(other)

    def _side(self, writing: bool, name: str) -> KeyMultimap[str]:
        return (self._wild if name.endswith("*") else self._exact)[writing]


def _names(footprint: Footprint) -> Iterator[tuple[bool, str]]:
    for name in footprint.reads or ():
        yield False, name
    for name in footprint.writes or ():
        yield True, name
