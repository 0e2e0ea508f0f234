"""Compare asyncguard with other runtimes, on this machine, in one run.

The sections are
  steps     time of one step: a model turn with one tool call, and the call; with and without an SQLite saver, and with
            asyncguard's journal of calls beside it
  growth    time and stored bytes of a long run against a short one, journal included
  makespan  tasks with chained slow calls against the critical path, beside a barrier and one task after the other
  ledger    one operation on the record of calls with 10,000 pending against 100
  startup   `asyncguard --help` beside what importing the frameworks costs

Every figure is a median over rounds in which each subject runs once (A B C, A B C, ...); a ratio is the median over
the rounds of the quotient with the reference of the same round. Stores lie in the folder for temporary files: set
TMPDIR to a disk, as in memory a flush costs nothing. `make performance` installs all the runtimes; one that is
missing loses its rows.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence

import growth
import ledger
import makespan
import startup
import steps
from settings import Settings
from table import Row, as_json, print_table

SECTIONS: Mapping[str, Callable[[Settings], list[Row]]] = {
    "steps": steps.measure,
    "growth": growth.measure,
    "makespan": makespan.measure,
    "ledger": ledger.measure,
    "startup": startup.measure,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 1 if `--check` was given and a target was missed."""
    options = _parser().parse_args(arguments)
    settings = Settings(
        repeats=options.repeats,
        steps=options.steps,
        long_steps=options.long_steps,
        seeds=options.seeds,
        note=lambda line: print(line, file=sys.stderr, flush=True),
    )
    rows = [row for name in options.sections or SECTIONS for row in SECTIONS[name](settings)]
    if options.json:
        print(as_json(rows))
    else:
        print_table(rows)
    return int(options.check and any(row.met is False for row in rows))


def _parser() -> argparse.ArgumentParser:
    summary, _, details = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    # No `choices`: argparse would refuse the empty list.
    parser.add_argument(
        "sections", nargs="*", type=_section, metavar="SECTION", help=f"{', '.join(SECTIONS)} (all)"
    )
    parser.add_argument(
        "--repeats", type=_positive, default=5, metavar="N", help="rounds per figure (5)"
    )
    parser.add_argument(
        "--steps", type=_positive, default=50, metavar="N", help="tool calls of a short run (50)"
    )
    parser.add_argument(
        "--long-steps", type=_positive, default=800, metavar="N", help="of a long run (800)"
    )
    parser.add_argument(
        "--seeds", type=_positive, default=5, metavar="N", help="drawn latencies per case (5)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def _section(text: str) -> str:
    if text not in SECTIONS:
        raise argparse.ArgumentTypeError(f"no section is called {text!r}: {', '.join(SECTIONS)}")
    return text


if __name__ == "__main__":
    sys.exit(main())
