"""Log of a service's effects, kept in its state: a repeated effect can be seen there.

Ids come from what was done, not from a counter: an extra effect does not shift the id of a later one.
"""

from typing import Any

from asyncguard_benchmark.services.content_ids import content_id
from asyncguard_benchmark.services.declarations import State
from asyncguard_benchmark.services.state_shapes import WORD, record, rows, table

EFFECTS_SCHEMA = rows(record(tool=WORD, result=table({})))
"""The schema of the log, oldest effect first."""


def perform(
    state: State, tool: str, id_field: str, prefix: str, content: dict[str, Any]
) -> dict[str, Any]:
    """Do something, again if it was done before, and tell what.

    Args:
        state: Holds the log under ``effects``.
        tool: The tool that does it.
        id_field: Name of the field of the result that holds the new id.
        prefix: Beginning of the ids.
        content: The other fields of the result.
    """
    taken = {entry["result"].get(id_field) for entry in state["effects"]}
    result = {id_field: content_id(prefix, content, taken), **content}
    state["effects"].append({"tool": tool, "result": result})
    return dict(result)


def probe(state: State, tool: str, **known: Any) -> dict[str, Any]:
    """Return whether `tool` has an effect with these fields in its result, and the first result that has them."""
    for entry in state["effects"]:
        result = entry["result"]
        if entry["tool"] == tool and all(
            result.get(name) == value for name, value in known.items()
        ):
            return {"happened": True, "result": dict(result)}
    return {"happened": False, "result": None}


def probed(returns: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of what a probe answers, from the schema of the effect's result."""
    return record(
        happened={"type": "boolean", "description": "Whether it was done."},
        result={"anyOf": [returns, {"type": "null"}], "description": "What was answered then."},
    )
