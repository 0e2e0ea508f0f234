"""The service of the suite: a register of people, and a door."""

from enum import StrEnum
from typing import Any

from asyncguard_benchmark.services.declarations import State, tool
from asyncguard_benchmark.services.service import toolset


class Place(StrEnum):
    """The categories of the suite's tasks."""

    DOOR = "GR"


@tool(reads=("people:{task_id}",))
def look_up(state: State, badge: str) -> Any:
    """Return the name on a badge."""
    return {"name": state["people"][badge]}


@tool(writes=("door:{task_id}",))
def greet(state: State, name: str) -> Any:
    """Greet a person by name."""
    state["greeted"].append(name)
    return {"greeted": len(state["greeted"])}


TOOLSET = toolset(
    Place.DOOR, {"type": "object", "required": ["people", "greeted"]}, (look_up, greet)
)
