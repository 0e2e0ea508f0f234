"""The table of the proof: one row for each part, printed and written into docs/reliability.md."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from reliability.lane import Played
from reliability.parts import PARTS, Expected

_HEAD = (
    "what",
    "cases",
    "kills",
    "effects",
    "twice",
    "in doubt",
    "needless",
    "violated in",
    "verdict",
)
_SUMS = ("kills", "effects", "doubled", "doubts", "needless")
_PROMISES: Mapping[str, str] = {**{f"P{n}": f"P{n}" for n in range(1, 7)}, "run": "no end"}
_TEXTS = (0, len(_HEAD) - 2, len(_HEAD) - 1)
"""Columns that hold texts, not numbers."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """Sums over the cases of one part."""

    title: str
    numbers: tuple[int, ...]
    """Cases, kills, effects, effects that happened once more than they should, calls that ended in doubt, and of them
    those that need not have been."""
    violated: str
    """Promises that did not hold, with the number of cases."""
    verdict: str
    """Verdict of the row."""
    holds: bool
    """True if the result is as expected."""


def rows_of(results: Iterable[Played]) -> list[Row]:
    """Return the rows, in the order of the parts; parts that were not played are left out."""
    by_part: dict[str, list[Played]] = {}
    for played in results:
        by_part.setdefault(played.part, []).append(played)
    return [_row(name, by_part[name]) for name in PARTS if name in by_part]


def _row(name: str, played: Sequence[Played]) -> Row:
    against: Counter[str] = Counter()
    for item in played:
        against.update({violation["promise"] for violation in item.violations})
    sums = tuple(
        sum(getattr(item, name) for item in played)
        for name in ("kills", "effects", "doubled", "doubts", "needless")
    )
    violated = [
        f"{told} {against[promise]}" for promise, told in _PROMISES.items() if against[promise]
    ]
    verdict, holds = _verdict(name, played)
    return Row(
        title=PARTS[name].title,
        numbers=(len(played), *sums),
        violated=", ".join(violated) or "none",
        verdict=verdict,
        holds=holds,
    )


def _cells(row: Row) -> tuple[str, ...]:
    return (row.title, *map("{:,}".format, row.numbers), row.violated, row.verdict)


def _verdict(name: str, played: Sequence[Played]) -> tuple[str, bool]:
    wrong = sum(not as_expected(item) for item in played)
    match PARTS[name].expected:
        case Expected.SOUND:
            return ("holds", True) if not wrong else (f"{wrong} violated", False)
        case Expected.FOUND:
            return ("found", True) if not wrong else (f"{wrong} not found", False)
        case Expected.SAFE:
            said = "refused" if any(item.refused for item in played) else "holds"
            return (said, True) if not wrong else (f"{wrong} violated", False)
        case Expected.REFUSED:
            return ("refused", True) if not wrong else (f"{wrong} not refused", False)
        case _:
            return "for comparison", True


def as_expected(played: Played) -> bool:
    """Return True if a case ended as its part expects."""
    ended = not any(violation["promise"] == "run" for violation in played.violations)
    match PARTS[played.part].expected:
        case Expected.SOUND:
            return not played.violations and not played.refused
        case Expected.FOUND:
            return bool(played.violations) and ended
        case Expected.SAFE:
            return not played.violations and not (played.refused and played.effects)
        case Expected.REFUSED:
            return bool(played.refused) and not played.effects and not played.violations
        case _:
            return ended


def print_table(rows: Sequence[Row], console: Console) -> None:
    """Print the rows."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for place, name in enumerate(_HEAD):
        table.add_column(name, justify="left" if place in _TEXTS else "right", no_wrap=True)
    for row in rows:
        table.add_row(*_cells(row), style=None if row.holds else "red")
    console.print(table)


def as_markdown(rows: Sequence[Row]) -> str:
    """Return the rows as a table in Markdown."""
    rule = "|".join("---" if place in _TEXTS else "--:" for place in range(len(_HEAD)))
    lines = [f"| {' | '.join(_HEAD)} |", f"|{rule}|"]
    lines += [f"| {' | '.join(_cells(row))} |" for row in rows]
    return "\n".join(lines)


def write_between(path: Path, text: str, name: str = "reliability") -> None:
    """Put text between the markers of a document; they are added at its end if it has none.

    Args:
        path: The document; made if it is missing.
        text: Replaces what stood there.
        name: In the markers, ``<!-- name: begin -->`` and ``<!-- name: end -->``.
    """
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    known = path.read_text(encoding="utf-8") if path.exists() else ""
    if begin not in known or end not in known:
        known = f"{known.rstrip()}\n\n{begin}\n{end}\n".lstrip()
    before, _, rest = known.partition(begin)
    after = rest.partition(end)[2]
    path.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")
