"""Coercion of one value into its declared form.

It handles numbers in texts, units, wrappers, and other spellings of dates and choices.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from asyncguard.recovery.repair.free_text import cores
from asyncguard.recovery.repair.identifiers import folded, shown
from asyncguard.recovery.repair.literals import (
    NUMBER,
    as_json_number,
    choice_in,
    date_in,
    date_time_in,
    number_in,
    number_text,
    recased,
    truth_in,
)
from asyncguard.recovery.repair.unit_annotations import same_name, suffix_unit, unit_owner
from asyncguard.recovery.repair.units import Unit, convert, equal, unit_named
from asyncguard.schema.compiled import (
    choices,
    field_aliases,
    shape_of,
    unit_text,
    value_aliases,
    wrappers,
)

_QUANTITY = re.compile(
    rf"(?P<before>[^\d\s+.,-][^\d+.,-]{{0,14}}?)?\s*(?P<number>{NUMBER})\s*(?P<after>[^\d\s].{{0,23}})?"
)
_PINNING = frozenset({"enum", "const", "pattern", "format"})
_DAY_PARTS = {"year", "month", "day"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Coerced:
    """A value in its declared form, with the changes that led to it."""

    value: Any
    """The value."""
    changes: tuple[str, ...] = ()
    """Changes in words, without values; empty if it was right."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Where:
    """Place of a value in an answer, for messages and for units."""

    path: tuple[str, ...] = ()
    """Field names; items of lists add none."""
    depth: int = 0
    """Number of steps so far, wrappers and envelopes included."""
    named: str | None = None
    """Unit that the answer names beside the value."""

    @property
    def text(self) -> str:
        """Place in words, for a message."""
        return f"in {shown('.'.join(self.path))}" if self.path else "in the answer"

    def below(self, name: str, named: str | None = None) -> "Where":
        """Return the place of a field of the value."""
        return Where(path=(*self.path, name), depth=self.depth + 1, named=named)

    def inside(self) -> "Where":
        """Return the same place, one step deeper."""
        return replace(self, depth=self.depth + 1)


def declared_unit(schema: Mapping[str, Any], where: Where) -> str | None:
    """Return the unit that a schema declares for a value.

    An annotation declares it, else the end of the field's name.
    """
    if text := unit_text(schema):
        return text
    unit = suffix_unit(where.path[-1]) if where.path else None
    return unit.name if unit is not None else None


def is_pinned(schema: Mapping[str, Any]) -> bool:
    """Return True if a schema of texts distinguishes right texts from wrong ones."""
    return not _PINNING.isdisjoint(schema)


def mend_scalar(value: Any, schema: Mapping[str, Any], where: Where) -> Coerced | None:
    """Return a value in the form that a schema of texts, numbers or truth values declares.

    Returns:
        ``None`` if there is no reading, or more than one.
    """
    # The key keeps True and 1 apart, which are equal in Python and different in JSON.
    readings: dict[tuple[bool, Any], Coerced] = {}
    for mended in _readings(value, schema, where):
        if shape_of(schema).fits(mended.value):
            readings.setdefault((type(mended.value) is bool, mended.value), mended)
    return next(iter(readings.values())) if len(readings) == 1 else None


def _readings(value: Any, schema: Mapping[str, Any], where: Where) -> Iterator[Coerced]:
    shape = shape_of(schema)
    kinds = shape.kinds
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and not kinds.isdisjoint({"number", "integer"}):
        if (mended := _counted(value, schema, where, where.named)) is not None:
            yield mended
    elif shape.fits(value):
        yield Coerced(value=value)
    if isinstance(value, str):
        yield from _read(value, schema, where)
        return
    if (
        "string" in kinds
        and is_number
        and is_pinned(schema)
        and (text := number_text(value)) is not None
    ):
        yield _changed(text, f"wrote the number {where.text} as a text")
    if "boolean" in kinds and (truth := truth_in(value)) is not None:
        yield _changed(truth, f"read the number {where.text} as a truth value")


def _read(text: str, schema: Mapping[str, Any], where: Where) -> Iterator[Coerced]:
    shape = shape_of(schema)
    if not shape.kinds.isdisjoint({"number", "integer"}):
        yield from _numbers(text, schema, where)
    if "boolean" in shape.kinds:
        for core in cores(text, _names(schema, where)):
            if (truth := truth_in(core)) is not None:
                yield _changed(truth, f"read a text {where.text} as a truth value")
    # Without an enum, pattern or format every text is right, so there is nothing to mend.
    if "string" in shape.kinds and is_pinned(schema) and not shape.fits(text):
        listed, aliases = choices(schema), value_aliases(schema)
        for core in cores(text, _names(schema, where)):
            chosen = choice_in(core, listed, aliases)
            for found in (core, *chosen, date_in(core), date_time_in(core), *recased(core)):
                if found is not None and shape.fits(found):
                    yield _changed(found, f"rewrote the text {where.text} as declared")


