"""Measure single functions.

Functions, methods and nested functions count alike; lambdas do not count. A nested function counts
as one of its own, and its lines belong to the function around it, too.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from code_metrics.source import Module, Package, docstring

FUNCTION_TYPES = (ast.FunctionDef, ast.AsyncFunctionDef)
_BLOCKS = (
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.With,
    ast.AsyncWith,
    ast.Try,
    ast.TryStar,
    ast.Match,
    *FUNCTION_TYPES,
)
_BRANCHES = (
    ast.If,
    ast.IfExp,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.ExceptHandler,
    ast.match_case,
)


@dataclass(frozen=True)
class Function:
    """A function and the module that holds it."""

    module: Module
    node: ast.FunctionDef | ast.AsyncFunctionDef

    @property
    def name(self) -> str:
        """Return the name without those of the class or function around it."""
        return self.node.name

    @property
    def is_private(self) -> bool:
        """Return True for a name with a leading underscore that is not a magic method."""
        return self.name.startswith("_") and not self.name.startswith("__")


def functions(package: Package) -> list[Function]:
    """Return all functions of a package."""
    return [
        Function(module, node)
        for module in package.modules
        for node in ast.walk(module.tree)
        if isinstance(node, FUNCTION_TYPES)
    ]


def length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines from ``def`` to the end without decorators and docstring."""
    first = node.body[0]
    documented = _lines(first) if docstring(first) is not None else 0
    return _lines(node) - documented


def nesting(node: ast.AST) -> int:
    """Return how deep blocks are nested inside a node.

    Blocks are if, for, while, with, try, match and nested functions. An ``elif`` is as deep as its
    ``if``; an ``else`` that holds a single ``if`` reads the same to the parser and counts the same.
    """
    return max(
        (_level(node, child) + nesting(child) for child in ast.iter_child_nodes(node)), default=0
    )


def cyclomatic(node: ast.AST) -> int:
    """Count the paths through a function.

    One, and one more for each if, conditional expression, loop, except clause, case (the wildcard
    included), operator ``and`` or ``or``, and ``for`` and ``if`` of a comprehension. Nested
    functions and classes are left out.
    """
    return 1 + sum(_branches(child) for child in _own_code(node))


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the parameters except ``self``, ``cls`` and ``**kwargs``; ``*args`` counts."""
    positional = [*node.args.posonlyargs, *node.args.args]
    bound = bool(positional) and positional[0].arg in ("self", "cls")
    return len(positional) - bound + len(node.args.kwonlyargs) + (node.args.vararg is not None)


def words(name: str) -> int:
    """Count the words of a name that are divided by underscores."""
    return len([word for word in name.split("_") if word])


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _level(parent: ast.AST, child: ast.AST) -> int:
    chained = isinstance(parent, ast.If) and isinstance(child, ast.If) and parent.orelse == [child]
    return int(isinstance(child, _BLOCKS) and not chained)


def _own_code(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (*FUNCTION_TYPES, ast.ClassDef)):
            yield child
            yield from _own_code(child)


def _branches(node: ast.AST) -> int:
    match node:
        case ast.BoolOp(values=values):
            return len(values) - 1
        case ast.comprehension(ifs=conditions):
            return 1 + len(conditions)
        case _:
            return int(isinstance(node, _BRANCHES))
