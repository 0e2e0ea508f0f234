"""Search for the declared fields in an answer.

A field is found by name, alias or writing, in its place or in a declared wrapper.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from asyncguard.recovery.repair.free_text import changes_others
from asyncguard.recovery.repair.identifiers import folded, shown
from asyncguard.recovery.repair.unit_annotations import (
    measured,
    suffix_unit,
    unit_at_end,
    unit_beside,
    unit_holders,
    unit_owner,
)
from asyncguard.recovery.repair.units import comparable, equal, kindred, unit_named
from asyncguard.schema.compiled import (
    field_aliases,
    kinds,
    main_form,
    properties,
    unit_text,
    wrappers,
)

_NUMERIC = frozenset({"number", "integer"})


class Undecided(Exception):
    """The answer's fields can be understood in more than one way."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """Place of a declared field in an answer."""

    paths: tuple[tuple[str, ...], ...]
    """Parts of the answer that it uses, each as keys from the object on."""
    value: Any
    """Value at that place."""
    named: str | None = None
    """Unit that is named beside it, or by the name of the field."""
    changes: tuple[str, ...] = ()
    """Changes in words, if it is not where it was declared."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rest:
    """Fields of an answer that no declared field uses."""

    kept: Mapping[str, Any]
    """Undeclared fields that the schema allows."""
    changes: tuple[str, ...]
    """Fields that were left out, in words."""


def find_fields(value: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Found]:
    """Return the place of each declared field; fields that are absent are left out.

    Raises:
        Undecided: A field may be in two places.
    """
    declared = properties(schema)
    holders = unit_holders(value)
    counted = {name for name, inner in declared.items() if unit_text(inner) is not None}

    def named(name: str) -> str | None:
        # Alone: no other field has a unit that the holder of a unit could belong to.
        return unit_beside(
            name, unit_text(declared[name]), holders, alone=len(counted | {name}) == 1
        )

    found = {
        name: Found(
            paths=((name,),),
            value=value[name],
            named=named(name) if _counts(declared[name]) else None,
        )
        for name in declared
        if name in value
    }
    rest = {key: item for key, item in value.items() if key not in declared}
    # The order counts: a key that one search uses is not offered to the next, weaker one.
    for search in (_renamed, _moved, _flattened):
        for name in declared:
            if name not in found and (place := search(name, schema, rest)) is not None:
                found[name] = place
                rest = {key: item for key, item in rest.items() if (key,) not in place.paths}
    return found


def left_over(
    value: Mapping[str, Any], schema: Mapping[str, Any], found: Mapping[str, Found]
) -> Rest | None:
    """Return the fields that no declared one uses.

    Returns:
        ``None`` if one of them casts doubt on what was used, or says something else about a
        declared field.
    """
    taken = {path for place in found.values() for path in place.paths}
    opened = {path[0] for path in taken if len(path) > 1}
    unit_known = any(place.named is not None for place in found.values())
    declared = [unit_text(inner) for inner in properties(schema).values()]
    units = frozenset(
        unit for text in declared if text is not None and (unit := unit_named(text)) is not None
    )
    closed = schema.get("additionalProperties") is False
    kept: dict[str, Any] = {}
    changes: list[str] = []
    for key, item in value.items():
        if (key,) in taken:
            continue
        if unit_known and isinstance(item, str) and unit_owner(key) is not None:
            changes.append(f"left out {shown(key)}: the unit is the declared one")
        # Left out, a contradiction would be hidden; a field that is kept the model can see itself.
        elif closed or key in opened:
            remaining = _without(item, taken, (key,))
            if _contradicts({key: remaining}, schema, found) or changes_others(
                key, remaining, units
            ):
                return None
            if key not in opened:
                changes.append(f"left out the undeclared field {shown(key)}")
        else:
            kept[key] = item
    return Rest(kept=kept, changes=tuple(changes))


def _without(item: Any, taken: set[tuple[str, ...]], path: tuple[str, ...]) -> Any:
    """Return the rest of an object after fields were taken out of it, without their units."""
    if not isinstance(item, Mapping) or not any(other[: len(path)] == path for other in taken):
        return item
    return {
        key: _without(inner, taken, (*path, key))
        for key, inner in item.items()
        if (*path, key) not in taken and unit_owner(key) is None
    }


def _contradicts(
    item: Mapping[str, Any], schema: Mapping[str, Any], found: Mapping[str, Found]
) -> bool:
    """Return True if an object holds another value for a declared field."""
    for key, inner in item.items():
        for name, place in found.items():
            if _same_field(name, key, properties(schema)[name]) and inner != place.value:
                return True
        if isinstance(inner, Mapping) and _contradicts(inner, schema, found):
            return True
    return False


def _counts(schema: Any) -> bool:
    return not kinds(main_form(schema)).isdisjoint(_NUMERIC)


def _renamed(name: str, schema: Mapping[str, Any], rest: Mapping[str, Any]) -> Found | None:
    """Find a field by a declared alias, or by the same name written differently."""
    declared = properties(schema)
    keys = [key for key in rest if _same_field(name, key, declared[name])]
    if len(keys) > 1:
        raise Undecided
    # A key that fits two declared fields is left to neither: its value could be either one's.
    if not keys or any(
        _same_field(other, keys[0], declared[other]) for other in declared if other != name
    ):
        return None
    change = f"renamed the field {shown(keys[0])} to {shown(name)}"
    return Found(
        paths=((keys[0],),),
        value=rest[keys[0]],
        named=_named_by(keys[0], name, declared),
        changes=(change,),
    )


def _same_field(name: str, key: str, schema: Any) -> bool:
    """Return True if a key is the field's name, alias, or name in another writing.

    The name with a unit at its end counts, too, if that converts into the declared one.
    """
    if key == name or key in field_aliases(schema) or folded(key) == folded(name):
        return True
    found, own = measured(key), measured(name)
    if found is None or not _counts(schema):
        return False
    text = unit_text(schema)
    unit = unit_named(text) if text else own[1] if own is not None else None
    stems = {folded(name), *(() if own is None else (own[0],))}
    return found[0] in stems and unit is not None and comparable(found[1], unit)


def _named_by(key: str, name: str, declared: Mapping[str, Any]) -> str | None:
    """Return the unit that a field's new name carries and its old one does not."""
    text = unit_text(declared[name])
    old = unit_named(text) if text else suffix_unit(name)
    ends_in = unit_at_end(key)
    if (
        ends_in is None
        or not _counts(declared[name])
        or (old is not None and not kindred(ends_in, old))
    ):
        return None
    if old is None:
        if key in field_aliases(declared[name]) or folded(key) == folded(name):
            return None
        raise Undecided  # the old name had no unit, so the number may have been converted or not
    if equal(ends_in, old):
        return None
    if (unit := suffix_unit(key)) is None:
        raise Undecided  # the last word may name another unit, or something else
    return unit.name


