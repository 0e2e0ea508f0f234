"""Names that the command line needs before anything heavy is loaded: of players, and of tables of verdicts."""

from enum import StrEnum

PLAIN = "plain"
PLAYER_NAMES = (PLAIN, "graph", "middleware")
FEW_SHOT = " +few-shot"
"""Ends the name of an agent whose prompt holds one successful trajectory."""


class Facet(StrEnum):
    """Table that verdicts can be split into."""

    KIND = "kind"
    """S2, C2, S3, C3, S4, C4 (similar or cross): overall, sub-task accuracy, mean rounds of the solved."""
    TASKS = "tasks"
    """Two, three, four tasks: the same."""
    CATEGORY = "category"
    """The twelve categories: sub-tasks with all gold calls, with the right state, accurate."""
    DELAY = "delay"
    """The delays of a condition: as ``kind``, and the paired difference of overall to the first row."""
    FEW_SHOT = "few-shot"
    """A prompt with an example beside the same without: as ``delay``."""
    MODES = "modes"
    """The mistakes of failed sub-tasks: share of all sub-tasks, alone, and with each other one."""
    POSITION = "position"
    """Number of tasks, place in the prompt: sub-tasks neglected, and that no call was made for."""
    CASCADES = "cascades"
    """The rest of a run after its first call for the wrong task: beside the same step of others."""
