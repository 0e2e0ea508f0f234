"""The service of the suite: a register of people, and a door."""

from enum import StrEnum
from typing import Any

from asyncguard_benchmark.services.declarations import Effect, State, Tool
from asyncguard_benchmark.services.service import toolset


class Place(StrEnum):
    """The categories of the suite's tasks."""

    DOOR = "GR"


def _arguments(name: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "string"}},
        "required": [name],
        "additionalProperties": False,
    }


def _look_up(state: State, badge: str) -> Any:
    return {"name": state["people"][badge]}


def _greet(state: State, name: str) -> Any:
    state["greeted"].append(name)
    return {"greeted": len(state["greeted"])}


TOOLSET = toolset(
    Place.DOOR,
    {"type": "object", "required": ["people", "greeted"]},
    (
        Tool(
            name="look_up",
            description="Return the name on a badge.",
            parameters=_arguments("badge"),
            effect=Effect.PURE,
            reads=("people:{task_id}",),
            run=_look_up,
        ),
        Tool(
            name="greet",
            description="Greet a person by name.",
            parameters=_arguments("name"),
            effect=Effect.AT_MOST_ONCE,
            writes=("door:{task_id}",),
            run=_greet,
        ),
    ),
)
