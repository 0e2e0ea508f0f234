"""New names for fields: the ways in which services rename what they have, from well announced to unheard of."""

from collections.abc import Collection

from asyncguard_benchmark.harness.fault_modes import Spot


def new_name(old: str, taken: Collection[str], spot: Spot, aliases: Collection[str] = ()) -> str:
    """Return a name that the contract does not use yet.

    Severity 1 takes one that the declaration announces, if it does, else another spelling; 2 adds a word; 3 has nothing
    to do with the old name.

    Args:
        old: The declared name.
        taken: Names beside it.
        spot: Place of the field.
        aliases: Names that the declaration announces.
    """
    free = [name for name in _names(old, spot, aliases) if name not in taken]
    return free[0] if free else f"{old}_new"


def _names(old: str, spot: Spot, aliases: Collection[str]) -> list[str]:
    words = ("current_{}", "{}_value", "reported_{}", "{}_v2")
    worded = words[int(spot.draw("word") * len(words))].format(old)
    if spot.severity == 1:
        return [*aliases, _camel(old), worded]
    if spot.severity == 2:
        return [name for name in (worded, f"{old}_value") if name not in aliases]
    return [f"fld_{int(spot.draw('code') * 900) + 100}"]


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
