"""Names that the command line needs before anything heavy is loaded: of players, and of tables of verdicts."""

from enum import StrEnum

PLAIN = "plain"
PLAYER_NAMES = (PLAIN, "graph", "middleware")
FEW_SHOT = " +few-shot"
"""Ends the name of an agent whose prompt holds one successful trajectory."""


class Facet(StrEnum):
    """Table that verdicts can be split into."""

    KIND = "kind"
    """Similar or cross, by number of tasks: S2, C2, S3, C3, S4, C4."""
    TASKS = "tasks"
    """Number of tasks of a composition."""
    CATEGORY = "category"
    """Category of a sub-task."""
    DELAY = "delay"
    """The delays of one condition beside each other."""
    FEW_SHOT = "few-shot"
    """A prompt with an example beside the same without."""
    MODES = "modes"
    """Mistakes in failed sub-tasks, and those that come together."""
    POSITION = "position"
    """Place of a sub-task in the prompt, from 1, by number of tasks."""
    CASCADES = "cascades"
    """The rest of a run after its first call for the wrong sub-task."""
