"""Coercion of objects and lists into their declared form.

It handles renamed, wrapped and split fields, declared envelopes, and rows. Every function looks for
the only way in which the parts of an answer fit the declaration; where there are two, it finds
none.
"""

from collections.abc import Callable, Mapping
from typing import Any

from asyncguard.recovery.repair.coerce_scalar import Coerced, Where, coerce_wrapped, is_pinned
from asyncguard.recovery.repair.find_fields import Undecided, find_fields, left_over
from asyncguard.recovery.repair.free_text import document_in, pairs_in, tells_failure
from asyncguard.recovery.repair.identifiers import shown
from asyncguard.recovery.repair.unit_annotations import unit_owner
from asyncguard.schema.compiled import kinds, main_form, properties, wrappers

Mend = Callable[[Any, Mapping[str, Any], Where], Coerced | None]
"""Function that brings a part into its declared form."""

_MAX_LIST = 10_000


def mend_object(value: Any, schema: Mapping[str, Any], where: Where, mend: Mend) -> Coerced | None:
    """Return a value in the form of a declared object."""
    match value:
        case Mapping():
            if (mended := _fields(value, schema, where, mend)) is not None:
                return mended
            return _envelope(value, schema, where, mend, lists=False)
        case str():
            return _from_text(value, schema, where, mend)
        case [Mapping() as only]:
            # A list of one name and value is an object of one field; if it is not, its item counts.
            pairs = _paired(value)
            inner = mend(pairs if pairs is not None else only, schema, where.inside())
            return _after(f"took the only item of a list {where.text}", inner)
        case list() if (pairs := _paired(value)) is not None:
            return _after(
                f"made fields of the names and values {where.text}",
                mend(pairs, schema, where.inside()),
            )
        case _:
            return None


def mend_array(value: Any, schema: Mapping[str, Any], where: Where, mend: Mend) -> Coerced | None:
    """Return a value in the form of a declared list."""
    items = main_form(schema.get("items"))
    match value:
        case list():
            if len(value) == 1 and isinstance(value[0], list) and "array" not in kinds(items):
                return _after(
                    f"took the list out of a list {where.text}",
                    mend(value[0], schema, where.inside()),
                )
            return _each(value, items, where, mend)
        case Mapping():
            if (mended := _envelope(value, schema, where, mend, lists=True)) is not None:
                return mended
            if (rows := _rows(value, items)) is not None:
                return _after(
                    f"made rows of the columns {where.text}", _each(rows, items, where, mend)
                )
            return _single(value, items, where, mend)
        case str():
            mended = _from_text(value, schema, where, mend) or _split(value, items, where, mend)
            return mended or _single(value, items, where, mend)
        case _:
            return _single(value, items, where, mend)


def unwrapped(value: Any, schema: Mapping[str, Any], where: Where, mend: Mend) -> Coerced | None:
    """Return a text, number or truth value out of the wrapper around it."""
    match value:
        case Mapping():
            if (mended := coerce_wrapped(value, schema, where)) is not None:
                return mended
            return _envelope(value, schema, where, mend, lists=False)
        case [only]:
            return _after(
                f"took the only item of a list {where.text}", mend(only, schema, where.inside())
            )
        case str() if value.lstrip().startswith(("{", "[", "`", '"')):
            return _from_text(value, schema, where, mend)
        case _:
            return None


def _fields(
    value: Mapping[str, Any], schema: Mapping[str, Any], where: Where, mend: Mend
) -> Coerced | None:
    try:
        found = find_fields(value, schema)
    except Undecided:
        return None
    # Nothing that is declared: it may be another document, such as an envelope.
    if not found and value:
        return None
    fields: dict[str, Any] = {}
    changes: list[str] = []
    required = schema.get("required", ())
    for name, place in found.items():
        inner = main_form(properties(schema)[name])
        # An empty optional field says as much as an absent one, and its schema does not take null.
        if (
            place.value is None
            and name not in required
            and "null" not in kinds(properties(schema)[name])
        ):
            changes.append(f"left out the empty field {shown(name)}")
            continue
        mended: Coerced | None
        if place.value is None and "null" in kinds(properties(schema)[name]):
            mended = Coerced(value=None)
        else:
            mended = mend(place.value, inner, where.below(name, place.named))
        if mended is None:
            return None
        fields[name] = mended.value
        changes += [*place.changes, *mended.changes]
    # Last, because what was read out of the fields decides what contradicts it.
    rest = left_over(value, schema, found)
    if rest is None:
        return None
    return Coerced(value={**fields, **rest.kept}, changes=(*changes, *rest.changes))


