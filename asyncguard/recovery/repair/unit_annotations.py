"""Where an answer itself names a unit: in a wrapper, in a field beside a number, in a text around it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from asyncguard.recovery.repair.identifiers import folded, words
from asyncguard.recovery.repair.units import Unit, alike, equal, kindred, unit_named
from asyncguard.schema.compiled import IdentityKey, main_form, properties, unit_text

_GENERIC = frozenset(
    {
        "unit",
        "units",
        "uom",
        "currency",
        "ccy",
        "currencycode",
        "unitofmeasure",
        "measurementunit",
        "unitcode",
    }
)
_LAST_WORDS = ("unit", "units", "uom", "currency", "ccy")
_HINTS = ("unit", "uom", "currency", "ccy")
"""Each name of a field for a unit holds one of these."""
_MAX_UNIT = 24
"""Longest text that is taken for the name of a unit."""
_QUANTITY = re.compile(
    r"\s*(?P<before>[^\d\s+.,-]{0,12})\s*[-+\u2212]?\d[\d.,'\u00a0\u202f]*(?:[eE][-+]?\d+)?\s*(?P<after>\D{0,24})"
)
_MAX_DEPTH = 8
_UNCLEAR = frozenset(
    {"min", "in", "second", "minute", "hour", "day", "week", "minor", "share", "each"}
)
_UNCLEAR |= {"item", "items", "piece", "pieces", "bar", "bars"}
"""Names of units that mean something else at the end of a field's name, too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Naming:
    """A unit that an answer names, against the declared one."""

    path: tuple[str | int, ...]
    """Where the number stands."""
    declared: str
    """Declared unit."""
    named: str
    """Unit as the answer spells it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Plan:
    """The part of a schema that has to do with units."""

    unit: str | None
    fields: Mapping[str, "_Plan"]
    items: "_Plan | None"

    @property
    def counted(self) -> dict[str, str]:
        return {name: plan.unit for name, plan in self.fields.items() if plan.unit is not None}


@lru_cache(maxsize=1024)
def _plan_of(key: IdentityKey) -> _Plan | None:
    return _plan(key.held, 0)


def _plan(schema: Any, depth: int) -> _Plan | None:
    form = main_form(schema)
    if depth > _MAX_DEPTH:
        return None
    fields = {
        name: plan
        for name, inner in properties(form).items()
        if (plan := _plan(inner, depth + 1)) is not None
    }
    items = _plan(form["items"], depth + 1) if isinstance(form.get("items"), Mapping) else None
    unit = unit_text(form)
    return _Plan(unit=unit, fields=fields, items=items) if unit or fields or items else None


def conflicts(schema: Mapping[str, Any], value: Any) -> Iterator[Naming]:
    """Every place where an answer names another unit than the schema declares.

    A unit that is only spelt differently (``kg``, ``kilograms``) is no conflict.
    """
    plan = _plan_of(IdentityKey(schema))
    return iter(()) if plan is None else _conflicts(plan, value, ())


def _conflicts(plan: _Plan, value: Any, path: tuple[str | int, ...]) -> Iterator[Naming]:
    if plan.unit is not None and (named := unit_within(value)) and differ(plan.unit, named):
        yield Naming(path=path, declared=plan.unit, named=named)
    if isinstance(value, Mapping):
        yield from _beside(plan.counted, value, path)
        for name, inner in plan.fields.items():
            if isinstance(value.get(name), Mapping | list | str):
                yield from _conflicts(inner, value[name], (*path, name))
    elif isinstance(value, list) and plan.items is not None:
        for position, item in enumerate(value):
            yield from _conflicts(plan.items, item, (*path, position))


def _beside(
    counted: Mapping[str, str], value: Mapping[str, Any], path: tuple[str | int, ...]
) -> Iterator[Naming]:
    holders = unit_holders(value) if counted else []
    if not holders:
        return
    for name, unit in counted.items():
        named = unit_beside(name, unit, holders, alone=len(counted) == 1) if name in value else None
        if named and differ(unit, named):
            yield Naming(path=(*path, name), declared=unit, named=named)


def unit_holders(value: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The fields of an object that hold the name of a unit: whose (empty if it does not say), and which."""
    return [
        (owner, text)
        for key, text in value.items()
        if isinstance(text, str)
        and len(text) <= _MAX_UNIT
        and (owner := unit_owner(key)) is not None
    ]


