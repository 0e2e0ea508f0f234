"""``bench adapt nestful``: says what a file of tasks holds, executes its gold calls, and plays them."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from asyncguard_benchmark.commands.output import console, print_json, table, with_progress
from asyncguard_benchmark.commands.provenance import say_provenance
from asyncguard_benchmark.errors import BenchmarkError, ForeignCodeRefused
from asyncguard_benchmark.harness.provenance import Judged, judged_task
from asyncguard_benchmark.suites.nestful import check, replay
from asyncguard_benchmark.suites.nestful.check import Download, differing, read_download
from asyncguard_benchmark.suites.nestful.commands.options import limits_of
from asyncguard_benchmark.suites.nestful.commands.play import play
from asyncguard_benchmark.suites.nestful.tasks import make_tasks
from asyncguard_benchmark.suites.nestful.terms import TOOLS

_SHOWN = 20
"""Problems that are listed one by one."""


class NothingAskedError(BenchmarkError):
    """Say what to do: --check reads and runs nothing, --replay and --provenance run the gold, --compose plays."""


class BrokenDownloadError(BenchmarkError):
    """Lines of the file cannot be used."""


def execute(options: Namespace) -> int:
    """Run the command."""
    download = read_download(options.data, options.functions)
    if options.check:
        return _check(options, download)
    if not (options.replay or options.provenance or options.compose):
        raise NothingAskedError(NothingAskedError.__doc__)
    _allowed(options, download)
    made = replay.replay_all(download, limits_of(options), options.jobs)
    replayed = list(with_progress(made, len(download.rows), "rows"))
    if options.provenance:
        return _provenance(options, download, replayed)
    return (
        play(options, download, replayed)
        if options.compose
        else _replay(options, download, replayed)
    )


def _allowed(options: Namespace, download: Download) -> None:
    if not options.run_foreign_code:
        raise ForeignCodeRefused(
            f"the functions in {options.functions} are Python code from outside, and this runs them. Look at them, and "
            "say --run-foreign-code to run them in a bounded process without network (a guard-rail, no security "
            "boundary), best in a container; --check reads everything and runs nothing"
        )
    if download.problems and not options.partial:
        told = "\n  ".join(map(str, download.problems[:_SHOWN]))
        raise BrokenDownloadError(
            f"{len(download.problems)} problems in {options.data}:\n  {told}\n"
            "--check lists all; --partial goes on with the rows that they do not touch"
        )


def _check(options: Namespace, download: Download) -> int:
    found, refused = check.figures(download), check.refused_files(download)
    expected: Mapping[str, Any] = check.EXPECTED if download.known else {}
    unclear = check.unclear_types(download)
    if options.json:
        lists = {"refused": refused, "unclear_types": unclear}
        _print(download, found, expected, lists)
    else:
        _show(str(download.path), found, expected)
        lines = [f"refused: {name} may not run: {why}" for name, why in refused.items()]
        lines += [f"type not understood, so anything fits: {each}" for each in unclear]
        _list([*lines, *(f"problem: {each}" for each in download.problems)])
    return 1 if differing(found, expected) or (download.problems and not options.partial) else 0


def _replay(options: Namespace, download: Download, replayed: Sequence[replay.Replayed]) -> int:
    found, reasons = replay.figures(replayed), replay.reasons(replayed)
    expected: Mapping[str, Any] = replay.EXPECTED if download.known else {}
    if options.json:
        _print(download, found, expected, {"reasons": reasons})
    else:
        _show(str(download.path), found, expected)
        _list([f"{name}: {why}" for name, why in reasons.items()])
    return 1 if differing(found, expected) or any(each.ended for each in replayed) else 0


def _provenance(options: Namespace, download: Download, replayed: Sequence[replay.Replayed]) -> int:
    made = make_tasks(download, replayed)
    groups: dict[str, list[Judged]] = {}
    for task in made.tasks:
        tools = task.initial_state[TOOLS]
        schemas = {name: each["parameters"] for name, each in tools.items()}
        kind = "" if task.origin is None else task.origin.kind
        groups.setdefault(f"NESTFUL, {kind}", []).extend(judged_task(task, schemas))
    say_provenance(groups, as_json=options.json)
    return 0


def _print(
    download: Download,
    found: Mapping[str, Any],
    expected: Mapping[str, Any],
    lists: Mapping[str, Any],
) -> None:
    print_json(
        {
            "file": str(download.path),
            "sha256": download.digest,
            "figures": found,
            "expected": expected or None,
            "differing": differing(found, expected),
            "problems": [str(each) for each in download.problems],
            **lists,
        }
    )


def _show(title: str, found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Print figures, beside the expected ones if these are known."""
    heads = ("what", "found", "expected", "") if expected else ("what", "found")
    lines = []
    for name, value in found.items():
        other = expected.get(name)
        beside = (_text(other), "" if value == other else "differs") if expected else ()
        lines.append((name, _text(value), *beside))
    console().print(table(heads, lines, title=title))


def _list(lines: Sequence[str]) -> None:
    out = console()
    for line in lines[:_SHOWN]:
        out.print(line)
    if len(lines) > _SHOWN:
        out.print(f"... and {len(lines) - _SHOWN} more; --json lists all")


def _text(value: Any) -> str:
    match value:
        case Mapping():
            return ", ".join(f"{name}: {each}" for name, each in value.items())
        case list():
            return (
                f"{len(value)}: {', '.join(map(str, value[:3]))}{'...' if len(value) > 3 else ''}"
                if value
                else "-"
            )
        case None:
            return "-"
        case _:
            return str(value)
