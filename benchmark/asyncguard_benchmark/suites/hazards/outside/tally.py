"""Summary of many runs, and the runs that must not occur."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from asyncguard_benchmark.suites.hazards.outside.cases import Scenario, Setting
from asyncguard_benchmark.suites.hazards.outside.judge import Ending, Verdict


@dataclass(frozen=True, kw_only=True)
class Played:
    """One run and its verdict."""

    scenario: Scenario
    setting: Setting
    faulty: bool
    verdict: Verdict

    def faults(self) -> list[str]:
        """Name what must not be; of a guarded run."""
        verdict = self.verdict
        found = {
            f"ran twice ({verdict.twice} too often)": verdict.twice,
            "silently wrong": verdict.silent and not verdict.excused,
            "wrong beside a mark": verdict.marked_wrong,
            verdict.false_word: verdict.false_word,
            "late": verdict.late,
            "crashed": verdict.ending is Ending.CRASHED,
            "false alarm": verdict.alarm,
        }
        return [text for text, is_so in found.items() if is_so]


COLUMNS = (
    "setting",
    "runs",
    "ran twice",
    "silently wrong",
    "of these excused",
    "false words",
    "late",
    "crashed",
    "served",
    "honest",
    "twins",
    "false alarms",
)


def figures(played: Sequence[Played], setting: Setting) -> dict[str, Any]:
    """Count the runs of one setting. What a twin does twice counts among the effects that ran twice, too."""
    runs = [each for each in played if each.setting is setting]
    struck = [each.verdict for each in runs if each.faulty]
    twins = [each.verdict for each in runs if not each.faulty]
    counts = (
        len(struck),
        sum(each.verdict.twice for each in runs),
        sum(each.silent for each in struck),
        sum(each.excused for each in struck),
        sum(bool(each.false_word) for each in struck),
        sum(each.late for each in struck),
        sum(each.ending is Ending.CRASHED for each in struck),
        sum(each.ending is Ending.SERVED for each in struck),
        sum(each.ending is Ending.HONEST for each in struck),
        len(twins),
        sum(each.alarm for each in twins),
    )
    return dict(zip(COLUMNS, (setting.value, *counts), strict=True))


def faults(played: Iterable[Played]) -> list[dict[str, Any]]:
    """List what must not be, in the guarded runs."""
    return [
        {
            "scenario": each.scenario.name,
            "setting": each.setting.value,
            "twin": not each.faulty,
            "faults": found,
        }
        for each in played
        if each.setting.guarded and (found := each.faults())
    ]
