"""``bench sweep``: agents that guess and agents that do not, over rates, arms and sets of compositions, as a report."""

from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from asyncguard.cli.output import replace_text
from asyncguard_benchmark.commands.output import console, print_json, table, with_progress
from asyncguard_benchmark.commands.run import chosen
from asyncguard_benchmark.harness.campaign import Cell, key_of, play_all
from asyncguard_benchmark.harness.episode_key import key_of_episode
from asyncguard_benchmark.harness.journal import Journal, read_lines
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.report.chapters.summary import SIMULATED
from asyncguard_benchmark.harness.report.document import Document, page_of
from asyncguard_benchmark.harness.report.figures import COLUMNS, Figures, Tally, cells
from asyncguard_benchmark.harness.report.markdown import markdown
from asyncguard_benchmark.harness.scenario import Contract, Regime, Surface
from asyncguard_benchmark.suites.asynctool import sceptic

_TITLE = "asyncguard: guesses, and the price of refusing them"


def execute(options: Namespace) -> int:
    """Run the command."""
    folder: Path = options.out
    rates = options.rates or sceptic.RATES
    batch_rates = options.batch_rates or sceptic.BATCH_RATES
    contract = Contract(options.contract)
    agents = [
        *sceptic.guessing(rates, batch_rates),
        *(AgentSpec(kind=kind) for kind in ("oracle", *sceptic.HONEST)),
    ]
    regimes = [Regime(each) for each in options.regimes]
    found: dict[str, list[Figures]] = {}
    for name in options.suites:
        compositions = chosen(None, name, contract)[:: options.every]
        asked = sceptic.cells_of(
            compositions,
            agents,
            arms=options.arms or sceptic.SWEPT_ARMS,
            players=options.players,
            declared=[each == "declared" for each in options.tools],
            regimes=regimes,
        )
        if not options.arms and "undeclared" in options.tools:
            siblings = sceptic.sibling_cells(
                compositions, batch_rates, players=options.players, regimes=regimes
            )
            asked = list({key_of(cell): cell for cell in (*asked, *siblings)}.values())
        if contract is Contract.PAPER:
            asked = [_under_the_papers(cell) for cell in asked if _has_text(cell)]
        found[name] = _played(folder / f"{name}.jsonl", asked, options.jobs)
    chapters = [
        sceptic.chapter(
            rows, name=f"{name}, contract {contract}", rates=rates, batch_rates=batch_rates
        )
        for name, rows in found.items()
    ]
    page = page_of(Document(title=_TITLE, subtitle="", simulated=SIMULATED, chapters=chapters))
    texts = {
        "index.html": page.text,
        "report.md": markdown(_TITLE, SIMULATED, chapters, ""),
    }
    for name, text in texts.items():
        replace_text(folder / name, text)
    files = [str(folder / name) for name in texts]
    if options.json:
        sets = {name: [row.to_json() for row in rows] for name, rows in found.items()}
        print_json({"sets": sets, "files": files})
        return 0
    out = console()
    for name, rows in found.items():
        out.print(table(COLUMNS, map(cells, rows), title=name))
    for file in files:
        out.print(f"  {file}", markup=False, soft_wrap=True)
    return 0


def _has_text(cell: Cell) -> bool:
    # Agents that make several calls a message speak the native surface, which the paper's contract does not know.
    return cell.condition.surface is Surface.TEXT


def _under_the_papers(cell: Cell) -> Cell:
    return replace(cell, condition=replace(cell.condition, contract=Contract.PAPER))


def _played(file: Path, asked: list[Cell], jobs: int) -> list[Figures]:
    """Play what a file lacks; return the figures of what was asked for."""
    with Journal(file) as journal:
        missing = [cell for cell in asked if key_of(cell) not in journal.keys]
        for played in with_progress(
            play_all(missing, jobs, keep_messages=False), len(missing), f"episodes of {file.stem}"
        ):
            journal.add(played.episode)
    # A file may hold more, of another sweep; the figures are in the order of the question.
    wanted, episodes = {key_of(cell) for cell in asked}, {}
    for line in read_lines(file):
        if line.episode is not None and (key := key_of_episode(line.episode)) in wanted:
            episodes[key] = line.episode
    tally = Tally()
    for cell in asked:
        tally.add(episodes[key_of(cell)])
    return tally.figures()
