"""DM: functions on lists of flat records, on plain lists and on mappings that are given as arguments.

No state: data goes in with the call and comes out with the result, so that a chain hands on what the last call gave.
"""

from typing import Any

from asyncguard_benchmark.harness.scenario import Category
from asyncguard_benchmark.services import record_operations as operations
from asyncguard_benchmark.services.declarations import choice, text
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.stateless import NO_STATE, array, function, integer, number

_SCALAR: dict[str, Any] = {"type": ["string", "number"]}
_RECORD: dict[str, Any] = {"type": "object", "minProperties": 1, "additionalProperties": _SCALAR}


def _records(description: str, least: int = 1) -> dict[str, Any]:
    return array(
        f"{description}: objects from field name to text or number; digits alone are a number",
        _RECORD,
        least,
    )


def _values(description: str) -> dict[str, Any]:
    return array(description, _SCALAR)


def _mapping(description: str) -> dict[str, Any]:
    return {
        **_RECORD,
        "maxProperties": 200,
        "description": f"{description}: object from name to text or number",
    }


def _field(what: str) -> dict[str, Any]:
    return text(f"name of the field {what}")


_FILTER_BY_NUMBER = function(
    "filter_by_number",
    "Keeps the records whose numeric field stands in a relation to a bound. Gives `records` and, apart, `others`.",
    operations.filter_by_number,
    records=_records("the rows to filter"),
    field=_field("to compare"),
    relation=choice("how the field must stand to the bound", tuple(operations.RELATIONS)),
    bound=number("number to compare with"),
)
_FILTER_BY_TEXT = function(
    "filter_by_text",
    "Keeps the records whose field equals a text, capitals included. Gives `records` and, apart, `others`.",
    operations.filter_by_text,
    records=_records("the rows to filter"),
    field=_field("to compare"),
    text=text("text that the field must equal"),
)
_ORDER_RECORDS = function(
    "order_records",
    "Sorts records by one field (numbers before texts, ties as given). Gives `records`, `first` and `last`.",
    operations.order_records,
    records=_records("the rows to sort"),
    field=_field("to sort by"),
    direction=choice("direction of the sort", operations.DIRECTIONS, default=operations.DESCENDING),
)
_TOP_RECORDS = function(
    "top_records",
    "Picks the records with the highest numbers in a field, highest first. Gives `records`, and `others` as given.",
    operations.top_records,
    records=_records("the rows to pick from"),
    field=_field("that ranks"),
    count=integer("how many rows to pick", 1, 200),
)
_EXTRACT_COLUMN = function(
    "extract_column",
    "Reads one field of all records. Gives `values` in the order of the rows and `distinct`, each value once.",
    operations.extract_column,
    records=_records("the rows to read"),
    field=_field("to read"),
)
_AGGREGATE_BY = function(
    "aggregate_by",
    "Groups records by a key. Gives `groups` (rows with `group`, `count`, `total`, `mean` of the measure, two "
    "decimals, by first appearance), and the keys `largest_total` and `smallest_total`.",
    operations.aggregate_by,
    records=_records("the rows to group"),
    key=_field("to group by"),
    measure=_field("whose numbers are added up"),
)
_MATCH_RECORDS = function(
    "match_records",
    "Joins two lists of records on a common field. Gives `matched` (both rows in one, in the order of the left list), "
    "`only_left` and `only_right`.",
    operations.match_records,
    left=_records("the first list of rows"),
    right=_records("the second list of rows"),
    key=_field("that both lists share"),
)
_DROP_REPEATS = function(
    "drop_repeats",
    "Removes later records that agree with an earlier one in all named fields. Gives `records` and `repeats`.",
    operations.drop_repeats,
    records=_records("the rows to clean"),
    fields=array(
        "names of the fields that make two rows the same", {"type": "string", "minLength": 1}
    ),
)
_BUCKET_RECORDS = function(
    "bucket_records",
    "Sorts records into ranges of a number, each from its lower edge up to but without the upper. Gives `buckets` "
    "(rows with `low`, `high`, `count`, `records`), and the records `below` the first and `beyond` the last edge.",
    operations.bucket_records,
    records=_records("the rows to sort into ranges"),
    field=_field("that holds the number"),
    edges=array("rising edges of the ranges", {"type": "number"}, 2),
)
_ACCUMULATE_COLUMN = function(
    "accumulate_column",
    "Adds to each record the field `cumulative`, the sum of a numeric field so far, in the order given. Gives "
    "`records` and `total`.",
    operations.accumulate_column,
    records=_records("the rows to add up"),
    field=_field("that is added up"),
)
_PIVOT_RECORDS = function(
    "pivot_records",
    "Adds up a measure for each pair of values of two fields. Gives `table` (row value to column value to total), "
    "`row_totals` and `column_totals`.",
    operations.pivot_records,
    records=_records("the rows to tabulate"),
    row=_field("whose values name the lines"),
    column=_field("whose values name the columns"),
    measure=_field("whose numbers are added up"),
)
_COMPARE_SNAPSHOTS = function(
    "compare_snapshots",
    "Finds what differs between an earlier and a later version of a list. Gives the rows `added`, `removed` and "
    "`same`, and `changed` (rows with `key`, `field`, `before`, `after`).",
    operations.compare_snapshots,
    before=_records("the earlier version"),
    after=_records("the later version"),
    key=_field("that identifies a row"),
)
_NEAREST_RECORD = function(
    "nearest_record",
    "Finds the record whose numeric field lies closest to a target. Gives `record`, `distance` and `runner_up`.",
    operations.nearest_record,
    records=_records("the rows to search"),
    field=_field("that is compared"),
    target=number("number to come close to"),
)
_COMPARE_LISTS = function(
    "compare_lists",
    "Compares two lists as sets. Gives `both`, `only_first` and `only_second`, each value once.",
    operations.compare_lists,
    first=_values("the first list"),
    second=_values("the second list"),
)
_TALLY_VALUES = function(
    "tally_values",
    "Counts equal values. Gives `counts` (rows with `value` and `count`, most frequent first), `most_common`, "
    "`least_common` and `single`, the values that occur once.",
    operations.tally_values,
    values=_values("the values to count"),
)
_DESCRIBE_NUMBERS = function(
    "describe_numbers",
    "Gives the `count`, `total`, `mean`, `median`, `smallest`, `largest` and `spread` of numbers, two decimals.",
    operations.describe_numbers,
    values=array("the numbers", {"type": "number"}),
)
_OVERLAY_MAPPING = function(
    "overlay_mapping",
    "Lays the entries of one mapping over another. Gives `merged`, `replaced` (old values that gave way) and `added`.",
    operations.overlay_mapping,
    base=_mapping("the mapping below"),
    changes=_mapping("the mapping on top"),
)
_INVERT_MAPPING = function(
    "invert_mapping",
    "Turns a mapping round. Gives `names` (each value, as text, with the names that have it) and `shared`, the values "
    "that several names have.",
    operations.invert_mapping,
    mapping=_mapping("the mapping to turn round"),
)

TOOLSET = toolset(
    Category.DATA_MANAGEMENT,
    NO_STATE,
    (
        _FILTER_BY_NUMBER,
        _FILTER_BY_TEXT,
        _ORDER_RECORDS,
        _TOP_RECORDS,
        _EXTRACT_COLUMN,
        _AGGREGATE_BY,
        _MATCH_RECORDS,
        _DROP_REPEATS,
        _BUCKET_RECORDS,
        _ACCUMULATE_COLUMN,
        _PIVOT_RECORDS,
        _COMPARE_SNAPSHOTS,
        _NEAREST_RECORD,
        _COMPARE_LISTS,
        _TALLY_VALUES,
        _DESCRIBE_NUMBERS,
        _OVERLAY_MAPPING,
        _INVERT_MAPPING,
    ),
)
