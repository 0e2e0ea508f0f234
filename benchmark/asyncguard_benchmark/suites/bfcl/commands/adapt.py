"""``bench adapt bfcl``: says what a copy of bfcl-eval holds."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from asyncguard_benchmark.commands.output import console, print_json, table
from asyncguard_benchmark.suites.bfcl.figures import static_figures
from asyncguard_benchmark.suites.bfcl.package import read_package
from asyncguard_benchmark.suites.bfcl.reading import Source, read_source
from asyncguard_benchmark.suites.bfcl.terms import RELEASES

_SHOWN = 20
"""Problems that are listed one by one."""


def execute(options: Namespace) -> int:
    """Run the command."""
    source = read_source(read_package(options.path, any_version=options.any_version))
    release = RELEASES.get(source.package.version)
    return _say(options, source, static_figures(source), release.static if release else {})


def _say(
    options: Namespace, source: Source, found: Mapping[str, Any], expected: Mapping[str, Any]
) -> int:
    """Print figures beside the expected ones; return 1 if they differ or parts are broken.

    With --partial broken parts are told and not held against the source, and neither are figures, which they change.
    """
    differing = [name for name in expected if found.get(name) != expected[name]]
    problems = list(map(str, source.problems))
    failed = bool(differing or problems) and not (options.partial and problems)
    if options.json:
        print_json(
            {
                "path": source.package.place,
                "version": source.package.version,
                "figures": dict(found),
                "expected": dict(expected),
                "differing": differing,
                "problems": problems,
            }
        )
        return int(failed)
    out = console()
    lines = [
        (
            name,
            str(value),
            str(expected.get(name, "not known")),
            "differs" if name in differing else "",
        )
        for name, value in found.items()
    ]
    title = f"bfcl-eval {source.package.version}, {source.package.place}"
    out.print(table(("figure", "found", "expected", ""), lines, title=title))
    for problem in problems[:_SHOWN]:
        out.print(f"problem: {problem}")
    if len(problems) > _SHOWN:
        out.print(f"... and {len(problems) - _SHOWN} more; --json lists all")
    return int(failed)
