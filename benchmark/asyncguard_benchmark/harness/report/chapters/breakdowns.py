"""Verdicts split: by kind, category, place in the prompt and mistake, setup by setup, and delays beside each other."""

from collections.abc import Callable

from asyncguard_benchmark.harness.ablation.findings import Setup
from asyncguard_benchmark.harness.names import Facet
from asyncguard_benchmark.harness.report.blocks import Block, Chapter, Panels
from asyncguard_benchmark.harness.report.breakdown_tables import WITHIN, tables_by
from asyncguard_benchmark.harness.report.chapters.names import namer
from asyncguard_benchmark.harness.report.figures import Group
from asyncguard_benchmark.harness.report.observations import Observations
from asyncguard_benchmark.harness.scoring.breakdown import Breakdown


def chapter(observed: Observations, is_told: Callable[[Setup], bool]) -> Chapter | None:
    """Return the chapter; None without episodes.

    Args:
        observed: Figures of the episodes.
        is_told: Selects the setups of it to show.
    """
    found: dict[Setup, dict[Group, Breakdown]] = {}
    for (setup, arm), breakdown in observed.breakdowns.items():
        if is_told(setup):
            found.setdefault(setup, {})[_group(setup, arm)] = breakdown
    if not found:
        return None
    name = namer(found)
    panels = {name(setup): tables_by(WITHIN, found[setup]) for setup in sorted(found)}
    whole = {group: each for split in found.values() for group, each in split.items()}
    blocks: list[Block] = [Panels(name="setup", choices=panels)]
    text = (
        "Counted from saved episodes of the arms none and all, without those of the wild split. Intervals are 95 % "
        "and count compositions with a common task as related observations."
    )
    return Chapter(
        id="breakdowns",
        title="Split by kind, category, place and mistake",
        text=text,
        blocks=[*blocks, *tables_by((Facet.DELAY, Facet.FEW_SHOT), whole)],
    )


def _group(setup: Setup, arm: str) -> Group:
    return Group(
        agent=setup.agent,
        player=setup.player,
        arm=arm,
        declared=setup.declared,
        regime=setup.regime,
        surface=setup.surface,
    )
