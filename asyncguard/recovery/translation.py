"""Translation of one tool's answer into the form of another tool.

It serves siblings, sources, verifiers and probes. Each tool answers in the form that it declares
itself. A number changes its unit on the way where both declarations name one and the factor is
exact. Where they name units that do not convert, or the answering tool names one and the other does
not, the answer cannot be used. A tool that names no unit is assumed to answer in that of the tool
that names it as a stand-in. Where it describes the field and leaves the unit out, that assumption
is reported.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from asyncguard.core.faults import Anomaly, AnomalyKind
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.recovery.repair.field_map import carry
from asyncguard.recovery.repair.field_match import leaves, match_leaves
from asyncguard.recovery.repair.results import Normalised, normalise
from asyncguard.recovery.result_check import LIMITS, Answer, declared_value, inspect
from asyncguard.schema.compiled import (
    IdentityKey,
    expanded,
    kinds,
    main_form,
    properties,
    shape_of,
    unit_text,
)

Schema = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """An answer in the form that another tool declares."""

    answer: Answer
    """The answer; as it came where nothing had to be done, or nothing could be done."""
    changes: tuple[str, ...] = ()
    """Steps that were taken, in words, without values."""
    problems: tuple[Anomaly, ...] = ()
    """Reasons why it cannot be read as an answer of the other tool; empty if it can."""


def translate(
    answer: Answer, said_by: ToolSpec, wanted: Schema | None, live: Schema | None = None
) -> Reading:
    """Read the answer of one tool in the form of another.

    Args:
        answer: The answer as it came.
        said_by: Declaration of the tool that answered.
        wanted: Result schema of the tool in whose place it answered; ``None`` if that declares
            none.
        live: Result schema of the answering tool's live contract, if it was read.

    Returns:
        A reading without changes where no units are at stake: then the answer is checked against
        ``wanted`` as it came.
    """
    own = said_by.result_schema
    if own is None or wanted is None or own == wanted or not _at_stake(own, wanted):
        return Reading(answer=answer)
    read = normalise(answer, own, live)
    if read is None:
        # The invariants are left out: they need the arguments of this tool's own call.
        bare = ToolSpec(name=said_by.name, result_schema=own)
        broken = inspect(bare, {}, answer)
        if {anomaly.kind for anomaly in broken} != {AnomalyKind.BOUNDS}:
            # With values out of bounds the form is still right and can be read.
            return Reading(answer=answer, problems=broken or (_incomparable(said_by.name),))
        read = Normalised(value=declared_value(shape_of(own), answer), changes=())
    carried = carry(
        read.value, *_forms(IdentityKey(own), IdentityKey(wanted)), filling=False, same_tool=False
    )
    if carried is None:
        return Reading(answer=answer, problems=(_incomparable(said_by.name),))
    # Nothing changed, so the answer is passed on as it came, undeclared fields included.
    if not read.changes and _within(carried.value, read.value):
        return Reading(answer=answer, changes=carried.assumptions)
    changes = (
        f"read the answer as {said_by.name} declares it",
        *read.changes,
        *carried.changes,
        *carried.assumptions,
    )
    return Reading(
        answer=Answer(parsed=True, value=carried.value, text=None),
        changes=tuple(dict.fromkeys(changes)),
    )


def units_told(schema: Schema | None) -> str:
    """Return the units that a schema declares, for a mark; empty if it declares none."""
    if schema is None or not shape_of(schema).has_units:
        return ""
    form = main_form(expanded(schema))
    items = form.get("items")
    found = [
        leaf
        for leaf in leaves(items if isinstance(items, Mapping) else form, {})
        if unit_text(leaf.schema)
    ]
    return ", ".join(
        f"{'.'.join(leaf.path) or 'the answer'} in {unit_text(leaf.schema)}" for leaf in found
    )


def _at_stake(own: Schema, wanted: Schema) -> bool:
    """Return True if units matter between the two schemas.

    Either the answering one declares some, or the other does for fields that the answering one
    describes, too.
    """
    if not (shape_of(own).has_units or shape_of(wanted).has_units):
        return False
    form = main_form(expanded(own))
    says_nothing = (
        not properties(form)
        and "items" not in form
        and not kinds(form).isdisjoint({"object", "array"})
    )
    return not says_nothing or shape_of(own).has_units


@lru_cache(maxsize=256)
def _forms(own: IdentityKey, wanted: IdentityKey) -> tuple[Schema, Schema]:
    """Return both schemas prepared for carrying values between them.

    Limits are left out: they are checked against the carried value.
    """
    here, there = main_form(expanded(own.held)), main_form(expanded(wanted.held))
    pairs = match_leaves(leaves(here, there), leaves(there, {}))
    if properties(here) and here.get("additionalProperties") is not False and pairs is not None:
        # The answer may hold fields that only the other tool describes. Undescribed, they would
        # stop the carrying, which never drops what the target knows.
        matched = {path[0] for path in pairs.values() if path}
        added = {name: each for name, each in properties(there).items() if name not in matched}
        here = {**here, "properties": {**added, **properties(here)}}
    return _unlimited(here), _unlimited(expanded(wanted.held))


def _unlimited(schema: Any) -> Any:
    if not isinstance(schema, Mapping):
        return schema
    kept = {key: item for key, item in schema.items() if key not in LIMITS}
    if properties(kept):
        kept["properties"] = {name: _unlimited(inner) for name, inner in properties(kept).items()}
    if "items" in kept:
        kept["items"] = _unlimited(kept["items"])
    return kept


def _incomparable(tool: str) -> Anomaly:
    message = (
        f"{tool} answered, and its answer cannot be brought into the declared form and units "
        "without a guess."
    )
    return Anomaly(kind=AnomalyKind.UNIT, pointer="", message=message)


def _within(carried: Any, came: Any) -> bool:
    """Return True if nothing but undeclared fields is missing."""
    if isinstance(carried, Mapping) and isinstance(came, Mapping):
        return all(name in came and _within(value, came[name]) for name, value in carried.items())
    if isinstance(carried, list) and isinstance(came, list):
        return len(carried) == len(came) and all(map(_within, carried, came))
    # In Python True equals 1 and 1 equals 1.0; in an answer neither pair is the same text.
    return type(carried) is type(came) and bool(carried == came)
