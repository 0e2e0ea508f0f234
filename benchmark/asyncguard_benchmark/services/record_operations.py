"""Functions of data management on lists of flat records, on plain lists and on mappings.

Every function takes the empty state first, leaves its arguments alone and keeps the order in which things were given
unless it says otherwise; ties keep that order, too. Sums are exact and rounded once, to two decimals, half away
from zero.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from operator import ge, gt, le, lt
from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.services.declarations import State
from asyncguard_benchmark.services.exact_numbers import exact, rounded

Record = dict[str, Any]

RELATIONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "above": gt,
    "below": lt,
    "at least": ge,
    "at most": le,
}
"""Relations of a number to a bound."""
DESCENDING = "descending"
DIRECTIONS = (DESCENDING, "ascending")
_PLACES = 2
_ADDED = "cumulative"
"""The field that a cumulated record gets."""


def _value(record: Record, field: str) -> Any:
    if field not in record:
        raise ToolFailure(
            f"A record has no field {field!r}; its fields are {', '.join(map(repr, record))}."
        )
    return record[field]


def _number(record: Record, field: str) -> Fraction:
    value = _value(record, field)
    if isinstance(value, str):
        raise ToolFailure(f"Field {field!r} must hold numbers; one record holds {value!r}.")
    return exact(value)


def _kind(value: Any) -> tuple[bool, Any]:
    # Numbers before texts, so that mixed columns have an order at all.
    return isinstance(value, str), value


def _split(records: Sequence[Record], wanted: Sequence[bool]) -> dict[str, Any]:
    return {
        "records": [record for record, yes in zip(records, wanted, strict=True) if yes],
        "others": [record for record, yes in zip(records, wanted, strict=True) if not yes],
    }


def filter_by_number(
    _: State, records: list[Record], field: str, relation: str, bound: float
) -> Any:
    """Return records whose number stands in a relation to a bound, and the others."""
    holds, limit = RELATIONS[relation], exact(bound)
    return _split(records, [holds(_number(record, field), limit) for record in records])


def filter_by_text(_: State, records: list[Record], field: str, text: str) -> Any:
    """Return records whose field is exactly a text, and the others."""
    return _split(records, [_value(record, field) == text for record in records])


def order_records(_: State, records: list[Record], field: str, direction: str) -> Any:
    """Return records in the order of one field."""
    keyed = [_kind(_value(record, field)) for record in records]
    positions = sorted(range(len(records)), key=keyed.__getitem__, reverse=direction == DESCENDING)
    ordered = [records[position] for position in positions]
    return {"records": ordered, "first": ordered[0], "last": ordered[-1]}


def top_records(_: State, records: list[Record], field: str, count: int) -> Any:
    """Return the records with the highest numbers, highest first; the others as they came."""
    numbers = [_number(record, field) for record in records]
    positions = sorted(range(len(records)), key=numbers.__getitem__, reverse=True)[:count]
    others = [record for position, record in enumerate(records) if position not in positions]
    return {"records": [records[position] for position in positions], "others": others}


def extract_column(_: State, records: list[Record], field: str) -> Any:
    """Return the values of one field, with and without repetition."""
    values = [_value(record, field) for record in records]
    return {"values": values, "distinct": list(dict.fromkeys(values))}


def aggregate_by(_: State, records: list[Record], key: str, measure: str) -> Any:
    """Return the number of records, and total and mean of a measure, for each value of a key."""
    groups: dict[Any, list[Fraction]] = {}
    for record in records:
        groups.setdefault(_value(record, key), []).append(_number(record, measure))
    totals = {group: sum(numbers, Fraction()) for group, numbers in groups.items()}
    rows = [
        {
            "group": group,
            "count": len(numbers),
            "total": rounded(totals[group], _PLACES),
            "mean": rounded(totals[group] / len(numbers), _PLACES),
        }
        for group, numbers in groups.items()
    ]
    largest, smallest = max(totals, key=totals.__getitem__), min(totals, key=totals.__getitem__)
    return {"groups": rows, "largest_total": largest, "smallest_total": smallest}


def match_records(_: State, left: list[Record], right: list[Record], key: str) -> Any:
    """Return the pairs of records with the same value of a key, put together; and what has no partner."""
    partners: dict[Any, list[Record]] = {}
    for record in right:
        partners.setdefault(_value(record, key), []).append(record)
    wanted = {_value(record, key) for record in left}
    return {
        "matched": [
            {**record, **partner} for record in left for partner in partners.get(record[key], [])
        ],
        "only_left": [record for record in left if record[key] not in partners],
        "only_right": [record for record in right if record[key] not in wanted],
    }


def drop_repeats(_: State, records: list[Record], fields: list[str]) -> Any:
    """Return the first record of each combination of values; later ones apart."""
    seen: set[tuple[Any, ...]] = set()
    first: list[bool] = []
    for record in records:
        mark = tuple(_value(record, field) for field in fields)
        first.append(mark not in seen)
        seen.add(mark)
    parted = _split(records, first)
    return {"records": parted["records"], "repeats": parted["others"]}


def bucket_records(_: State, records: list[Record], field: str, edges: list[float]) -> Any:
    """Return records by the half-open range in which their number lies."""
    bounds = [exact(edge) for edge in edges]
    if sorted(set(bounds)) != bounds:
        raise ToolFailure("The edges must rise, each one once.")
    numbers = [_number(record, field) for record in records]

    def between(low: Fraction | None, high: Fraction | None) -> list[Record]:
        inside = (
            n
            for n, value in enumerate(numbers)
            if (low is None or value >= low) and (high is None or value < high)
        )
        return [records[n] for n in inside]

    buckets = []
    for low, high in zip(range(len(edges) - 1), range(1, len(edges)), strict=True):
        found = between(bounds[low], bounds[high])
        buckets.append(
            {"low": edges[low], "high": edges[high], "count": len(found), "records": found}
        )
    return {
        "buckets": buckets,
        "below": between(None, bounds[0]),
        "beyond": between(bounds[-1], None),
    }


def accumulate_column(_: State, records: list[Record], field: str) -> Any:
    """Return each record with the sum of a field up to and including it."""
    total = Fraction()
    summed: list[Record] = []
    for record in records:
        total += _number(record, field)
        summed.append({**record, _ADDED: rounded(total, _PLACES)})
    return {"records": summed, "total": rounded(total, _PLACES)}


def pivot_records(_: State, records: list[Record], row: str, column: str, measure: str) -> Any:
    """Return the totals of a measure for each pair of values of two fields."""
    table: dict[str, dict[str, Fraction]] = {}
    down: dict[str, Fraction] = {}
    across: dict[str, Fraction] = {}
    for record in records:
        here, there, number = (
            str(_value(record, row)),
            str(_value(record, column)),
            _number(record, measure),
        )
        cells = table.setdefault(here, {})
        for sums, name in ((cells, there), (across, here), (down, there)):
            sums[name] = sums.get(name, Fraction()) + number
    return {
        "table": {name: _rounded(cells) for name, cells in table.items()},
        "row_totals": _rounded(across),
        "column_totals": _rounded(down),
    }


def _rounded(sums: Mapping[str, Fraction]) -> dict[str, int | float]:
    return {name: rounded(total, _PLACES) for name, total in sums.items()}


def _by_key(records: Sequence[Record], key: str) -> dict[Any, Record]:
    found = {_value(record, key): record for record in records}
    if len(found) != len(records):
        raise ToolFailure(f"Field {key!r} must be different in every record of a list.")
    return found


def compare_snapshots(_: State, before: list[Record], after: list[Record], key: str) -> Any:
    """Return the entries that were added, removed and changed between two states of one list."""
    old, new = _by_key(before, key), _by_key(after, key)
    changed = [
        {"key": name, "field": field, "before": old[name][field], "after": value}
        for name, record in new.items()
        if name in old
        for field, value in record.items()
        if field in old[name] and old[name][field] != value
    ]
    return {
        "added": [record for name, record in new.items() if name not in old],
        "removed": [record for name, record in old.items() if name not in new],
        "changed": changed,
        "same": [record for name, record in new.items() if old.get(name) == record],
    }


def nearest_record(_: State, records: list[Record], field: str, target: float) -> Any:
    """Return the record whose number lies closest to a target, and the next closest."""
    distances = [abs(_number(record, field) - exact(target)) for record in records]
    positions = sorted(range(len(records)), key=distances.__getitem__)
    runner_up = records[positions[1]] if len(records) > 1 else None
    return {
        "record": records[positions[0]],
        "distance": rounded(distances[positions[0]], _PLACES),
        "runner_up": runner_up,
    }


def compare_lists(_: State, first: list[Any], second: list[Any]) -> Any:
    """Return the items that two lists share, and those that only one has, each once."""
    ours, theirs = list(dict.fromkeys(first)), list(dict.fromkeys(second))
    return {
        "both": [item for item in ours if item in theirs],
        "only_first": [item for item in ours if item not in theirs],
        "only_second": [item for item in theirs if item not in ours],
    }


def tally_values(_: State, values: list[Any]) -> Any:
    """Return the number of times each value occurs, the most frequent first."""
    counts = {value: values.count(value) for value in dict.fromkeys(values)}
    ranked = sorted(counts, key=counts.__getitem__, reverse=True)
    return {
        "counts": [{"value": value, "count": counts[value]} for value in ranked],
        "most_common": ranked[0],
        "least_common": min(counts, key=counts.__getitem__),
        "single": [value for value in counts if counts[value] == 1],
    }


def describe_numbers(_: State, values: list[float]) -> Any:
    """Return the usual figures of a list of numbers."""
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
    return {"count": len(numbers), **_rounded(figures)}


def overlay_mapping(_: State, base: dict[str, Any], changes: dict[str, Any]) -> Any:
    """Return a mapping with the entries of a second one on top."""
    return {
        "merged": {**base, **changes},
        "replaced": {
            name: base[name] for name in changes if name in base and base[name] != changes[name]
        },
        "added": [name for name in changes if name not in base],
    }


def invert_mapping(_: State, mapping: dict[str, Any]) -> Any:
    """Return for each value the names that have it."""
    names: dict[str, list[str]] = {}
    for name, value in mapping.items():
        names.setdefault(str(value), []).append(name)
    return {"names": names, "shared": [value for value, owners in names.items() if len(owners) > 1]}
