"""DM: functions on lists of flat records, on plain lists and on mappings that are given as arguments.

No state: data goes in with the call and comes out with the result, so that a chain hands on what the last call gave.
Every function keeps the order in which things were given unless it says otherwise; ties keep that order, too. Sums are
exact and rounded once, to two decimals, half away from zero.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from operator import ge, gt, le, lt
from typing import Annotated, Any, Literal

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import Category
from asyncguard_benchmark.services.arguments import Number, Several, Text, one_of, within
from asyncguard_benchmark.services.declarations import State, tool
from asyncguard_benchmark.services.exact_numbers import exact, rounded
from asyncguard_benchmark.services.list_functions import (
    PLACES,
    Record,
    compare_lists,
    describe_numbers,
    invert_mapping,
    overlay_mapping,
    rounded_values,
    tally_values,
)
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.state_shapes import NO_STATE

_RELATIONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "above": gt,
    "below": lt,
    "at least": ge,
    "at most": le,
}
"""Relations of a number to a bound."""
_ADDED = "cumulative"
"""The field that a cumulated record gets."""
_ROWS = ": objects from field name to text or number; digits alone are a number"


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


@tool()
def filter_by_number(
    _: State,
    records: Annotated[Several[Record], "the rows to filter" + _ROWS],
    field: Annotated[Text, "name of the field to compare"],
    relation: Annotated[str, one_of(_RELATIONS), "how the field must stand to the bound"],
    bound: Annotated[Number, "number to compare with"],
) -> Any:
    """Keeps the records whose numeric field stands in a relation to a bound. Gives `records` and, apart, `others`."""
    holds, limit = _RELATIONS[relation], exact(bound)
    return _split(records, [holds(_number(record, field), limit) for record in records])


@tool()
def filter_by_text(
    _: State,
    records: Annotated[Several[Record], "the rows to filter" + _ROWS],
    field: Annotated[Text, "name of the field to compare"],
    text: Annotated[Text, "text that the field must equal"],
) -> Any:
    """Keeps the records whose field equals a text, capitals included. Gives `records` and, apart, `others`."""
    return _split(records, [_value(record, field) == text for record in records])


@tool()
def order_records(
    _: State,
    records: Annotated[Several[Record], "the rows to sort" + _ROWS],
    field: Annotated[Text, "name of the field to sort by"],
    direction: Annotated[
        Literal["descending", "ascending"], "direction of the sort"
    ] = "descending",
) -> Any:
    """Sorts records by one field (numbers before texts, ties as given). Gives `records`, `first` and `last`."""
    keyed = [_kind(_value(record, field)) for record in records]
    positions = sorted(
        range(len(records)), key=keyed.__getitem__, reverse=direction == "descending"
    )
    ordered = [records[position] for position in positions]
    return {"records": ordered, "first": ordered[0], "last": ordered[-1]}


@tool()
def top_records(
    _: State,
    records: Annotated[Several[Record], "the rows to pick from" + _ROWS],
    field: Annotated[Text, "name of the field that ranks"],
    count: Annotated[int, within(1, 200), "how many rows to pick"],
) -> Any:
    """Picks the records with the highest numbers in a field, highest first. Gives `records`, and `others` as given."""
    numbers = [_number(record, field) for record in records]
    positions = sorted(range(len(records)), key=numbers.__getitem__, reverse=True)[:count]
    others = [record for position, record in enumerate(records) if position not in positions]
    return {"records": [records[position] for position in positions], "others": others}


@tool()
def extract_column(
    _: State,
    records: Annotated[Several[Record], "the rows to read" + _ROWS],
    field: Annotated[Text, "name of the field to read"],
) -> Any:
    """Reads one field of all records. Gives `values` in the order of the rows and `distinct`, each value once."""
    values = [_value(record, field) for record in records]
    return {"values": values, "distinct": list(dict.fromkeys(values))}


@tool()
def aggregate_by(
    _: State,
    records: Annotated[Several[Record], "the rows to group" + _ROWS],
    key: Annotated[Text, "name of the field to group by"],
    measure: Annotated[Text, "name of the field whose numbers are added up"],
) -> Any:
    """Groups records by a key.

    Gives `groups` (rows with `group`, `count`, `total`, `mean` of the measure, two decimals, by
    first appearance), and the keys `largest_total` and `smallest_total`.
    """
    groups: dict[Any, list[Fraction]] = {}
    for record in records:
        groups.setdefault(_value(record, key), []).append(_number(record, measure))
    totals = {group: sum(numbers, Fraction()) for group, numbers in groups.items()}
    rows = [
        {
            "group": group,
            "count": len(numbers),
            "total": rounded(totals[group], PLACES),
            "mean": rounded(totals[group] / len(numbers), PLACES),
        }
        for group, numbers in groups.items()
    ]
    largest, smallest = max(totals, key=totals.__getitem__), min(totals, key=totals.__getitem__)
    return {"groups": rows, "largest_total": largest, "smallest_total": smallest}


@tool()
def match_records(
    _: State,
    left: Annotated[Several[Record], "the first list of rows" + _ROWS],
    right: Annotated[Several[Record], "the second list of rows" + _ROWS],
    key: Annotated[Text, "name of the field that both lists share"],
) -> Any:
    """Joins two lists of records on a common field.

    Gives `matched` (both rows in one, in the order of the left list), `only_left` and
    `only_right`.
    """
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


@tool()
def drop_repeats(
    _: State,
    records: Annotated[Several[Record], "the rows to clean" + _ROWS],
    fields: Annotated[Several[Text], "names of the fields that make two rows the same"],
) -> Any:
    """Removes later records that agree with an earlier one in all named fields. Gives `records` and `repeats`."""
    seen: set[tuple[Any, ...]] = set()
    first: list[bool] = []
    for record in records:
        mark = tuple(_value(record, field) for field in fields)
        first.append(mark not in seen)
        seen.add(mark)
    parted = _split(records, first)
    return {"records": parted["records"], "repeats": parted["others"]}


@tool()
def bucket_records(
    _: State,
    records: Annotated[Several[Record], "the rows to sort into ranges" + _ROWS],
    field: Annotated[Text, "name of the field that holds the number"],
    edges: Annotated[list[float], {"minItems": 2, "maxItems": 200}, "rising edges of the ranges"],
) -> Any:
    """Sorts records into ranges of a number, each from its lower edge up to but without the upper.

    Gives `buckets` (rows with `low`, `high`, `count`, `records`), and the records `below` the
    first and `beyond` the last edge.
    """
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


@tool()
def accumulate_column(
    _: State,
    records: Annotated[Several[Record], "the rows to add up" + _ROWS],
    field: Annotated[Text, "name of the field that is added up"],
) -> Any:
    """Adds to each record the field `cumulative`, the sum of a numeric field so far, in the order given.

    Gives `records` and `total`.
    """
    total = Fraction()
    summed: list[Record] = []
    for record in records:
        total += _number(record, field)
        summed.append({**record, _ADDED: rounded(total, PLACES)})
    return {"records": summed, "total": rounded(total, PLACES)}


@tool()
def pivot_records(
    _: State,
    records: Annotated[Several[Record], "the rows to tabulate" + _ROWS],
    row: Annotated[Text, "name of the field whose values name the lines"],
    column: Annotated[Text, "name of the field whose values name the columns"],
    measure: Annotated[Text, "name of the field whose numbers are added up"],
) -> Any:
    """Adds up a measure for each pair of values of two fields.

    Gives `table` (row value to column value to total), `row_totals` and `column_totals`.
    """
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
        "table": {name: rounded_values(cells) for name, cells in table.items()},
        "row_totals": rounded_values(across),
        "column_totals": rounded_values(down),
    }


def _by_key(records: Sequence[Record], key: str) -> dict[Any, Record]:
    found = {_value(record, key): record for record in records}
    if len(found) != len(records):
        raise ToolFailure(f"Field {key!r} must be different in every record of a list.")
    return found


@tool()
def compare_snapshots(
    _: State,
    before: Annotated[Several[Record], "the earlier version" + _ROWS],
    after: Annotated[Several[Record], "the later version" + _ROWS],
    key: Annotated[Text, "name of the field that identifies a row"],
) -> Any:
    """Finds what differs between an earlier and a later version of a list.

    Gives the rows `added`, `removed` and `same`, and `changed` (rows with `key`, `field`,
    `before`, `after`).
    """
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


@tool()
def nearest_record(
    _: State,
    records: Annotated[Several[Record], "the rows to search" + _ROWS],
    field: Annotated[Text, "name of the field that is compared"],
    target: Annotated[Number, "number to come close to"],
) -> Any:
    """Finds the record whose numeric field lies closest to a target. Gives `record`, `distance` and `runner_up`."""
    distances = [abs(_number(record, field) - exact(target)) for record in records]
    positions = sorted(range(len(records)), key=distances.__getitem__)
    runner_up = records[positions[1]] if len(records) > 1 else None
    return {
        "record": records[positions[0]],
        "distance": rounded(distances[positions[0]], PLACES),
        "runner_up": runner_up,
    }


TOOLSET = toolset(
    Category.DATA_MANAGEMENT,
    NO_STATE,
    (
        filter_by_number,
        filter_by_text,
        order_records,
        top_records,
        extract_column,
        aggregate_by,
        match_records,
        drop_repeats,
        bucket_records,
        accumulate_column,
        pivot_records,
        compare_snapshots,
        nearest_record,
        compare_lists,
        tally_values,
        describe_numbers,
        overlay_mapping,
        invert_mapping,
    ),
)
