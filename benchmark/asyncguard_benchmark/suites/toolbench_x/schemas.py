"""JSON Schemas from the source of Python functions, which is parsed and never run."""

import ast
import re
from typing import Any

from asyncguard_benchmark.errors import DataError

_SCALARS = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "None": "null"}
_LISTS = frozenset({"list", "List", "Sequence", "Iterable", "tuple", "Tuple", "set", "Set"})
_OBJECTS = frozenset({"dict", "Dict", "Mapping"})
_ARGUMENT = re.compile(r"(\w+)\s*(?:\([^)]*\))?:\s*(.*)")
_SECTION = re.compile(r"(Returns|Raises|Yields|Examples?|Notes?):\s*$")


def parameters_of(function: ast.FunctionDef, where: str) -> dict[str, Any]:
    """Return the schema of a function's arguments; an annotation that cannot be read allows anything.

    Raises:
        DataError: the function takes ``*args``, ``**kwargs`` or positional-only arguments, which no call can name.
    """
    given = function.args
    if given.vararg or given.kwarg or given.posonlyargs:
        text = "expected arguments with names, found *args, **kwargs or positional-only ones"
        raise DataError(f"{where}, line {function.lineno}", text)
    _, described = described_by(function)
    defaults: list[ast.expr | None] = [None] * (len(given.args) - len(given.defaults))
    ordinary = list(zip(given.args, [*defaults, *given.defaults], strict=True))
    named = list(zip(given.kwonlyargs, given.kw_defaults, strict=True))
    properties, required = {}, []
    for argument, default in [*ordinary, *named]:
        schema = schema_of(argument.annotation)
        if argument.arg in described:
            schema["description"] = described[argument.arg]
        if default is None:
            required.append(argument.arg)
        else:
            schema |= _default(default)
        properties[argument.arg] = schema
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def described_by(function: ast.FunctionDef) -> tuple[str, dict[str, str]]:
    """Return the descriptions of a function and its arguments from a Google-style docstring."""
    summary: list[str] = []
    arguments: dict[str, str] = {}
    inside, name = False, ""
    for line in (ast.get_docstring(function) or "").splitlines():
        text = line.strip()
        if text in ("Args:", "Arguments:"):
            inside = True
        elif _SECTION.match(text):
            break
        elif not inside:
            summary.append(text)
        elif found := _ARGUMENT.match(text):
            name = found[1]
            arguments[name] = found[2]
        elif name and text:
            arguments[name] += f" {text}"
    return "\n".join(summary).strip(), arguments


def schema_of(annotation: ast.expr | None) -> dict[str, Any]:
    """Return the schema of an annotation; ``{}``, which allows anything, of one that is missing or not understood."""
    match annotation:
        case ast.Constant(value=None):
            return {"type": "null"}
        case ast.Constant(value=str(text)):
            return _quoted(text)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return _named(name)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _any_of([left, right])
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inner):
            return _generic(name, inner.elts if isinstance(inner, ast.Tuple) else [inner])
        case _:
            return {}


def _quoted(text: str) -> dict[str, Any]:
    try:
        return schema_of(ast.parse(text, mode="eval").body)
    except SyntaxError:
        return {}


def _named(name: str) -> dict[str, Any]:
    if name in _SCALARS:
        return {"type": _SCALARS[name]}
    if name in _LISTS:
        return {"type": "array"}
    return {"type": "object"} if name in _OBJECTS else {}


def _generic(name: str, inner: list[ast.expr]) -> dict[str, Any]:
    if name == "Optional":
        return _any_of([*inner, ast.Constant(value=None)])
    if name == "Union":
        return _any_of(inner)
    if name == "Literal":
        values = [each.value for each in inner if isinstance(each, ast.Constant)]
        return {"enum": values} if len(values) == len(inner) else {}
    schema = _named(name)
    if schema.get("type") == "array" and len(inner) == 1:
        return {**schema, "items": schema_of(inner[0])}
    if schema.get("type") == "object" and len(inner) == 2:
        values_schema = schema_of(inner[1])
        return {**schema, "additionalProperties": values_schema} if values_schema else schema
    return schema


def _any_of(inner: list[ast.expr]) -> dict[str, Any]:
    options = [schema_of(each) for each in inner]
    return {"anyOf": options} if all(options) else {}


def _default(node: ast.expr) -> dict[str, Any]:
    """Return the default of an argument, if it is a JSON value; a computed one is left out, the argument optional."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return {}
    return (
        {"default": value}
        if isinstance(value, str | int | float | bool | list | dict | None)
        else {}
    )
