"""Types of arguments as NESTFUL writes them, as JSON schemas."""

import ast
from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator, SchemaError

_NAMES: Mapping[str, str] = {
    **{
        name: name for name in ("array", "boolean", "integer", "null", "number", "object", "string")
    },
    "int": "integer",
    "float": "number",
    "complex": "number",
    "str": "string",
    "bool": "boolean",
    "none": "null",
    "nonetype": "null",
    "list": "array",
    "tuple": "array",
    "set": "array",
    "dict": "object",
    "dictionary": "object",
}
_ANYTHING = frozenset({"", "any", "object or any"})
_KEPT = ("enum", "default", "minItems", "maxItems", "minimum", "maximum")
"""Keywords that are taken over as they are; the rest is described by their type."""


def schema_of(value: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Translate the description of one argument.

    Args:
        value: ``description``, ``type`` (a name, several joined by "or", a list of names, or the text of such a list),
            and what JSON Schema says of items and properties.

    Returns:
        A JSON Schema, and the types that were not understood: for those it asks for nothing.
    """
    unknown: list[str] = []
    made = _schema(value, unknown)
    try:
        Draft202012Validator.check_schema(made)
    except SchemaError as problem:
        unknown.append(problem.message[:100])
        made = {}
    if isinstance(told := value.get("description"), str) and told:
        made = {"description": told, **made}
    return made, tuple(unknown)


def _schema(value: Mapping[str, Any], unknown: list[str]) -> dict[str, Any]:
    made = _typed(value.get("type", ""), unknown)
    if value.get("nullable") is True and "type" in made:
        types = made["type"] if isinstance(made["type"], list) else [made["type"]]
        made["type"] = list(dict.fromkeys([*types, "null"]))
    for name in ("items", "additionalProperties"):
        if isinstance(inner := value.get(name), Mapping):
            made[name] = _schema(inner, unknown)
    if isinstance(inner := value.get("prefixItems"), list):
        made["prefixItems"] = [
            _schema(each, unknown) for each in inner if isinstance(each, Mapping)
        ]
    if isinstance(inner := value.get("properties"), Mapping):
        made["properties"] = {
            name: _schema(each, unknown)
            for name, each in inner.items()
            if isinstance(each, Mapping)
        }
    return made | {name: value[name] for name in _KEPT if name in value}


def _typed(told: Any, unknown: list[str]) -> dict[str, Any]:
    """Return the schema of a type by its name or names."""
    if isinstance(told, str) and told.strip().startswith("["):
        try:
            told = ast.literal_eval(told.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            unknown.append(told[:60])
            return {}
    if told is None:
        return {"type": "null"}
    names = told if isinstance(told, list) else str(told).replace("|", " or ").split(" or ")
    schemas = [_named(str(name).strip(), unknown) for name in names]
    if len(schemas) == 1:
        return schemas[0]
    if not all(schemas) or any("items" in each for each in schemas):
        return {"anyOf": schemas} if all(schemas) else {}
    types = list(dict.fromkeys(each["type"] for each in schemas))
    # JSON Schema counts whole numbers among the numbers.
    types = [each for each in types if not (each == "integer" and "number" in types)]
    return {"type": types[0] if len(types) == 1 else types}


def _named(name: str, unknown: list[str]) -> dict[str, Any]:
    lower = name.lower()
    if lower in _ANYTHING:
        return {}
    if lower in _NAMES:
        return {"type": _NAMES[lower]}
    outer, _, inner = lower.partition(" of ")
    if inner and _NAMES.get(outer) == "array":
        items = _named(inner.removesuffix("s") if inner.rstrip("s") in _NAMES else inner, unknown)
        return {"type": "array", **({"items": items} if items else {})}
    unknown.append(name[:60])
    return {}
