"""``bench score``: judge saved episodes by executing everything again; no saved response is believed."""

import gc
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from asyncguard_benchmark.commands.counting import Counted, UnscorableError, counted
from asyncguard_benchmark.commands.output import console, harmless, notice, print_json, table
from asyncguard_benchmark.harness.names import Facet
from asyncguard_benchmark.harness.report.breakdown_tables import rows_by, tables_by
from asyncguard_benchmark.harness.report.figures import COLUMNS, cells

_ALLOCATIONS = 100_000
"""Containers that are made between two collections."""
_NEVER = 1_000_000
"""Collections of the middle generation before a full one."""


def execute(options: Namespace) -> int:
    """Run the command."""
    with _few_collections():
        return _scored(options)


@contextmanager
def _few_collections() -> Iterator[None]:
    """Let the collector of cycles rest: an episode has none, and looking for them takes as long as reading it."""
    young, middle, _ = thresholds = gc.get_threshold()
    # Full collections alone would look through what was there before. To freeze it instead needs the number of objects
    # that the caller has frozen, as releasing one's own releases them, too; and Python counts them one by one.
    gc.set_threshold(max(young, _ALLOCATIONS), middle, _NEVER)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def _scored(options: Namespace) -> int:
    facets = [Facet(each) for each in options.by]
    found = counted(options)
    figures = found.tally.figures()
    if not options.json:
        sys.stderr.writelines(f"{harmless(each)}\n" for each in found.findings)
    _tell_missing(found)
    if not figures:
        raise UnscorableError(f"{options.file} holds no episode that can be scored")
    if options.json:
        rows = [row.to_json() for row in figures]
        by = {each.value: [row.to_json() for row in rows_by(each, found.split)] for each in facets}
        print_json(
            {
                "file": str(options.file),
                "partial": bool(found.bad),
                "unreadable": found.bad,
                "not_read_again": found.left_out,
                "conditions": rows,
                **({"by": by} if by else {}),
                **({"findings": found.findings} if options.explain else {}),
            }
        )
        return 0
    out = console()
    out.print(table(COLUMNS, map(cells, figures), title="partial score" if found.bad else None))
    for each in tables_by(facets, found.split):
        out.print()
        out.print(table(each.heads, each.lines, title=each.title))
        out.print(each.note)
    return 0


def _tell_missing(found: Counted) -> None:
    """Say what is missing in the score."""
    if found.left_out:
        notice(
            f"{len(found.left_out)} of {len(found.seen)} episodes were not read again; {found.left_out[0]}"
        )
    if found.bad:
        total = len(found.bad) + len(found.seen)
        notice(f"this score is partial: {len(found.bad)} of {total} episodes cannot be read")
