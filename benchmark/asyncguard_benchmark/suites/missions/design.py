"""The design of the published results on missions: which agents play which missions under which arms."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.ablation.design_file import (
    FrozenDesign,
    StrictModel,
    parsed_design,
)
from asyncguard_benchmark.harness.arms import arm_of
from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.suites.missions.agents.roster import AGENTS
from asyncguard_benchmark.suites.missions.bundled.bundle import Split
from asyncguard_benchmark.suites.missions.playing.grid import CHALLENGES, Cell, Grid
from asyncguard_benchmark.suites.missions.playing.shelf import shelves


class MissionBlock(StrictModel):
    """An ablation of the design."""

    name: str
    """Name of its file."""
    why: str
    """Purpose, and the reason for its size."""
    agents: tuple[str, ...]
    arms: tuple[str, ...]
    split: Split = Split.DEVELOPMENT
    challenge: str = "all"
    regime: Regime = Regime.FIXED1
    player: str = "graph"
    every: int = Field(default=1, ge=1)
    """Each seed plays every n-th mission; the next seed begins one mission later, so that n seeds play all. Odd, as
    dialogues hold four missions: every second one would be at the same two places of all dialogues."""
    seeds: tuple[int, ...] | None = None
    """Seeds, if not those of the design."""

    def cells(self, seeds: tuple[int, ...]) -> Iterator[Cell]:
        """Yield the runs; the same missions for each agent and arm.

        Args:
            seeds: Seeds of the design.
        """
        dialogues = [name for name, each in shelves().items() if each.bundle.split is self.split]
        for number, seed in enumerate(self.seeds or seeds):
            cells = Grid(
                dialogues=dialogues,
                challenges=(self.challenge,),
                agents=self.agents,
                players=(self.player,),
                arms=self.arms,
                regimes=(self.regime,),
                seeds=(seed,),
            ).cells()
            missions = [*dict.fromkeys((each.case.dialogue, each.case.mission) for each in cells)]
            chosen = {*missions[number % self.every :: self.every]}
            yield from (each for each in cells if (each.case.dialogue, each.case.mission) in chosen)


class MissionHeadline(StrictModel):
    """A comparison that counts: all guards against the sham, read from a block."""

    name: str
    why: str
    block: str
    agent: str


class MissionDesign(FrozenDesign):
    """The whole design."""

    blocks: tuple[MissionBlock, ...]
    headlines: tuple[MissionHeadline, ...]

    def block(self, name: str) -> MissionBlock:
        """Return a block by its name, which one of the blocks has."""
        return next(each for each in self.blocks if each.name == name)


def read_mission_design(path: Path) -> MissionDesign:
    """Read a design.

    Raises:
        DataError: it is not one, or names an agent, an arm, a challenge or a block that does not exist.
        OSError: the file cannot be read.
    """
    design = parsed_design(MissionDesign, path)
    for block in design.blocks:
        for arm in block.arms:
            arm_of(arm)
        if unknown := sorted({*block.agents} - {*AGENTS}):
            raise DataError(
                f"{path}: {block.name}.agents", f"{unknown[0]!r} is none of {', '.join(AGENTS)}"
            )
        if block.challenge not in CHALLENGES:
            raise DataError(
                f"{path}: {block.name}.challenge",
                f"{block.challenge!r} is none of {', '.join(CHALLENGES)}",
            )
    names = {each.name: each for each in design.blocks}
    if len(names) < len(design.blocks):
        raise DataError(f"{path}: blocks", "two have one name, and would share a file")
    for headline in design.headlines:
        if headline.block not in names or headline.agent not in names[headline.block].agents:
            raise DataError(
                f"{path}: {headline.name}",
                f"there is no block {headline.block!r} with the agent {headline.agent!r}",
            )
    return design
