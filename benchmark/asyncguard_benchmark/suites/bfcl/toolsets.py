"""Tools of a task as the harness describes them, from the documents that its state holds; none can be called here."""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.scenario import SubTask
from asyncguard_benchmark.services.declarations import Effect, ForeignTool, State, Tool
from asyncguard_benchmark.services.service import Toolset
from asyncguard_benchmark.suites.bfcl.terms import BfclCategory

_TEXT = {"type": "string"}
STATE_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "class": _TEXT,
        "module": {
            "enum": [
                "gorilla_file_system",
                "message_api",
                "posting_api",
                "ticket_api",
                "trading_bot",
                "travel_booking",
                "vehicle_control",
                "math_api",
            ]
        },
        "scenario": {"type": ["object", "null"]},
        "setup": {"type": "array"},
        "code": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "documents": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": _TEXT,
                    "description": _TEXT,
                    "parameters": {
                        "type": "object",
                        "properties": {"properties": {"type": "object"}},
                        "required": ["properties"],
                    },
                },
                "required": ["name", "description", "parameters"],
            },
        },
    },
    "required": ["class", "module", "scenario", "setup", "code", "documents"],
    "additionalProperties": False,
}
"""What the state of a task holds: class, scenario and set-up of its instance, the documents of its tools, and the
digest of the code that ran its ground truth."""

FILES, MESSAGES, POSTS, TICKETS, TRADING, TRAVEL, VEHICLE, MATH = (
    Toolset(category=each, tools={}, state_schema=STATE_SCHEMA) for each in BfclCategory
)
Run = Callable[..., Any]


class ClosedWorldError(BenchmarkError):
    """A tool of a foreign task was called where foreign code was not allowed to run."""


def tools_of_task(task: SubTask) -> Mapping[str, Tool]:
    """Return the tools of a task under their names; they can be described and not be called."""
    return _described(json.dumps(task.initial_state["documents"]))


def callable_tools(task: SubTask, run_of: Callable[[str], Run]) -> Mapping[str, Tool]:
    """Return the tools of a task with code: ``run_of(name)`` gives that of one."""
    return {
        each["name"]: _tool(each, run_of(each["name"])) for each in task.initial_state["documents"]
    }


@lru_cache(maxsize=64)
def _described(documents: str) -> Mapping[str, Tool]:
    return {each["name"]: _tool(each, _refuse) for each in json.loads(documents)}


def _tool(document: Mapping[str, Any], run: Run) -> Tool:
    return ForeignTool(
        name=document["name"],
        description=document["description"],
        # Nothing is known of it: repeating may do harm, and each call may rest on each other of its task.
        effect=Effect.AT_MOST_ONCE,
        reads=("{task_id}",),
        writes=("{task_id}",),
        run=run,
        schema=document["parameters"],
    )


def _refuse(state: State, **arguments: Any) -> Any:
    raise ClosedWorldError(
        "a tool of bfcl-eval is foreign code and runs in episodes of `asyncguard bench adapt bfcl PATH "
        "--run-foreign-code` only; this command can score and report what was played, not run it again"
    )
