"""Compiled schemas: references inlined, validation, and the properties that repair reads."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import SchemaError

from asyncguard.errors import DeclarationError
from asyncguard.schema.fast_check import FORMATS, Fits, compile_fast_check, is_finite
from asyncguard.schema.pointers import in_schema
from asyncguard.schema.violations import Violation

_MAX_HOPS = 12
"""Depth to which references are inlined.

A schema that refers to itself is cut here; its validator works on the original and is not.
"""
_JSON_TYPES = frozenset({"string", "integer", "number", "boolean", "null", "object", "array"})
_ANYTHING: Mapping[str, Any] = {}
_BY_NAME = frozenset(
    {"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
)
"""Keywords that map names of any kind to schemas."""
_DATA = frozenset({"enum", "const", "default", "examples", "aliases", "wrappers"})
"""Keywords that hold data instead of schemas."""
# Empty first: jsonschema would assert each format for which it finds a library, and the verdict
# would depend on what is installed.
_FORMATS = FormatChecker(formats=())
for _name, _fits in FORMATS.items():
    _FORMATS.checks(_name)(_fits)


@dataclass(frozen=True)
class CompiledSchema:
    """One schema, or a part of one."""

    schema: Mapping[str, Any]
    """The schema without references."""
    source: Mapping[str, Any]
    """The schema as declared, which the validator uses."""

    @cached_property
    def _quick(self) -> Fits | None:
        # Inlined, because the fast check does not follow references.
        return compile_fast_check(without_identity(self.schema))

    @cached_property
    def _validator(self) -> Draft202012Validator:
        return Draft202012Validator(without_identity(self.source), format_checker=_FORMATS)

    def fits(self, value: Any) -> bool:
        """Return True if a value satisfies the schema.

        A value that the schema's keywords cannot compute with does not.
        """
        if self._quick is not None and self._quick(value):
            return True
        try:
            # Python reads NaN and infinities as numbers, and JSON Schema has none.
            return all_finite(value) and self._validator.is_valid(value)
        # Keywords calculate with the tool's values, say 1e300 as a multiple of 0.1.
        except Exception:  # noqa: BLE001
            return False

    def errors(self, value: Any) -> Iterator[Violation]:
        """Return the violations of the schema, in no order."""
        return self._validator.iter_errors(value)

    @cached_property
    def kinds(self) -> frozenset[str]:
        """JSON types that the schema admits."""
        return kinds(self.schema)

    @cached_property
    def has_units(self) -> bool:
        """True if the schema declares the unit of any value."""
        return _mentions(self.schema, "unit")


def without_identity(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema without its dialect and its name.

    ``$schema`` makes jsonschema go back to its plain class at each level, and ``$id`` moves what
    ``#`` means.
    """
    return {name: value for name, value in schema.items() if name not in ("$schema", "$id")}


class IdentityKey:
    """A key that is equal for the same object only.

    It keeps a reference to the object, so that the id is not reused while the key exists.
    """

    __slots__ = ("held",)

    def __init__(self, held: Mapping[str, Any]) -> None:
        self.held = held

    def __hash__(self) -> int:
        return id(self.held)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdentityKey) and other.held is self.held


def shape_of(schema: Mapping[str, Any]) -> CompiledSchema:
    """Return the compiled form of a schema, made once per object, which must not change later."""
    return _shape(IdentityKey(schema))


@lru_cache(maxsize=4096)
def _shape(key: IdentityKey) -> CompiledSchema:
    return CompiledSchema(schema=expanded(key.held), source=key.held)


def check_schema(schema: Mapping[str, Any], whose: str) -> None:
    """Refuse a schema that is invalid or not self-contained.

    Args:
        schema: JSON Schema, draft 2020-12, self-contained (references stay inside it).
        whose: Owner of the schema, for the message.

    Raises:
        DeclarationError: The schema is broken, or refers to a part that is not in it.
    """
    try:
        text = json.dumps(schema)
        # Not so for a tuple, and a name that is a number.
        told = json.loads(text) == schema
    except (TypeError, ValueError, RecursionError):
        told = False
    if told:
        _checked(text, whose)
    else:
        _check(schema, whose)


@lru_cache(maxsize=1024)
def _checked(text: str, whose: str) -> None:
    # Checking costs milliseconds, and an agent that is built again has the same tools.
    _check(json.loads(text), whose)


def _check(schema: Mapping[str, Any], whose: str) -> None:
    own = without_identity(schema)
    try:
        Draft202012Validator.check_schema(own)
    except SchemaError as error:
        raise DeclarationError(
            f"The schema of {whose} is invalid: {error.message[:200]}."
        ) from error
    # The meta-schema does not compile patterns: a broken one would raise at the first answer.
    for pattern in keyword_texts(own, "pattern"):
        try:
            re.compile(pattern)
        except re.error as error:
            raise DeclarationError(
                f"The schema of {whose} has a pattern that cannot be read: {error}."
            ) from error
    for names in keyword_values(own, "wrappers"):
        if not isinstance(names, list | tuple) or not all(isinstance(n, str) for n in names):
            raise DeclarationError(
                f'The schema of {whose}: "wrappers" must be a list of names; write it as in '
                '"wrappers": ["data", "result"].'
            )
    for unit in keyword_values(own, "unit"):
        if not isinstance(unit, str):
            raise DeclarationError(
                f'The schema of {whose}: "unit" must be a text, not {type(unit).__name__}; write '
                'it as in "unit": "EUR".'
            )
    for target in keyword_texts(own, "$ref"):
        if in_schema(own, target) is None:
            raise DeclarationError(
                f"The schema of {whose} refers to {target!r}, which is not in it; inline it."
            )


