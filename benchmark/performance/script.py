"""Script that every runtime follows: call one trivial tool a fixed number of times, one call a turn, then answer.

The decision costs nothing and does not look at the history, so that a run measures the runtime and not its model.
"""

from dataclasses import dataclass

TOOL_NAME = "look_up"
TOOL_DESCRIPTION = "Looks up the value of a key."
QUESTION = "Look up every key, then answer."
ANSWER = "All keys are looked up."


@dataclass(slots=True)
class Script:
    """One run's model and tool, without any framework."""

    steps: int
    """Number of tool calls that the model makes before it answers."""
    proposed: int = 0
    """Number of calls that the model has proposed."""
    executed: int = 0
    """Number of times the tool ran; equal to `steps` after a sound run."""

    def next_key(self) -> str | None:
        """Return the argument of the next call, or None when it is time to answer."""
        if self.proposed == self.steps:
            return None
        self.proposed += 1
        return f"key-{self.proposed}"

    def look_up(self, key: str) -> str:
        """Is the tool."""
        self.executed += 1
        return f"value of {key}"
