"""Conversion of an answer or a call's arguments between two contracts, to prove that a task can be solved.

Written apart from any runtime and from the modes: it knows contracts and texts, and not what was done to them. What
takes a guess it leaves alone.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from jsonschema import Draft202012Validator

from asyncguard_benchmark.harness.pointers import child, parts, put
from asyncguard_benchmark.suites.hazards.shapes import Schema, is_number

_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
_HOLDERS = ("value", "amount", "quantity")
"""Names under which a value stands beside its unit."""
_FACTORS: Mapping[tuple[str, str], int] = {
    ("EUR", "cent"): 100,
    ("USD", "cent"): 100,
    ("km", "m"): 1000,
    ("m", "cm"): 100,
    ("cm", "mm"): 10,
    ("t", "kg"): 1000,
    ("kg", "g"): 1000,
    ("g", "mg"): 1000,
    ("mg", "ug"): 1000,
    ("MWh", "kWh"): 1000,
    ("kWh", "Wh"): 1000,
    ("kW", "W"): 1000,
    ("l", "ml"): 1000,
    ("L", "mL"): 1000,
    ("m3", "l"): 1000,
    ("d", "h"): 24,
    ("h", "min"): 60,
    ("min", "s"): 60,
}
"""A unit and a smaller one -> how many of the second make one of the first."""


class NoWayBackError(Exception):
    """The value cannot be brought into the wanted form without a guess."""


def rebound(arguments: Mapping[str, Any], declared: Schema, live: Schema) -> dict[str, Any]:
    """Return arguments that satisfy the declared schema, as the live one wants them.

    Raises:
        NoWayBackError: something that is wanted has no counterpart.
    """
    wanted = dict(_fields(live))
    pairs = _counterparts(wanted, dict(_fields(declared)))
    made: dict[str, Any] = {}
    for place, schema in wanted.items():
        source = pairs.get(place)
        if source is not None and source[1:] in arguments:
            _lay(
                made,
                place,
                _converted(arguments[source[1:]], dict(_fields(declared))[source], schema),
            )
        elif "default" in schema:
            _lay(made, place, schema["default"])
        elif "const" in schema:
            _lay(made, place, schema["const"])
    if not Draft202012Validator(live).is_valid(made):
        raise NoWayBackError("the call cannot be written as the live contract wants it")
    return made


def carried_back(value: Any, declared: Schema, live: Schema) -> Any:
    """Return an answer that satisfies the live schema, as the declared one has it.

    Raises:
        NoWayBackError: something that is declared has no counterpart, or the answer is not even what is live.
    """
    if not Draft202012Validator(live).is_valid(value):
        raise NoWayBackError("the answer is not what the live contract says")
    wanted, there = dict(_fields(declared)), dict(_fields(live))
    pairs = _counterparts(wanted, there)
    made: dict[str, Any] = {}
    for place, schema in wanted.items():
        source = pairs.get(place)
        if source is None:
            continue
        found = _at(value, source)
        if found is not _NOTHING:
            _lay(made, place, _converted(found, there[source], schema))
    return _valid(made, declared)


def normalised(text: str, declared: Schema) -> Any:
    """Return the content of a text, in the declared form.

    Raises:
        NoWayBackError: it is not certain what it says.
    """
    for found in _readings(text):
        for each in (found, *_inside(found)):
            if not isinstance(each, Mapping):
                continue
            try:
                return _valid(_mended(each, declared), declared)
            except NoWayBackError:
                continue
    raise NoWayBackError("the text does not say what is declared")


def read(text: str) -> Any:
    """Return the value of a text that is JSON.

    Raises:
        NoWayBackError: it is none.
    """
    try:
        return json.loads(text)
    except ValueError:
        raise NoWayBackError("the answer must be JSON") from None


# -- schemas -------------------------------------------------------------------------------------------------------


def _fields(schema: Schema, above: str = "") -> Iterator[tuple[str, Schema]]:
    """Yield pointer and schema of every field that holds no further declared fields."""
    for name, inner in schema.get("properties", {}).items():
        place = child(above, name)
        if inner.get("properties"):
            yield from _fields(inner, place)
        else:
            yield place, inner


def _counterparts(wanted: Mapping[str, Schema], there: Mapping[str, Schema]) -> dict[str, str]:
    """Return wanted field -> the field that stands for it: of its name, of an announced name, or the only one left."""
    found: dict[str, str] = {}
    for place in wanted:
        same = [each for each in there if each == place] or [
            each for each in there if _name(each) == _name(place)
        ]
        known = same or [
            each
            for each in there
            if _name(each) in _aliases(wanted[place]) or _name(place) in _aliases(there[each])
        ]
        if len(known) == 1:
            found[place] = known[0]
    left = [place for place in wanted if place not in found and "default" not in wanted[place]]
    free = [each for each in there if each not in found.values() and not _is_new(there[each])]
    if len(left) == len(free):
        found |= dict(zip(left, free, strict=True))
    return found


def _is_new(schema: Schema) -> bool:
    return "default" in schema or "const" in schema


def _name(place: str) -> str:
    return parts(place)[-1]


def _aliases(schema: Schema) -> Sequence[str]:
    told = schema.get("aliases", ())
    return told if isinstance(told, list | tuple) else ()


# -- values --------------------------------------------------------------------------------------------------------

_NOTHING = object()


def _at(value: Any, place: str) -> Any:
    for part in parts(place):
        if not isinstance(value, Mapping) or part not in value:
            return _NOTHING
        value = value[part]
    return value


def _lay(made: dict[str, Any], place: str, item: Any) -> None:
    """Put an item into its place, with the objects on the way to it."""
    *above, last = parts(place)
    holder = made
    for part in above:
        holder = holder.setdefault(part, {})
    holder[last] = item


def _converted(value: Any, of: Schema, into: Schema) -> Any:
    """Return a value of one field as another has it: list of one or not, number or its text, unit."""
    if (
        of.get("type") == "array"
        and into.get("type") != "array"
        and isinstance(value, list)
        and len(value) == 1
    ):
        return _converted(value[0], of.get("items", {}), into)
    if of.get("type") != "array" and into.get("type") == "array":
        return [_converted(value, of, into.get("items", {}))]
    if is_number(into) and isinstance(value, str) and _NUMBER.fullmatch(value):
        value = _plain(Decimal(value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _rescaled(value, str(of.get("unit", "")), str(into.get("unit", "")))
    return value


def _rescaled(value: float, of: str, into: str) -> Any:
    exact = Decimal(str(value))
    if (of, into) in _FACTORS:
        return _plain(exact * _FACTORS[of, into])
    if (into, of) in _FACTORS:
        return _plain(exact / _FACTORS[into, of])
    return value


def _plain(number: Decimal) -> Any:
    return int(number) if number == number.to_integral_value() else float(number)


def _valid(value: Any, declared: Schema) -> Any:
    if not Draft202012Validator(declared).is_valid(value):
        raise NoWayBackError("what was found is not what is declared")
    return value


# -- texts ---------------------------------------------------------------------------------------------------------


def _readings(text: str) -> Iterator[Any]:
    """Yield the values that a text may be meant to be: itself, an object that it quotes, or lines with labels."""
    decoder = json.JSONDecoder()
    for start in (n for n, sign in enumerate(text) if sign == "{"):
        try:
            yield decoder.raw_decode(text, start)[0]
        except ValueError:
            continue
    lines = [line.partition(":") for line in text.splitlines() if line.strip()]
    if lines and all(colon for _, colon, _ in lines):
        yield {
            label.strip().lower().replace(" ", "_"): _said(said.strip()) for label, _, said in lines
        }


def _said(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _inside(value: Any) -> Iterator[Any]:
    """Yield the objects in an object, outermost first."""
    if isinstance(value, Mapping):
        for item in value.values():
            if isinstance(item, Mapping):
                yield item
                yield from _inside(item)


def _mended(value: Mapping[str, Any], declared: Schema) -> dict[str, Any]:
    """Return an object with its fields under their declared names and in their declared form."""
    properties: Mapping[str, Schema] = declared.get("properties", {})
    made: dict[str, Any] = {}
    for name, schema in properties.items():
        known = [each for each in (name, *_aliases(schema)) if each in value]
        if len(known) == 1:
            made[name] = _field(value[known[0]], schema, name)
    strangers = [name for name in properties if name not in made]
    spare = [
        item for name, item in value.items() if name not in properties and isinstance(item, Mapping)
    ]
    for name in strangers:
        within = [item[name] for item in spare if name in item]
        if len(within) == 1:
            made[name] = _field(within[0], properties[name], name)
    return made


def _field(value: Any, schema: Schema, name: str) -> Any:
    """Return one field: out of what it was put into, and in its declared spelling."""
    if schema.get("properties") and isinstance(value, Mapping):
        return _mended(value, schema)
    if isinstance(value, Mapping) and schema.get("type") != "object":
        held = [value[each] for each in _HOLDERS if each in value]
        value = held[0] if len(held) == 1 else value
    if isinstance(value, list) and len(value) == 1 and schema.get("type") != "array":
        value = value[0]
    if isinstance(value, str):
        value = _word(value, schema, name)
    return value


def _word(text: str, schema: Schema, name: str) -> Any:
    """Return a text without label or unit: as number if one is declared, as word of the list if there is a list."""
    bare = text.strip()
    label = f"{name.replace('_', ' ')}:"
    if bare.lower().startswith(label.lower()):
        bare = bare[len(label) :].strip()
    if is_number(schema):
        unit = str(schema.get("unit", ""))
        number = bare.removesuffix(unit).strip() if unit else bare
        return _plain(Decimal(number)) if _NUMBER.fullmatch(number) else text
    if "enum" in schema:
        told = schema.get("aliases", {})
        spelled = {str(each).casefold(): each for each in schema["enum"]}
        spelled |= (
            {str(other).casefold(): meant for other, meant in told.items()}
            if isinstance(told, Mapping)
            else {}
        )
        return spelled.get(bare.casefold(), text)
    return bare


def put_all(arguments: Any, values: Mapping[str, Any]) -> Any:
    """Return arguments with values at their pointers."""
    for place, value in values.items():
        arguments = put(arguments, place, value)
    return arguments
