"""Refusals of the service: the checks that both wire formats share.

A stand-in that accepts more than the real service lets a broken history pass every test and fail in
production, so these checks are as strict as the service is. Each refusal carries the parameter that
the service would name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.support.openai_policy import JsonObject, ToolDeclaration

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")

_UNSUPPORTED_IF_STRICT = frozenset(
    {
        "allOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "dependentRequired",
        "dependentSchemas",
        "patternProperties",
    }
)
_SAYS_WHAT_IT_IS = ("type", "anyOf", "$ref", "enum", "const")


class RefusedError(Exception):
    """The service would answer this request with an error; carries what its error body says."""

    def __init__(
        self, message: str, *, param: str | None = None, code: str | None = None, status: int = 400
    ) -> None:
        """Keep the parts of the error body and the HTTP status."""
        super().__init__(message)
        self.param = param
        self.code = code
        self.status = status


def error_body(
    message: str, *, kind: str, param: str | None = None, code: str | None = None
) -> JsonObject:
    """Return an error in the service's shape."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def check_request(body: JsonObject) -> None:
    """Check what every request needs: a model."""
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise RefusedError(
            "you must provide a model parameter", param="model", code="missing_required_parameter"
        )


def check_objects(value: Any, param: str) -> list[JsonObject]:
    """Return a non-empty list of JSON objects, refusing everything else."""
    if (
        not isinstance(value, list)
        or not value
        or not all(isinstance(entry, dict) for entry in value)
    ):
        raise RefusedError(
            f"Invalid value for '{param}': need an array of at least one object", param=param
        )
    return value


def check_text(value: Any, param: str) -> str:
    """Return the text of message content: a string, or the text of all parts of a list."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
        raise RefusedError(
            f"Invalid type for '{param}': need a string or an array of parts", param=param
        )
    return "".join(part.get("text") or "" for part in value)


def check_name(value: Any, param: str) -> str:
    """Return the name of a function, offered or called."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise RefusedError(
            f"Invalid '{param}': must match {_NAME.pattern}", param=param, code="invalid_value"
        )
    return value


def check_id(value: Any, param: str, *, longest: int) -> str:
    """Return a call id, refusing a missing, blank or overlong one."""
    if not isinstance(value, str) or not value.strip():
        raise RefusedError(
            f"Missing required parameter: '{param}'", param=param, code="missing_required_parameter"
        )
    if len(value) > longest:
        raise RefusedError(
            f"Invalid '{param}': longer than {longest}", param=param, code="string_above_max_length"
        )
    return value


def check_function(name: Any, arguments: Any, param: str) -> None:
    """Check a call as it is replayed in a history: a legal name and arguments as a string."""
    check_name(name, f"{param}.name")
    if not isinstance(arguments, str):
        raise RefusedError(
            f"Invalid type for '{param}.arguments': need a string", param=f"{param}.arguments"
        )


def check_tools(tools: tuple[ToolDeclaration, ...]) -> None:
    """Check that the offered tools differ in name and have schemas that the service takes."""
    seen: set[str] = set()
    for index, tool in enumerate(tools):
        if tool.name in seen:
            raise RefusedError(f"Tool names must be unique: {tool.name}", param="tools")
        seen.add(tool.name)
        _check_parameters(tool, f"tools[{index}].parameters")


def _check_parameters(tool: ToolDeclaration, param: str) -> None:
    """Check the schema of one tool; an absent schema means no arguments."""
    if not tool.parameters:
        return
    problem = strict_problem(tool.parameters) if tool.strict else _loose_problem(tool.parameters)
    if problem is not None:
        message = f"Invalid schema for function '{tool.name}': {problem}"
        raise RefusedError(message, param=param, code="invalid_function_parameters")


def check_output_schema(schema: Any, name: Any, *, strict: bool, param: str) -> None:
    """Check the schema of a structured answer."""
    problem = strict_problem(schema) if strict and isinstance(schema, dict) else None
    if problem is not None:
        raise RefusedError(f"Invalid schema for {param} '{name}': {problem}", param=param)


def _loose_problem(schema: JsonObject) -> str | None:
    """Return what is refused without strict mode, too."""
    if schema.get("type") != "object":
        return "the schema must be of type object"
    bare = (
        context
        for context, node in _nodes(schema, ())
        if _is(node, "array") and "items" not in node
    )
    context = next(bare, None)
    return None if context is None else f"in context={context}, array schema missing items"


def strict_problem(schema: JsonObject) -> str | None:
    """Return what strict mode objects to first, or None.

    Strict mode wants every object closed and every property required; optional values are written as `anyOf` with
    null. It knows neither `oneOf` nor `allOf`, and the root must be an object.
    """
    if schema.get("type") != "object":
        return "in context=(), the root must be of type object"
    for context, node in _nodes(schema, ()):
        problem = _node_problem(node)
        if problem is not None:
            return f"in context={context}, {problem}"
    return None


def _nodes(
    node: JsonObject, context: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], JsonObject]]:
    """Yield every schema inside a schema, with the path that leads to it."""
    yield context, node
    for keyword in ("properties", "$defs", "definitions"):
        for name, child in node.get(keyword, {}).items():
            yield from _nodes(child, (*context, keyword, name))
    for index, child in enumerate(node.get("anyOf", ())):
        yield from _nodes(child, (*context, "anyOf", str(index)))
    if isinstance(node.get("items"), dict):
        yield from _nodes(node["items"], (*context, "items"))


def _node_problem(node: JsonObject) -> str | None:
    """Return what strict mode objects to in one schema, its children aside."""
    unsupported = sorted(_UNSUPPORTED_IF_STRICT.intersection(node))
    if unsupported:
        return f"'{unsupported[0]}' is not permitted"
    if not any(keyword in node for keyword in _SAYS_WHAT_IT_IS):
        return "schema must have a 'type' key"
    if _is(node, "object"):
        return _object_problem(node)
    if _is(node, "array") and not isinstance(node.get("items"), dict):
        return "array schema missing items"
    return None


def _object_problem(node: JsonObject) -> str | None:
    """Return what strict mode objects to in an object's own keywords."""
    if node.get("additionalProperties") is not False:
        return "'additionalProperties' is required to be supplied and to be false"
    if set(node.get("required", ())) != set(node.get("properties", {})):
        return "'required' must be an array that includes every key in properties and no other"
    return None


def _is(node: JsonObject, kind: str) -> bool:
    """Tell whether a schema is of a type, alone or in a list of types."""
    types = node.get("type")
    return kind in types if isinstance(types, list) else types == kind
