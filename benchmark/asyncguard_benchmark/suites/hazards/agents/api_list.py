"""The API list as an agent sees it: bound to it, or in the system prompt."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, SystemMessage

from asyncguard_benchmark.harness.agents.speaking import BoundTools

ApiList = Mapping[str, Mapping[str, Any]]
"""Tool -> its name, description and parameters."""

_HEAD = "Functions:\n"


def api_list(messages: Sequence[BaseMessage], bound: BoundTools | None) -> ApiList:
    """Return the tools as an agent knows them; nothing if it was told nothing.

    Args:
        messages: The conversation; on the text surface its system prompt holds the list.
        bound: The tools of the native surface.
    """
    if bound is not None:
        return {
            name: _without(function, bound.task_argument)
            for name, function in bound.functions.items()
        }
    prompt = next(
        (str(message.text) for message in messages if isinstance(message, SystemMessage)), ""
    )
    _, found, listed = prompt.partition(_HEAD)
    if not found:
        return {}
    functions, _ = json.JSONDecoder().raw_decode(listed)
    return {function["name"]: function for function in functions}


def parameters_of(tools: ApiList, tool: str) -> Mapping[str, Any]:
    """Return the schema of a tool's arguments; an empty one if the list does not hold the tool."""
    schema: Mapping[str, Any] = tools.get(tool, {}).get("parameters", {})
    return schema


def _without(function: Mapping[str, Any], argument: str) -> Mapping[str, Any]:
    parameters = function.get("parameters", {})
    properties = {
        name: schema
        for name, schema in parameters.get("properties", {}).items()
        if name != argument
    }
    required = [name for name in parameters.get("required", ()) if name != argument]
    return {
        **function,
        "parameters": {**parameters, "properties": properties, "required": required},
    }
