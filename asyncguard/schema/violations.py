"""Violations as jsonschema reports them, interpreted once for arguments and results."""

from collections.abc import Iterable, Mapping
from typing import Any

from jsonschema.exceptions import ValidationError

Violation = ValidationError
"""A keyword that a value breaks, and its place."""


def position(violation: Violation) -> list[tuple[bool, Any]]:
    """Return a key that sorts violations by place; names and indexes are never compared."""
    return [(isinstance(token, int), token) for token in violation.absolute_path]


def missing_names(violation: Violation) -> list[str]:
    """Return the names that ``required`` or ``dependentRequired`` demands and the object lacks."""
    wanted: Any = violation.validator_value
    instance: Any = violation.instance
    if isinstance(wanted, Mapping):
        wanted = [
            name for trigger, names in wanted.items() if trigger in instance for name in names
        ]
    return [name for name in wanted if name not in instance]


def declared_names(violation: Violation) -> Mapping[str, Any]:
    """Return the fields that the violated schema declares for its object."""
    found = violation.schema.get("properties", {}) if isinstance(violation.schema, Mapping) else {}
    return found if isinstance(found, Mapping) else {}


def unknown_names(violation: Violation) -> list[str]:
    """Return the fields of the object that the violated schema does not declare."""
    instance: Any = violation.instance
    declared = declared_names(violation)
    return [name for name in instance if name not in declared]


def wanted_types(violation: Violation) -> str:
    """Return the types that would fit (``integer or null``), empty if not only the type is wrong.

    That is the keyword ``type`` itself, and an ``anyOf`` or ``oneOf`` each of whose branches
    demands another type.
    """
    if violation.validator == "type":
        declared: Any = violation.validator_value
        return " or ".join(declared if isinstance(declared, list) else [declared])
    return types_of(violation.context or ())


def types_of(branches: Iterable[Violation]) -> str:
    """Return the types that branches demand, empty if one demands something else."""
    branches = tuple(branches)
    if not all(item.validator == "type" and not item.relative_path for item in branches):
        return ""
    return " or ".join(dict.fromkeys(str(item.validator_value) for item in branches))


def nearest_branch(violation: Violation) -> Violation:
    """Return the violation in the branch of an ``anyOf`` or ``oneOf`` that the writer meant.

    That is the branch whose violation lies deepest, and among equals one of the right type.
    """
    branches = violation.context or ()
    return max(branches, key=lambda item: (len(item.absolute_path), item.validator != "type"))
