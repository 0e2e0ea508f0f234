"""JSON pointers (RFC 6901): read a value, list the leaves."""

from collections.abc import Iterator
from typing import Any


class PointerError(LookupError):
    """A pointer names nothing in the value that it was applied to."""


def parts(pointer: str) -> tuple[str, ...]:
    """Split a pointer into its unescaped parts; the empty pointer is the whole value."""
    if pointer == "":
        return ()
    if not pointer.startswith("/"):
        raise PointerError(f"pointer {pointer!r} must be empty or start with '/'")
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/"))


def resolve(value: Any, pointer: str) -> Any:
    """Return the part of `value` that `pointer` names.

    Raises:
        PointerError: nothing is there.
    """
    for part in parts(pointer):
        value = _step(value, part, pointer)
    return value


def _step(value: Any, part: str, pointer: str) -> Any:
    if isinstance(value, dict) and part in value:
        return value[part]
    if isinstance(value, list) and part.isdecimal() and int(part) < len(value):
        return value[int(part)]
    raise PointerError(f"pointer {pointer!r} names nothing at {part!r}")


def child(pointer: str, part: str | int) -> str:
    """Return the pointer one step below `pointer`."""
    return f"{pointer}/{str(part).replace('~', '~0').replace('/', '~1')}"


def leaves(value: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (pointer, value) of every leaf; an empty object or array is a leaf."""
    if isinstance(value, dict) and value:
        for name, item in value.items():
            yield from leaves(item, child(pointer, name))
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from leaves(item, child(pointer, index))
    else:
        yield pointer, value


def covers(pointer: str, leaf: str) -> bool:
    """Return True if `leaf` is `pointer` itself or lies below it."""
    return leaf == pointer or leaf.startswith(pointer + "/")


def put(value: Any, pointer: str, item: Any) -> Any:
    """Return a copy of `value` in which `pointer` holds `item`; what lies on the way must exist."""
    names = parts(pointer)
    if not names:
        return item
    head, rest = names[0], "".join(child("", part) for part in names[1:])
    if isinstance(value, list):
        return [
            put(old, rest, item) if str(index) == head else old for index, old in enumerate(value)
        ]
    return {**value, head: put(value.get(head), rest, item)}
