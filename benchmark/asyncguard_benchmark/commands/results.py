"""``bench results``: several ablations as one short Markdown document."""

from argparse import Namespace

from asyncguard_benchmark.commands.output import console, print_json
from asyncguard_benchmark.commands.report import FINDINGS
from asyncguard_benchmark.harness.ablation.findings import findings_to_json, read_findings
from asyncguard_benchmark.harness.report.results import results


def execute(options: Namespace) -> int:
    """Run the command."""
    found = [read_findings(path / FINDINGS if path.is_dir() else path) for path in options.findings]
    options.out.write_text(results(found), encoding="utf-8")
    if options.json:
        print_json(
            {"file": str(options.out), "findings": [findings_to_json(each) for each in found]}
        )
    else:
        console().print(str(options.out), markup=False, soft_wrap=True)
    return 0
