"""Pairs of arguments of two contracts, by names, descriptions and types; None rather than a guess."""

from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator

from asyncguard_benchmark.harness.agents.tool_match import telling, words
from asyncguard_benchmark.suites.hazards.agents.hasty import fits, json_types

Schema = Mapping[str, Any]


def carried_over(
    arguments: Mapping[str, Any], declared: Schema, live: Schema
) -> dict[str, Any] | None:
    """Return arguments in the form of another contract, every value used once; None if that cannot be made out.

    Args:
        arguments: They fit `declared`.
        declared: Schema of the arguments where they come from.
        live: Schema of the arguments where they go.
    """
    known: Mapping[str, Schema] = declared.get("properties", {})
    wanted: dict[str, Schema] = dict(live.get("properties", {}))
    result: dict[str, Any] = {}
    left = dict(arguments)
    for name in [name for name in left if name in wanted]:
        result[name] = converted(left.pop(name), wanted.pop(name))
    _fill_nested(result, left, wanted, known)
    required = set(live.get("required", ()))
    free = {name: schema for name, schema in wanted.items() if name in required} or wanted
    for target, source in _pairs(left, known, free).items():
        result[target] = converted(left.pop(source), wanted[target])
    return result if not left and Draft202012Validator(live).is_valid(result) else None


def _fill_nested(
    result: dict[str, Any],
    left: dict[str, Any],
    wanted: dict[str, Schema],
    known: Mapping[str, Schema],
) -> None:
    """Move arguments into objects of the other contract: all that are left, or those whose names stand there."""
    for name, schema in list(wanted.items()):
        if not schema.get("properties"):
            continue
        named = [part for part in names_inside(schema) if part in left]
        for parts in ([*left], named):
            nested = carried_over(
                {part: left[part] for part in parts}, {"properties": known}, schema
            )
            if parts and nested is not None:
                result[name] = nested
                del wanted[name]
                for part in parts:
                    del left[part]
                break


def names_inside(schema: Schema) -> list[str]:
    """Return the names of the fields of an object and of the objects in it."""
    properties = schema.get("properties", {})
    return [*properties, *(name for inner in properties.values() for name in names_inside(inner))]


def _pairs(
    left: Mapping[str, Any], known: Mapping[str, Schema], wanted: Mapping[str, Schema]
) -> dict[str, str]:
    """Return target -> source, the likeliest pair first; of equally likely ones the first in order."""
    ranked = sorted(
        (
            (-_likeness(source, known.get(source, {}), target, schema), abs(m - n), target, source)
            for m, (source, value) in enumerate(left.items())
            for n, (target, schema) in enumerate(wanted.items())
            if fits(converted(value, schema), schema)
        ),
        key=lambda pair: pair[:2],
    )
    found: dict[str, str] = {}
    for _, _, target, source in ranked:
        if target not in found and source not in found.values():
            found[target] = source
    return found


def _likeness(source: str, declared: Schema, target: str, live: Schema) -> float:
    names = 1.0 if source in other_names(live) else likeness(words(source), words(target))
    return 2 * names + likeness(
        telling(declared.get("description", "")), telling(live.get("description", ""))
    )


def other_names(schema: Schema) -> list[str]:
    """Return names under which a contract says that a field is known, too."""
    names = schema.get("aliases", ())
    return list(names) if isinstance(names, list) else []


def likeness(one: list[str], other: list[str]) -> float:
    """Return the share of shared words among all words, 0 to 1."""
    union = set(one) | set(other)
    return len(set(one) & set(other)) / len(union) if union else 0.0


def converted(value: Any, schema: Schema) -> Any:
    """Return a value in the type that a schema wants, where that takes no more than another spelling; else as it is."""
    types = json_types(schema)
    if fits(value, schema):
        return value
    if "array" in types:
        return [converted(value, schema.get("items", {}))]
    if isinstance(value, list) and len(value) == 1:
        return converted(value[0], schema)
    if isinstance(value, str) and types & {"number", "integer"}:
        return _number(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and "string" in types:
        return str(value)
    return value


def _number(text: str) -> Any:
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() else number
