"""Take the texts out of a source that people read: docstrings, comments, messages and documents."""

import ast
import enum
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from code_metrics.source import comments, docstring

_HELP = frozenset({"help", "description", "epilog", "usage", "title"})
_PARSERS = frozenset(
    {"ArgumentParser", "add_argument", "add_argument_group", "add_parser", "add_subparsers"}
)
_FENCE = re.compile(r"^[ \t]*```.*?^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r"(?<!`)(`{1,2})(?!`)(?:(?!\n[ \t]*\n)[^`])+\1(?!`)")
"""Code inside a paragraph; a backtick without its other half hides nothing beyond the paragraph."""


class Kind(enum.StrEnum):
    """The place of a text."""

    DOCSTRING = "docstring"
    """First statement of a module, class or function, but for that of a tool."""
    ATTRIBUTE = "attribute docstring"
    """Any other statement that is only a string."""
    COMMENT = "comment"
    MESSAGE = "message"
    """Text of an exception that is raised, help of a command line, or description of a tool: the docstring of a
    function that is decorated with ``tool(...)``."""
    DOCUMENT = "document"


@dataclass(frozen=True, kw_only=True)
class Text:
    """A piece of prose."""

    kind: Kind
    line: int
    """Line on which it begins, from 1."""
    text: str

    def without_code(self) -> str:
        """Return the text with spaces for code in backticks; line numbers stay the same."""
        return _SPAN.sub(_blank, _FENCE.sub(_blank, self.text))


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def python_texts(source: str) -> list[Text]:
    """Return docstrings, comments and messages of a Python source, ordered by line.

    Messages are the strings inside ``raise ...`` and the help texts that are given to argparse. A
    value in an f-string reads ``{}``. A comment and the comment lines directly below it are one
    text.
    """
    tree = ast.parse(source)
    found = [*docstrings(tree), *_comments(source), *_messages(tree)]
    return sorted(found, key=lambda text: text.line)


def document_texts(source: str) -> list[Text]:
    """Return the text of a Markdown document."""
    return [Text(kind=Kind.DOCUMENT, line=1, text=source)]


def docstrings(tree: ast.Module) -> Iterator[Text]:
    """Yield the docstrings of a module, those of attributes included."""
    for node in _holders(tree):
        named = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for position, statement in enumerate(_body(node)):
            text = docstring(statement)
            if text is not None:
                kind = Kind.DOCSTRING if named and position == 0 else Kind.ATTRIBUTE
                if kind is Kind.DOCSTRING and _is_tool(node):
                    kind = Kind.MESSAGE
                yield Text(kind=kind, line=statement.lineno, text=text)


def _holders(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes that may hold statements; most nodes are inside expressions, which hold none."""
    nodes: deque[ast.AST] = deque([tree])
    while nodes:
        node = nodes.popleft()
        nodes += (each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.expr))
        yield node


def _is_tool(node: ast.AST) -> bool:
    decorators = getattr(node, "decorator_list", [])
    return any(isinstance(each, ast.Call) and _called(each.func) == "tool" for each in decorators)


def _body(node: ast.AST) -> list[ast.stmt]:
    """Return the statements directly inside a node, those of an else or finally included."""
    return [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]


def _comments(source: str) -> Iterator[Text]:
    block: list[str] = []
    start = 0
    for token in comments(source):
        line, column = token.start
        alone = not token.line[:column].strip()
        if block and not (alone and line == start + len(block)):
            yield Text(kind=Kind.COMMENT, line=start, text="\n".join(block))
            block = []
        if not block:
            start = line
        block.append(token.string.lstrip("#!: "))
    if block:
        yield Text(kind=Kind.COMMENT, line=start, text="\n".join(block))


def _messages(tree: ast.Module) -> Iterator[Text]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            yield from _strings(node.exc)
        elif isinstance(node, ast.Call) and _called(node.func) in _PARSERS:
            for keyword in node.keywords:
                if keyword.arg in _HELP:
                    yield from _strings(keyword.value)


def _called(function: ast.expr) -> str:
    match function:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def _strings(node: ast.AST) -> Iterator[Text]:
    match node:
        case ast.Constant(value=str() as value, lineno=line):
            yield Text(kind=Kind.MESSAGE, line=line, text=value)
        case ast.JoinedStr(values=values, lineno=line):
            parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in values]
            yield Text(kind=Kind.MESSAGE, line=line, text="".join(map(str, parts)))
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _strings(child)