def _changed(value: Any, *changes: str) -> Coerced:
    return Coerced(value=value, changes=changes)


def _counted(
    value: int | float, schema: Mapping[str, Any], where: Where, named: str | None
) -> Coerced | None:
    """Return the number in its declared unit, given the unit that the answer names."""
    # An answer that names no unit is taken to be in the declared one.
    if not named:
        return Coerced(value=value)
    declared = declared_unit(schema, where)
    if declared is None:
        return _changed(value, f"left out the unit {where.text}, for which none is declared")
    source, target = unit_named(named), unit_named(declared)
    # A unit outside the table does not convert, so only the same word is the same unit.
    if source is None or target is None:
        return (
            Coerced(value=value)
            if declared.casefold() == named.casefold() and same_name(declared, named)
            else None
        )
    if equal(source, target):
        return Coerced(value=value)
    return converted(value, source, target, schema, where)


def converted(
    value: int | float, source: Unit, target: Unit, schema: Mapping[str, Any], where: Where
) -> Coerced | None:
    """Return the number in another unit, ``None`` if the units measure different things."""
    number = convert(value, source, target)
    if number is None:
        return None
    return _changed(
        _as_integer(number, schema),
        f"converted the number {where.text} from {source.name} to {target.name}",
    )


def _as_integer(number: int | float, schema: Mapping[str, Any]) -> int | float:
    """Return a number as an integer if it is whole and the schema takes nothing but integers."""
    whole = isinstance(number, float) and number.is_integer()
    return int(number) if whole and "number" not in shape_of(schema).kinds else number


def _numbers(text: str, schema: Mapping[str, Any], where: Where) -> Iterator[Coerced]:
    declared = declared_unit(schema, where)
    for core in cores(text, _names(schema, where)):
        match = _QUANTITY.fullmatch(core)
        found = None if match is None else number_in(match["number"])
        if match is None or found is None:
            continue
        beside = [part.strip() for part in (match["before"], match["after"]) if part]
        named = [part for part in beside if part]
        # Words around a number may qualify it ("about 3", "3 of 5"), unless they are its unit.
        is_unit = [
            unit_named(part) is not None
            or (declared is not None and folded(declared) == folded(part))
            for part in named
        ]
        if len(named) > 1 or not all(is_unit):
            continue
        number = _as_integer(as_json_number(found), schema)
        counted = _counted(number, schema, where, named[0] if named else where.named)
        if counted is not None:
            change = f"read the number {where.text} from a text"
            yield _changed(counted.value, change, *counted.changes)


def _names(schema: Mapping[str, Any], where: Where) -> frozenset[str]:
    """Return the names by which a value is known, for a label before it."""
    return field_aliases(schema) | frozenset(where.path[-1:])


def coerce_wrapped(
    value: Mapping[str, Any], schema: Mapping[str, Any], where: Where
) -> Coerced | None:
    """Return the one value in a declared wrapper, or the day that its parts make; else ``None``.

    A wrapper is an object such as ``{"amount": 3, "currency": "EUR"}``.
    """
    if set(value) == _DAY_PARTS and "string" in shape_of(schema).kinds:
        parts = [value["year"], value["month"], value["day"]]
        if not all(type(part) is int for part in parts):
            return None
        day = date_in("-".join(map(str, parts)))
        if day is None or not shape_of(schema).fits(day):
            return None
        return _changed(day, f"put the day together {where.text}")
    holders = {
        key: text
        for key, text in value.items()
        if isinstance(text, str) and unit_owner(key) is not None
    }
    # Two units beside one value: either may be the one that counts.
    if len(holders) > 1:
        return None
    named = next(iter(holders.values()), where.named)
    inside = {key: item for key, item in value.items() if key not in holders}
    if len(inside) != 1:
        return None  # a further field may change the meaning of the value
    key, item = next(iter(inside.items()))
    # A key that nothing declares may hold another value of the same type.
    known = key in wrappers(schema) or folded(key) in map(folded, _names(schema, where))
    mended = mend_scalar(item, schema, replace(where, named=named)) if known else None
    if mended is None:
        return None
    return _changed(mended.value, f"took the value out of a wrapper {where.text}", *mended.changes)
