"""``bench export``: saved episodes in forms that other tools read."""

import json
from argparse import Namespace
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TextIO

from asyncguard.cli.output import replacing
from asyncguard_benchmark.commands.output import notice, print_json
from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.journal import each_once
from asyncguard_benchmark.harness.report.assembly import Side, chapters_of
from asyncguard_benchmark.harness.report.chapters.summary import SIMULATED
from asyncguard_benchmark.harness.report.chrome_trace import trace_of
from asyncguard_benchmark.harness.report.figures import Tally
from asyncguard_benchmark.harness.report.markdown import markdown
from asyncguard_benchmark.harness.report.observations import Observations
from asyncguard_benchmark.harness.report.spreadsheet import write_csv

MOST_TRACED = 500
"""Episodes in a trace; viewers become slow beyond."""


class NothingToExportError(BenchmarkError):
    """The file holds no episode that was asked for."""


def execute(options: Namespace) -> int:
    """Run the command."""
    options.out.parent.mkdir(parents=True, exist_ok=True)
    episodes = _episodes(options.file, options.compositions)
    with replacing(options.out, errors="replace") as out:
        match options.format:
            case "chrome-trace":
                number = _trace(episodes, out)
            case "csv":
                number = write_csv(episodes, out)
            case _:
                number = _markdown(episodes, out)
        if not number:
            asked = f" of {', '.join(options.compositions)}" if options.compositions else ""
            raise NothingToExportError(f"{options.file} holds no episode{asked}")
    if options.json:
        print_json({"file": str(options.out), "format": options.format, "episodes": number})
    else:
        notice(f"{number} episodes are in {options.out}")
    return 0


def _trace(episodes: Iterator[Episode], out: TextIO) -> int:
    chosen = list(islice(episodes, MOST_TRACED))
    if next(episodes, None) is not None:
        notice(f"the trace holds the first {MOST_TRACED} episodes; --compositions chooses others")
    out.write(json.dumps(trace_of(chosen), ensure_ascii=False))
    return len(chosen)


def _markdown(episodes: Iterator[Episode], out: TextIO) -> int:
    observed, tally = Observations(), Tally()
    for episode in episodes:
        observed.add(episode, tally.add(episode))
    chapters = chapters_of(Side(findings=None, observed=observed, figures=tuple(tally.figures())))
    closing = f"{observed.episodes} episodes."
    out.write(markdown("Saved episodes", SIMULATED, chapters, closing))
    return observed.episodes


def _episodes(path: Path, compositions: tuple[str, ...]) -> Iterator[Episode]:
    for episode in each_once([path], notice):
        if not compositions or episode.composition.id.startswith(compositions):
            yield episode