def expanded(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema with local references inlined; the same object if it has none."""
    if not _mentions(schema, "$ref"):
        return schema
    inlined = _inline(schema, schema, 0)
    return inlined if isinstance(inlined, Mapping) else _ANYTHING


def _inline(node: Any, root: Mapping[str, Any], hops: int) -> Any:
    if isinstance(node, list):
        return [_inline(item, root, hops) for item in node]
    if not isinstance(node, Mapping):
        return node
    target = node.get("$ref")
    if not isinstance(target, str):
        return {
            name: _inline(value, root, hops)
            for name, value in node.items()
            if name not in ("$defs", "definitions")
        }
    if hops >= _MAX_HOPS:
        # The empty schema accepts anything: repair knows nothing below, the validator still judges.
        return {}
    # Since draft 2019-09, keywords beside a reference apply, too.
    named = _inline(in_schema(root, target), root, hops + 1)
    beside = {name: _inline(value, root, hops) for name, value in node.items() if name != "$ref"}
    return {**named, **beside} if isinstance(named, Mapping) else beside


def keyword_values(schema: Any, *keywords: str) -> Iterator[Any]:
    """Yield the values of some keywords in a schema, at any depth.

    Fields that have a keyword's name, and names inside data, do not count.

    Args:
        schema: Valid JSON Schema.
        keywords: Names of the keywords; their values are not searched.
    """
    if isinstance(schema, list):
        for item in schema:
            yield from keyword_values(item, *keywords)
    elif isinstance(schema, Mapping):
        for name, value in schema.items():
            if name in keywords:
                yield value
            elif name in _BY_NAME and isinstance(value, Mapping):
                # As a list, so that names of fields are not taken for keywords.
                yield from keyword_values(list(value.values()), *keywords)
            elif name not in _DATA:
                yield from keyword_values(value, *keywords)


def keyword_texts(schema: Any, *keywords: str) -> Iterator[str]:
    """Yield the values of :func:`keyword_values` that are texts."""
    return (value for value in keyword_values(schema, *keywords) if isinstance(value, str))


def _mentions(schema: Any, keyword: str) -> bool:
    return next(keyword_texts(schema, keyword), None) is not None


def all_finite(value: Any) -> bool:
    """Return True if every number in a value can be written as JSON."""
    if isinstance(value, Mapping):
        return all(map(all_finite, value.values()))
    if isinstance(value, list | tuple):
        return all(map(all_finite, value))
    return is_finite(value)


def kinds(schema: Any) -> frozenset[str]:
    """Return the JSON types that a schema admits; all of them if it does not say."""
    if not isinstance(schema, Mapping):
        return _JSON_TYPES if schema is not False else frozenset()
    found = _JSON_TYPES
    if "type" in schema:
        declared = schema["type"]
        found = frozenset([declared] if isinstance(declared, str) else declared)
    elif listed := choices(schema):
        found = frozenset(map(_kind, listed))
    for name in ("anyOf", "oneOf"):
        if name in schema:
            # Keywords beside a choice of branches narrow it.
            found &= frozenset().union(*(kinds(branch) for branch in schema[name]))
    return found


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def choices(schema: Mapping[str, Any]) -> list[Any]:
    """Return the values that a schema lists by ``enum`` or ``const``, none if it lists none."""
    if schema.get("enum"):
        return list(schema["enum"])
    return [schema["const"]] if "const" in schema else []


def main_form(schema: Any) -> Mapping[str, Any]:
    """Return the schema of a value that is present: for "X or null", X and the keywords around."""
    if not isinstance(schema, Mapping):
        return _ANYTHING
    for name in ("anyOf", "oneOf"):
        branches = [branch for branch in schema.get(name, ()) if kinds(branch) != {"null"}]
        if len(branches) == 1 and isinstance(branches[0], Mapping):
            around = {key: value for key, value in schema.items() if key != name}
            return main_form({**around, **branches[0]})
    return schema


def properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the declared fields of an object, none for anything else."""
    found = schema.get("properties")
    return found if isinstance(found, Mapping) else _ANYTHING


def unit_text(schema: Any) -> str | None:
    """Return the declared unit of a value."""
    text = main_form(schema).get("unit")
    return text if isinstance(text, str) else None


def field_aliases(schema: Any) -> frozenset[str]:
    """Return the other names of a field."""
    found = main_form(schema).get("aliases")
    return (
        frozenset(item for item in found if isinstance(item, str))
        if isinstance(found, list | tuple)
        else frozenset()
    )


def wrappers(schema: Any) -> frozenset[str]:
    """Return the names of fields in which a value may come wrapped."""
    found = main_form(schema).get("wrappers")
    return frozenset(found) if isinstance(found, list | tuple) else frozenset()


def value_aliases(schema: Any) -> Mapping[str, Any]:
    """Return the other spellings of a field's values."""
    found = main_form(schema).get("aliases")
    return found if isinstance(found, Mapping) else _ANYTHING
