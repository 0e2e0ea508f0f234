"""``bench demo``: a small ablation, offline, as a report on the terminal and in files."""

import time
from argparse import Namespace
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from asyncguard.cli.output import replace_text
from asyncguard_benchmark.commands.output import (
    console,
    notice,
    print_json,
    table,
    with_progress,
)
from asyncguard_benchmark.commands.report import FINDINGS, side_of
from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.ablation.design import Design
from asyncguard_benchmark.harness.ablation.findings import (
    Findings,
    findings_to_json,
    write_findings,
)
from asyncguard_benchmark.harness.ablation.run import Ablation
from asyncguard_benchmark.harness.arms import ALL, NONE
from asyncguard_benchmark.harness.campaign import key_of, play_all
from asyncguard_benchmark.harness.episode_key import key_of_episode
from asyncguard_benchmark.harness.journal import Journal, read_lines
from asyncguard_benchmark.harness.loading import shipped_compositions
from asyncguard_benchmark.harness.processes import shared_pool
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.report.assembly import document_of
from asyncguard_benchmark.harness.report.blocks import Block, Chapter, Table, Text
from asyncguard_benchmark.harness.report.chapters import overview, summary
from asyncguard_benchmark.harness.report.document import page_of
from asyncguard_benchmark.harness.report.figures import Figures, Tally
from asyncguard_benchmark.harness.report.markdown import markdown, tables_of
from asyncguard_benchmark.harness.scenario import Composition, Suite
from asyncguard_benchmark.suites.asynctool import sceptic

AGENTS = ("eager", "neglectful", "confused", "forgetful", "malformed", "oracle")
"""Each of the first five makes one kind of mistake, the last none."""
_FIRST = 10
"""Index of the first composition of the suite `lite` that is played. From here on every thirtieth is
one of each kind, the mistake of every agent costs it at least one of them (the forgetful agent's does
in one of six only), and the message is that of every tenth."""
_TITLE = "asyncguard: the same agents without and with guards"
_RESAMPLES = 1_000
_EPISODES = "episodes"
_SWEEP = "sweep.jsonl"
_WIDEST = 110
"""Characters of a line of prose."""


