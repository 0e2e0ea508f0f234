"""The transition tables as Mermaid state diagrams, for docs/state-tables.md."""

from asyncguard.core.calls import CallState
from asyncguard.core.lifecycle import CALL_TRANSITIONS, TASK_TRANSITIONS


def mermaid() -> str:
    """Return both tables as Mermaid state diagrams, calls first."""
    lines = ["stateDiagram-v2", "    [*] --> proposed"]
    lines += [
        f"    {state.value} --> {target.value}: {move.value}"
        for (state, move), target in CALL_TRANSITIONS.items()
    ]
    sources = {state for state, _ in CALL_TRANSITIONS}
    lines += [f"    {state.value} --> [*]" for state in CallState if state not in sources]
    lines += ["", "stateDiagram-v2", "    [*] --> open"]
    lines += [f"    {state.value} --> {target.value}" for state, target in TASK_TRANSITIONS]
    return "\n".join(lines) + "\n"
