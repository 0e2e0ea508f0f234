"""Schemas of arguments, compiled once into checks that describe each problem in a sentence.

Operands satisfy any schema here; the values that replace them are validated by the same check when
they are substituted.

Own code, not jsonschema-rs: it has no operands that satisfy any keyword;
``fast_check.py`` gives most of its speed.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from jsonschema.validators import extend

from asyncguard.core.dependencies import as_reference, references
from asyncguard.core.scoreboard import Validator
from asyncguard.errors import DeclarationError
from asyncguard.schema.compiled import keyword_texts, without_identity
from asyncguard.schema.excerpts import clipped, listed, short
from asyncguard.schema.fast_check import compile_fast_check
from asyncguard.schema.pointers import in_schema
from asyncguard.schema.violations import (
    Violation,
    declared_names,
    missing_names,
    nearest_branch,
    position,
    types_of,
    unknown_names,
    wanted_types,
)

ROOT = "arguments"
"""Place named in a sentence about the arguments as a whole."""


def compile_schema(schema: Mapping[str, Any]) -> Validator:
    """Return the check of a tool's arguments, built once per schema.

    The check never raises: arguments that the schema's keywords cannot compute with do not fit.

    Args:
        schema: JSON Schema, draft 2020-12, self-contained (references stay inside it).

    Raises:
        DeclarationError: The schema itself is broken.
    """
    try:
        return _compiled(json.dumps(schema))
    except (TypeError, ValueError, RecursionError):  # no JSON text of it, so no key for the cache
        return _compile(schema)


@lru_cache(maxsize=1024)
def _compiled(schema: str) -> Validator:
    # Checking a schema costs milliseconds, and an agent that is built again has the same tools.
    return _compile(json.loads(schema))


def _compile(schema: Mapping[str, Any]) -> Validator:
    own = without_identity(schema)
    try:
        Draft202012Validator.check_schema(own)
    except (SchemaError, RecursionError) as error:
        detail = error.message if isinstance(error, SchemaError) else "it is nested too deeply"
        raise DeclarationError(
            f"The schema of the arguments is invalid: {clipped(detail, 200)}."
        ) from error
    for target in keyword_texts(own, "$ref", "$dynamicRef", "$id"):
        # Following it would mean network access at the moment when a call is judged.
        if (not target.startswith("#/") and target != "#") or in_schema(own, target) is None:
            raise DeclarationError(
                f"The schema refers to {short(target)}, which is not in it; inline the definition."
            )
    validator: Any = _OperandValidator(own)
    fits = compile_fast_check(own)

    def check(arguments: Mapping[str, Any]) -> tuple[str, ...]:
        if fits is not None and fits(arguments):
            return ()
        try:
            errors = sorted(validator.iter_errors(arguments), key=position)
        # Keywords calculate with the model's values, say 1e999 modulo 0.1.
        except Exception as error:  # noqa: BLE001
            return (f"{ROOT}: cannot be checked ({type(error).__name__}); give plainer values",)
        # Several branches of a schema may report the same problem.
        return tuple(dict.fromkeys(sentence for error in errors for sentence in _sentences(error)))

    return check


def _passing_operands(keyword: str, original: Any) -> Any:
    """Return the check of a keyword that every operand satisfies."""

    def check(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterable[Violation]:
        if as_reference(instance) is not None:
            return ()
        if keyword in _EXCLUSIVE and next(references(instance), None) is not None:
            return _EXCLUSIVE[keyword](validator, wanted, instance, schema) or ()
        return original(validator, wanted, instance, schema) or ()

    return check


_KEYWORDS = Draft202012Validator.VALIDATORS
_EXCLUSIVE: dict[str, Any] = {"oneOf": _KEYWORDS["anyOf"], "not": lambda *_: ()}
"""Replacements for keywords that require a mismatch, used while the value holds an operand.

An operand matches every branch, so the keyword itself can only be checked after substitution.
"""
_OperandValidator = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {keyword: _passing_operands(keyword, check) for keyword, check in _KEYWORDS.items()},
)


def missing_sentence(where: str, name: str) -> str:
    """Return the sentence that a required value is missing."""
    return f"{where}: {clipped(name)!r} is required and missing"


def unknown_sentence(where: str, strange: Iterable[str], known: Iterable[str]) -> str:
    """Return the sentence that an object has fields which its schema does not declare."""
    names = listed(repr(clipped(name)) for name in strange)
    return f"{where}: {names} is not known; known are {listed(known) or 'none'}"


def _plain_types(violation: Violation) -> str:
    """Return the types that would fit; a number or bool in quotes counts as one without.

    A branch for text in that form stands beside the type, in pydantic's schemas and in those of
    lenient tools. Its pattern says less to a model than the type does, which takes the value, too.
    """
    branches = violation.context or ()
    if any(item.validator_value in ("boolean", "integer", "number") for item in branches):
        return types_of(item for item in branches if not _is_text_of_a_form(item))
    return wanted_types(violation)


def _is_text_of_a_form(violation: Violation) -> bool:
    schema = violation.schema
    return not violation.relative_path and isinstance(schema, Mapping) and "pattern" in schema


def _sentences(violation: Violation) -> Iterator[str]:
    where = clipped("/".join(map(str, violation.absolute_path))) or ROOT
    match violation.validator:
        case "required":
            yield from (missing_sentence(where, name) for name in missing_names(violation))
        case "additionalProperties" | "unevaluatedProperties":
            yield unknown_sentence(where, unknown_names(violation), declared_names(violation))
        case "type" | "anyOf" | "oneOf" if types := _plain_types(violation):
            yield f"{where}: {short(violation.instance)} is not of type {types}"
        case "anyOf" | "oneOf" if violation.context:
            yield from _sentences(nearest_branch(violation))
        case keyword:
            wanted = short(violation.validator_value)
            yield f"{where}: {short(violation.instance)} breaks {keyword} {wanted}"
