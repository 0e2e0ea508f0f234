"""List the places that a column counts, so that they can be worked on."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from code_metrics.columns import is_gerund, long_lines
from code_metrics.functions import Function, functions, length
from code_metrics.language import banned_uses, begins_with_relative_clause, text_files, texts_of
from code_metrics.source import load
from code_metrics.texts import docstrings
from code_metrics.uses import private_with_one_use

LONG_FUNCTION = 60


@dataclass(frozen=True, kw_only=True)
class Place:
    """A line to look at."""

    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


def _of_function(function: Function) -> Place:
    return Place(
        path=function.module.path,
        line=function.node.lineno,
        text=f"{function.name}, {length(function.node)} lines",
    )


def _private_one_caller(root: Path) -> Iterator[Place]:
    for function, uses in private_with_one_use(load(root)):
        place = _of_function(function)
        where = f"used on line {uses[0]}" if uses else "not used in its file"
        yield replace(place, text=f"{place.text}, {where}")


def _over_60(root: Path) -> Iterator[Place]:
    for function in functions(load(root)):
        if length(function.node) > LONG_FUNCTION:
            yield _of_function(function)


def _relative(root: Path) -> Iterator[Place]:
    for module in load(root).modules:
        for text in docstrings(module.tree):
            if begins_with_relative_clause(text.text):
                first = text.text.strip().partition("\n")[0]
                yield Place(path=module.path, line=text.line, text=f"{text.kind}: {first}")


def _gerunds(root: Path) -> Iterator[Place]:
    for module in load(root).modules:
        if is_gerund(module):
            yield Place(path=module.path, line=1, text=module.path.stem)


def _long_lines(root: Path) -> Iterator[Place]:
    for module in load(root).modules:
        for number, line in long_lines(module):
            yield Place(path=module.path, line=number, text=f"{len(line)} columns")


def _banned(root: Path) -> Iterator[Place]:
    files = text_files(root.resolve())
    if not files:
        raise FileNotFoundError(f"{root} holds no Python file and no document")
    for path in files:
        for use in banned_uses(texts_of(path)):
            yield Place(path=path, line=use.line, text=str(use))


LISTS: dict[str, Callable[[Path], Iterator[Place]]] = {
    "private-one-caller": _private_one_caller,
    "relative": _relative,
    "banned": _banned,
    "gerunds": _gerunds,
    "long-lines": _long_lines,
    "over-60": _over_60,
}
"""Each list yields all places below a folder; ``banned`` reads Markdown documents, too."""
