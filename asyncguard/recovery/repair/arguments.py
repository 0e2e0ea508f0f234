"""Rebinding of arguments from the declared contract to the tool's live contract."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from asyncguard.recovery.repair.field_map import carry
from asyncguard.recovery.repair.field_match import exchanged, leaves
from asyncguard.schema.compiled import expanded, shape_of

_IGNORED = frozenset(
    {"title", "description", "examples", "$comment", "$schema", "$id", "$defs", "definitions"}
    | {"aliases", "wrappers", "deprecated", "readOnly", "writeOnly"}
)
"""Keywords that do not change which values a contract accepts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rebound:
    """Arguments in the form of the live contract."""

    arguments: dict[str, Any]
    """Arguments that satisfy the live contract."""
    changes: tuple[str, ...]
    """Steps that were taken, in words, without values; empty if the arguments already fitted."""


def rebind(
    arguments: Mapping[str, Any], declared: Mapping[str, Any], live: Mapping[str, Any]
) -> Rebound | None:
    """Return the arguments of a call under another contract of its tool.

    Args:
        arguments: Arguments that the model gave; they satisfy the declared contract.
        declared: JSON Schema of the parameters that the model saw.
        live: JSON Schema of the parameters that the tool has now.

    Returns:
        ``None`` if anything had to be guessed: two fields of one type that both changed their
        names, a unit that is not named, a new required field without a default, a value that no
        longer has a place. Each value is used exactly once, and the result satisfies the live
        contract completely.
    """
    given = dict(arguments)
    # What arguments mean that break their own contract is not known.
    if not shape_of(declared).fits(given):
        return None
    # Equal schemas with exchanged descriptions: names may have swapped their meaning, say sender
    # and receiver.
    if same_contract(declared, live):
        return (
            None if descriptions_exchanged(declared, live) else Rebound(arguments=given, changes=())
        )
    carried = carry(given, declared, live, filling=True)
    if (
        carried is None
        or not isinstance(carried.value, dict)
        or not shape_of(live).fits(carried.value)
    ):
        return None
    return Rebound(arguments=carried.value, changes=carried.changes)


def descriptions_exchanged(declared: Mapping[str, Any], live: Mapping[str, Any]) -> bool:
    """Return True if a field is described as another one was declared."""
    return exchanged(leaves(expanded(declared), {}), leaves(expanded(live), {}))


def same_contract(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Return True if two schemas accept the same values, whatever their wording and order."""
    return bool(_canonical(expanded(first)) == _canonical(expanded(second)))


def _canonical(node: Any) -> Any:
    if isinstance(node, list):
        return [_canonical(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    found = {key: _ordered(key, value) for key, value in node.items() if key not in _IGNORED}
    # A schema that leaves these two out says the same.
    if found.get("additionalProperties") is True:
        del found["additionalProperties"]
    if not found.get("required", True):
        del found["required"]
    if "const" in found:
        # A constant is a choice of one.
        found["enum"] = [_text(found.pop("const"))]
    return found


def _ordered(keyword: str, value: Any) -> Any:
    """Return a keyword's value in a canonical order; data are left as they are."""
    match keyword:
        case "properties" | "patternProperties" | "dependentSchemas":
            return {name: _canonical(inner) for name, inner in value.items()}
        case "required":
            return sorted(value)
        case "type":
            return sorted([value] if isinstance(value, str) else value)
        case "enum":
            return sorted(map(_text, value))
        case "anyOf" | "oneOf" | "allOf":
            return sorted((_canonical(branch) for branch in value), key=_text)
        case (
            "additionalProperties"
            | "items"
            | "prefixItems"
            | "contains"
            | "propertyNames"
            | "not"
            | "if"
            | "then"
            | "else"
        ):
            return _canonical(value)
        case _:
            return value  # limits, defaults and annotations are data, whatever they look like


def _text(node: Any) -> str:
    return json.dumps(node, sort_keys=True, default=str)
