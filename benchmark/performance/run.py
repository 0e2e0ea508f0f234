"""Compare asyncguard with other runtimes, on this machine, in one run.

The sections are
  steps     time of one step: a model turn with one tool call, and the call; with and without an SQLite saver, and with
            asyncguard's journal of calls beside it
  growth    time and stored bytes of a long run against a short one, journal included
  makespan  tasks with chained slow calls against the critical path, beside a barrier and one task after the other
  ledger    one operation on the record of calls with 10,000 pending against 100
  load      200 threads of one agent at once: the slowest hundredth, and what many threads leave in the process
  startup   `asyncguard --help` beside what importing the frameworks costs

Every figure is a median over rounds in which each subject runs once (A B C, A B C, ...); a ratio is the median over
the rounds of the quotient with the reference of the same round, with the lowest and highest beside it. A contest ends
before its last round when all its ratios are known to 5 % (--precision). Targets are ratios, so that a slow machine
neither hides nor feigns a cost. Stores lie in the folder for temporary files: set
TMPDIR to a disk, as in memory a flush costs nothing. `make performance` installs all the runtimes; one that is
missing loses its rows.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module

from settings import Settings
from table import as_json, print_table

# Modules, loaded when they are asked for: help and mistakes need none of the runtimes.
SECTIONS = ("steps", "growth", "makespan", "ledger", "load", "startup")

FULL: Mapping[str, int] = {
    "repeats": 5,
    "long_repeats": 3,
    "steps": 50,
    "long_steps": 400,
    "seeds": 3,
    "threads": 1000,
    "at_once": 200,
}
QUICK: Mapping[str, int] = {
    "repeats": 2,
    "long_repeats": 1,
    "steps": 20,
    "long_steps": 100,
    "seeds": 1,
    "threads": 400,
    "at_once": 200,
}
_UNITS = {
    "repeats": "rounds per figure at most",
    "long_repeats": "the same in growth and load",
    "steps": "tool calls of a short run",
    "long_steps": "tool calls of a long run",
    "seeds": "drawn latencies per case",
    "threads": "threads whose leavings are counted",
    "at_once": "threads that run at once in load",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 1 if `--check` was given and a target was missed."""
    options = _parser().parse_args(arguments)
    amounts = QUICK if options.quick else FULL
    settings = Settings(
        **{
            name: amount if getattr(options, name) is None else getattr(options, name)
            for name, amount in amounts.items()
        },
        precision=options.precision,
        note=lambda line: print(line, file=sys.stderr, flush=True),
    )
    sections = [import_module(name) for name in options.sections or SECTIONS]
    rows = [row for section in sections for row in section.measure(settings)]
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
    for name, unit in _UNITS.items():
        parser.add_argument(
            f"--{name.replace('_', '-')}",
            type=_positive,
            metavar="N",
            help=f"{unit} ({FULL[name]}; with --quick {QUICK[name]})",
        )
    parser.add_argument(
        "--precision",
        type=_share,
        default=0.05,
        metavar="SHARE",
        help="end a contest when its ratios are known so well (0.05); 0 plays all rounds",
    )
    parser.add_argument("--quick", action="store_true", help="a minute or two: smaller amounts")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def _share(text: str) -> float:
    number = float(text)
    if not 0 <= number < 1:
        raise argparse.ArgumentTypeError("must be 0 or more, and less than 1")
    return number


def _section(text: str) -> str:
    if text not in SECTIONS:
        raise argparse.ArgumentTypeError(f"no section is called {text!r}: {', '.join(SECTIONS)}")
    return text


if __name__ == "__main__":
    sys.exit(main())
