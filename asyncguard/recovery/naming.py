"""Where an answer itself names a unit: in a wrapper, in a field beside a number, in a text around it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from asyncguard.recovery.names import folded, words
from asyncguard.recovery.shapes import main_form, properties, unit_text
from asyncguard.recovery.units import Unit, equal, kindred, unit_named

_GENERIC = frozenset(
    {"unit", "units", "uom", "currency", "ccy", "currencycode", "unitofmeasure", "measurementunit", "unitcode"}
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Naming:
    """A unit that an answer names, against the declared one."""

    path: tuple[str | int, ...]
    """Where the number stands."""
    declared: str
    """Declared unit."""
    named: str
    """Unit as the answer spells it."""


def conflicts(schema: Any, value: Any, path: tuple[str | int, ...] = ()) -> Iterator[Naming]:
    """Every place where an answer names another unit than the schema declares.

    A unit that is only spelt differently (``kg``, ``kilograms``) is no conflict.
    """
    form = main_form(schema)
    if len(path) > _MAX_DEPTH:
        return
    if (declared := unit_text(form)) and (named := unit_within(value)) and differ(declared, named):
        yield Naming(path=path, declared=declared, named=named)
    if isinstance(value, Mapping):
        yield from _beside(form, value, path)
        for name, inner in properties(form).items():
            if name in value:
                yield from conflicts(inner, value[name], (*path, name))
    elif isinstance(value, list) and isinstance(form.get("items"), Mapping):
        for position, item in enumerate(value):
            yield from conflicts(form["items"], item, (*path, position))


def _beside(form: Mapping[str, Any], value: Mapping[str, Any], path: tuple[str | int, ...]) -> Iterator[Naming]:
    declared = {name: unit for name, inner in properties(form).items() if (unit := unit_text(inner))}
    if not declared:
        return
    for name, unit in declared.items():
        if name in value and (named := unit_beside(name, unit, value, frozenset(declared))) and differ(unit, named):
            yield Naming(path=(*path, name), declared=unit, named=named)


def unit_beside(name: str, declared: str | None, value: Mapping[str, Any], counted: frozenset[str]) -> str | None:
    """The unit that a field beside a number gives it.

    Args:
        name: The number's field.
        declared: Its declared unit; a unit of another kind, in a field that names no owner, is somebody else's.
        value: The object.
        counted: All fields of the object that have a unit.
    """
    for key, text in value.items():
        if not isinstance(text, str) or len(text) > _MAX_UNIT or key == name:
            continue
        owner = unit_owner(key)
        if owner is None:
            continue
        if owner:
            if owner == folded(name):
                return text
        elif _is_ours(text, declared, alone=counted <= {name}):
            return text
    return None


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


def _is_ours(text: str, declared: str | None, *, alone: bool) -> bool:
    if alone or declared is None:
        return alone
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


def differ(declared: str, named: str) -> bool:
    """Whether two texts name different units; texts that name no known unit are compared as names."""
    one, other = unit_named(declared), unit_named(named)
    if one is None or other is None:
        return folded(declared) != folded(named)
    return not equal(one, other)


def suffix_unit(name: str) -> Unit | None:
    """The unit at the end of a field name (``weight_kg``, ``amount_cents``)."""
    spelled = words(name)
    if len(spelled) < 2:
        return None
    last = re.split(r"[_\-. ]", name)[-1]
    return unit_named(last) or unit_named(spelled[-1])
