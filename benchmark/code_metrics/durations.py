"""Print where the time of a test run goes: the slowest tests, and the seconds of each file.

    pytest -n 2 --junitxml=tests.xml; python benchmark/code_metrics/durations.py tests.xml

Seconds are wall time and include set-up and tear-down; waits count like work.
"""

import argparse
import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Duration:
    """The time of one test."""

    file: str
    test: str
    seconds: float


def read(path: Path) -> list[Duration]:
    """Return the durations in a JUnit file that pytest wrote.

    Raises:
        ValueError: The file is not JUnit XML.
    """
    try:
        cases = ET.parse(path).getroot().iter("testcase")
        return [_duration(case.attrib) for case in cases]
    except (ET.ParseError, KeyError) as error:
        raise ValueError(f"{path} is not a JUnit file of pytest ({error})") from error


def report(durations: Iterable[Duration], limit: int) -> str:
    """Return a table of the slowest tests and one of the files, longest first.

    Args:
        durations: Times of tests; set-up and call of one test may be two entries.
        limit: Number of tests to name.
    """
    durations = list(durations)
    files: defaultdict[str, list[float]] = defaultdict(list)
    for duration in durations:
        files[duration.file].append(duration.seconds)
    slowest = sorted(durations, key=lambda duration: -duration.seconds)[:limit]
    by_file = sorted(files.items(), key=lambda entry: -sum(entry[1]))
    return "\n".join(
        [
            f"Slowest {len(slowest)} of {len(durations)} tests, seconds",
            *(f"{each.seconds:8.2f}  {each.file}::{each.test}" for each in slowest),
            "",
            "Seconds and tests per file",
            *(f"{sum(times):8.2f} {len(times):5}  {file}" for file, times in by_file),
            f"{sum(each.seconds for each in durations):8.2f} {len(durations):5}  in all",
        ]
    )


def _duration(case: dict[str, str]) -> Duration:
    # pytest writes the class of a test, if it has one, as the last part of its module's name.
    parts = case["classname"].split(".")
    classes = [part for part in parts if part[:1].isupper()]
    file = "/".join(parts[: len(parts) - len(classes)]) + ".py"
    test = "::".join([*classes, case["name"]])
    return Duration(file=file, test=test, seconds=float(case["time"]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 2 if a file cannot be read."""
    summary, _, details = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", type=Path, metavar="JUNIT", help="file of pytest --junitxml")
    parser.add_argument("--slowest", type=int, default=20, metavar="N", help="tests to name (20)")
    options = parser.parse_args(arguments)
    try:
        print(report(read(options.path), options.slowest))
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
