"""``bench results``: several ablations as one short Markdown document."""

from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path

from asyncguard_benchmark.commands.output import console, notice, print_json
from asyncguard_benchmark.commands.report import FINDINGS
from asyncguard_benchmark.harness.ablation.findings import findings_to_json, read_findings
from asyncguard_benchmark.harness.episode_key import EpisodeKey, key_of_episode
from asyncguard_benchmark.harness.journal import read_lines
from asyncguard_benchmark.harness.names import Facet
from asyncguard_benchmark.harness.report.breakdown_tables import tables_by
from asyncguard_benchmark.harness.report.figures import Group
from asyncguard_benchmark.harness.report.results import results
from asyncguard_benchmark.harness.scoring.breakdown import Breakdown
from asyncguard_benchmark.harness.scoring.verdict import score


def execute(options: Namespace) -> int:
    """Run the command."""
    found = [read_findings(path / FINDINGS if path.is_dir() else path) for path in options.findings]
    options.out.write_text(
        results(found, tables_by(Facet, _split(options.episodes))), encoding="utf-8"
    )
    if options.json:
        print_json(
            {"file": str(options.out), "findings": [findings_to_json(each) for each in found]}
        )
    else:
        console().print(str(options.out), markup=False, soft_wrap=True)
    return 0


def _split(paths: Iterable[Path]) -> dict[Group, Breakdown]:
    """Return the verdicts of all conditions in some files; an episode that is there twice counts once."""
    found: dict[Group, Breakdown] = {}
    seen: set[EpisodeKey] = set()
    for path in paths:
        for line in read_lines(path):
            if line.episode is None:
                notice(f"left out: {line.problem}")
            elif (key := key_of_episode(line.episode)) not in seen:
                seen.add(key)
                place = Group.of(line.episode)
                found.setdefault(place, Breakdown()).add(line.episode, score(line.episode))
    return found