def unit_beside(
    name: str, declared: str | None, holders: list[tuple[str, str]], *, alone: bool
) -> str | None:
    """The unit that a field beside a number gives it.

    Args:
        name: The number's field.
        declared: Its declared unit; a unit of another kind, in a field that names no owner, is somebody else's.
        holders: From :func:`unit_holders`.
        alone: Whether no other number of the object has a unit.
    """
    own = folded(name)
    for owner, text in holders:
        if owner == own or (not owner and _is_ours(text, declared, alone=alone)):
            return text
    return None


@lru_cache(maxsize=4096)
def unit_owner(key: str) -> str | None:
    """Whose unit a field holds: folded name, empty if it does not say, ``None`` if it is no such field."""
    lower = key.lower()
    if not any(hint in lower for hint in _HINTS):  # the common case, told in a tenth of the time
        return None
    if folded(key) in _GENERIC:
        return ""
    spelled = words(key)
    if len(spelled) > 1 and spelled[-1] in _LAST_WORDS:
        return "".join(spelled[:-1])
    return None


@lru_cache(maxsize=4096)
def _is_ours(text: str, declared: str | None, *, alone: bool) -> bool:
    if declared is None:
        return alone
    # "unit" may be a ward or a flat: only what could stand in place of the declared unit speaks of it.
    unit, named = unit_named(declared), unit_named(text)
    return unit is not None and named is not None and kindred(unit, named)


def unit_within(value: Any) -> str | None:
    """The unit in a wrapper (``{"value": 3, "unit": "kg"}``) or around the number of a text (``3 kg``)."""
    if isinstance(value, Mapping):
        for key, text in value.items():
            if isinstance(text, str) and len(text) <= _MAX_UNIT and unit_owner(key) is not None:
                return text
    elif isinstance(value, str) and (found := _QUANTITY.fullmatch(value)):
        for text in (found["after"].strip(), found["before"].strip()):
            if text and unit_named(text) is not None:
                return text
    return None


@lru_cache(maxsize=4096)
def differ(declared: str, named: str) -> bool:
    """Whether two texts name different units; texts that name no known unit are compared as names."""
    one, other = unit_named(declared), unit_named(named)
    if one is None or other is None:
        return not same_name(declared, named)
    return not equal(one, other)


def same_name(declared: str, named: str) -> bool:
    """Whether two texts are one name of a unit that is not known, whatever joins its words.

    Where one is known, the other is a spelling that fits two units, or another unit.
    """
    unknown = unit_named(declared) is None and unit_named(named) is None
    return unknown and folded(declared) == folded(named) and alike(declared, named)


def measured(name: str, declared: str | None = None) -> tuple[str, Unit] | None:
    """The name before a unit at the end of a field's name (``weight_kg``, ``price_in_cents``), folded, and the unit.

    Args:
        name: The field's name.
        declared: The unit that is declared for this very field: then its end may be any spelling of it.

    Returns:
        ``None`` if it ends in no unit, or in what may be read otherwise: a letter (minutes, metres or months), a word
        that is no plural (``start_hour``, ``price_second``).
    """
    stem, text = _parted(name)
    unit = unit_named(text)
    unclear = len(text) < 2 or text.casefold() in _UNCLEAR
    if not stem or unit is None or (unclear and (declared is None or differ(declared, text))):
        return None
    return "".join(stem[:-1] if stem[-1] == "in" and len(stem) > 1 else stem), unit


def unit_at_end(name: str) -> Unit | None:
    """The unit that the last word of a name may stand for, also where it may stand for something else."""
    stem, text = _parted(name)
    return unit_named(text) if stem else None


def _parted(name: str) -> tuple[tuple[str, ...], str]:
    """The words of a name before its last one, and that one: as it is written, where its case is not the name's."""
    spelled, last = words(name), re.split(r"[_\-. ]", name)[-1]
    last = last.casefold() if name.isupper() else last
    if unit_named(last) is None and len(words(last)) > 1:
        return spelled[:-1], spelled[-1]
    return spelled[: -len(words(last))], last


def suffix_unit(name: str) -> Unit | None:
    """The unit at the end of a field's name, where it can be read in one way only."""
    found = measured(name)
    return None if found is None else found[1]
