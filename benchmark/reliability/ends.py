"""Queries about the end of a process."""

from reliability.cases import Point
from reliability.children import PATIENCE, Child, Children
from reliability.effectlog import What, read_log
from reliability.places import Place

EARLIEST, LATEST = 0.02, 0.25
"""Seconds after its start at which a process is killed."""


def marked(place: Place, child: Child, point: Point | None) -> bool:
    """Return True if a process killed itself at a point."""
    lines = read_log(place.effects)
    return any(
        line.what is What.KILL and line.pid == child.pid and line.note == point for line in lines
    )


def runs(place: Place, child: Child) -> bool:
    """Return True if a process has begun to run its agent."""
    written = place.effects.read_text(encoding="utf-8") if place.effects.exists() else ""
    return f'"pid": {child.pid}, "what": "{What.RUNS}"' in written


def to_its_end(children: Children, child: Child) -> list[str]:
    """Wait for a process that should end by itself; return what went otherwise."""
    if not child.ends():
        return [f"process {child.number} did not end within {PATIENCE:g} s"]
    return (
        []
        if child.code == 0
        else [f"process {child.number} ended with {child.code} ({children.last_words(child)})"]
    )
