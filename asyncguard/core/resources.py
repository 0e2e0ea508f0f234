"""An index from resource names to the open calls that read or write them.

Exact names are looked up in a dictionary, so that a conflict among thousands of pending calls costs what it costs among
ten; only names that end in a wildcard are compared one by one.
"""

from collections.abc import Iterator

from asyncguard.core.footprints import Footprint, overlap
from asyncguard.core.multimap import KeySets


class ResourceIndex:
    """Who reads and who writes which resource, among open calls. Keys come out in the order they went in."""

    def __init__(self) -> None:
        """Make an empty index."""
        self._exact: dict[bool, KeySets[str]] = {False: KeySets(), True: KeySets()}
        self._wild: dict[bool, KeySets[str]] = {False: KeySets(), True: KeySets()}

    def add(self, key: str, footprint: Footprint) -> None:
        """Note the declared names of an open call; unknown sides are the barrier's business."""
        for writing, name in _names(footprint):
            self._side(writing, name).put(name, key)

    def remove(self, key: str, footprint: Footprint) -> None:
        """Forget a call that is no longer open."""
        for writing, name in _names(footprint):
            self._side(writing, name).drop(name, key)

    def holders(self, name: str, *, writing: bool) -> Iterator[str]:
        """Keys of open calls that read (or write) a resource overlapping ``name``."""
        if name.endswith("*"):
            yield from self._overlapping(self._exact[writing], name)
        else:
            yield from self._exact[writing].of(name)
        yield from self._overlapping(self._wild[writing], name)

    def _overlapping(self, side: KeySets[str], name: str) -> Iterator[str]:
        for other in side:
            if overlap(name, other):
                yield from side.of(other)

    def _side(self, writing: bool, name: str) -> KeySets[str]:
        return (self._wild if name.endswith("*") else self._exact)[writing]


def _names(footprint: Footprint) -> Iterator[tuple[bool, str]]:
    for name in footprint.reads or ():
        yield False, name
    for name in footprint.writes or ():
        yield True, name
