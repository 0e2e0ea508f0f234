"""Signatures of the executor classes, read from their source without importing it."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from asyncguard_benchmark.errors import DataError


@dataclass(frozen=True, kw_only=True)
class Method:
    """A public method: a tool."""

    name: str
    parameters: tuple[str, ...]
    """In the order of positional arguments, without ``self``."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Parameter -> default, where it is a literal."""
    optional: frozenset[str] = frozenset()
    """Parameters with a default of any kind."""


def methods_of(source: bytes, class_name: str, where: str) -> dict[str, Method]:
    """Return the public methods of a class.

    Raises:
        DataError: the source does not parse, or holds no such class.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as problem:
        raise DataError(where, f"the source does not parse: {problem}") from problem
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == class_name:
            found = (each for each in node.body if isinstance(each, ast.FunctionDef))
            return {each.name: _method(each) for each in found if not each.name.startswith("_")}
    raise DataError(where, f"there is no class {class_name}; its tools cannot be called")


def _method(node: ast.FunctionDef) -> Method:
    arguments = [*node.args.posonlyargs, *node.args.args][1:]
    pairs = list(zip(reversed(arguments), reversed(node.args.defaults), strict=False))
    pairs += [
        (each, default)
        for each, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        if default is not None
    ]
    defaults = {}
    for each, default in pairs:
        try:
            defaults[each.arg] = ast.literal_eval(default)
        except ValueError:  # an expression: a call without it gets what the code says
            continue
    return Method(
        name=node.name,
        parameters=tuple(each.arg for each in (*arguments, *node.args.kwonlyargs)),
        defaults=defaults,
        optional=frozenset(each.arg for each, _ in pairs),
    )
