"""The one table of a run, for a person and as JSON."""

import json
import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import metadata

from rich.console import Console
from rich.table import Table

_VERSIONS_OF = (
    "asyncguard",
    "langgraph",
    "langchain",
    "langchain-core",
    "pydantic-ai-slim",
    "openai-agents",
    "deepagents",
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One figure: a median with its spread, and how it stands to another one of the same run."""

    section: str
    """Part of the comparison."""
    case: str
    """Under which circumstances."""
    subject: str
    """Subject of the figure."""
    median: float
    """In `unit`."""
    low: float
    """The smallest sample."""
    high: float
    """The largest sample."""
    unit: str
    """Of the three figures above."""
    ratio: float | None = None
    """Median, over the rounds, of the quotient with the reference's sample of the same round."""
    ratio_low: float | None = None
    """The smallest quotient of a round."""
    ratio_high: float | None = None
    """The largest quotient of a round."""
    reference: str = ""
    """Subject that the ratio is relative to; empty without one."""
    limit: float | None = None
    """The largest ratio that is on target; None where no target is set."""

    @property
    def met(self) -> bool | None:
        """Return True if the target is met; None if there is nothing to judge."""
        return None if self.limit is None or self.ratio is None else self.ratio <= self.limit


@dataclass(frozen=True, kw_only=True)
class Reference:
    """Figures that a subject is compared with, round by round."""

    name: str
    """As printed in the table."""
    values: Sequence[float]
    """One per round, in the unit of the subject."""
    limit: float | None = None
    """The largest ratio that is on target."""


def row(
    case: tuple[str, str],
    subject: str,
    values: Sequence[float],
    unit: str,
    reference: Reference | None,
) -> Row:
    """Fold the samples of one subject.

    Args:
        case: section and circumstances.
        subject: whose samples they are.
        values: one per round.
        unit: of the values.
        reference: what to compare with, or None.
    """
    section, circumstances = case
    ratios = _paired_ratios(values, reference.values) if reference else None
    return Row(
        section=section,
        case=circumstances,
        subject=subject,
        median=statistics.median(values),
        low=min(values),
        high=max(values),
        unit=unit,
        ratio=statistics.median(ratios) if ratios else None,
        ratio_low=min(ratios) if ratios else None,
        ratio_high=max(ratios) if ratios else None,
        reference=reference.name if reference else "",
        limit=reference.limit if reference else None,
    )


def _paired_ratios(values: Sequence[float], references: Sequence[float]) -> list[float]:
    # Round by round, because what slows the machine for a minute slows both.
    return [value / base for value, base in zip(values, references, strict=True)]


def print_table(rows: Sequence[Row]) -> None:
    """Print the rows as one table, as wide as it needs to be."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("section", "case", "subject"):
        table.add_column(heading, no_wrap=True)
    for heading in ("median", "lowest", "highest", "ratio", "lowest", "highest"):
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in ("of", "target"):
        table.add_column(heading, no_wrap=True)
    for entry in rows:
        table.add_row(*_cells(entry))
    Console(width=240).print(table)


def _cells(entry: Row) -> tuple[str, ...]:
    figures = (
        f"{value:,.{_decimals(entry.median)}f}" for value in (entry.median, entry.low, entry.high)
    )
    median, low, high = figures
    ratios = (
        "" if each is None else f"{each:.3f}"
        for each in (entry.ratio, entry.ratio_low, entry.ratio_high)
    )
    target = "" if entry.limit is None else f"<= {entry.limit:g} {_VERDICT[entry.met]}"
    return (
        entry.section,
        entry.case,
        entry.subject,
        f"{median} {entry.unit}",
        low,
        high,
        *ratios,
        entry.reference,
        target,
    )


_VERDICT = {True: "met", False: "MISSED", None: ""}


def _decimals(value: float) -> int:
    return 0 if value >= 100 else 2


def as_json(rows: Sequence[Row]) -> str:
    """Return the rows and what they were measured on."""
    installed = {name: _version(name) for name in _VERSIONS_OF}
    machine = {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
    }
    measured = [{**asdict(entry), "met": entry.met} for entry in rows]
    return json.dumps({"machine": machine, "versions": installed, "rows": measured}, indent=2)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
