"""Footprints: the resources that a call reads and writes, and the class of its effect.

A footprint is a set of resource names, templated on the arguments (``"account:{account_id}"``). Two
calls conflict as two instructions do that name the same register. A name that ends in ``*`` stands
for all names with that prefix; a template whose argument is missing or not yet known becomes such a
prefix, so that missing knowledge widens a footprint and never narrows it. ``None`` instead of a set
means *unknown*: such a call is ordered by the barrier of its task.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

_FIELD = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SCALARS = (str, int, float, bool)


class EffectClass(StrEnum):
    """Rule for repeating a call after an attempt whose outcome is unknown."""

    PURE = "pure"
    """No effect: repeat at will."""
    IDEMPOTENT = "idempotent"
    """Two executions leave the same state as one."""
    KEYED = "keyed"
    """The tool honours our idempotency key."""
    PROBED = "probed"
    """A read-only check reports whether the effect happened."""
    AT_MOST_ONCE = "at_most_once"
    """Anything else, and the default: never repeated once it may have begun."""

    @property
    def repeatable(self) -> bool:
        """Return True if an attempt that may have begun can be made again without asking."""
        return self in (EffectClass.PURE, EffectClass.IDEMPOTENT, EffectClass.KEYED)

    @property
    def renewable(self) -> bool:
        """Return True if even a new call may do the same again.

        A new keyed call would have another key, and so a second effect.
        """
        return self in (EffectClass.PURE, EffectClass.IDEMPOTENT)


@dataclass(frozen=True, kw_only=True, slots=True)
class Footprint:
    """The resources of one call, templates filled in."""

    reads: frozenset[str] | None
    """Resources that are read; ``None`` if unknown."""
    writes: frozenset[str] | None
    """Resources that are written; ``None`` if unknown, empty if the call changes nothing."""

    @property
    def known(self) -> bool:
        """Return True if both reads and writes are declared."""
        return self.reads is not None and self.writes is not None

    @property
    def writes_nothing(self) -> bool:
        """Return True if the call is known to change nothing."""
        return self.writes is not None and not self.writes

    def commutes_with(self, other: "Footprint") -> bool:
        """Return True if the order of the two calls is known not to matter."""
        if self.writes_nothing and other.writes_nothing:
            return True
        if not (self.known and other.known):
            return False
        return not (
            _meet(self.writes, other.writes)
            or _meet(self.writes, other.reads)
            or _meet(self.reads, other.writes)
        )


def _meet(some: frozenset[str] | None, others: frozenset[str] | None) -> bool:
    return any(overlap(one, other) for one in some or () for other in others or ())


def fill(templates: Iterable[str] | None, values: Mapping[str, Any]) -> frozenset[str] | None:
    """Fill resource templates with argument values.

    Args:
        templates: Names with ``{argument}`` fields, or ``None`` for unknown.
        values: Arguments by name, and ``task_id``, which the caller adds.

    Returns:
        The names, or ``None`` for unknown. A field without a scalar value becomes the wildcard
        ``*`` and ends the name.
    """
    if templates is None:
        return None
    return frozenset(_fill_one(template, values) for template in templates)


def arguments_of(templates: Iterable[str] | None) -> tuple[str, ...]:
    """Return the names of the arguments in resource templates, without ``task_id``."""
    named = [name for template in templates or () for name in _FIELD.findall(template)]
    return tuple(name for name in named if name != "task_id")


def without_arguments(template: str) -> str:
    """Return a resource template without its fields."""
    return _FIELD.sub("", template)


def _fill_one(template: str, values: Mapping[str, Any]) -> str:
    parts: list[str] = []
    position = 0
    for found in _FIELD.finditer(template):
        parts.append(template[position : found.start()])
        value = values.get(found.group(1))
        if not isinstance(value, _SCALARS):
            return "".join(parts) + "*"
        # 7 and 7.0 are equal arguments and have to name the same resource.
        parts.append(str(int(value) if isinstance(value, float) and value.is_integer() else value))
        position = found.end()
    return "".join(parts) + template[position:]


def overlap(one: str, other: str) -> bool:
    """Return True if two resource names can mean the same resource."""
    if one.endswith("*") and other.endswith("*"):
        # Two prefixes share names if one continues the other.
        a, b = one[:-1], other[:-1]
        return a.startswith(b) or b.startswith(a)
    if one.endswith("*"):
        return other.startswith(one[:-1])
    if other.endswith("*"):
        return one.startswith(other[:-1])
    return one == other
