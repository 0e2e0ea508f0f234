"""``bench missions export``: the bundled suite in the published form, for other harnesses."""

import json
from argparse import Namespace

from asyncguard_benchmark.commands.output import console, print_json, replace_text
from asyncguard_benchmark.suites.missions.bundled.bundle import Split, bundles
from asyncguard_benchmark.suites.missions.bundled.export import official_row


def execute(options: Namespace) -> int:
    """Run the command."""
    rows = [
        official_row(bundle, dialogue)
        for bundle in bundles()
        if not options.held_out or bundle.split is Split.HELD_OUT
        for dialogue in bundle.dialogues
    ]
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    replace_text(options.file, "".join(lines))
    said = {"file": str(options.file), "dialogues": len(rows)}
    if options.json:
        print_json(said)
    else:
        console().print(f"{len(rows)} dialogues: {options.file}")
    return 0
