"""Units that an answer itself names: in a wrapper, in a field beside a number, in a text."""

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
"""Substrings, one of which each name of a unit field contains."""
_MAX_UNIT = 24
"""Length up to which a text may be the name of a unit."""
_QUANTITY = re.compile(
    r"\s*(?P<before>[^\d\s+.,-]{0,12})\s*[-+\u2212]?\d[\d.,'\u00a0\u202f]*(?:[eE][-+]?\d+)?\s*(?P<after>\D{0,24})"
)
_MAX_DEPTH = 8
_UNCLEAR = frozenset(
    {"min", "in", "second", "minute", "hour", "day", "week", "minor", "share", "each"}
)
_UNCLEAR |= {"item", "items", "piece", "pieces", "bar", "bars"}
"""Names of units that may mean something else at the end of a field's name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Naming:
    """A unit that an answer names, against the declared one."""

    path: tuple[str | int, ...]
    """Place of the number."""
    declared: str
    """Declared unit."""
    named: str
    """Unit as the answer spells it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Plan:
    """Part of a schema that concerns units."""

    unit: str | None
    fields: Mapping[str, "_Plan"]
    items: "_Plan | None"

    @property
    def counted(self) -> dict[str, str]:
        return {name: plan.unit for name, plan in self.fields.items() if plan.unit is not None}


# Every answer of a tool is checked against the same schema, so its plan is kept.
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
    """Return every place where an answer names another unit than the schema declares.

    A different spelling of one unit (``kg``, ``kilograms``) does not count as a conflict.
    """
    plan = _plan_of(IdentityKey(schema))
    return iter(()) if plan is None else _conflicts(plan, value, ())


def _conflicts(plan: _Plan, value: Any, path: tuple[str | int, ...]) -> Iterator[Naming]:
    if plan.unit is not None and (named := unit_within(value)) and differ(plan.unit, named):
        yield Naming(path=path, declared=plan.unit, named=named)
    if isinstance(value, Mapping):
        counted = plan.counted
        holders = unit_holders(value) if counted else []
        for name, unit in counted.items() if holders else ():
            if name not in value:
                continue
            beside = unit_beside(name, unit, holders, alone=len(counted) == 1)
            if beside and differ(unit, beside):
                yield Naming(path=(*path, name), declared=unit, named=beside)
        for name, inner in plan.fields.items():
            # A bare number names no unit, and most fields hold one.
            if isinstance(value.get(name), Mapping | list | str):
                yield from _conflicts(inner, value[name], (*path, name))
    elif isinstance(value, list) and plan.items is not None:
        for position, item in enumerate(value):
            yield from _conflicts(plan.items, item, (*path, position))


def unit_holders(value: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return owner and text of the fields of an object that hold the name of a unit.

    The owner is empty where the field does not name it.
    """
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
    """Return the unit that a field beside a number gives it.

    Args:
        name: Field of the number.
        declared: Its declared unit; a unit of another kind, in a field that names no owner, does
            not belong to it.
        holders: From :func:`unit_holders`.
        alone: True if no other number of the object has a unit.
    """
    own = folded(name)
    for owner, text in holders:
        if owner == own or (not owner and _is_ours(text, declared, alone=alone)):
            return text
    return None


@lru_cache(maxsize=4096)
def unit_owner(key: str) -> str | None:
    """Return the folded name of the field whose unit this one holds.

    It is empty if the name does not say, and ``None`` if the field does not hold a unit.
    """
    lower = key.lower()
    if not any(hint in lower for hint in _HINTS):  # the common case, decided ten times faster
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
    # "unit" may be a ward or a flat: only a unit of the declared one's kind belongs to the number.
    unit, named = unit_named(declared), unit_named(text)
    return unit is not None and named is not None and kindred(unit, named)


def unit_within(value: Any) -> str | None:
    """Return the unit in a wrapper or around the number of a text (``3 kg``).

    A wrapper is an object such as ``{"value": 3, "unit": "kg"}``.
    """
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
    """Return True if two texts name different units.

    Texts that name no known unit are compared as names.
    """
    one, other = unit_named(declared), unit_named(named)
    if one is None or other is None:
        return not same_name(declared, named)
    return not equal(one, other)


def same_name(declared: str, named: str) -> bool:
    """Return True if two texts are one name of an unknown unit, whatever joins its words.

    Where only one of the two is known, the other is an ambiguous spelling or another unit.
    """
    unknown = unit_named(declared) is None and unit_named(named) is None
    return unknown and folded(declared) == folded(named) and alike(declared, named)


def measured(name: str, declared: str | None = None) -> tuple[str, Unit] | None:
    """Return the folded name before a unit at the end of a field's name, and the unit.

    Examples are ``weight_kg`` and ``price_in_cents``.

    Args:
        name: The field's name.
        declared: Unit that is declared for this very field: then its end may be any spelling of it.

    Returns:
        ``None`` if it does not end in a unit, or its end has other readings: a letter (minutes,
        metres or months), a word that is not a plural (``start_hour``, ``price_second``).
    """
    stem, text = _parted(name)
    unit = unit_named(text)
    unclear = len(text) < 2 or text.casefold() in _UNCLEAR
    if not stem or unit is None or (unclear and (declared is None or differ(declared, text))):
        return None
    return "".join(stem[:-1] if stem[-1] == "in" and len(stem) > 1 else stem), unit


def unit_at_end(name: str) -> Unit | None:
    """Return the unit that the last word of a name may stand for, even if it has other readings."""
    stem, text = _parted(name)
    return unit_named(text) if stem else None


def _parted(name: str) -> tuple[tuple[str, ...], str]:
    """Return the words of a name before its last one, and that one.

    The last word keeps its case, unless the whole name is in upper case.
    """
    spelled, last = words(name), re.split(r"[_\-. ]", name)[-1]
    last = last.casefold() if name.isupper() else last
    if unit_named(last) is None and len(words(last)) > 1:
        return spelled[:-1], spelled[-1]
    return spelled[: -len(words(last))], last


def suffix_unit(name: str) -> Unit | None:
    """Return the unit at the end of a field's name, if it has only one reading."""
    found = measured(name)
    return None if found is None else found[1]
