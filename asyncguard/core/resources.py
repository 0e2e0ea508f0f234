"""An index from resource names to the open calls that read or write them.

Exact names are looked up in a dictionary, so that a conflict among thousands of pending calls costs what it costs among
ten; only names that end in a wildcard are compared one by one.
"""

from collections.abc import Iterator

from asyncguard.core.footprints import Footprint, overlap


class ResourceIndex:
    """Who reads and who writes which resource, among open calls. Keys come out in the order they went in."""

    def __init__(self) -> None:
        """Make an empty index."""
        self._exact: dict[bool, dict[str, dict[str, None]]] = {False: {}, True: {}}
        self._wild: dict[bool, dict[str, dict[str, None]]] = {False: {}, True: {}}

    def add(self, key: str, footprint: Footprint) -> None:
        """Note the declared names of an open call; unknown sides are the barrier's business."""
        for writing, name in _names(footprint):
            self._side(writing, name).setdefault(name, {})[key] = None

    def remove(self, key: str, footprint: Footprint) -> None:
        """Forget a call that is no longer open."""
        for writing, name in _names(footprint):
            side = self._side(writing, name)
            holders = side.get(name)
            if holders is not None:
                holders.pop(key, None)
                if not holders:
                    del side[name]

    def holders(self, name: str, *, writing: bool) -> Iterator[str]:
        """Keys of open calls that read (or write) a resource overlapping ``name``."""
        if name.endswith("*"):
            for other, keys in self._exact[writing].items():
                if overlap(name, other):
                    yield from keys
        else:
            yield from self._exact[writing].get(name, ())
        for other, keys in self._wild[writing].items():
            if overlap(name, other):
                yield from keys

    def _side(self, writing: bool, name: str) -> dict[str, dict[str, None]]:
        return (self._wild if name.endswith("*") else self._exact)[writing]


def _names(footprint: Footprint) -> Iterator[tuple[bool, str]]:
    for name in footprint.reads or ():
        yield False, name
    for name in footprint.writes or ():
        yield True, name