class DemoError(BenchmarkError):
    """Episodes of the demo ended in errors: something is wrong with the installation or the code."""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Content that the demo shows."""

    findings: Findings
    sweep: Sequence[Figures]
    chapters: Sequence[Chapter]
    """Chapters that the terminal shows."""
    closing: str
    files: Sequence[Path]


def execute(options: Namespace) -> int:
    """Run the command; what the folder holds already is not played again."""
    started = time.perf_counter()
    folder: Path = options.out
    compositions = shipped_compositions(Suite.LITE)[_FIRST % options.every :: options.every]
    with shared_pool(options.jobs) as processes:
        ablation = _ablation(folder, compositions, processes)
        if known := ablation.total() - len(ablation.missing()):
            notice(
                f"{known} of {ablation.total()} compositions are in {folder / _EPISODES} already; "
                "name another folder with --out to play all"
            )
        _play(ablation, None if options.json else console())
        sweep = _sweep(folder, compositions, processes)
    for text in ablation.notices:
        notice(text)
    findings = ablation.findings("asyncguard bench demo", resamples=_RESAMPLES)
    write_findings(findings, folder / FINDINGS)
    shown = _written(folder, findings, sweep, started)
    if options.json:
        conditions = [row.to_json() for row in sweep]
        files = [str(path) for path in shown.files]
        print_json({"findings": findings_to_json(findings), "sweep": conditions, "files": files})
    else:
        _show(console(), shown)
    return 0


def _ablation(
    folder: Path, compositions: Sequence[Composition], processes: Executor | None
) -> Ablation:
    """Return what ``bench ablate`` plays, on few compositions and without its controls.

    Agents that comply by halves and the references with another seed change no sentence that the demo says, and take
    a quarter of its episodes.
    """
    agents = [AgentSpec(kind=kind) for kind in AGENTS]
    design = Design(
        compositions=compositions, agents=agents, shadow=False, compliance=False, again=False
    )
    return Ablation(design=design, folder=folder, processes=processes)


def _play(ablation: Ablation, out: Console | None) -> None:
    """Play it, and print what became of each agent as soon as it is known."""
    design, solved = ablation.design, dict[str, list[tuple[bool, bool]]]()
    for result in with_progress(ablation.play(), ablation.total(), "compositions under all arms"):
        for failure in result.failures:
            raise DemoError(
                f"{failure.key.composition} under {failure.key.arm} ended by an error: {failure.error}"
            )
        condition = result.unit.condition
        if condition.regime is not design.main or condition.seed not in design.seeds:
            continue
        found = solved.setdefault(condition.agent.label, [])
        found.append((result.outcomes[NONE].overall, result.outcomes[ALL].overall))
        if out is not None and len(found) == len(design.compositions):
            bare, full = map(sum, zip(*found, strict=True))
            out.print(
                f"{condition.agent.label}, results one turn late: {bare} of {len(found)} workloads "
                f"completed without guards, {full} with all of them"
            )


def worth(findings: Findings) -> str:
    """Return in one line what the guards were worth to the agents when results came late."""
    played = findings.settings.compositions
    bare = full = faulty = 0
    helped, harmed = [], list[str]()
    for study in findings.studies:
        effect = study.effect(ALL, NONE)
        if study.shapley is None or effect is None:
            continue
        arms = [study.arm(name) for name in (NONE, ALL)]
        without, guarded = (
            round(arm.overall.value * played / 100) if arm is not None and arm.overall else 0
            for arm in arms
        )
        if effect.difference.value < 0:
            harmed.append(study.setup.agent)
        if without < played:
            best = max(study.shapley.values, key=lambda each: each.value.value)
            helped.append(f"{study.setup.agent} most by {best.switch}")
            bare, full, faulty = bare + without, full + guarded, faulty + played
    return (
        f"Worth of the guards, with results one turn late: agents with a fault complete {full} of "
        f"{faulty} workloads with all guards and {bare} without ({', '.join(helped)}); "
        + (f"harmed: {', '.join(harmed)}." if harmed else "no agent completes fewer.")
    )


def _sweep(
    folder: Path, compositions: Sequence[Composition], processes: Executor | None
) -> list[Figures]:
    cells, tally = sceptic.demo_cells(compositions), Tally()
    path = folder / _EPISODES / _SWEEP
    with Journal(path) as journal:
        if journal.notice:
            notice(journal.notice)
        missing = [cell for cell in cells if key_of(cell) not in journal.keys]
        asked = set(map(key_of, cells))
        for line in read_lines(path):
            if line.episode is not None and key_of_episode(line.episode) in asked:
                tally.add(line.episode)
        playing = play_all(missing, 1, keep_messages=False, pool=processes)
        for played in with_progress(playing, len(missing), "further episodes"):
            journal.add(played.episode)
            tally.add(played.episode, played.seconds)
    return tally.figures()


def _written(folder: Path, findings: Findings, sweep: Sequence[Figures], started: float) -> Shown:
    side, doubts = side_of(folder, ()), sceptic.chapter(sweep)
    seconds = time.perf_counter() - started
    closing = (
        f"{side.observed.episodes} episodes; the missing ones were played and all judged in "
        f"{seconds:.0f} s, with no model and no network."
    )
    document = document_of(side, title=_TITLE, closing=closing, further=[doubts])
    texts = {
        "index.html": page_of(document).text,
        "report.md": markdown(_TITLE, document.simulated, document.chapters, closing),
    }
    for name, text in texts.items():
        replace_text(folder / name, text)
    said = [summary.chapter(findings), overview.chapter(findings), doubts]
    files = [*(folder / name for name in texts), folder / FINDINGS, folder / _EPISODES]
    chapters = [each for each in said if each is not None]
    return Shown(findings=findings, sweep=sweep, chapters=chapters, closing=closing, files=files)


def _show(out: Console, shown: Shown) -> None:
    out.print(f"\n{_TITLE}\n", style="bold")
    _say(out, summary.SIMULATED)
    for chapter in shown.chapters:
        out.print(f"\n{chapter.title}", style="bold", markup=False)
        _say(out, chapter.text)
        for block in chapter.blocks:
            _show_block(out, block)
    out.print()
    _say(out, worth(shown.findings))
    out.print(f"\n{shown.closing}")
    for path in shown.files:
        out.print(f"  {path}", markup=False, soft_wrap=True)


def _show_block(out: Console, block: Block) -> None:
    if isinstance(block, Text):
        _say(out, block.text)
    for title, each in tables_of(block):
        _show_table(out, title, each)


def _show_table(out: Console, title: str, shown: Table) -> None:
    out.print()
    out.print(table(shown.heads, shown.lines, title=title))


def _say(out: Console, text: str) -> None:
    out.print(text, markup=False, width=min(out.width, _WIDEST))
