"""Coercion of an answer, or a part of one, into the form that a schema declares."""

from collections.abc import Mapping
from typing import Any

from asyncguard.recovery.repair.coerce_object import mend_array, mend_object, unwrapped
from asyncguard.recovery.repair.coerce_scalar import Coerced, Where, mend_scalar
from asyncguard.recovery.repair.unit_annotations import conflicts
from asyncguard.schema.compiled import kinds, main_form, shape_of

_MAX_DEPTH = 12
_SCALARS = frozenset({"string", "integer", "number", "boolean"})


def mend(value: Any, schema: Mapping[str, Any], where: Where) -> Coerced | None:
    """Return the value in its declared form; ``None`` if there is no such form, or more than one.

    A value that is right already is returned unchanged.

    Args:
        value: The answer, or a part of it.
        schema: The declared schema, without references.
        where: Place of the value in the answer.
    """
    # Wrappers in wrappers and texts in texts could go on for ever.
    if where.depth > _MAX_DEPTH:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # A number beside which the answer names a unit fits the schema also in the wrong unit.
    if (where.named is None or not is_number) and is_right(value, schema):
        return Coerced(value=value)
    form = main_form(schema)
    branches = [form]
    for name in ("anyOf", "oneOf"):
        if name in form:
            # A keyword beside the branches holds for each of them.
            around = {key: item for key, item in form.items() if key != name}
            branches = [{**around, **each} for each in form[name] if isinstance(each, Mapping)]
            break
    outcomes = [
        mended
        for branch in branches
        if (mended := _mend(value, branch, where)) is not None and is_right(mended.value, branch)
    ]
    # Branches that agree count once; equality and not a set, because values may be unhashable.
    distinct = [
        item
        for at, item in enumerate(outcomes)
        if all(item.value != other.value for other in outcomes[:at])
    ]
    return distinct[0] if len(distinct) == 1 and is_right(distinct[0].value, schema) else None


def is_right(value: Any, schema: Mapping[str, Any]) -> bool:
    """Return True if a value fits a schema and names no other unit than the schema declares."""
    shape = shape_of(schema)
    if not shape.fits(value):
        return False
    return not shape.has_units or next(conflicts(shape.schema, value), None) is None


def _mend(value: Any, schema: Mapping[str, Any], where: Where) -> Coerced | None:
    wanted = kinds(schema)
    if "object" in wanted and "array" in wanted:
        return None  # the schema says nothing about the form, so nothing can be brought into it
    if "object" in wanted:
        return mend_object(value, schema, where, mend)
    if "array" in wanted:
        return mend_array(value, schema, where, mend)
    if not wanted.isdisjoint(_SCALARS):
        return mend_scalar(value, schema, where) or unwrapped(value, schema, where, mend)
    return None
