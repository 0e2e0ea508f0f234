"""Mapping of a value from one contract to another: each part gets its place, type and unit."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from asyncguard.recovery.repair.coerce import mend
from asyncguard.recovery.repair.coerce_scalar import Where, converted, is_pinned
from asyncguard.recovery.repair.defaults import fill, says_unit
from asyncguard.recovery.repair.field_match import Leaf, Path, leaves, match_leaves
from asyncguard.recovery.repair.free_text import tells_failure
from asyncguard.recovery.repair.identifiers import shown
from asyncguard.recovery.repair.literals import as_json_number, number_in
from asyncguard.recovery.repair.unit_annotations import unit_beside, unit_holders
from asyncguard.recovery.repair.unit_inference import Unmeasured, is_silent, units_between
from asyncguard.schema.compiled import (
    expanded,
    kinds,
    main_form,
    properties,
    shape_of,
    unit_text,
    value_aliases,
)

_MAX_LIST = 10_000
_NOTHING: Any = object()
"""Marker for an absent value, where ``None`` is a value."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Carried:
    """A value in the form of another contract."""

    value: Any
    """The value."""
    changes: tuple[str, ...]
    """Steps that were taken, in words, without values."""
    assumptions: tuple[str, ...] = ()
    """Units that only the target names, and that were assumed for the value."""


class _Stuck(Exception):
    """The value cannot be carried to the target contract without a guess."""


def carry(
    value: Any,
    source: Mapping[str, Any],
    target: Mapping[str, Any],
    *,
    filling: bool,
    same_tool: bool = True,
) -> Carried | None:
    """Return a value of one contract in the form of another.

    Args:
        value: Value that fits the source contract.
        source: JSON Schema of the contract that it fits.
        target: JSON Schema of the contract that it is carried to.
        filling: True for the arguments of a call: every value has to find a place, and defaults of
            either contract are written out where they count. False for an answer: fields that the
            target does not declare are left out, and nothing is filled in.
        same_tool: True if both contracts are of one tool; then a unit that only one of them names
            applies to a field that is otherwise identical. For two tools, the unit of the target is
            assumed where the source is silent, and the assumption reported; a unit that the target
            does not name is never dropped.

    Returns:
        ``None`` if that takes a guess. The caller must still check the result against the target.
    """
    carrier = _Carrier(filling=filling, same_tool=same_tool, changes={}, assumptions={})
    try:
        carried = carrier.whole(value, expanded(source), expanded(target))
    except _Stuck:
        return None
    return Carried(
        value=carried, changes=tuple(carrier.changes), assumptions=tuple(carrier.assumptions)
    )


