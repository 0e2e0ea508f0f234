"""What a call reads and writes, and how its effect may be repeated.

A footprint is a set of resource names, templated on the arguments (``"account:{account_id}"``). Two calls conflict as
two instructions do that name the same register. A name that ends in ``*`` stands for all names with that prefix; a
template whose argument is missing or not yet known turns into such a prefix, so that doubt widens a footprint and
never narrows it. ``None`` instead of a set means *unknown*: such a call is ordered by the barrier of its task.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

_FIELD = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SCALARS = (str, int, float, bool)


class EffectClass(StrEnum):
    """What may be done again after an attempt whose outcome is unknown."""

    PURE = "pure"
    """No effect: repeat at will."""
    IDEMPOTENT = "idempotent"
    """The same call twice leaves what the call once leaves."""
    KEYED = "keyed"
    """The tool honours our idempotency key."""
    PROBED = "probed"
    """A read-only check tells whether the effect happened."""
    AT_MOST_ONCE = "at_most_once"
    """Anything else, and the default: never repeated once it may have begun."""

    @property
    def repeatable(self) -> bool:
        """Whether an attempt that may have begun can be made again without asking anyone."""
        return self in (EffectClass.PURE, EffectClass.IDEMPOTENT, EffectClass.KEYED)

    @property
    def renewable(self) -> bool:
        """Whether a new call may do the same once more: a keyed one would have another key, and a second effect."""
        return self in (EffectClass.PURE, EffectClass.IDEMPOTENT)


@dataclass(frozen=True, kw_only=True, slots=True)
class Footprint:
    """The resources of one call, templates filled in."""

    reads: frozenset[str] | None
    """Names that are read; ``None`` if unknown."""
    writes: frozenset[str] | None
    """Names that are written; ``None`` if unknown, empty if the call changes nothing."""

    @property
    def known(self) -> bool:
        """Whether both sides are declared."""
        return self.reads is not None and self.writes is not None

    @property
    def writes_nothing(self) -> bool:
        """Whether the call is known to change nothing."""
        return self.writes is not None and not self.writes


def fill(templates: Iterable[str] | None, values: Mapping[str, Any]) -> frozenset[str] | None:
    """Fill resource templates with argument values.

    Args:
        templates: Names with ``{argument}`` fields, or ``None`` for unknown.
        values: Arguments by name; ``task_id`` is offered by the caller.

    Returns:
        The names, or ``None`` for unknown. A field without a scalar value becomes the wildcard ``*`` and ends the name.
    """
    if templates is None:
        return None
    return frozenset(_fill_one(template, values) for template in templates)


def _fill_one(template: str, values: Mapping[str, Any]) -> str:
    parts: list[str] = []
    position = 0
    for found in _FIELD.finditer(template):
        parts.append(template[position : found.start()])
        value = values.get(found.group(1))
        if not isinstance(value, _SCALARS):
            return "".join(parts) + "*"
        # 7 and 7.0 are equal arguments, so they name the same resource.
        parts.append(str(int(value) if isinstance(value, float) and value.is_integer() else value))
        position = found.end()
    return "".join(parts) + template[position:]


def overlap(one: str, other: str) -> bool:
    """Whether two resource names can mean the same thing."""
    if one.endswith("*") and other.endswith("*"):
        a, b = one[:-1], other[:-1]
        return a.startswith(b) or b.startswith(a)
    if one.endswith("*"):
        return other.startswith(one[:-1])
    if other.endswith("*"):
        return one.startswith(other[:-1])
    return one == other


def any_overlap(left: Iterable[str], right: Iterable[str]) -> str | None:
    """The first name of ``left`` that overlaps one of ``right``, in sorted order, or ``None``."""
    others = tuple(right)
    return next(
        (name for name in sorted(left) if any(overlap(name, other) for other in others)), None
    )
