"""Schemas of published tools, loosely typed, as JSON Schema that providers and guards take.

The published runs repaired types, too, and dropped nested `required` lists and defaults with it; both are kept here.
"""

import re
from collections.abc import Mapping
from typing import Any

_TYPES: Mapping[str, str] = {
    **{
        name: name for name in ("array", "boolean", "integer", "null", "number", "object", "string")
    },
    "float": "number",
    "double": "number",
    "int": "integer",
    "bool": "boolean",
    "str": "string",
    "complex_string": "string",
    "uuid": "string",
    "list": "array",
    "dict": "object",
    "dictionary": "object",
    "list of dictionaries": "object",  # so the published runs show it
}
_ENUM = re.compile(r"enum\s*[\[(](.*)[\])]", re.DOTALL)
_TEXTS = ("description", "title")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems")
_SWITCHES = ("additionalProperties", "uniqueItems")


def repaired(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a tool's arguments; always of an object.

    Args:
        parameters: The schema as it was published. Of what is not understood nothing is asked.
    """
    made = _schema(parameters)
    return {**made, "type": "object", "properties": made.get("properties", {})}


def _schema(said: Mapping[str, Any]) -> dict[str, Any]:
    made = _typed(said.get("type"))
    made |= {name: said[name] for name in _TEXTS if isinstance(said.get(name), str)}
    numbers = {name: said.get(name) for name in (*_NUMBERS, *_COUNTS)}
    made |= {
        name: each
        for name, each in numbers.items()
        if isinstance(each, int | float) and not isinstance(each, bool)
        if name in _NUMBERS or (isinstance(each, int) and each >= 0)
    }
    if "default" in said:
        made["default"] = said["default"]
    if isinstance(options := said.get("enum"), list) and options:
        made["enum"] = options
    if isinstance(inner := said.get("properties"), Mapping):
        made["properties"] = {
            name: _schema(each) for name, each in inner.items() if isinstance(each, Mapping)
        }
    if isinstance(names := said.get("required"), list):
        made["required"] = list(dict.fromkeys(each for each in names if isinstance(each, str)))
    for name in ("items", "additionalProperties"):
        if isinstance(inner := said.get(name), Mapping):
            made[name] = _schema(inner)
    for name in ("anyOf", "oneOf", "allOf"):
        if isinstance(parts := said.get(name), list) and parts:
            made[name] = [_schema(each) for each in parts if isinstance(each, Mapping)]
    made |= {name: said[name] for name in _SWITCHES if isinstance(said.get(name), bool)}
    if isinstance(text := said.get("pattern"), str) and _compiles(text):
        made["pattern"] = text
    return made


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def _typed(said: Any) -> dict[str, Any]:
    if isinstance(said, list):
        names = [each["type"] for each in map(_typed, said) if "type" in each]
        return {"type": list(dict.fromkeys(names))} if names else {}
    if not isinstance(said, str):
        return {}
    if found := _ENUM.fullmatch(said.strip()):
        options = [each.strip().strip("'\"") for each in found[1].split(",")]
        return {"type": "string", "enum": [each for each in options if each]}
    known = _TYPES.get(said.split("|")[0].strip().lower())
    return {} if known is None else {"type": known}