def _envelope(
    value: Mapping[str, Any], schema: Mapping[str, Any], where: Where, mend: Mend, *, lists: bool
) -> Coerced | None:
    """Return the content of the only declared wrapper in an object.

    Fields beside the wrapper must not report a failure or name a unit: they would qualify its
    content.
    """
    known = [key for key in value if key in wrappers(schema)]
    # With two wrappers, either may hold the answer.
    if len(known) != 1:
        return None
    key = known[0]
    beside = {name: item for name, item in value.items() if name != key}
    if any(
        tells_failure(name, item) or unit_owner(name) is not None for name, item in beside.items()
    ):
        return None
    mended = mend(value[key], schema, where.inside())
    if mended is None:
        return None
    # A list with a counter or a next-page link beside it may be only a part of the answer. So each
    # field beside a list has to be empty, or count the items.
    if lists and not all(
        item in (None, "", False) or (type(item) is int and item == len(mended.value))
        for item in beside.values()
    ):
        return None
    left_out = (f"left out the field {shown(name)} beside it" for name in beside)
    found = _after(f"took the answer out of the field {shown(key)} {where.text}", mended)
    return (
        None if found is None else Coerced(value=found.value, changes=(*found.changes, *left_out))
    )


def _from_text(text: str, schema: Mapping[str, Any], where: Where, mend: Mend) -> Coerced | None:
    if (document := document_in(text)) is not None:
        return _after(
            f"read the JSON in a text {where.text}", mend(document, schema, where.inside())
        )
    if "object" in kinds(schema) and (pairs := pairs_in(text)) is not None:
        return _after(
            f"read the fields in a text {where.text}", mend(pairs, schema, where.inside())
        )
    return None


def _paired(value: list[Any]) -> dict[str, Any] | None:
    """Return the object that a list of names and values stands for."""
    found: dict[str, Any] = {}
    for item in value:
        match item:
            case [str() as name, held]:
                pass
            case {"name": str() as name, "value": held} | {"key": str() as name, "value": held} if (
                len(item) == 2
            ):
                pass
            case _:
                return None
        if name in found:
            return None
        found[name] = held
    return found or None


def _each(value: list[Any], items: Mapping[str, Any], where: Where, mend: Mend) -> Coerced | None:
    if len(value) > _MAX_LIST:
        return None
    found: list[Any] = []
    changes: dict[str, None] = {}
    for item in value:
        if (mended := mend(item, items, where.inside())) is None:
            return None
        found.append(mended.value)
        changes.update(dict.fromkeys(mended.changes))
    return Coerced(value=found, changes=tuple(changes))


def _single(value: Any, items: Mapping[str, Any], where: Where, mend: Mend) -> Coerced | None:
    if not items:
        return None  # without a schema for the items, any value would be an item
    mended = mend(value, items, where.inside())
    if mended is None:
        return None
    return Coerced(
        value=[mended.value],
        changes=(*mended.changes, f"made a list of the only item {where.text}"),
    )


def _rows(value: Mapping[str, Any], items: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return rows made of columns of the same length, or of numbered rows."""
    columns = list(value.values())
    numbers = [str(position) for position in range(len(columns))]
    # Rows under their numbers ("0", "1"), as some libraries write a table.
    if columns and list(value) == numbers:
        return columns
    are_lists = all(isinstance(column, list) for column in columns)
    # Fields that are not declared could be anything of equal length.
    if not columns or not are_lists or not value.keys() <= properties(items).keys():
        return None
    if len({len(column) for column in columns}) != 1:
        return None
    return [dict(zip(value, row, strict=True)) for row in zip(*columns, strict=True)]


def _split(text: str, items: Mapping[str, Any], where: Where, mend: Mend) -> Coerced | None:
    """Return the items of a text with separators.

    Each part must show by itself that it is an item.
    """
    if not (is_pinned(items) or kinds(items) <= {"number", "integer"}):
        return None
    # A comma without a space does not split numbers: 1,5 may be one number.
    separators = (";", "|", ", ", ",") if is_pinned(items) else (";", "|", ", ")
    for separator in separators:
        parts = [part.strip() for part in text.split(separator)]
        if len(parts) > 1 and all(parts):
            return _after(f"split a text {where.text}", _each(parts, items, where, mend))
    return None


def _after(change: str, mended: Coerced | None) -> Coerced | None:
    """Return the coerced value with a change that came before its own."""
    return (
        None if mended is None else Coerced(value=mended.value, changes=(change, *mended.changes))
    )
