"""Documents of the tools: one JSON line a tool, turned into the schemas that agents are shown."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.suites.bfcl.terms import expect

_TYPES = {
    "string": "string",
    "float": "number",
    "integer": "integer",
    "array": "array",
    "boolean": "boolean",
    "dict": "object",
}
_KEPT = ("description", "default", "enum")


@dataclass(frozen=True, kw_only=True)
class Document:
    """What an agent is told of a tool."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON schema of the arguments, a closed object."""
    floats: frozenset[str]
    """Arguments whose type the document calls float."""

    @property
    def defaults(self) -> Mapping[str, Any]:
        """Return the defaults that the document states."""
        properties: Mapping[str, Any] = self.parameters["properties"]
        return {name: each["default"] for name, each in properties.items() if "default" in each}

    def to_json(self) -> dict[str, Any]:
        """Return what the state of a task keeps of it."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": dict(self.parameters),
        }


def document_of(value: Mapping[str, Any], where: str) -> Document:
    """Read the document of a tool.

    Raises:
        DataError: it breaks the format.
    """
    name = expect(value.get("name"), str, f"{where}.name", "a text")
    parameters = expect(value.get("parameters"), dict, f"{where}.parameters", "an object")
    properties = expect(
        parameters.get("properties"), dict, f"{where}.parameters.properties", "an object"
    )
    required = expect(parameters.get("required"), list, f"{where}.parameters.required", "a list")
    names = [*properties]  # compared, because not every JSON value can be looked up
    unknown = [each for each in required if each not in names]
    if unknown:
        raise DataError(f"{where}.parameters.required", f"{name[:60]} has no {unknown!s:.200}")
    return Document(
        name=name,
        description=expect(value.get("description"), str, f"{where}.description", "a text"),
        parameters={
            "type": "object",
            "properties": {
                each: _schema(schema, f"{where}.parameters.properties.{each[:60]}")
                for each, schema in properties.items()
            },
            "required": required,
            "additionalProperties": False,
        },
        floats=frozenset(each for each, schema in properties.items() if schema["type"] == "float"),
    )


def _schema(value: Any, where: str) -> dict[str, Any]:
    expect(value, dict, where, "an object")
    kind = value.get("type")
    if not isinstance(kind, str) or kind not in _TYPES:
        raise DataError(f"{where}.type", f"{kind!r:.60} is none of {', '.join(_TYPES)}")
    schema: dict[str, Any] = {"type": _TYPES[kind]}
    schema |= {name: value[name] for name in _KEPT if name in value}
    if "items" in value:
        schema["items"] = _schema(value["items"], f"{where}.items")
    if isinstance(value.get("properties"), dict):
        schema["properties"] = {
            name: _schema(each, f"{where}.properties.{name[:60]}")
            for name, each in value["properties"].items()
        }
    return schema
