"""The vocabulary of BFCL multi-turn: classes, versions, and the figures that each version is known by."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from asyncguard_benchmark.errors import DataError

T = TypeVar("T")


class BfclCategory(StrEnum):
    """Categories of BFCL tasks, one for each class; codes are apart from those of other suites."""

    FILES = "bfcl-FS"
    MESSAGES = "bfcl-MA"
    POSTS = "bfcl-SC"
    TICKETS = "bfcl-TP"
    TRADING = "bfcl-TB"
    TRAVEL = "bfcl-TP*"
    VEHICLE = "bfcl-MO"
    MATH = "bfcl-MATH"


@dataclass(frozen=True, kw_only=True)
class ForeignClass:
    """A class whose methods are the tools of a task."""

    name: str
    module: str
    """Name of its file in the folder of executors, without the ending; that of its documents is the same."""
    category: BfclCategory


CLASSES: Mapping[str, ForeignClass] = {
    name: ForeignClass(name=name, module=module, category=category)
    for name, module, category in (
        ("GorillaFileSystem", "gorilla_file_system", BfclCategory.FILES),
        ("MessageAPI", "message_api", BfclCategory.MESSAGES),
        ("TwitterAPI", "posting_api", BfclCategory.POSTS),
        ("TicketAPI", "ticket_api", BfclCategory.TICKETS),
        ("TradingBot", "trading_bot", BfclCategory.TRADING),
        ("TravelAPI", "travel_booking", BfclCategory.TRAVEL),
        ("VehicleControlAPI", "vehicle_control", BfclCategory.VEHICLE),
        ("MathAPI", "math_api", BfclCategory.MATH),
    )
}
"""Classes of the multi-turn entries; those for memory and the web belong to other parts of BFCL."""
STATELESS = frozenset({"MathAPI"})
"""Classes that load no scenario."""


def short(category: BfclCategory) -> str:
    """Return the code of a category as tables show it."""
    return category.value.removeprefix("bfcl-")


@dataclass(frozen=True, kw_only=True)
class Release:
    """A release of the package that the adapter was written for, with the figures that it must give."""

    version: str
    label: str
    static: Mapping[str, Any]
    """Figures of reading alone, by the names of `static_figures`."""
    dynamic: Mapping[str, Any]
    """Figures of the replay, by the names of `dynamic_figures`."""


_PARTS = "FS {} MA 25 2.36, SC 21 2.48, TP 16 2.31, TB {} TP* 50 4.08, MO 49 6.39, MATH 1 2.00"
_CLEAN = {
    "entries replayed": 200,
    "entries with an error": 0,
    "which these are": "none",
    "entries whose own truth the verdict accepts": 200,
}
RELEASES: Mapping[str, Release] = {
    each.version: each
    for each in (
        Release(
            version="2025.8.6.2",
            label="v3",
            static={
                "questions": "fe5c442849bdb2c2",
                "truths": "6ea6bf48a2fc6067",
                "entries": 200,
                "turns": 746,
                "turns without a call": 3,
                "calls": 1161,
                "one involved class": "65 (FS 13, TB 20, TP* 13, MO 19)",
                "truth touches one class": "97 (FS 25, TB 28, TP* 20, MO 24)",
                "single tasks": "97 + 163 = 260",
                "single tasks, mean calls": _PARTS.format("49 4.65,", "49 4.55,"),
                "projections of shared turns": 24,
                "one-class turns with two calls or more": "250 (FS 57, MA 9, SC 14, TP 9, TB 39, TP* 37, MO 85)",
                "turns that mix classes": 16,
                "positional arguments": 40,
                "arguments equal to the default": "15 of 1965",
                "whole numbers where the document says float": 33,
                "tools in documents": 129,
                "documents that differ from the code": 1,
            },
            dynamic={**_CLEAN, "single tasks as in the full replay": 260, "digest": "1d488a34859f"},
        ),
        Release(
            version="2026.3.23",
            label="current",
            static={
                "questions": "1a21a995d06fd6f2",
                "truths": "1fee67823b317571",
                "entries": 200,
                "turns": 734,
                "turns without a call": 3,
                "calls": 1142,
                "one involved class": "65 (FS 13, TB 20, TP* 13, MO 19)",
                "truth touches one class": "97 (FS 25, TB 28, TP* 20, MO 24)",
                "single tasks": "97 + 161 = 258",
                "single tasks, mean calls": _PARTS.format("49 4.69,", "47 4.26,"),
                "projections of shared turns": 25,
                "one-class turns with two calls or more": "240 (FS 57, MA 9, SC 14, TP 9, TB 29, TP* 37, MO 85)",
                "turns that mix classes": 17,
                "positional arguments": 40,
                "arguments equal to the default": "15 of 1954",
                "whole numbers where the document says float": 34,
                "tools in documents": 128,
                "documents that differ from the code": 0,
            },
            dynamic={**_CLEAN, "single tasks as in the full replay": 258, "digest": "c04b163b8a2c"},
        ),
    )
}
"""The two releases that count: the last one with the file names of v3, and the newest."""


def expect(value: Any, kind: type[T], where: str, what: str) -> T:
    """Return the value, if it is of this type.

    Raises:
        DataError: it is of another.
    """
    if not isinstance(value, kind):
        text = repr(value)
        found = text if len(text) <= 60 else text[:57] + "..."
        raise DataError(where, f"expected {what}, found {type(value).__name__} {found}")
    return value