@dataclass(frozen=True, kw_only=True)
class _Carrier:
    filling: bool
    same_tool: bool
    changes: dict[str, None]
    """Texts in order, each once; the dict serves as an ordered set."""
    assumptions: dict[str, None]
    """Texts in order, each once."""

    def whole(self, value: Any, source: Mapping[str, Any], target: Mapping[str, Any]) -> Any:
        here, there = main_form(source), main_form(target)
        if value is None and "null" in kinds(target):
            return None
        if isinstance(value, list) and "array" in kinds(here) and "array" in kinds(there):
            if len(value) > _MAX_LIST:
                raise _Stuck
            return [
                self.whole(item, main_form(here.get("items")), main_form(there.get("items")))
                for item in value
            ]
        wants_object = "object" in kinds(there) and "array" not in kinds(there)
        if isinstance(value, list) and wants_object:
            # An empty list has no item and a longer one several: either would be a choice.
            if len(value) != 1:
                raise _Stuck
            self._say("took the only item of a list")
            return self.whole(value[0], main_form(here.get("items")), there)
        wants_list = "array" in kinds(there) and "object" not in kinds(there)
        # A list in the object is found as a field; without one, the object is the only item.
        if (
            isinstance(value, Mapping)
            and wants_list
            and not any("array" in leaf.kinds for leaf in leaves(here, {}))
        ):
            self._say("made a list of the only item")
            return [self.whole(value, here, main_form(there.get("items")))]
        return self._fields(value, here, there)

    def _fields(self, value: Any, source: Mapping[str, Any], target: Mapping[str, Any]) -> Any:
        sources, targets = leaves(source, {} if self.filling else target), leaves(target, {})
        pairs = match_leaves(sources, targets)
        if pairs is None:
            raise _Stuck
        by_path = {leaf.path: leaf for leaf in targets}
        placed: dict[Path, Any] = {}
        for leaf in sources:
            other = by_path[pairs[leaf.path]] if leaf.path in pairs else None
            there, item = _at(value, leaf.path)
            if not there and (item := self._implied(leaf, other)) is _NOTHING:
                continue
            if other is None:
                placed.update(self._unmatched(item, leaf, target))
                continue
            if self.filling and says_unit(other, targets, pairs):
                placed[other.path] = self._spelled(item, leaf, other)  # its unit goes with it
            else:
                placed[other.path] = self._leaf(item, leaf, other, _unit_at(value, leaf, sources))
            if leaf.path != other.path:
                old, new = (".".join(path) or "the whole" for path in (leaf.path, other.path))
                self._say(f"renamed {shown(old)} to {shown(new)}")
        self._undeclared(value, source, target)
        # An answer is never completed: a default would be a value that the tool did not give.
        if self.filling:
            origins = {pairs[leaf.path]: leaf for leaf in sources if leaf.path in pairs}
            if (filled := fill(targets, origins, placed, target)) is None:
                raise _Stuck
            placed.update(filled.values)
            self.changes.update(dict.fromkeys(filled.changes))
        return _built(placed)

    def _unmatched(self, item: Any, leaf: Leaf, target: Mapping[str, Any]) -> dict[Path, Any]:
        """Return an unmatched field if the target keeps undeclared fields; else leave it out."""
        if self.filling or tells_failure(leaf.name, item):
            raise _Stuck
        # Below the top, the object that the field stood in may have gone. A unit would stand beside
        # numbers that may have been converted.
        if (
            len(leaf.path) == 1
            and target.get("additionalProperties") is not False
            and not leaf.holds_unit
        ):
            return {leaf.path: item}
        self._say(f"left out the field {shown('.'.join(leaf.path))}, which is not declared")
        return {}

    def _leaf(self, value: Any, leaf: Leaf, other: Leaf, named: str | None) -> Any:
        if value is None and "null" in kinds(other.schema):
            return None
        measured = self._measured(value, leaf, other, named)
        if measured is not _NOTHING:
            return measured
        here, there = kinds(leaf.schema), kinds(other.schema)
        if "array" in here and "array" not in there and isinstance(value, list):
            if len(value) != 1:
                raise _Stuck
            self._say(f"took the only item of the list {leaf.shown}")
            return self.whole(value[0], main_form(leaf.schema.get("items")), other.schema)
        if "array" in there and not isinstance(value, list):
            self._say(f"made a list of the only item {leaf.shown}")
            return [self.whole(value, leaf.schema, main_form(other.schema.get("items")))]
        if (
            isinstance(value, list)
            and "array" in there
            and main_form(leaf.schema.get("items")) != {}
        ):
            return self.whole(value, leaf.schema, other.schema)
        return self._spelled(value, leaf, other)

    def _measured(self, value: Any, leaf: Leaf, other: Leaf, named: str | None) -> Any:
        """Return the number in the other unit, or ``_NOTHING`` if the unit does not change."""
        if isinstance(value, bool | list | Mapping) or value is None:
            return _NOTHING
        if not self.same_tool and named is None and is_silent(leaf, other):
            self.assumptions[
                f"took the number {other.shown} to be in {unit_text(other.schema)}, as declared"
            ] = None
            return _NOTHING
        try:
            units = units_between(leaf, other, named, same_tool=self.same_tool)
        except Unmeasured as error:
            raise _Stuck from error
        if units is None:
            return _NOTHING
        number = value
        if isinstance(value, str):
            # A text with several readings (1,234) cannot be converted without a guess.
            found = number_in(value)
            if found is None:
                raise _Stuck
            number = as_json_number(found)
        result = converted(number, *units, other.schema, Where(path=other.path))
        if result is None:
            raise _Stuck
        self.changes.update(dict.fromkeys(result.changes))
        return self._spelled(result.value, leaf, other)

    def _spelled(self, value: Any, leaf: Leaf, other: Leaf) -> Any:
        """Return the value as the other contract spells it."""
        shape = shape_of(other.schema)
        aliased = [
            alias
            for alias, meant in value_aliases(leaf.schema).items()
            if meant == value and shape.fits(alias)
        ]
        if shape.fits(value):
            return value
        if len(aliased) == 1:
            self._say(f"rewrote the value {other.shown} as the other contract spells it")
            return aliased[0]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if "string" in shape.kinds and is_number and not is_pinned(other.schema):
            if isinstance(value, float) and not self.filling:
                raise _Stuck  # the tool may have meant "12.50" by 12.5
            self._say(f"wrote the number {other.shown} as a text")
            return json.dumps(value)
        mended = mend(value, other.schema, Where(path=other.path))
        if mended is None:
            raise _Stuck
        self.changes.update(dict.fromkeys(mended.changes))
        return mended.value

    def _implied(self, leaf: Leaf, other: Leaf | None) -> Any:
        """Return the default of an omitted field if the other contract has another one, or none."""
        if not self.filling or "default" not in leaf.schema or leaf.schema["default"] is None:
            return _NOTHING
        if other is None or other.schema.get("default", _NOTHING) == leaf.schema["default"]:
            return _NOTHING
        # The tool's own default may have changed with the contract; the model counted on the old
        # one.
        self._say(f"wrote out the declared default {leaf.shown}")
        return leaf.schema["default"]

    def _undeclared(self, value: Any, source: Mapping[str, Any], target: Mapping[str, Any]) -> None:
        """Report or reject fields that the value's own contract does not declare."""
        if not isinstance(value, Mapping):
            return
        known = properties(source)
        if not known and value:
            raise _Stuck
        for key in value:
            if key in known:
                continue
            if self.filling or tells_failure(key, value[key]) or key in properties(target):
                raise _Stuck
            self._say(f"left out the undeclared field {shown(key)}")

    def _say(self, change: str) -> None:
        self.changes[change] = None


def _at(value: Any, path: Path) -> tuple[bool, Any]:
    for name in path:
        if not isinstance(value, Mapping) or name not in value:
            return False, None
        value = value[name]
    return True, value


def _built(placed: Mapping[Path, Any]) -> Any:
    if () in placed:
        # The whole value and a part of it cannot both have a place.
        if len(placed) > 1:
            raise _Stuck
        return placed[()]
    built: dict[str, Any] = {}
    for path, value in placed.items():
        node = built
        for name in path[:-1]:
            node = node.setdefault(name, {})
        node[path[-1]] = value
    return built


def _unit_at(value: Any, leaf: Leaf, sources: list[Leaf]) -> str | None:
    """Return the unit that stands beside a number in the value itself."""
    there, holder = _at(value, leaf.path[:-1])
    if not there or not isinstance(holder, Mapping) or not leaf.is_number:
        return None
    numbers = [other for other in sources if other.path[:-1] == leaf.path[:-1] and other.is_number]
    return unit_beside(
        leaf.name, unit_text(leaf.schema), unit_holders(holder), alone=len(numbers) <= 1
    )
