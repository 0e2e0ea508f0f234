"""Schemas of what tools answer, for an API list that tells them.

No tool declares its result. The schemas are read off the results that the calls of all known solutions have, executed
afresh: type by type, and of an object the properties that every such result of the tool has. So a schema says nothing
that a result did not show, and no name that belongs to one result only where there are several. A tool that no
solution calls has none.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from asyncguard_benchmark.harness.suites import registry
from asyncguard_benchmark.services.catalogue import fresh_executor

Schema = Mapping[str, Any]

_TYPES: Mapping[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}


def response_schemas(category: str) -> Mapping[str, Schema]:
    """Return the JSON schema of the result of each tool that solutions call, by tool, for the suite of a category."""
    return _schemas(registry().suite_of(category).name)


@cache
def _schemas(suite_name: str) -> Mapping[str, Schema]:
    suite = registry().suite(suite_name)
    results: dict[str, list[Any]] = {}
    for task in suite.load(suite.solved)() if suite.solved else ():
        executor = fresh_executor(task)
        for call in task.gold:
            results.setdefault(call.tool, []).append(executor.invoke(call.tool, call.arguments))
    return {tool: schema_of_values(values) for tool, values in results.items()}


def schema_of_values(values: Sequence[Any], *, data: bool = False) -> Schema:
    """Return the schema that some JSON values have in common; of objects without a common property, that of the values.

    Args:
        values: At least one.
        data: True for the values of a mapping, whose names are data: names further in may be, too, and are not told.
    """
    types = {_TYPES[type(value)] for value in values}
    types -= {"integer"} if "number" in types else set()
    found: dict[str, Any] = {"type": min(types) if len(types) == 1 else sorted(types)}
    if items := [item for value in values if isinstance(value, list) for item in value]:
        found["items"] = schema_of_values(items, data=data)
    objects = [value for value in values if isinstance(value, dict) and value]
    names = objects[0] if objects and not data else ()
    if shared := [name for name in names if all(name in each for each in objects)]:
        found["properties"] = {
            name: schema_of_values([each[name] for each in objects]) for name in shared
        }
    elif objects:
        held = [item for each in objects for item in each.values()]
        found["additionalProperties"] = schema_of_values(held, data=True)
    return found
