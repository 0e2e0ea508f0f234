"""Units of the same field in two contracts, from what they declare, name or describe."""

from asyncguard.recovery.repair.field_match import Leaf
from asyncguard.recovery.repair.identifiers import folded
from asyncguard.recovery.repair.unit_annotations import differ, same_name, suffix_unit
from asyncguard.recovery.repair.units import Unit, comparable, equal, kindred, unit_named, units_in
from asyncguard.schema.compiled import unit_text


class Unmeasured(Exception):
    """The unit of a number is unknown on one side and may not be the same."""


def units_between(
    source: Leaf, target: Leaf, named: str | None, *, same_tool: bool = True
) -> tuple[Unit, Unit] | None:
    """Return the units of a field here and there, ``None`` if a number means the same in both.

    A unit is declared by the annotation ``unit``; without one, the end of the field's name or its
    description may name one. Where only one side names it, the fields have to be identical
    otherwise.

    Args:
        source: The field that the number comes from.
        target: The field that it goes to.
        named: Unit that stands beside the number itself; it has to be the declared one.
        same_tool: True if both are fields of one tool; of two tools, the same name does not make
            the same unit.

    Raises:
        Unmeasured: Only one side names its unit, both name units that do not convert, or the number
            says otherwise.
    """
    if not source.is_number and not target.is_number:
        return None
    here, there = unit_text(source.schema), unit_text(target.schema)
    if named is not None and here is not None and differ(here, named):
        raise Unmeasured
    here = here if named is None else named
    one = unit_named(here) if here is not None else _told(source, there)
    other = unit_named(there) if there is not None else _told(target, here)
    if one is not None and other is not None:
        if equal(one, other):
            return None
        if not comparable(one, other):
            raise Unmeasured
        return one, other
    # A unit outside the table does not convert; it has to be the same word.
    if here is not None and there is not None:
        if same_name(here, there):
            return None
        raise Unmeasured
    silent = all(each is None for each in (here, there, one, other))
    if silent or named is not None:
        return None
    same_words = folded(source.description) == folded(target.description)
    if same_tool and source.name == target.name and same_words:
        return None  # one of the two contracts only became more explicit
    raise Unmeasured


def is_silent(source: Leaf, target: Leaf) -> bool:
    """Return True if the target declares a number's unit and nothing about the source names one."""
    if unit_text(source.schema) is not None or (there := unit_text(target.schema)) is None:
        return False
    try:
        return target.is_number and _told(source, there) is None
    except Unmeasured:
        return False


def _told(leaf: Leaf, declared: str | None) -> Unit | None:
    """Return the unit that a field's name or description names.

    If the other side declares a unit, only one of its kind counts.
    """
    across = unit_named(declared) if declared is not None else None
    found = suffix_unit(leaf.name)
    if found is not None and (across is None or kindred(found, across)):
        return found
    units = [unit for unit in units_in(leaf.description) if across is None or kindred(unit, across)]
    # Words of a sentence name units in passing; two of one kind leave open which is meant.
    if len(units) > 1:
        raise Unmeasured
    return units[0] if units else None
