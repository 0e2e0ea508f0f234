"""Kill agents at every point of a run, resume them, and judge the effects outside of them.

Agents of asyncguard and plain ones of LangChain are killed (SIGKILL) at named points and at drawn
instants, frozen (SIGSTOP) and thawed, and lose their database. Their tools write each effect into a
log of their own; a judge that does not use asyncguard compares log, final thread and journal with
six promises (P1 to P6, see docs/reliability.md).

Results are kept, so an interrupted run is continued; --fresh starts again from nothing. Evidence of
violations stays in the folder.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from reliability.cases import Case, Database
from reliability.decided import as_markdown as decisions_as_markdown
from reliability.decided import disagreements, print_decisions
from reliability.lane import Played, serve
from reliability.lanes import EVIDENCE, Lanes, Results, play_all
from reliability.parts import PARTS, sequence
from reliability.savers import make_tables
from reliability.server import NoServerError, Server
from reliability.soak import Sample, soak
from reliability.table import as_expected, as_markdown, print_table, rows_of, write_between

_KILLS, _QUICK_KILLS = 1100, 80
_SOAK = 100_000
_WIDTH = 130
_DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"
_EXAMPLES = """examples:
  run.py                                    everything (30 minutes on two cores)
  run.py --quick                            every part, a sixth of the cases, few random kills (two minutes)
  run.py points-sqlite broken               two parts
  run.py random-sqlite --kills 5000 --fresh more random kills, from the beginning
  run.py --case points-sqlite-C7-keyed      one case, its evidence kept
  run.py --seed 17                          one sequence, its evidence kept
  run.py --soak                             memory, tasks, files and connections over 100,000 calls
  run.py --write                            put the table into docs/reliability.md

parts:
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 1 if anything came out otherwise than it should."""
    options = _parser().parse_args(arguments)
    if options.lane is not None:
        serve(options.lane, options.postgres or "", keep=options.keep)
        return 0
    if options.soak:
        return _soak(options)
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    results = Results(options.out, fresh=options.fresh)
    names = options.parts or list(PARTS)
    kills = options.kills or (_QUICK_KILLS if options.quick else _KILLS)
    # Every sixth case: points come with five classes each, so all points and all classes have their turn.
    step = 6 if options.quick else 1
    cases = [case for name in names for case in list(PARTS[name].cases(kills))[::step]]
    cases = [case for case in cases if options.case in ("", case.name)]
    if options.seed is not None:
        cases = [sequence(options.seed)]
    if not cases:
        console.print(
            f"No case is called {options.case!r}; the names are part, point and class: points-sqlite-C7-keyed."
        )
        return 2
    _play(cases, results, options, console)
    told = [results.played[case.name] for case in cases if case.name in results.played]
    _tell(told, options.out, console)
    rows = rows_of(told)
    print_table(rows, console)
    print_decisions(told, console)
    if options.write:
        write_between(_DOCUMENT, as_markdown(rows))
        write_between(_DOCUMENT, decisions_as_markdown(told), "decisions")
    return int(
        not all(map(as_expected, told)) or len(told) < len(cases) or bool(disagreements(told))
    )


def _play(
    cases: Sequence[Case], results: Results, options: argparse.Namespace, console: Console
) -> None:
    again = bool(options.case) or options.seed is not None
    left = [case for case in cases if again or case.name not in results.played]
    server, url = None, options.postgres or ""
    if not url and any(case.database is Database.POSTGRES and not case.restarts for case in left):
        server = Server()
        url = server.url
    if url:
        asyncio.run(make_tables(url))
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    try:
        with Progress(*columns, console=console) as progress:
            bar = progress.add_task("cases", total=len(cases), completed=len(cases) - len(left))

            def done(played: Played) -> None:
                results.add(played)
                progress.update(bar, advance=1, description=played.part)

            play_all(
                left,
                Lanes(folder=options.out, url=url, keep=again, number=options.lanes),
                done,
            )
    finally:
        if server is not None:
            server.close()


def _soak(options: argparse.Namespace) -> int:
    """Let many calls pass through this process; return 1 if some of them leave something behind."""
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("calls", total=options.calls)

        def note(sample: Sample) -> None:
            progress.update(
                bar, completed=sample.calls, description=f"{sample.resident / 2**20:.0f} MiB"
            )

        soaked = soak(options.calls, note)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "soak.json").write_text(json.dumps(soaked.to_json(), indent=1), encoding="utf-8")
    last = soaked.samples[-1]
    console.print(
        f"{last.calls:,} calls in {last.seconds:,.0f} s; after the warm-up resident memory grew by {soaked.growth:.1%} "
        f"to {last.resident / 2**20:.0f} MiB; {last.tasks} task, {last.sessions} sessions, {last.files} open files, "
        f"{last.threads} threads at the end."
    )
    for leak in soaked.leaks():
        console.print(f"[red]{leak}[/red]")
    return int(bool(soaked.leaks()))


def _tell(played: Sequence[Played], folder: Path, console: Console) -> None:
    for item in played:
        if as_expected(item):
            continue
        again = (
            item.case.replace("sequences-", "--seed ")
            if item.part == "sequences"
            else f"--case {item.case}"
        )
        console.print(
            f"[red]{item.case}[/red] (again: run.py {again}; evidence: {folder / EVIDENCE / item.case})"
        )
        for violation in item.violations[:5]:
            console.print(f"  {violation['promise']} {violation['text']}", markup=False)
        if not item.violations:
            console.print(f"  {item.refused or 'nothing was found'}", markup=False)


def _parser() -> argparse.ArgumentParser:
    summary, _, details = (__doc__ or "").partition("\n\n")
    listed = "\n".join(f"  {part.name:<25} {part.title}" for part in PARTS.values())
    parser = argparse.ArgumentParser(
        prog="run.py",
        description=f"{summary}\n\n{details}",
        epilog=f"{_EXAMPLES}{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "parts", nargs="*", type=_part, metavar="PART", help="which parts; all by default"
    )
    wanted = f"random kills wanted, and as many of the README's agents ({_KILLS})"
    parser.add_argument("--kills", type=int, metavar="N", help=wanted)
    parser.add_argument(
        "--quick", action="store_true", help="a sixth of the cases, and few random kills"
    )
    parser.add_argument(
        "--lanes", type=int, default=2, metavar="N", help="cases played at once (2)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("runs/reliability"),
        metavar="DIR",
        help="results and evidence",
    )
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument(
        "--postgres",
        metavar="URL",
        help="a database to use; by default a server is started and removed",
    )
    parser.add_argument(
        "--soak", action="store_true", help="look at memory instead, over many calls in one process"
    )
    parser.add_argument(
        "--calls", type=int, default=_SOAK, metavar="N", help=f"calls of the soak ({_SOAK:,})"
    )
    parser.add_argument(
        "--write", action="store_true", help="write the table into docs/reliability.md"
    )
    parser.add_argument(
        "--case", default="", metavar="NAME", help="play one case again, and keep its evidence"
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="play one sequence again, and keep its evidence"
    )
    parser.add_argument("--lane", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--keep", action="store_true", help=argparse.SUPPRESS)
    return parser


def _part(text: str) -> str:
    if text not in PARTS:
        raise argparse.ArgumentTypeError(f"no part is called {text!r}; see --help for all")
    return text


if __name__ == "__main__":
    try:
        sys.exit(main())
    except NoServerError as error:
        sys.exit(str(error))
