"""``bench hazards outside``: faults in tools whose effects are counted outside of the runtime."""

import logging
from argparse import Namespace
from collections.abc import Iterator, Sequence

from asyncguard_benchmark.commands.output import console, print_json, table, with_progress
from asyncguard_benchmark.suites.hazards.outside.cases import Family, Level, Scenario, Setting
from asyncguard_benchmark.suites.hazards.outside.collection import scenarios
from asyncguard_benchmark.suites.hazards.outside.tally import COLUMNS, Played, faults, figures
from asyncguard_benchmark.suites.hazards.outside_player import play

_QUICK = 7


def execute(options: Namespace) -> int:
    """Run the command."""
    logging.getLogger("asyncguard").addHandler(
        logging.NullHandler()
    )  # late attempts are what is played here
    settings = [Setting(each) for each in options.settings]
    asked = scenarios([Family(each) for each in options.families])
    asked = [each for each in asked if each.level in {Level(name) for name in options.levels}]
    asked = asked[:: _QUICK if options.quick else 1]
    total = 2 * sum(each.case.fits(setting) for each in asked for setting in settings)
    played = list(with_progress(_played(asked, settings), total, what="runs"))
    found = faults(played)
    rows = [figures(played, setting) for setting in settings]
    if options.json:
        print_json(
            {"scenarios": len(asked), "runs": len(played), "settings": rows, "faults": found}
        )
        return 1 if found else 0
    out = console()
    title = f"{len(asked)} scenarios, {len(played)} runs"
    out.print(table(tuple(COLUMNS), [tuple(map(str, row.values())) for row in rows], title=title))
    if found:
        heads = ("scenario", "setting", "", "what must not be")
        lines = [
            (
                each["scenario"],
                each["setting"],
                "twin" if each["twin"] else "",
                ", ".join(each["faults"]),
            )
            for each in found
        ]
        out.print(table(heads, lines, title=f"{len(found)} guarded runs with a fault"))
    return 1 if found else 0


def _played(asked: Sequence[Scenario], settings: Sequence[Setting]) -> Iterator[Played]:
    for scenario in asked:
        for setting in settings:
            for faulty in (True, False):
                if scenario.case.fits(setting):
                    verdict = play(scenario, setting, faulty=faulty)
                    yield Played(scenario=scenario, setting=setting, faulty=faulty, verdict=verdict)
