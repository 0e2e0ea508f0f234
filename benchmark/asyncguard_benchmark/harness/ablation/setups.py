"""Under what conditions a finding was made, and whether it is one of harm."""

from dataclasses import dataclass
from enum import StrEnum

from asyncguard_benchmark.harness.scenario import Contract


@dataclass(frozen=True, kw_only=True, order=True)
class Setup:
    """The condition that figures stand for, without the arm."""

    agent: str
    """Label of the agent, with settings that differ from their defaults."""
    player: str
    regime: str
    surface: str
    declared: bool
    """True if tools are declared to the guards (footprints, effects, scope)."""
    contract: str = Contract.OURS.value
    """Contract with the agent; older findings know one only."""

    @property
    def label(self) -> str:
        """The condition as one name."""
        tools = "" if self.declared else ", undeclared"
        played = f"{self.player}{tools} · {self.regime} · {self.surface}"
        return f"{self.agent} · {played} · contract {self.contract}"


class HarmVerdict(StrEnum):
    """Verdict on whether an arm is worse than another by more than the margin."""

    HARMLESS = "harmless"
    """The whole interval lies above minus the margin."""
    HARMFUL = "harmful"
    """The whole interval lies below zero, and its estimate below minus the margin."""
    UNDECIDED = "undecided"
    """The data do not tell."""
