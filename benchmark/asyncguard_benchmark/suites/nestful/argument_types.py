"""Types of arguments as NESTFUL writes them, as JSON schemas."""

import ast
from collections.abc import Mapping
from typing import Any

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
_KEPT = ("default", "enum", "minItems", "maxItems", "minimum", "maximum")
"""Keywords that are taken over if they are well formed; the rest is described by their type."""


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
    if isinstance(inner := value.get("prefixItems"), list) and inner:
        made["prefixItems"] = [
            _schema(each, unknown) for each in inner if isinstance(each, Mapping)
        ]
    if isinstance(inner := value.get("properties"), Mapping):
        made["properties"] = {
            name: _schema(each, unknown)
            for name, each in inner.items()
            if isinstance(each, Mapping)
        }
    for name in filter(value.__contains__, _KEPT):
        if _is_well_formed(name, value[name]):
            made[name] = value[name]
        else:
            unknown.append(f"{name} {value[name]!r:.40}")
    return made


def _is_well_formed(keyword: str, value: Any) -> bool:
    """Return True if a keyword may have a value: cheaper than to check each schema against the one of JSON Schema."""
    if keyword == "default":
        return True
    if keyword == "enum":
        return isinstance(value, list) and bool(value)
    if isinstance(value, bool):
        return False
    return (
        isinstance(value, int) and value >= 0
        if keyword.endswith("Items")
        else isinstance(value, int | float)
    )


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
