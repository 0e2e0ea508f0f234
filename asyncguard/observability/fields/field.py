"""Field of a record: its name, its unit, its meaning, and how it is read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from asyncguard.observability.observer import Details


class Unit(StrEnum):
    """Kind of a field's value."""

    NAME = "name"
    """An identifier."""
    NAMES = "names"
    """A list of identifiers."""
    CODE = "code"
    """One word of a fixed vocabulary, or the class of an error."""
    COUNT = "count"
    """A whole number."""
    SECONDS = "seconds"
    """A duration or a moment of the engine's clock."""
    BYTES = "bytes"
    """A size, of text in UTF-8."""
    RATIO = "ratio"
    """A number between 0 and 1."""
    FLAG = "flag"
    """True or false."""
    PAYLOAD = "payload"
    """Text or JSON that a user, a model or a tool wrote; left out by default."""


VALUE_TYPES: Mapping[Unit, tuple[type, ...]] = {
    Unit.NAME: (str,),
    Unit.NAMES: (list,),
    Unit.CODE: (str, type(None)),
    Unit.COUNT: (int,),
    Unit.SECONDS: (int, float, type(None)),
    Unit.BYTES: (int,),
    Unit.RATIO: (int, float),
    Unit.FLAG: (bool,),
    Unit.PAYLOAD: (object,),
}
"""Python types of the values, as read from JSON, by unit."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """One field of a record."""

    name: str
    """Stable name; the same name means the same in every kind."""
    unit: Unit
    """Kind of the value."""
    meaning: str
    """Meaning, for the reader of a log."""
    read: Callable[[Details], Any]
    """Function that reads the value from the details."""
    added: bool | str | tuple[()] | None = None
    """Default for lines of older releases without the field; ``None`` if all releases have it.

    A new field of an existing event must have one: without it, each older trace becomes unreadable.
    """
