"""``bench adapt bfcl``: says what a copy of bfcl-eval holds, replays its ground truth, and plays its tasks."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from asyncguard_benchmark.commands.output import console, notice, print_json, table
from asyncguard_benchmark.commands.provenance import say_provenance
from asyncguard_benchmark.errors import BenchmarkError, ForeignCodeRefused
from asyncguard_benchmark.harness.provenance import Judged, judged_task
from asyncguard_benchmark.suites.bfcl.commands.play import play
from asyncguard_benchmark.suites.bfcl.figures import static_figures
from asyncguard_benchmark.suites.bfcl.package import read_package
from asyncguard_benchmark.suites.bfcl.projections import TaskKind
from asyncguard_benchmark.suites.bfcl.reading import Source, read_source
from asyncguard_benchmark.suites.bfcl.replay import dynamic_figures
from asyncguard_benchmark.suites.bfcl.tasks import build_tasks
from asyncguard_benchmark.suites.bfcl.terms import RELEASES
from asyncguard_benchmark.suites.bfcl.worlds import worker

_SHOWN = 20
"""Problems that are listed one by one."""


class NothingAskedError(BenchmarkError):
    """The command line says neither to read, nor to replay, nor to play."""


class BrokenSourceError(BenchmarkError):
    """Parts of the package cannot be read."""


def execute(options: Namespace) -> int:
    """Run the command."""
    source = read_source(read_package(options.path, any_version=options.any_version))
    release = RELEASES.get(source.package.version)
    if options.check:
        return _say(options, source, static_figures(source), release.static if release else {})
    if not (options.replay or options.provenance or options.compose):
        raise NothingAskedError(
            "say what to do: --check, --replay, --provenance, or --compose S2=60,C2=60 to play"
        )
    _allowed(options, source)
    if options.compose:
        return play(options, source)
    if options.provenance:
        return _provenance(options, source)
    return _say(options, source, _replayed(source), release.dynamic if release else {})


def _allowed(options: Namespace, source: Source) -> None:
    if not options.run_foreign_code:
        raise ForeignCodeRefused(
            f"the tools in {source.package.place} are Python code from outside, and this runs it. Look at it, and say "
            "--run-foreign-code to run it in bounded processes without network (a guard-rail, no security boundary), "
            "best in a container; --check reads everything and runs nothing"
        )
    if source.problems and not options.partial:
        told = "\n  ".join(map(str, source.problems[:_SHOWN]))
        raise BrokenSourceError(
            f"{len(source.problems)} parts of {source.package.place} are broken:\n  {told}\n"
            "--check lists all; --partial goes on with the others"
        )


def _replayed(source: Source) -> Mapping[str, Any]:
    with worker(source.package.unpacked()) as sandbox:
        return dynamic_figures(source, sandbox)


def _provenance(options: Namespace, source: Source) -> int:
    with worker(source.package.unpacked()) as sandbox:
        built = build_tasks(source, map(TaskKind, options.kinds), sandbox)
    for name, why in built.left_out.items():
        notice(f"{name} is left out: {why}")
    groups: dict[str, list[Judged]] = {kind: [] for kind in options.kinds}
    for task in built.tasks:
        schemas = {each["name"]: each["parameters"] for each in task.initial_state["documents"]}
        kind = "" if task.origin is None else task.origin.kind.partition(",")[0]
        groups[kind] += judged_task(task, schemas)
    say_provenance(groups, as_json=options.json)
    return 0


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
