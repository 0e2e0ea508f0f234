"""Search of an attentive reader for a value in an answer that looks strange; not found rather than guessed."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from asyncguard_benchmark.harness.agents.tool_match import telling, words
from asyncguard_benchmark.harness.pointers import PointerError, leaves, parts, resolve
from asyncguard_benchmark.harness.protocol.actions import first_object
from asyncguard_benchmark.suites.hazards.agents.argument_pairs import (
    converted,
    likeness,
    other_names,
)
from asyncguard_benchmark.suites.hazards.agents.hasty import fits, json_types

_LABELLED = re.compile(r"([A-Za-z][\w ]*?)\s*[:=]\s*([^;,\n]+)")
_EXPLAINED = re.compile(r"\s*\([^)]*\)\s*$|\s+[-\u2013\u2014]\s+.*$|\s*[.;]\s*$")
_QUANTITY = re.compile(r"(-?\d+(?:\.\d+)?) ?(?:[^\W\d]{1,12}|[^\w\s])?")
_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")


def find_value(
    value: Any, pointer: str, schema: Mapping[str, Any], returns: Mapping[str, Any] | None = None
) -> Any:
    """Return the value of an argument in an answer, if it is certain which one is meant.

    Args:
        value: The answer, or the text of one that is not JSON.
        pointer: Place where the value should be.
        schema: Of the argument.
        returns: Schema of the answer in the live contract, if it was read.

    Raises:
        PointerError: it is not there, or it is not certain.
    """
    if isinstance(value, str):
        value = _structured(value)
    try:
        return _bare(resolve(value, pointer), schema)
    except PointerError:
        return _bare(_by_name(value, pointer, schema, returns or {}), schema)


def _structured(text: str) -> Any:
    """Return the JSON that stands in a text, or what it says as label and value; the text itself if neither."""
    found, _ = first_object(text)
    if found is not None:
        return found
    labelled = {
        label.strip().replace(" ", "_"): said.strip() for label, said in _LABELLED.findall(text)
    }
    return labelled or text


def _by_name(
    value: Any, pointer: str, schema: Mapping[str, Any], returns: Mapping[str, Any]
) -> Any:
    """Return the one field whose name, or description in the live contract, is most like the one that is missing."""
    wanted = next((part for part in reversed(parts(pointer)) if not part.isdecimal()), "")
    said = dict(_fields(returns))
    scored = []
    for place, leaf in leaves(value):
        if not _suits(leaf, schema):
            continue
        name = next((part for part in reversed(parts(place)) if not part.isdecimal()), "")
        live = said.get(name, {})
        same = wanted in (name, *other_names(live))
        by_name = 2.0 if same else likeness(words(name), words(wanted))
        by_words = likeness(telling(str(live.get("description", ""))), words(wanted))
        scored.append((max(by_name, by_words), place, leaf))
    best = max((score for score, *_ in scored), default=0.0)
    chosen = [leaf for score, _, leaf in scored if score == best]
    if not best or len(chosen) != 1:
        raise PointerError(f"nothing in the answer is certain to be the value at {pointer!r}")
    return chosen[0]


def _suits(leaf: Any, schema: Mapping[str, Any]) -> bool:
    try:
        return isinstance(leaf, str | int | float | bool) and fits(_bare(leaf, schema), schema)
    except PointerError:
        return False


def _fields(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, inner in schema.get("properties", {}).items():
        yield name, inner
        yield from _fields(inner)


def _bare(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return a value without unit, label or explanation.

    Raises:
        PointerError: it does not have the type that is wanted, or several values in it do.
    """
    if isinstance(value, str):
        value = _undressed(value, json_types(schema))
    if isinstance(value, dict | list) and not fits(value, schema):
        inner = [leaf for _, leaf in leaves(value)]
        numbers = [leaf for leaf in inner if isinstance(leaf, int | float) and fits(leaf, schema)]
        inner = numbers or [leaf for leaf in inner if fits(converted(leaf, schema), schema)]
        value = inner[0] if len(inner) == 1 else value
    value = converted(value, schema)
    if not fits(value, schema) or ("enum" in schema and value not in schema["enum"]):
        raise PointerError("the value is none of those that are wanted")
    return value


def _undressed(text: str, types: frozenset[str]) -> Any:
    """Return a text of one word as it is; of a longer one the date, number or word that it is about, if any."""
    if " " not in text.strip():
        return text
    dates = _DATE.findall(text)
    if len(dates) == 1 and "string" in types:
        return dates[0]
    labelled = _LABELLED.fullmatch(_EXPLAINED.sub("", text).strip())
    inner = labelled[2].strip() if labelled else _EXPLAINED.sub("", text).strip()
    quantity = _QUANTITY.fullmatch(inner)
    if quantity is not None and types & {"number", "integer"}:
        return converted(quantity[1], {"type": "number"})
    return inner if labelled or " " not in inner else text