def _moved(name: str, schema: Mapping[str, Any], rest: Mapping[str, Any]) -> Found | None:
    """Find a field in a declared wrapper that holds the only field of that name."""
    declared, places = properties(schema), []
    for path, holder in _objects(rest, wrappers(schema)):
        for key, item in holder.items():
            if _same_field(name, key, declared[name]):
                beside = unit_beside(
                    key, unit_text(declared[name]), unit_holders(holder), alone=True
                )
                named = (
                    (beside or _named_by(key, name, declared)) if _counts(declared[name]) else None
                )
                places.append(Found(paths=((*path, key),), value=item, named=named))
    if len(places) > 1:
        raise Undecided
    if not places:
        return None
    place = places[0]
    change = f"took the field {shown(name)} out of {shown('.'.join(place.paths[0][:-1]))}"
    return Found(paths=place.paths, value=place.value, named=place.named, changes=(change,))


def _objects(
    rest: Mapping[str, Any], inside: Collection[str], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    for key, item in rest.items():
        if key in inside and isinstance(item, Mapping) and len(path) < 3:
            yield (*path, key), item
            yield from _objects(item, inside, (*path, key))


def _flattened(name: str, schema: Mapping[str, Any], rest: Mapping[str, Any]) -> Found | None:
    """Build a declared object from fields whose names begin with its name."""
    inner = properties(main_form(properties(schema)[name]))
    parts: dict[str, Any] = {}
    keys: list[str] = []
    for part in inner:
        ours = [key for key in rest if folded(key) == folded(f"{name}_{part}")]
        if len(ours) > 1:
            raise Undecided
        if ours:
            parts[part] = rest[ours[0]]
            keys += ours
    if not parts:
        return None
    change = f"put {', '.join(map(shown, keys))} together in {shown(name)}"
    return Found(paths=tuple((key,) for key in keys), value=parts, changes=(change,))
