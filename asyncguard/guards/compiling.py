"""Schemas of arguments, compiled once into checks that say in sentences what is wrong.

Operands satisfy any schema here; what they stand for is validated when they are substituted, by the same check.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import extend

from asyncguard.core.fitting import surely_fits
from asyncguard.core.operands import as_reference, references
from asyncguard.core.scoreboard import Validator
from asyncguard.errors import DeclarationError
from asyncguard.guards.schemas import pointed
from asyncguard.guards.wording import clipped, listed, short

ROOT = "arguments"
"""Where a sentence is about the arguments as a whole."""


def compile_schema(schema: Mapping[str, Any]) -> Validator:
    """Build the check of a tool's arguments, once per tool.

    The check never raises: arguments that the schema's keywords cannot compute with count as not fitting.

    Args:
        schema: JSON Schema, draft 2020-12, self-contained (references stay inside it).

    Raises:
        DeclarationError: The schema itself is broken.
    """
    try:
        return _compiled(json.dumps(schema))
    except (TypeError, ValueError, RecursionError):
        return _compile(schema)


@lru_cache(maxsize=1024)
def _compiled(schema: str) -> Validator:
    # Proving a schema valid costs milliseconds, and an agent that is built again has the same tools as before.
    return _compile(json.loads(schema))


def _compile(schema: Mapping[str, Any]) -> Validator:
    # "$schema" would make jsonschema go back to its plain class at each level, and "$id" move what "#" means.
    own = {name: value for name, value in schema.items() if name not in ("$schema", "$id")}
    try:
        Draft202012Validator.check_schema(own)
    except (SchemaError, RecursionError) as error:
        detail = error.message if isinstance(error, SchemaError) else "it is nested too deeply"
        raise DeclarationError(f"The schema of the arguments is invalid: {clipped(detail, 200)}.") from error
    for target in _targets(own):
        # Looking elsewhere would mean the network, at the moment when a call is judged.
        if (not target.startswith("#/") and target != "#") or pointed(own, target) is None:
            raise DeclarationError(f"The schema refers to {short(target)}, which is not in it; inline the definition.")
    validator: Any = _OperandValidator(own)
    fits = surely_fits(own)

    def check(arguments: Mapping[str, Any]) -> tuple[str, ...]:
        if fits is not None and fits(arguments):
            return ()
        try:
            if validator.is_valid(arguments):
                return ()
            errors = sorted(validator.iter_errors(arguments), key=_position)
        except Exception as error:  # noqa: BLE001 - keywords calculate with the model's values, say 1e999 modulo 0.1
            return (f"{ROOT}: cannot be checked ({type(error).__name__}); give plainer values",)
        return tuple(dict.fromkeys(sentence for error in errors for sentence in _sentences(error)))

    return check


def _passing_operands(keyword: str, original: Any) -> Any:
    """The keyword's check, but an operand satisfies it, whatever it will be."""

    def check(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterable[ValidationError]:
        if as_reference(instance) is not None:
            return ()
        if keyword in _EXCLUSIVE and next(references(instance), None) is not None:
            return _EXCLUSIVE[keyword](validator, wanted, instance, schema) or ()
        return original(validator, wanted, instance, schema) or ()

    return check


def _undecided(*_: Any) -> Iterable[ValidationError]:
    return ()


_KEYWORDS = Draft202012Validator.VALIDATORS
_EXCLUSIVE = {"oneOf": _KEYWORDS["anyOf"], "not": _undecided}
"""Keywords that demand a mismatch: an operand below them matches every branch, so they decide when it is known."""
_OperandValidator = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator, {keyword: _passing_operands(keyword, check) for keyword, check in _KEYWORDS.items()}
)
_BY_NAME = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
"""Keywords that map names of any kind to schemas."""
_DATA = frozenset({"enum", "const", "default", "examples"})
"""Keywords that hold data and no schemas."""


def _targets(node: Any) -> Iterator[str]:
    """What a schema refers to, from schema positions only; data that happens to look like a reference is left out."""
    if isinstance(node, list):
        for item in node:
            yield from _targets(item)
    if not isinstance(node, Mapping):
        return
    for name, value in node.items():
        if name in ("$ref", "$dynamicRef", "$id") and isinstance(value, str):
            yield value
        elif name in _BY_NAME and isinstance(value, Mapping):
            yield from _targets(list(value.values()))
        elif name not in _DATA:
            yield from _targets(value)


def _position(error: ValidationError) -> list[tuple[bool, Any]]:
    return [(isinstance(token, int), token) for token in error.absolute_path]


def missing_sentence(where: str, name: str) -> str:
    """How the check says that a required value is missing."""
    return f"{where}: {clipped(name)!r} is required and missing"


def _sentences(error: ValidationError) -> Iterator[str]:
    where = clipped("/".join(map(str, error.absolute_path))) or ROOT
    wanted: Any = error.validator_value
    instance: Any = error.instance
    match error.validator:
        case "required":
            yield from (missing_sentence(where, name) for name in wanted if name not in instance)
        case "additionalProperties" | "unevaluatedProperties":
            known = error.schema.get("properties", {}) if isinstance(error.schema, Mapping) else {}
            strange = listed(repr(clipped(name)) for name in instance if name not in known)
            yield f"{where}: {strange} is not known; known are {listed(known) or 'none'}"
        case "type":
            kinds = wanted if isinstance(wanted, list) else [wanted]
            yield f"{where}: {short(instance)} is not of type {' or '.join(kinds)}"
        case "anyOf" | "oneOf" if error.context:
            yield from _branches(error, where)
        case _:
            yield f"{where}: {short(instance)} breaks {error.validator} {short(wanted)}"


def _branches(error: ValidationError, where: str) -> Iterator[str]:
    context = list(error.context or ())
    if all(item.validator == "type" and not item.relative_path for item in context):
        kinds = dict.fromkeys(str(item.validator_value) for item in context)
        yield f"{where}: {short(error.instance)} is not of type {' or '.join(kinds)}"
    else:
        # The branch that got furthest, and one of the right type, is what the model had in mind.
        best = max(context, key=lambda item: (len(item.absolute_path), item.validator != "type"))
        yield from _sentences(best)
