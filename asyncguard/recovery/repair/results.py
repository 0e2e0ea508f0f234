"""Normalisation of drifted answers to the declared form, where that takes no guess.

Without a live contract an answer is coerced against the declaration alone: names by alias and
writing, values out of declared wrappers and texts, units that the answer itself names. With one,
the answer is first read as the live contract describes it, and then carried to the declared one,
units included.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from asyncguard.recovery.repair.arguments import descriptions_exchanged, same_contract
from asyncguard.recovery.repair.coerce import is_right, mend
from asyncguard.recovery.repair.coerce_scalar import Where
from asyncguard.recovery.repair.field_map import carry
from asyncguard.recovery.result_check import Answer, declared_value
from asyncguard.schema.compiled import shape_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Normalised:
    """An answer in its declared form."""

    value: Any
    """The value; it satisfies the declared schema."""
    changes: tuple[str, ...]
    """Changes in words, without values; empty if it was right."""


def normalise(
    answer: Answer, declared: Mapping[str, Any], live: Mapping[str, Any] | None = None
) -> Normalised | None:
    """Return the answer in its declared form.

    Args:
        answer: From :func:`asyncguard.recovery.result_check.read_answer`.
        declared: Result schema of the declaration.
        live: Result schema of the tool's live contract, if it was read.

    Returns:
        ``None`` where the answer may be understood in more than one way, breaks off, or cannot be
        brought to satisfy the declared schema. Nothing is filled in: each value of the result is
        one of the answer's, in another spelling or another unit where ``changes`` says so. Without
        a live contract, a result normalises to itself.
    """
    if live is not None and descriptions_exchanged(declared, live):
        return None
    if live is None or same_contract(declared, live):
        return _mended(answer, declared)
    if (read := _mended(answer, live)) is not None:
        carried = carry(read.value, live, declared, filling=False)
        if carried is None or not is_right(carried.value, declared):
            return None
        changes = tuple(dict.fromkeys((*read.changes, *carried.changes)))
        return Normalised(value=carried.value, changes=changes)
    # The answer does not fit the live contract, say because the tool was repaired in between.
    if not is_right(declared_value(shape_of(declared), answer), declared):
        return None
    return _mended(answer, declared)


def _mended(answer: Answer, schema: Mapping[str, Any]) -> Normalised | None:
    shape = shape_of(schema)
    mended = mend(declared_value(shape, answer), shape.schema, Where())
    if mended is None or not is_right(mended.value, schema):
        return None
    return Normalised(value=mended.value, changes=tuple(dict.fromkeys(mended.changes)))
