"""What jsonschema finds wrong, read once for arguments and results; how it is told is the business of those who ask."""

from collections.abc import Mapping
from typing import Any

from jsonschema.exceptions import ValidationError

Violation = ValidationError
"""A keyword that a value breaks, and where."""


def position(violation: Violation) -> list[tuple[bool, Any]]:
    """Return a key that sorts violations by where they stand; names and indexes never meet in a comparison."""
    return [(isinstance(token, int), token) for token in violation.absolute_path]


def missing_names(violation: Violation) -> list[str]:
    """Return the names that ``required`` or ``dependentRequired`` asks for and the object does not have."""
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
    """Name the types that would have done (``integer or null``), empty if the type is not all that is wrong.

    That is the keyword ``type`` itself, and an ``anyOf`` or ``oneOf`` each of whose branches asks for another type.
    """
    if violation.validator == "type":
        declared: Any = violation.validator_value
        return " or ".join(declared if isinstance(declared, list) else [declared])
    branches = violation.context or ()
    if not all(item.validator == "type" and not item.relative_path for item in branches):
        return ""
    return " or ".join(dict.fromkeys(str(item.validator_value) for item in branches))


def nearest_branch(violation: Violation) -> Violation:
    """Return what is wrong in the branch of an ``anyOf`` or ``oneOf`` that the writer had in mind.

    That is the branch that got furthest, and of those one of the right type.
    """
    branches = violation.context or ()
    return max(branches, key=lambda item: (len(item.absolute_path), item.validator != "type"))
