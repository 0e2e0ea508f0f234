"""Sets of call keys by name, made for many names with one call each."""

from collections.abc import Collection, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class KeySets(dict[K, str | dict[str, None]], Generic[K]):
    """Which calls belong to a name; keys come out in the order they went in, and an empty set is not there.

    A set of one, which most are, is the key itself: with thousands of open calls, dictionaries of one entry would take
    more memory than the records.
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
        """Take a call from a name, if it is there."""
        held = self.get(name)
        if held == key:
            del self[name]
        elif isinstance(held, dict):
            held.pop(key, None)
            if not held:
                del self[name]

    def of(self, name: K) -> Collection[str]:
        """The calls of a name."""
        held = self.get(name, ())
        return (held,) if isinstance(held, str) else held
