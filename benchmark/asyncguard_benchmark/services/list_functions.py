"""Functions of DM on plain lists and on mappings."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any

from asyncguard_benchmark.services.arguments import Several
from asyncguard_benchmark.services.declarations import State, tool
from asyncguard_benchmark.services.exact_numbers import exact, rounded

PLACES = 2
"""Decimals to which sums are rounded."""
_MAPPING = ": object from name to text or number"

Record = Annotated[
    dict[str, Any], {"minProperties": 1, "additionalProperties": {"type": ["string", "number"]}}
]


def rounded_values(sums: Mapping[str, Fraction]) -> dict[str, int | float]:
    """Return numbers by name, rounded."""
    return {name: rounded(total, PLACES) for name, total in sums.items()}


@tool()
def compare_lists(
    _: State,
    first: Annotated[Several[str | float], "the first list"],
    second: Annotated[Several[str | float], "the second list"],
) -> Any:
    """Compares two lists as sets. Gives `both`, `only_first` and `only_second`, each value once."""
    ours, theirs = list(dict.fromkeys(first)), list(dict.fromkeys(second))
    return {
        "both": [item for item in ours if item in theirs],
        "only_first": [item for item in ours if item not in theirs],
        "only_second": [item for item in theirs if item not in ours],
    }


@tool()
def tally_values(_: State, values: Annotated[Several[str | float], "the values to count"]) -> Any:
    """Counts equal values.

    Gives `counts` (rows with `value` and `count`, most frequent first), `most_common`,
    `least_common` and `single`, the values that occur once.
    """
    counts = {value: values.count(value) for value in dict.fromkeys(values)}
    ranked = sorted(counts, key=counts.__getitem__, reverse=True)
    return {
        "counts": [{"value": value, "count": counts[value]} for value in ranked],
        "most_common": ranked[0],
        "least_common": min(counts, key=counts.__getitem__),
        "single": [value for value in counts if counts[value] == 1],
    }


@tool()
def describe_numbers(_: State, values: Annotated[Several[float], "the numbers"]) -> Any:
    """Gives the `count`, `total`, `mean`, `median`, `smallest`, `largest` and `spread` of numbers, two decimals."""
    numbers = sorted(exact(value) for value in values)
    total, middle = sum(numbers, Fraction()), len(numbers) // 2
    median = numbers[middle] if len(numbers) % 2 else (numbers[middle - 1] + numbers[middle]) / 2
    figures = {
        "total": total,
        "mean": total / len(numbers),
        "median": median,
        "smallest": numbers[0],
        "largest": numbers[-1],
        "spread": numbers[-1] - numbers[0],
    }
    return {"count": len(numbers), **rounded_values(figures)}


@tool()
def overlay_mapping(
    _: State,
    base: Annotated[Record, {"maxProperties": 200}, "the mapping below" + _MAPPING],
    changes: Annotated[Record, {"maxProperties": 200}, "the mapping on top" + _MAPPING],
) -> Any:
    """Lays the entries of one mapping over another.

    Gives `merged`, `replaced` (old values that gave way) and `added`.
    """
    return {
        "merged": {**base, **changes},
        "replaced": {
            name: base[name] for name in changes if name in base and base[name] != changes[name]
        },
        "added": [name for name in changes if name not in base],
    }


@tool()
def invert_mapping(
    _: State,
    mapping: Annotated[Record, {"maxProperties": 200}, "the mapping to turn round" + _MAPPING],
) -> Any:
    """Turns a mapping round.

    Gives `names` (each value, as text, with the names that have it) and `shared`, the values
    that several names have.
    """
    names: dict[str, list[str]] = {}
    for name, value in mapping.items():
        names.setdefault(str(value), []).append(name)
    return {"names": names, "shared": [value for value, owners in names.items() if len(owners) > 1]}
