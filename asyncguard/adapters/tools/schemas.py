"""Tool schemas: the one that arguments are checked against, and the one that the model is shown."""

import json
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel

from asyncguard.core.dependencies import REFERENCE_SCHEMA
from asyncguard.core.tool_spec import ToolSpec

TASK_ARGUMENT = "task_id"
_NUMERIC_TEXT = {"type": "string", "pattern": r"^\s*[-+]?\d+(\.\d*)?([eE][-+]?\d+)?\s*$"}
_BOOLEAN_TEXT = {"type": "string", "pattern": r"^(?i:true|false|yes|no|on|off|1|0)$"}
_LENIENT: Mapping[str, dict[str, Any]] = {
    "integer": _NUMERIC_TEXT,
    "number": _NUMERIC_TEXT,
    "boolean": _BOOLEAN_TEXT,
}


def parameters_of(tool: BaseTool, hidden: Collection[str] = ()) -> dict[str, Any]:
    """Return the schema that a call's arguments are checked against before the tool gets them.

    It is as lenient as the tool itself: a Pydantic tool turns the text ``"5"`` into a number, so
    such text passes. Names that the tool does not have are refused, because the tool would drop
    them silently.

    Args:
        tool: The tool.
        hidden: Arguments that the runtime injects.
    """
    schema: dict[str, Any] = _shown(tool)["parameters"]
    _hide(schema, hidden)
    if isinstance(tool.args_schema, type) and issubclass(tool.args_schema, BaseModel):
        properties = schema.setdefault("properties", {})
        for name, value in properties.items():
            text = _LENIENT.get(str(value.get("type"))) if isinstance(value, dict) else None
            if text is not None:
                # A default is looked for beside ``anyOf``: a call that omits it equals one that
                # gives it.
                beside = {key: value[key] for key in ("default",) if key in value}
                properties[name] = {"anyOf": [value, text], **beside}
        schema.setdefault(
            "additionalProperties", tool.args_schema.model_config.get("extra") == "allow"
        )
    return schema


def fills(tool: BaseTool, name: str) -> bool:
    """Return True if an argument that the runtime fills in reaches a tool.

    A tool drops names that it does not have, and LangGraph drops the value of an argument that is
    marked ``InjectedToolArg``.
    """
    parameters = _shown(tool)["parameters"]
    if name in parameters.get("properties", {}) or parameters.get("additionalProperties"):
        return True
    model = tool.args_schema
    return (
        isinstance(model, type)
        and issubclass(model, BaseModel)
        and model.model_config.get("extra") == "allow"
    )


def _shown(tool: BaseTool, *, strict: bool | None = None) -> dict[str, Any]:
    """Return a tool in OpenAI's form, in a copy that the caller may change."""
    if type(tool) is StructuredTool and isinstance(tool.args_schema, dict):
        try:
            schema = json.dumps(tool.args_schema)
        except (TypeError, ValueError):  # the conversion tells what it makes of such a schema
            pass
        else:
            shown: dict[str, Any] = json.loads(
                _converted_schema(tool.name, tool.description, schema, strict)
            )
            return shown
    copied: dict[str, Any] = _copied(_converted(tool, strict))
    return copied


def _converted(tool: BaseTool, strict: bool | None) -> dict[str, Any]:
    function: dict[str, Any] = convert_to_openai_tool(tool, strict=strict)["function"]
    function.setdefault("parameters", {"type": "object", "properties": {}})
    return function


# An agent is built for each episode or request by some callers, of the same tools each time.
@lru_cache(maxsize=1024)
def _converted_schema(name: str, description: str, schema: str, strict: bool | None) -> str:
    """Convert a tool that is told by its texts alone: its schema is JSON, not a class.

    The answer is a text, too, as JSON is read faster than a copy of its values is made.
    """
    tool = StructuredTool(name=name, description=description, args_schema=json.loads(schema))
    return json.dumps(_converted(tool, strict))


def _copied(value: Any) -> Any:
    """Return a copy of JSON values, which ``deepcopy`` would look up one by one in its memo."""
    if isinstance(value, dict):
        return {name: _copied(inner) for name, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value


def _hide(schema: dict[str, Any], hidden: Collection[str]) -> None:
    for name in hidden:
        schema.get("properties", {}).pop(name, None)
    if "required" in schema:
        schema["required"] = [name for name in schema["required"] if name not in hidden]


def task_argument(specs: Mapping[str, ToolSpec]) -> str:
    """Return the name of the task argument: ``task_id``, with underscores until no tool has it."""
    used = {
        name for spec in specs.values() for name in (spec.parameters or {}).get("properties", {})
    }
    name = TASK_ARGUMENT
    while name in used:
        name += "_"
    return name


def shown_tools(
    tools: Sequence[BaseTool],
    specs: Mapping[str, ToolSpec],
    tasks: Sequence[str],
    *,
    references: bool,
    strict: bool | None,
    provider_answers: bool = False,
) -> list[BaseTool | dict[str, Any]]:
    """Return the tools in the form that is bound to the model.

    A tool that needs no change is bound unchanged, so that with a single task the model is shown
    the same as without asyncguard.

    Args:
        tools: The tools.
        specs: Their declarations by name.
        tasks: Ids of the tasks; with two or more, each schema gets the task argument.
        references: True to offer operand references.
        strict: True if the schemas have to satisfy a provider's strict mode.
        provider_answers: True if the model may be asked to answer in the provider's own form.
    """
    argument = task_argument(specs)
    shown: list[BaseTool | dict[str, Any]] = []
    for tool in tools:
        spec = specs[tool.name]
        refers = references and spec.allows_references
        hidden = {name for name in (spec.key_argument, spec.token_argument) if name is not None}
        if len(tasks) < 2 and not refers and not hidden:
            shown.append(tool)
            continue
        # OpenAI's asynchronous calls: LangChain passes the field on from a tool, and from here.
        native = {"async": True} if (tool.extras or {}).get("async") is True else {}
        # Beside an answer in its own form OpenAI's chat completions take strict tools only. Its
        # integration makes tools strict in `bind_tools`, but not those in the finished form.
        finished = bool(native) or not provider_answers
        function = _shown(tool, strict=strict if finished else None)
        schema = function["parameters"]
        _hide(schema, hidden)
        properties = schema.get("properties", {})
        if refers:
            for name, value in properties.items():
                properties[name] = {"anyOf": [value, _copied(dict(REFERENCE_SCHEMA))]}
        if len(tasks) >= 2:
            task = {
                "type": "string",
                "enum": list(tasks),
                "description": "The task that this call is for.",
            }
            schema["properties"] = {argument: task, **properties}
            schema["required"] = [argument, *schema.get("required", [])]
        shown.append({"type": "function", "function": function, **native} if finished else function)
    return shown
