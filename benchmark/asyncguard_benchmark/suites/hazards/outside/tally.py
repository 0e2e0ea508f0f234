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


COLUMNS = {
    "setting": "Runtime of the tools.",
    "runs": "Scenarios played with their fault.",
    "ran twice": "Effects beyond the first of each in the log; a key that the tool has seen has no effect.",
    "silently wrong": "The declared field with a wrong value, without a mark.",
    "of these excused": "No form and no source was declared, and the value is the tool's own word.",
    "false words": "An effect that happened is told as failed and not as in doubt (unless it may be repeated), "
    "or one that did not happen as done.",
    "late": "A good call waits more than 5 s for another conversation's bad one, or a service is asked again "
    "before its `Retry-After`.",
    "crashed": "The run raised an error.",
    "served": "Right value, and the effect exactly once.",
    "honest": "Not served, and told so: failed, in doubt, not built, or the tool's own words as they came.",
    "twins": "The same scenarios without their fault.",
    "false alarms": "Twins that were not served, or with an error or a mark.",
}
"""Columns of the summary, with their meaning."""


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
