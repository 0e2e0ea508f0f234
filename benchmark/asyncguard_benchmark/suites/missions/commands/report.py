"""``bench missions report``: one page of played missions, and of what an ablation found in them."""

from argparse import Namespace
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from asyncguard_benchmark.commands.output import (
    console,
    notice,
    print_json,
    refuse_input,
    replace_text,
)
from asyncguard_benchmark.commands.report import FINDINGS
from asyncguard_benchmark.harness.ablation.findings import read_findings
from asyncguard_benchmark.harness.report.assembly import Side, chapters_of
from asyncguard_benchmark.harness.report.blocks import Chapter
from asyncguard_benchmark.harness.report.chapters import summary
from asyncguard_benchmark.harness.report.document import LARGEST, Document, page_of
from asyncguard_benchmark.harness.report.number_format import count
from asyncguard_benchmark.harness.report.observations import Observations
from asyncguard_benchmark.suites.missions.commands.joint import joint_chapter
from asyncguard_benchmark.suites.missions.commands.played import NothingPlayedError
from asyncguard_benchmark.suites.missions.played_rows import (
    JointRow,
    PlayedRow,
    RunKey,
    read_joint,
    read_played,
)
from asyncguard_benchmark.suites.missions.report_chapters import (
    Judged,
    conditions_of,
    episodes,
    rates,
    routes,
    splits,
    trajectories,
)
from asyncguard_benchmark.suites.missions.scorers.verdict import judge


def execute(options: Namespace) -> int:
    """Run the command.

    Raises:
        NothingPlayedError: no file holds a played mission.
        DataError: a line of a file cannot be read.
        FindingsFormatError: the findings cannot be read.
    """
    place: Path = options.place
    files = sorted(place.glob("*.jsonl")) if place.is_dir() else [place]
    refuse_input(options.out, [*files, place / FINDINGS])
    rows: dict[RunKey, PlayedRow] = {}
    joint: list[JointRow] = []
    for file in files:
        for row in read_played(file):
            rows.setdefault(row.key, row)
        joint.extend(read_joint(file))
    if not rows and not joint:
        raise NothingPlayedError(
            f"{place} holds no played mission; `bench missions run` and `bench missions ablate` write them"
        )
    findings = place / FINDINGS if place.is_dir() else None
    page = page_of(
        _document(rows, joint, findings if findings and findings.exists() else None, place)
    )
    options.out.parent.mkdir(parents=True, exist_ok=True)
    replace_text(options.out, page.text)
    if page.size > LARGEST:
        notice(f"the page has {page.size:,} bytes, more than the {LARGEST:,} that it should have")
    if options.json:
        said = {"missions": len(rows), "overlapping": len({each.key for each in joint})}
        print_json({"file": str(options.out), "bytes": page.size, **said})
    else:
        console().print(str(options.out), markup=False, soft_wrap=True)
    return 0


def _document(
    rows: dict[RunKey, PlayedRow], joint: Sequence[JointRow], findings: Path | None, place: Path
) -> Document:
    conditions = conditions_of(Judged(row, judge(row.entry)) for row in rows.values())
    overlap = joint_chapter(joint)
    chapters: list[Chapter | None] = []
    if rows:  # the chapters of missions played alone would be empty tables
        chapters = [splits(conditions), routes(conditions)]
        chapters += [trajectories(conditions), episodes(conditions), overlap]
    found = []
    if findings is not None:
        found = chapters_of(Side(findings=read_findings(findings), observed=Observations()))
    dialogues = {key.dialogue for key in rows} | {each.key.dialogue for each in joint}
    models = {row.value.get("model", {}).get("model") for row in rows.values()}
    # A run of overlapping missions is one conversation, and its agents are simulated.
    together = len({each.key for each in joint})
    runs = [f"{count(len(rows))} runs of missions"] if rows else []
    runs += [f"{count(together)} runs of overlapping missions"] if joint else []
    return Document(
        title="Missions",
        subtitle=f"{' and '.join(runs)} from {count(len(dialogues))} dialogues; "
        f"asyncguard {version('asyncguard')}",
        simulated=summary.SIMULATED if joint or None in models else summary.ASKED,
        headline=rates(conditions) if rows else overlap,
        chapters=[*(each for each in chapters if each is not None), *found],
        closing=f"Made by asyncguard bench missions report from {place.name}. The page needs nothing from elsewhere.",
    )
