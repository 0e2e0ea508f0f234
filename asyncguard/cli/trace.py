"""The subcommand ``asyncguard trace``: a trace file as timeline, list of events, or JSON."""

import argparse
import dataclasses
import io
import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from asyncguard.observability.fields.table import ENVELOPE
from asyncguard.observability.plain import printable
from asyncguard.observability.readable import readable
from asyncguard.observability.timeline.draw import MIN_WIDTH, render_timeline
from asyncguard.observability.timeline.history import histories
from asyncguard.observability.trace import Trace, read_trace

_EXAMPLES = """\
examples:
  asyncguard trace run.jsonl --width 120 --no-color
  asyncguard trace run.jsonl --thread order-42
  asyncguard trace run.jsonl --events | grep rejected
  asyncguard trace run.jsonl --json | jq '.runs[0].totals'
"""
_MAX_WIDTH = 10_000
"""Columns; a wider drawing takes minutes and gigabytes, and shows no more."""
_ENVELOPE = frozenset({field.name for field in ENVELOPE} | {"wall", "task", "label"})


def main(argv: Sequence[str]) -> int:
    """Run the command.

    Args:
        argv: Arguments after ``trace``.

    Returns:
        The exit code.

    Raises:
        TraceError: The file is unusable.
        CallerError: The file has no such task, run or thread.
    """
    options = _parser().parse_args(argv)
    trace = read_trace(options.file)
    for problem in trace.problems:
        print(f"asyncguard: {problem}", file=sys.stderr)  # noqa: T201 - the output
    trace = trace.select(task=options.task, run=options.run, thread=options.thread)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal whose encoding lacks a character gets a question mark instead of an error.
        sys.stdout.reconfigure(errors="replace")
    if options.json:
        text = json.dumps(_as_json(trace), indent=2) + "\n"
    elif options.events:
        text = "".join(f"{line}\n" for line in _event_lines(trace))
    else:
        width = options.width or min(shutil.get_terminal_size((80, 24)).columns, _MAX_WIDTH)
        # By the conventions of terminals: NO_COLOR (no-color.org), TERM=dumb, and pipes.
        refused = options.no_color or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        color = not refused and sys.stdout.isatty()
        text = render_timeline(trace, width=width, color=color)
    sys.stdout.write(text)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="asyncguard trace",
        description="Draw a run: tasks from top to bottom, time from left to right.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", help="a file that TraceFile wrote")
    parser.add_argument(
        "--width", type=_width, metavar="N", help="columns; those of the terminal by default"
    )
    parser.add_argument(
        "--no-color",
        action="store_true",
        help="no colours; NO_COLOR in the environment does the same",
    )
    parser.add_argument("--task", metavar="T", help="only this task")
    parser.add_argument("--run", metavar="R", help="only the run whose id begins so")
    parser.add_argument(
        "--thread", metavar="ID", help="only the runs of this thread, by either of its ids"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--events", action="store_true", help="one line per event instead of the timeline"
    )
    form.add_argument(
        "--json", action="store_true", help="everything as one JSON object instead of the timeline"
    )
    return parser


def _width(text: str) -> int:
    if not text.isdecimal() or int(text) < MIN_WIDTH:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least {MIN_WIDTH}")
    if int(text) > _MAX_WIDTH:
        raise argparse.ArgumentTypeError(f"{text!r} is more than {_MAX_WIDTH} columns")
    return int(text)


def _as_json(trace: Trace) -> dict[str, Any]:
    runs = [
        {
            "agent": run.agent,
            "thread": run.thread,
            "thread_id": run.thread_id,
            "run": run.run,
            "totals": dataclasses.asdict(run.totals),
        }
        for run in histories(trace)
    ]
    return {
        "head": dict(trace.head),
        "runs": runs,
        "problems": list(trace.problems),
        "events": list(trace.rows),
    }


def _event_lines(trace: Trace) -> Iterator[str]:
    start = trace.rows[0]["at"] if trace.rows else 0.0
    for row in trace.rows:
        about = "/".join(row[name] for name in ("task", "label") if row.get(name))
        # A file that was tampered with may hold control characters in names, too.
        fields = " ".join(
            f"{name}={_value(value)}"
            for name, value in readable(row).items()
            if name not in _ENVELOPE
        )
        yield printable(
            f"{row['at'] - start:10.3f}  {row['event']:<18} {about:<28} {fields}".rstrip()
        )


def _value(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return printable(",".join(value))
    return printable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
