"""Filling of required fields that a call did not give and its live contract demands.

A field is filled only with what one of the two contracts says itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from asyncguard.recovery.repair.field_match import Leaf, Path
from asyncguard.recovery.repair.identifiers import folded
from asyncguard.recovery.repair.unit_annotations import differ, unit_owner
from asyncguard.recovery.repair.units import is_money, unit_named
from asyncguard.schema.compiled import main_form, properties, shape_of, unit_text


@dataclass(frozen=True, kw_only=True, slots=True)
class Filled:
    """Values that were added to a call."""

    values: Mapping[Path, Any]
    """Values by place in the live contract."""
    changes: tuple[str, ...]
    """Additions in words, without values."""


def fill(
    targets: list[Leaf],
    origins: Mapping[Path, Leaf],
    placed: Mapping[Path, Any],
    target: Mapping[str, Any],
) -> Filled | None:
    """Return constants, defaults, and units that the live contract wants beside a number.

    Args:
        targets: Leaves of the live contract.
        origins: Declared fields by the path of the live contract that they are carried to.
        placed: Values that the call has so far.
        target: The live contract.

    Returns:
        ``None`` if a required field stays empty.
    """
    values: dict[Path, Any] = {}
    changes: list[str] = []
    for leaf in targets:
        # A matched field that the call left out stays out, even if the live contract requires it:
        # the result then does not fit, and the call is not rebound.
        if leaf.path in placed or leaf.path in origins:
            continue
        required = _is_required(leaf.path, target, placed)
        unit = _unit_nearby(leaf, origins, placed) if leaf.holds_unit else None
        # The unit of the number comes first: a constant or default may name another one.
        if unit is not None and (required or "default" in leaf.schema):
            text = _spelled(leaf, unit)
            if text is None:
                return None
            values[leaf.path] = text
            changes.append(f"named the declared unit {leaf.shown}")
        elif required and "const" in leaf.schema:
            values[leaf.path] = leaf.schema["const"]
            changes.append(f"wrote the only value that is allowed {leaf.shown}")
        elif required and "default" in leaf.schema:
            values[leaf.path] = leaf.schema["default"]
            changes.append(f"took the default of the live contract {leaf.shown}")
        elif required:
            return None
    return Filled(values=values, changes=tuple(changes))


def says_unit(leaf: Leaf, targets: list[Leaf], pairs: Mapping[Path, Path]) -> bool:
    """Return True if the live contract has an unfilled field for the unit of a number."""
    taken = set(pairs.values())
    return leaf.is_number and any(
        _belongs(other, leaf.path)
        and other.path not in taken
        and ("default" in other.schema or "enum" in other.schema)
        for other in targets
    )


def _belongs(holder: Leaf, path: Path) -> bool:
    """Return True if a field holds the unit of the number at this path, beside it."""
    if not holder.holds_unit or holder.path[:-1] != path[:-1]:
        return False
    return unit_owner(holder.name) in ("", folded(path[-1] if path else ""))


def _unit_nearby(
    holder: Leaf, origins: Mapping[Path, Leaf], placed: Mapping[Path, Any]
) -> str | None:
    """Return the declared unit of the number that a unit field of the live contract belongs to."""
    texts = set()
    for path, one in origins.items():
        text = unit_text(one.schema)
        if path in placed and text is not None and _belongs(holder, path):
            texts.add(text)
    if "currency" in holder.name.lower():
        texts = {
            text for text in texts if (unit := unit_named(text)) is not None and is_money(unit)
        }
    # Two numbers that declare different units: the field cannot hold both.
    return texts.pop() if len(texts) == 1 else None


def _spelled(holder: Leaf, unit: str) -> str | None:
    """Return the unit as the live contract spells it in its choices or its default."""
    choices = holder.schema.get("enum") or [
        holder.schema[key] for key in ("const", "default") if key in holder.schema
    ]
    fitting = [
        choice
        for choice in dict.fromkeys(choices)
        if isinstance(choice, str) and not differ(unit, choice)
    ]
    return fitting[0] if len(fitting) == 1 and shape_of(holder.schema).fits(fitting[0]) else None


def _is_required(path: Path, target: Mapping[str, Any], placed: Mapping[Path, Any]) -> bool:
    """Return True if a field has to be present in the call.

    It is required at each level, or below an object that another value brought in.
    """
    form: Mapping[str, Any] = target
    for depth, name in enumerate(path, start=1):
        brought_in = depth < len(path) and any(other[:depth] == path[:depth] for other in placed)
        if name not in form.get("required", ()) and not brought_in:
            return False
        form = main_form(properties(form).get(name, {}))
    return True
