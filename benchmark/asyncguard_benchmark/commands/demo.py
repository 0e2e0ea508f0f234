"""``bench demo``: the same agents without and with guards, as a report on the terminal and in files."""

import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from asyncguard_benchmark.campaign import play_all
from asyncguard_benchmark.commands.output import console, print_json, table, with_progress
from asyncguard_benchmark.journal import Journal
from asyncguard_benchmark.loading import shipped_compositions
from asyncguard_benchmark.report.markdown import markdown
from asyncguard_benchmark.report.page import page
from asyncguard_benchmark.report.section import Section
from asyncguard_benchmark.report.study import Study, cells_of

_TITLE = "asyncguard: agents without and with guards"


def execute(options: Namespace) -> int:
    """Runs the command."""
    started = time.perf_counter()
    cells = cells_of(shipped_compositions())
    study = Study()
    saved = options.out / "episodes.jsonl"
    saved.unlink(missing_ok=True)
    with Journal(saved) as journal:
        for played in with_progress(play_all(cells, options.jobs), len(cells)):
            journal.add(played.episode)
            study.add(played)
    seconds = time.perf_counter() - started
    closing = f"{study.episodes} episodes, played and scored in {seconds:.0f} s, with no model and no network."
    sections = study.sections()
    paths = [*_write(options.out, sections, closing), saved]
    if options.json:
        rows = [row.to_json() for row in study.tally.figures()]
        files = [str(path) for path in paths]
        print_json({"seconds": seconds, "episodes": study.episodes, "conditions": rows, "files": files})
    else:
        _show(console(), sections, closing, paths)
    return 0


def _write(folder: Path, sections: Sequence[Section], closing: str) -> list[Path]:
    texts = {"index.html": page(_TITLE, sections, closing), "report.md": markdown(_TITLE, sections, closing)}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


def _show(out: Console, sections: Sequence[Section], closing: str, paths: Sequence[Path]) -> None:
    out.print(f"\n[bold]{_TITLE}[/bold]")
    for section in sections:
        out.print(f"\n[bold]{section.title}[/bold]")
        if section.text:
            out.print(section.text, markup=False, width=min(out.width, 110))
        if section.lines:
            out.print()
            out.print(table(section.heads, section.lines))
    out.print(f"\n{closing}")
    for path in paths:
        out.print(f"  {path}", markup=False, soft_wrap=True)
