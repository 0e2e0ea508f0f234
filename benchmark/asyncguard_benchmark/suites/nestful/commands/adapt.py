"""``bench adapt nestful``: says what a file of tasks holds."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from asyncguard_benchmark.commands.output import console, print_json, table
from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.suites.nestful.check import (
    EXPECTED,
    Download,
    differing,
    figures,
    read_download,
    refused_files,
    unclear_types,
)

_SHOWN = 20
"""Problems that are listed one by one."""


class NothingAskedError(BenchmarkError):
    """Say what shall be done: --check reads everything and runs nothing."""


def execute(options: Namespace) -> int:
    """Run the command."""
    download = read_download(options.data, options.functions)
    if not options.check:
        raise NothingAskedError(NothingAskedError.__doc__)
    return _check(options, download)


def _check(options: Namespace, download: Download) -> int:
    found, refused = figures(download), refused_files(download)
    expected: Mapping[str, Any] = EXPECTED if download.known else {}
    different = differing(found, expected)
    problems, unclear = [str(each) for each in download.problems], unclear_types(download)
    if options.json:
        told = {
            "file": str(download.path),
            "sha256": download.digest,
            "figures": found,
            "expected": expected or None,
        }
        print_json(
            {
                **told,
                "differing": different,
                "refused": refused,
                "problems": problems,
                "unclear_types": unclear,
            }
        )
    else:
        show_figures(str(download.path), found, expected)
        out = console()
        for name, why in refused.items():
            out.print(f"refused: {name} may not run: {why}")
        for each in unclear[:_SHOWN]:
            out.print(f"type not understood, so anything fits: {each}")
        for each in problems[:_SHOWN]:
            out.print(f"problem: {each}")
        if len(problems) > _SHOWN or len(unclear) > _SHOWN:
            out.print(
                f"{len(problems)} problems and {len(unclear)} types in all; --json lists them"
            )
    return 1 if different or (problems and not options.partial) else 0


def show_figures(title: str, found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Print figures, beside the expected ones if these are known."""
    heads = ("what", "found", "expected", "") if expected else ("what", "found")
    lines = [
        (name, _text(value))
        if not expected
        else (
            name,
            _text(value),
            _text(expected.get(name)),
            "" if value == expected.get(name) else "differs",
        )
        for name, value in found.items()
    ]
    console().print(table(heads, lines, title=title))


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {each}" for name, each in value.items())
    return "-" if value is None else str(value)
