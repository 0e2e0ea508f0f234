"""``bench report``: one self-contained page of what an ablation found, and of what its episodes say."""

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from asyncguard.cli.output import refuse_input, replace_text
from asyncguard.cli.view.content import read_content
from asyncguard.cli.view.page import page_of as view_page_of
from asyncguard.cli.view.story import Content, Group
from asyncguard_benchmark.commands.output import console, notice, print_json
from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.ablation.findings import read_findings
from asyncguard_benchmark.harness.journal import each_once
from asyncguard_benchmark.harness.report.assembly import Side, document_of
from asyncguard_benchmark.harness.report.document import LARGEST, page_of
from asyncguard_benchmark.harness.report.figures import Tally
from asyncguard_benchmark.harness.report.observations import Observations

FINDINGS = "findings.json"
"""Name of the findings' file in the folder that an ablation writes."""
_SAID_EVERY = 2_000


class NothingToReportError(BenchmarkError):
    """There are neither findings nor episodes."""


def execute(options: Namespace) -> int:
    """Run the command."""
    view = options.out.with_name(f"{options.out.stem}-view.html") if options.view else None
    for each in options.episodes if view is not None else ():
        _refuse_pipe(each)
    sides = (options.findings, *([] if options.against is None else [options.against]))
    for out in (options.out, *([] if view is None else [view])):
        refuse_input(out, [*(file for side in sides for file in files_of(side)), *options.episodes])
    side = side_of(options.findings, options.episodes)
    against = None if options.against is None else side_of(options.against, ())
    closing = _closing(options.findings)
    page = page_of(document_of(side, against, closing=closing, view=view.name if view else ""))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    if view is not None:
        _write_view([*_parts(options.findings)[1], *options.episodes], view)
    _write(options.out, page.text)
    if page.size > LARGEST:
        notice(f"the page has {page.size:,} bytes, more than the {LARGEST:,} that it should have")
    if options.json:
        told = {
            "file": str(options.out),
            "bytes": page.size,
            "trajectories": page.held,
            "of": page.of,
        }
        print_json(told)
    else:
        notice(f"{page.held:,} of {page.of:,} trajectories are in the page")
        console().print(str(options.out), markup=False, soft_wrap=True)
    return 0


def _write_view(files: Sequence[Path], out: Path) -> None:
    """Write the page that links of the report lead to; of episodes that stand in several files, the first."""
    groups: dict[str, Group] = {}
    problems: list[str] = []
    for file in files:
        content = read_content(file)
        problems += [f"{file.name}: {problem}" for problem in content.problems]
        for group in content.groups:
            groups.setdefault(group.id, group)
    content = Content(kind="episodes", groups=tuple(groups.values()), problems=tuple(problems))
    _write(out, view_page_of(content, name=out.stem))


def _write(out: Path, text: str) -> None:
    # It holds what agents and services said: like a page of `asyncguard view`, a new one is its owner's.
    replace_text(out, text, mode=None if out.exists() else 0o600)


def _closing(path: Path) -> str:
    return f"Made by asyncguard bench report from {path.name}. The page needs nothing from anywhere else."


def side_of(path: Path, more: Sequence[Path]) -> Side:
    """Return one run: a file of findings, a file of episodes, or a folder with either or both.

    Args:
        path: Path of the run.
        more: Further files of episodes.

    Raises:
        NothingToReportError: there is neither.
        FindingsFormatError: the findings cannot be read.
        OSError: a file cannot be read.
    """
    findings, files = _parts(path)
    observed, tally = Observations(), Tally()
    for episode in each_once((*files, *more), notice):
        # Figures by condition would keep every verdict in memory, and findings hold better ones.
        observed.add(episode, tally.add(episode) if findings is None else None)
        if observed.episodes % _SAID_EVERY == 0:
            notice(f"{observed.episodes:,} episodes read")
    if findings is None and not observed.episodes:
        raise NothingToReportError(
            f"{path} holds neither {FINDINGS} nor episodes; `bench ablate` writes the one, `bench run` the other"
        )
    found = None if findings is None else read_findings(findings)
    return Side(findings=found, observed=observed, figures=tuple(tally.figures()))


def files_of(path: Path) -> list[Path]:
    """Return the files of a run that are read; see :func:`side_of`."""
    findings, episodes = _parts(path)
    return [*([] if findings is None else [findings]), *episodes]


def _parts(path: Path) -> tuple[Path | None, list[Path]]:
    if path.is_dir():
        findings = path / FINDINGS
        return findings if findings.exists() else None, sorted(path.rglob("*.jsonl"))
    _refuse_pipe(path)
    return (None, [path]) if path.suffix == ".jsonl" else (path, [])


def _refuse_pipe(path: Path) -> None:
    """Refuse what cannot be read twice, and whose name does not say what it holds."""
    if path.exists() and not path.is_file():
        raise NothingToReportError(
            f"{path} is a pipe or a device, which cannot be looked into twice: write it into a file, with the ending "
            ".jsonl if it holds episodes, and name that"
        )
