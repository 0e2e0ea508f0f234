"""Readers of a Markdown document: generated blocks, code, tables and links."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")))
"""The README and the pages of the documentation."""
_BLOCK = re.compile(r"(<!-- generated: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
_FENCE = re.compile(r"^```([\w{}-]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


@dataclass(frozen=True, kw_only=True)
class Fence:
    """A fenced code block."""

    language: str
    text: str
    line: int
    """Line of the document on which the code begins, from 1."""


def read(name: str) -> str:
    """A document of the project's root."""
    return (ROOT / name).read_text(encoding="utf-8")


def guides() -> str:
    """Return the README and all pages for users as one text; those about the inside are left out."""
    inside = {"docs/architecture.md", "docs/reliability.md", "docs/state-tables.md"}
    return "\n\n".join(read(page) for page in PAGES if page not in inside)


def generated_names(text: str) -> list[str]:
    """Names of the generated blocks, in order."""
    return [found[2] for found in _BLOCK.finditer(text)]


def regenerated(text: str, makers: Mapping[str, Callable[[], str]]) -> str:
    """Return the document with every generated block made again.

    Raises:
        KeyError: A block has a name that no maker has.
    """
    return _BLOCK.sub(lambda found: f"{found[1]}{makers[found[2]]().strip()}\n{found[4]}", text)


def fences(text: str) -> list[Fence]:
    """Fenced code blocks in order."""
    return [
        Fence(language=found[1], text=found[2], line=text.count("\n", 0, found.start(2)) + 1)
        for found in _FENCE.finditer(text)
    ]


def prose(text: str) -> str:
    """The document without fenced code."""
    return _FENCE.sub("", text)


def links(text: str) -> list[str]:
    """Targets of the links in the prose."""
    return _LINK.findall(prose(text))


def code_spans(text: str) -> list[str]:
    """Return the code spans of the prose."""
    return _CODE.findall(prose(text))


def rows(text: str, head: str) -> list[list[str]]:
    """The cells of the table whose first column is called ``head``.

    Raises:
        LookupError: There is no such table.
    """
    lines = text.splitlines()
    start = next(
        (place for place, line in enumerate(lines) if line.startswith(f"| {head} |")), None
    )
    if start is None:
        raise LookupError(f"There is no table whose first column is called {head!r}.")
    return list(_rows(lines[start + 2 :]))


def _rows(lines: list[str]) -> Iterator[list[str]]:
    for line in lines:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in line.strip("|").split(" | ")]
