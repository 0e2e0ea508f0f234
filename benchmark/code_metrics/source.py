"""Read the modules of a package: text, syntax tree, and the kind of each line.

Every line is of one kind, in this order: docstring (blank lines inside it included), blank,
comment, code. A docstring is every statement that is only a string, so the strings that document
attributes count, too. A comment line holds nothing but a comment.
"""

import ast
import io
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path


@dataclass(frozen=True)
class Module:
    """One file of a package."""

    path: Path
    """Path of the file."""
    place: Path
    """Path relative to the package's folder."""
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """Return the syntax tree."""
        return ast.parse(self.text, filename=str(self.path))

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """Return the lines without their ends, numbered from 0."""
        return tuple(self.text.removesuffix("\n").split("\n")) if self.text else ()

    @cached_property
    def docstring_lines(self) -> frozenset[int]:
        """Return the numbers of the lines of docstrings, from 1."""
        return frozenset(
            line
            for node in ast.walk(self.tree)
            if isinstance(node, ast.stmt) and docstring(node) is not None
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        )

    @cached_property
    def comment_lines(self) -> frozenset[int]:
        """Return the numbers of the lines that hold nothing but a comment, from 1."""
        return frozenset(
            token.start[0]
            for token in comments(self.text)
            if not token.line[: token.start[1]].strip()
        )

    @cached_property
    def blank_lines(self) -> frozenset[int]:
        """Return the numbers of the blank lines outside docstrings, from 1."""
        return frozenset(
            number
            for number, line in enumerate(self.lines, start=1)
            if not line.strip() and number not in self.docstring_lines
        )

    @cached_property
    def code_lines(self) -> tuple[tuple[int, str], ...]:
        """Return number and text of the lines that are neither docstring nor blank nor comment."""
        others = self.docstring_lines | self.comment_lines | self.blank_lines
        return tuple(
            (number, line)
            for number, line in enumerate(self.lines, start=1)
            if number not in others
        )

    @property
    def is_package(self) -> bool:
        """Return True for an ``__init__.py``."""
        return self.path.name == "__init__.py"


@dataclass(frozen=True)
class Package:
    """A package's folder with its modules."""

    root: Path
    modules: tuple[Module, ...]
    """All modules below the folder, ordered by path."""


def load(root: Path, exclude: Sequence[str] = ()) -> Package:
    """Read every Python file below a folder.

    Args:
        root: The package's folder; its name is the name of the package.
        exclude: Names of folders to leave out; folders whose name begins with a dot are always left
            out.

    Raises:
        FileNotFoundError: The folder does not exist or holds no Python file.
    """
    root = root.resolve()
    modules = tuple(
        Module(path=path, place=path.relative_to(root), text=path.read_text(encoding="utf-8"))
        for path in sorted(root.rglob("*.py"))
        if not any(
            part.startswith(".") or part in exclude for part in path.relative_to(root).parent.parts
        )
    )
    if not modules:
        raise FileNotFoundError(f"{root} holds no Python file; give the folder of a package")
    return Package(root=root, modules=modules)


def docstring(node: ast.AST) -> str | None:
    """Return the text of a statement that is only a string, else None."""
    match node:
        case ast.Expr(value=ast.Constant(value=str() as text)):
            return text
        case _:
            return None


def comments(text: str) -> list[tokenize.TokenInfo]:
    """Return the comments of a source, also those that follow code on their line."""
    if "#" not in text:  # to cut a source into tokens takes longer than to parse it
        return []
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token for token in tokens if token.type == tokenize.COMMENT]
