"""Matching of the fields of two contracts.

A wrong match moves money to the wrong account, so only what both contracts say counts: the same
name, a declared alias, the same name written or nested differently or with its unit at the end, the
same description word for word. All other fields stay unmatched: that two names mean the same, or
that nothing else is left, would be a guess.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from asyncguard.recovery.repair.identifiers import folded, shown
from asyncguard.recovery.repair.unit_annotations import measured, unit_owner
from asyncguard.recovery.repair.units import Unit, comparable, unit_named
from asyncguard.schema.compiled import field_aliases, kinds, main_form, properties, unit_text

Path = tuple[str, ...]
_MAX_DEPTH = 5


@dataclass(frozen=True, kw_only=True)
class Leaf:
    """A field that holds a value, not an object with declared fields."""

    path: Path
    """Names from the root to the field."""
    schema: Mapping[str, Any]
    """Its schema, for a value that is not null."""

    @property
    def name(self) -> str:
        """Last name of the path; empty for the root."""
        return self.path[-1] if self.path else ""

    @property
    def description(self) -> str:
        """Title and description."""
        return " ".join(
            str(self.schema[key]) for key in ("title", "description") if self.schema.get(key)
        )

    @property
    def kinds(self) -> frozenset[str]:
        """JSON types that it admits."""
        return kinds(self.schema)

    @property
    def is_number(self) -> bool:
        """True if it may hold a number."""
        return not self.kinds.isdisjoint({"number", "integer"})

    @property
    def holds_unit(self) -> bool:
        """True if it holds the name of a unit."""
        return unit_owner(self.name) is not None

    @property
    def shown(self) -> str:
        """Place in words, for a message."""
        return f"of {shown('.'.join(self.path))}" if self.path else "of the whole"


def leaves(schema: Mapping[str, Any], other: Mapping[str, Any]) -> list[Leaf]:
    """Return the fields of a contract, those of nested objects in their place.

    An object is a leaf where ``other`` has a plain value under the same name: it wraps that value.
    """
    return [Leaf(path=path, schema=form) for path, form in _leaves(schema, other, ())]


def _leaves(schema: Any, other: Any, path: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    form, across = main_form(schema), main_form(other)
    inner = properties(form)
    # The other contract has a plain value here, so this object is that value in a wrapper.
    wraps = bool(path) and bool(across) and not properties(across) and "object" not in kinds(across)
    if not inner or wraps or len(path) > _MAX_DEPTH:
        yield path, form
        return
    for name, item in inner.items():
        yield from _leaves(item, properties(across).get(name, {}), (*path, name))


def match_leaves(source: list[Leaf], target: list[Leaf]) -> dict[Path, Path] | None:
    """Return path in the source to path in the target, for all fields that can be matched.

    Args:
        source: Leaves of the contract that values come from.
        target: Leaves of the contract that they go to.

    Returns:
        ``None`` if the contracts contradict each other: fields that exchanged their meaning under
        their old names.
    """
    if exchanged(source, target):
        return None
    names = {leaf.path for leaf in target}
    found = {leaf.path: leaf.path for leaf in source if leaf.path in names}
    # The order counts: strong evidence takes fields away from the weaker kinds after it.
    for link in (_by_alias, _by_writing, _by_measure, _by_last_name, _by_wrapping, _by_description):
        taken = set(found.values())
        gone = [leaf for leaf in source if leaf.path not in found]
        new = [leaf for leaf in target if leaf.path not in taken]
        # All links of a kind are collected before one is accepted: the order of the fields must not
        # decide. A field that is linked with two others is matched with neither.
        links = [(one, other) for one in gone for other in new if link(one, other)]
        for one, other in links:
            of_one = sum(pair[0] is one for pair in links)
            of_other = sum(pair[1] is other for pair in links)
            if of_one == of_other == 1:
                found[one.path] = other.path
    return found


def exchanged(source: list[Leaf], target: list[Leaf]) -> bool:
    """Return True if a field is now described as another one was.

    Its old name may then mean the other field.
    """
    described = {leaf.path: folded(leaf.description) for leaf in source if leaf.description}
    for leaf in target:
        text = folded(leaf.description) if leaf.description else ""
        own = described.get(leaf.path)
        if own is not None and text and text != own and text in described.values():
            return True
    return False


def _by_alias(one: Leaf, other: Leaf) -> bool:
    return bool(one.name) and (
        other.name in field_aliases(one.schema) or one.name in field_aliases(other.schema)
    )


def _by_writing(one: Leaf, other: Leaf) -> bool:
    """Link ``netWeight``, ``net_weight``, and ``weight`` in ``net``."""
    return folded("_".join(one.path)) == folded("_".join(other.path))


def _by_measure(one: Leaf, other: Leaf) -> bool:
    """Link equal names with a unit at the end (``weight_kg``) if both measure the same."""
    if one.path[:-1] != other.path[:-1]:
        return False
    (stem, unit), (other_stem, other_unit) = _measured(one), _measured(other)
    return (
        stem == other_stem
        and unit is not None
        and other_unit is not None
        and comparable(unit, other_unit)
    )


def _measured(leaf: Leaf) -> tuple[str, Unit | None]:
    text = unit_text(leaf.schema)
    stem, unit = measured(leaf.name, text) or (folded(leaf.name), None)
    return stem, unit if text is None else unit_named(text)


def _by_last_name(one: Leaf, other: Leaf) -> bool:
    # At equal depth the parents differ: one name in two objects means two things.
    return len(one.path) != len(other.path) and folded(one.name) == folded(other.name)


def _by_wrapping(one: Leaf, other: Leaf) -> bool:
    """Link a plain value with a field of an object of the same name, in either direction."""
    shorter, longer = sorted((one, other), key=lambda leaf: len(leaf.path))
    if one.path == other.path or longer.path[: len(shorter.path)] != shorter.path:
        return False
    return _like(one) == _like(other)


def _like(leaf: Leaf) -> frozenset[str]:
    # 3 and 3.0 are one number in JSON, so the two kinds are not told apart.
    return frozenset("number" if kind == "integer" else kind for kind in kinds(leaf.schema))


def _by_description(one: Leaf, other: Leaf) -> bool:
    return bool(one.description) and folded(one.description) == folded(other.description)
