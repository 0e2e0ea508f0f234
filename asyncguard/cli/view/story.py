"""Content of a page, independent of the kind of file: groups, tasks, and what happened in order.

A group is a run of a trace, or an episode of a benchmark. Every text of it comes from a file that
may be hostile; nothing here is escaped, as the page puts all of it into text nodes.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from asyncguard.errors import CallerError

LONGEST = 20_000
"""Characters of one text that the page shows; of a longer one it says how many were left out."""
NOT_IN_FILE = "not in the file; TraceFile(..., payloads=True) writes it"
NEVER = -1
"""End of a call whose result was not delivered."""


class ViewError(CallerError):
    """The file cannot be shown; the message says where it is damaged, or what it is instead."""


def cut(text: str) -> str:
    """Return the text, or its beginning and the number of characters that were left out."""
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}\u2026 ({len(text) - LONGEST:,} characters more are in the file)"


def shown(value: Any) -> str:
    """Return a JSON value as text: a string as it is, anything else indented."""
    if isinstance(value, str):
        return cut(value)
    return cut(json.dumps(value, indent=1, ensure_ascii=False))


@dataclass(kw_only=True)
class Item:
    """One line of the list: a call, a message, or a thing that happened to the run."""

    kind: str
    """call, message or run."""
    column: int
    """Turn of the model, or tick of the benchmark, in which it happened; 0 before the first."""
    task: str
    """Id of its task, empty if it belongs to none."""
    name: str
    line: str = ""
    """What matters about it, in one line."""
    status: str = ""
    """The strongest of its flags, or what else tells it apart."""
    end: int = NEVER
    """Column in which the result was delivered."""
    flags: list[str] = field(default_factory=list)
    """Properties that the page filters by."""
    sections: list[tuple[str, str]] = field(default_factory=list)
    """Heading and text, for the reader who chose it."""
    steps: list[tuple[str, str, str]] = field(default_factory=list)
    """Time, what happened, and why, in order."""

    def flag(self, name: str) -> None:
        """Add a flag once."""
        if name not in self.flags:
            self.flags.append(name)

    def to_json(self) -> dict[str, Any]:
        """Return the form that the page reads."""
        return {
            "k": self.kind,
            "c": self.column,
            "t": self.task,
            "n": self.name[:400],
            "l": self.line[:400],
            "s": self.status,
            "e": self.end,
            "f": self.flags,
            "d": self.sections,
            "h": self.steps,
        }


@dataclass(kw_only=True)
class Group:
    """A run, or an episode."""

    id: str
    """Target of links into the page; unique in the file."""
    column: str
    """Name of a column: turn or tick."""
    tasks: dict[str, str] = field(default_factory=dict)
    """Id -> what the user wants, as far as the file has it."""
    facts: list[tuple[str, str]] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the form that the page reads."""
        return {
            "id": self.id,
            "column": self.column,
            "tasks": list(self.tasks.items()),
            "facts": self.facts,
            "items": [item.to_json() for item in self.items],
        }

    @property
    def calls(self) -> int:
        """Number of calls."""
        return sum(item.kind == "call" for item in self.items)

    @property
    def rejected(self) -> int:
        """Number of calls that a guard rejected."""
        return sum("rejected" in item.flags for item in self.items)


@dataclass(frozen=True, kw_only=True)
class Content:
    """All that a file says."""

    kind: str
    """trace or episodes."""
    groups: tuple[Group, ...]
    problems: tuple[str, ...] = ()
    """Parts that were left out and why, for a person."""

    def select(self, wanted: str | None) -> "Content":
        """Return the groups whose id begins so.

        Raises:
            ViewError: There is no such group.
        """
        if wanted is None:
            return self
        found = tuple(group for group in self.groups if group.id.startswith(wanted))
        if not found:
            ids = ", ".join(_some(group.id for group in self.groups)) or "none"
            raise ViewError(f"The file has no run or episode {wanted!r}; it has: {ids}.")
        return Content(kind=self.kind, groups=found, problems=self.problems)


def _some(ids: Iterable[str]) -> list[str]:
    every = list(ids)
    return every if len(every) <= 8 else [*every[:8], f"and {len(every) - 8} more"]


def arguments_of(value: Mapping[str, Any]) -> str:
    """Return arguments in one line, as a call is written."""
    said = (
        f"{name}={json.dumps(each, ensure_ascii=False, default=str)}"
        for name, each in value.items()
    )
    return ", ".join(said)
