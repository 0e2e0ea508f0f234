"""The effect log: what happened outside of the agents, line by line, on disk before the next thing happens.

It is the outside world of the harness. Tools write to it at the instant of their effect, the client writes what it
was shown, and a process that kills itself logs that first. Lines are numbered under a file lock, so
their order is one order for all processes. Only the standard library: what judges a run must not
depend on what it judges.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any


class What(StrEnum):
    """Kind of a line."""

    OPEN = "open"
    """A process opened a session with the outside world."""
    RUNS = "runs"
    """A client is about to have its agent run: random kills are counted from here, however slow the start was."""
    BEGUN = "begun"
    """A tool was entered; its effect may follow."""
    DECLINED = "declined"
    """A tool refused before anything began, and said so."""
    EFFECT = "effect"
    """The effect happened."""
    REPEATED = "repeated"
    """A request was recognised by its key: the first answer again, no second effect."""
    VOIDED = "voided"
    """A request of an old session came after a probe had closed it: no effect."""
    RETURNED = "returned"
    """A tool is about to answer."""
    PROBED = "probed"
    """A probe looked for an effect; without one it closed what older sessions may still send."""
    CANCELLED = "cancelled"
    """A tool was cancelled after its effect."""
    FAILED = "failed"
    """A tool raised after it was entered; the note says whether its effect had happened."""
    TOKEN = "token"
    """Work outside was started; the note is the token with which its result is to be delivered."""
    DELIVERED = "delivered"
    """The outside world delivered a result."""
    ASKED = "asked"
    """A person was shown the question whether a call may begin."""
    ANSWERED = "answered"
    """The person decided; the note is ``yes`` or ``no``."""
    SPOKE = "spoke"
    """The client resumes the thread with a new message of the user, instead of with nothing; the note is its text."""
    SEEN = "seen"
    """The client of the agent was shown a result."""
    REFUSED = "refused"
    """The runtime refused to work in this way, before anything began."""
    FORKED = "forked"
    """The client took up an earlier state of the thread: what came after it is given up."""
    KILL = "kill"
    """A process is about to kill or freeze itself at a named point."""
    MADE = "made"
    """The model made a call; the note is its task."""
    GOT = "got"
    """A tool was given an answer, the note, to its question; the key names the question."""
    GIVEN = "given"
    """The client is about to give an answer, the note, to a tool's question; the key names it."""
    PAUSED = "paused"
    """A tool asks after its effect: it is entered again with the answer."""
    ACTS = "acts"
    """A client is about to do something, the note."""
    DID = "did"
    """It has come to its end; the note is ``refused`` if the runtime refused it."""
    SETTLED = "settled"
    """An operator settled a doubt by command; the note is the answer."""
    UNANSWERED = "unanswered"
    """A request to the model whose calls do not have one answer each; the note names them."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of the log."""

    n: int
    """Its number, from 1: the order of all lines."""
    life: int
    """Number of the process within the case, from 0."""
    pid: int
    """The process."""
    what: What
    """Kind of the line."""
    tool: str = ""
    """The tool."""
    item: str = ""
    """Item of the call; each call that the model makes has an item of its own."""
    receipt: str = ""
    """The answer of the outside world."""
    after: str = ""
    """The receipt that a dependent call was given."""
    key: str = ""
    """The idempotency key that the tool was given."""
    note: str = ""
    """The point of a kill, the answer of a probe."""

    def to_json(self) -> dict[str, Any]:
        """Return it as one JSON object, empty fields left out."""
        return {name: value for name, value in vars(self).items() if value not in ("", None)}


def read_log(path: Path) -> tuple[Line, ...]:
    """Return all lines in order.

    Raises:
        ValueError: A line cannot be read or the numbers have a gap: the log cannot be used as evidence.
    """
    if not path.exists():
        return ()
    lines = tuple(_parsed(text) for text in path.read_text(encoding="utf-8").splitlines())
    if [line.n for line in lines] != list(range(1, len(lines) + 1)):
        raise ValueError(f"The lines of {path} are not numbered 1 to {len(lines)}.")
    return lines


def _parsed(text: str) -> Line:
    data = json.loads(text)
    return Line(**{**data, "what": What(data["what"])})


class Page:
    """The log while it is locked: what stands there, and room for more."""

    def __init__(self, descriptor: int, path: Path, life: int) -> None:
        """Read what stands there; made by :meth:`EffectLog.locked`."""
        self._descriptor = descriptor
        self._life = life
        self.lines: list[Line] = list(read_log(path))

    def add(self, what: What, **fields: str) -> Line:
        """Write a line; it is on disk when this returns."""
        line = Line(n=len(self.lines) + 1, life=self._life, pid=os.getpid(), what=what, **fields)
        text = json.dumps(line.to_json(), ensure_ascii=False)
        os.write(self._descriptor, f"{text}\n".encode())
        os.fsync(self._descriptor)
        self.lines.append(line)
        return line

    def find(self, what: What, **fields: str) -> Line | None:
        """Return the first line that tells this and has these fields."""
        for line in self.lines:
            if line.what is what and all(
                getattr(line, name) == value for name, value in fields.items()
            ):
                return line
        return None


class EffectLog:
    """Writer to the log of one case, from any process and thread."""

    def __init__(self, path: Path, life: int) -> None:
        """Make a writer.

        Args:
            path: The file; made with the first line.
            life: Number of this process within the case.
        """
        self.path = path
        self.life = life

    @contextmanager
    def locked(self) -> Iterator[Page]:
        """Look and write as one step that no other process comes between; a killed process leaves no lock behind."""
        descriptor = os.open(self.path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield Page(descriptor, self.path, self.life)
        finally:
            os.close(descriptor)

    def lines(self) -> list[Line]:
        """Return all lines, while other processes write."""
        with self.locked() as page:
            return page.lines

    def add(self, what: What, **fields: str) -> Line:
        """Write one line; it is on disk when this returns."""
        with self.locked() as page:
            return page.add(what, **fields)
