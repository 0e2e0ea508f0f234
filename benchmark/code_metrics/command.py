"""Measure packages and print their figures side by side, or list the places to work on.

    python benchmark/code_metrics/run.py asyncguard --goals
    python benchmark/code_metrics/run.py asyncguard ../old/asyncguard /tmp/h11/h11 --json
    python benchmark/code_metrics/run.py asyncguard/core --list banned
    python benchmark/code_metrics/run.py asyncguard tests --list relative --by-folder

PATH is the folder of a package, in any checkout or installed: nothing is imported. A list takes
single files and Markdown documents for ``banned``, too.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from code_metrics.columns import COLUMNS, Column, Figures, measure
from code_metrics.listing import LISTS
from code_metrics.source import load


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 2 if a path cannot be measured."""
    options = _options(arguments)
    try:
        if options.list:
            _print_places(options.paths, options.list, by_folder=options.by_folder)
            return 0
        figures = {str(path): measure(load(path, options.exclude)) for path in options.paths}
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(figures, indent=2))
    else:
        _print_table(figures, goals=options.goals)
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    summary, _, details = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="folder of a package")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument(
        "--goals",
        action="store_true",
        help="add a column with the goals of issue 14 for asyncguard/",
    )
    parser.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="NAME",
        help="leave out folders of this name",
    )
    parser.add_argument("--list", choices=LISTS, help="print file and line of each finding instead")
    parser.add_argument(
        "--by-folder", action="store_true", help="with --list: print how many each folder has"
    )
    return parser.parse_args(arguments)


def _print_places(paths: Sequence[Path], what: str, *, by_folder: bool) -> None:
    places = [place for path in paths for place in LISTS[what](path)]
    if not by_folder:
        for place in places:
            print(place)
        return
    for folder, count in sorted(Counter(place.path.parent for place in places).items()):
        print(f"{count:5} {folder}")
    print(f"{len(places):5} in all")


def _print_table(figures: dict[str, dict[str, Figures]], *, goals: bool) -> None:
    head = ["", *figures, *(["goal of issue 14"] if goals else [])]
    rows = [
        [
            column.title,
            *(_shown(column, found[column.title]) for found in figures.values()),
            *([column.goal] if goals else []),
        ]
        for column in COLUMNS
    ]
    widths = [max(len(row[place]) for row in [head, *rows]) for place in range(len(head))]
    for row in [head, ["-" * width for width in widths], *rows]:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )


def _shown(column: Column, figures: Figures) -> str:
    return " / ".join(column.form.format(figure) for figure in figures)
