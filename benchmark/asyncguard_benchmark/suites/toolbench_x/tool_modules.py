"""Tool modules of ToolBench-X, read as text: what they define is seen in their syntax trees; nothing of them runs."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.suites.toolbench_x.schemas import described_by, parameters_of

STRICT = "strict_no_hint_profile"
GUIDED = "guided_with_hint_profile"
HINTS = "EXCEPTION_HINTS"
DEFAULT_INJECTION: Mapping[str, Any] = {
    name: {
        "enabled": True,
        "probability": share,
        "max_times": 1,
        "exception_type": exception,
        "drift_mode": drift,
    }
    for name, share, exception, drift in (
        ("before_tool_logic", 1.0, "RuntimeError", None),
        ("before_external_call", 0.5, "TimeoutError", None),
        ("after_external_call_before_parse", 0.3, "ValueError", "shape_drift"),
        ("before_return", 0.25, "RuntimeError", "rename_fields"),
    )
}
"""Faults that the published runner gives a module without profiles, or without a function to choose
one."""
_CONSTANTS = frozenset({STRICT, GUIDED, HINTS})


@dataclass(frozen=True, kw_only=True)
class ForeignTool:
    """One function that the agent may call."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema of the arguments."""


@dataclass(frozen=True, kw_only=True)
class ForeignModule:
    """One file of tools."""

    path: Path
    tools: tuple[ForeignTool, ...]
    """Those of the task, in its order."""
    constants: Mapping[str, Any] = field(default_factory=dict)
    """Profiles and hints that stand in the file as literals."""
    computed: frozenset[str] = frozenset()
    """Profiles and hints that the file computes: what they are is known only when it runs."""


def read_module(path: Path, wanted: Sequence[str], where: str) -> ForeignModule:
    """Read a module.

    Args:
        path: The file.
        wanted: Names of the functions that the task needs.
        where: Name of the file in errors.

    Raises:
        DataError: it cannot be read as Python, or does not define all of the functions at its top
            level.
    """
    try:
        tree = ast.parse(path.read_bytes(), filename=where)
    except SyntaxError as problem:
        raise DataError(
            where, f"line {problem.lineno}: {problem.msg}; expected a Python module"
        ) from problem
    except ValueError as problem:
        raise DataError(where, f"{problem}; expected a Python module") from problem
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    missing = [name for name in wanted if name not in functions]
    if missing:
        defined = ", ".join(functions) or "none"
        text = (
            f"expected a top-level function {', '.join(missing)} (not async); it defines {defined}"
        )
        raise DataError(where, text)
    constants, computed = _constants(tree)
    tools = tuple(_tool(functions[name], where) for name in wanted)
    return ForeignModule(path=path, tools=tools, constants=constants, computed=computed)


def _tool(function: ast.FunctionDef, where: str) -> ForeignTool:
    description, _ = described_by(function)
    return ForeignTool(
        name=function.name,
        description=description or f"Run {function.name}.",
        parameters=parameters_of(function, where),
    )


def _constants(tree: ast.Module) -> tuple[dict[str, Any], frozenset[str]]:
    found: dict[str, Any] = {}
    computed: set[str] = set()
    for node in tree.body:
        for name, value in _assigned(node):
            try:
                found[name] = ast.literal_eval(value)
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                computed.add(name)
    return found, frozenset(computed)


def _assigned(node: ast.stmt) -> list[tuple[str, ast.expr]]:
    match node:
        case ast.Assign(targets=targets, value=value):
            names = [each.id for each in targets if isinstance(each, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            names = [name]
        case _:
            return []
    return [(name, value) for name in names if name in _CONSTANTS]
