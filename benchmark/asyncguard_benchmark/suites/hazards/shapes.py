"""Changing JSON values and JSON schemas at one place, without touching the originals."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from asyncguard_benchmark.harness.pointers import PointerError, child, parts, put, resolve

Schema = Mapping[str, Any]


def fields(schema: Schema | None, pointer: str = "") -> Iterator[tuple[str, Schema]]:
    """Yield pointer and schema of every field of an object, and of the objects in it; not of what stands in lists."""
    for name, inner in (schema or {}).get("properties", {}).items():
        place = child(pointer, name)
        yield place, inner
        yield from fields(inner, place)


def required_fields(schema: Schema | None) -> tuple[str, ...]:
    """Return the pointers of the fields without which an object, or an object in it, is not valid."""
    needed = schema or {}
    return tuple(
        place
        for place, _ in fields(schema)
        for above, name in [holder_of(place)]
        if name in (field_at(schema, above) if above else needed).get("required", ())
    )


def is_number(schema: Schema) -> bool:
    """Return True if a field holds a number, whole or not."""
    return schema.get("type") in ("number", "integer")


def field_at(schema: Schema | None, pointer: str) -> Schema:
    """Return the schema of the field that a pointer into a value names; empty if none is declared."""
    return dict(fields(schema)).get(pointer, {})


def changed(value: Any, pointer: str, change: Callable[[Any], Any]) -> Any:
    """Return a copy in which something else stands at the pointer; the value itself if nothing is there."""
    try:
        found = resolve(value, pointer)
    except PointerError:
        return value
    return put(value, pointer, change(found))


def renamed(value: Any, pointer: str, name: str) -> Any:
    """Return a copy in which the field at the pointer has another name; the value itself if it has none."""
    above, old = holder_of(pointer)

    def rename(holder: Any) -> Any:
        if not isinstance(holder, Mapping) or old not in holder:
            return holder
        return {name if key == old else key: item for key, item in holder.items()}

    return changed(value, above, rename)


def schema_changed(
    schema: Schema, pointer: str, change: Callable[[Schema], Schema]
) -> dict[str, Any]:
    """Return a copy of a schema in which the field at the pointer into a value is declared otherwise."""
    return dict(put(schema, into_schema(pointer), change(field_at(schema, pointer))))


def schema_renamed(schema: Schema, pointer: str, name: str) -> dict[str, Any]:
    """Return a copy of a schema in which the field at the pointer into a value has another name."""
    above, old = holder_of(pointer)

    def rename(holder: Schema) -> Schema:
        properties = {
            name if key == old else key: item for key, item in holder["properties"].items()
        }
        required = [name if key == old else key for key in holder.get("required", [])]
        return {**holder, "properties": properties, "required": required}

    place = into_schema(above)
    return dict(put(schema, place, rename(resolve(schema, place))))


def closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a closed object that has all of these fields."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def holder_of(pointer: str) -> tuple[str, str]:
    """Return the pointer of the object that holds a field, and the name of the field."""
    *above, last = parts(pointer)
    place = ""
    for part in above:
        place = child(place, part)
    return place, last


def into_schema(pointer: str) -> str:
    """Return the pointer into a schema at which it declares the value that a pointer names."""
    place = ""
    for part in parts(pointer):
        place = child(child(place, "properties"), part)
    return place
