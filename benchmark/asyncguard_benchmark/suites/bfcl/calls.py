"""Calls of the ground truth, parsed from their text: one call of a known tool with literal arguments, or an error."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.suites.bfcl.signatures import Method

LONGEST = 20_000
"""Characters of a call that is parsed; the longest of the truth has a few hundred."""


@dataclass(frozen=True, kw_only=True)
class TruthCall:
    """One call of the ground truth."""

    class_name: str
    tool: str
    arguments: Mapping[str, Any]
    """JSON values by name, positional ones among them."""
    positional: int
    """Number of arguments that the text gives by position."""


def parse_call(text: Any, owners: Mapping[str, tuple[str, Method]], where: str) -> TruthCall:
    """Return a call; nothing of the text is evaluated.

    Args:
        text: A call as Python writes it, with keyword or positional literals.
        owners: Tool -> class and method.
        where: File, line and id, for the message.

    Raises:
        DataError: the text is anything but one such call.
    """
    if not isinstance(text, str) or len(text) > LONGEST:
        raise DataError(where, f"expected the text of a call, found {str(text)[:60]!r}")
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        raise DataError(where, f"{text[:60]!r} does not parse: {problem}") from problem
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise DataError(
            where, f"{text[:60]!r} is not one call of a plain name; nothing else is run"
        )
    if node.func.id not in owners:
        raise DataError(
            where, f"{text[:60]!r} calls {node.func.id[:60]!r}, which no class of the entry has"
        )
    class_name, method = owners[node.func.id]
    if len(node.args) > len(method.parameters):
        raise DataError(where, f"{text[:60]!r} has more arguments than {method.name} takes")
    arguments: dict[str, Any] = {}
    given = [
        *zip(method.parameters, node.args, strict=False),
        *((each.arg or "**", each.value) for each in node.keywords),
    ]
    for name, value in given:
        if name in arguments:
            raise DataError(where, f"{text[:60]!r} gives {name[:60]!r} twice")
        if name not in method.parameters:
            raise DataError(
                where, f"{text[:60]!r} gives {name[:60]!r}, which {method.name} does not take"
            )
        arguments[name] = _literal(value, text, where)
    lacking = [
        each for each in method.parameters if each not in arguments and each not in method.optional
    ]
    if lacking:
        raise DataError(where, f"{text[:60]!r} lacks {', '.join(lacking)}")
    return TruthCall(
        class_name=class_name,
        tool=method.name,
        arguments=arguments,
        positional=len(node.args),
    )


def _literal(node: ast.expr, text: str, where: str) -> Any:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, MemoryError, RecursionError) as problem:
        raise DataError(where, f"{text[:60]!r} has an argument that is not a literal") from problem
    if not _is_json(value):
        raise DataError(where, f"{text[:60]!r} has an argument that JSON cannot say")
    return value


def _is_json(value: Any) -> bool:
    match value:
        case None | bool() | int() | str():
            return True
        case float():
            return value == value and abs(value) != float("inf")
        case list():
            return all(map(_is_json, value))
        case dict():
            return all(isinstance(name, str) and _is_json(each) for name, each in value.items())
        case _:
            return False
