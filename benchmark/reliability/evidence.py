"""The evidence of a case as the judge reads it: effect log, processes, final thread, rows of the journal.

Nothing of asyncguard is imported here or in :mod:`reliability.judge`: a runtime must not be judged by its own code.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reliability.effectlog import Line, What, read_log

RECEIPT = re.compile(r"R\d+/\w+/\w+")
"""Receipt of the outside world: a number, the tool, the item."""


@dataclass(frozen=True, kw_only=True)
class Process:
    """One process of the case."""

    life: int
    pid: int
    died: bool
    """True if it was killed, raised, or was frozen while another process went on."""
    kind: str = "agent"


@dataclass(frozen=True, kw_only=True)
class JournalAttempt:
    """One row of attempts."""

    key: str
    number: int
    tool: str
    fingerprint: str
    arguments: Mapping[str, Any]
    state: str
    pid: int
    """Id of the process that began it, in the operating system."""
    result: Mapping[str, Any] | None
    again: bool = False
    """True if a process that has ended had begun it before."""


@dataclass(frozen=True, kw_only=True)
class JournalCall:
    """One row of calls."""

    key: str
    task: str
    label: str
    state: str
    attempts: tuple[JournalAttempt, ...] = ()


@dataclass(kw_only=True)
class ThreadCall:
    """One call as the events of the thread tell of it."""

    key: str
    tool: str
    item: str
    task: str
    label: str
    call_id: str
    ends: list[tuple[int, str]] = field(default_factory=list)
    """Number of the event and the state that it brought, for states in which a call ends."""
    starts: list[int] = field(default_factory=list)
    """Numbers of the events that started it."""

    @property
    def end(self) -> str:
        """Return its current end; empty if it is open."""
        return self.ends[-1][1] if self.ends else ""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The evidence of a case."""

    case: Mapping[str, Any]
    """The case as plain JSON."""
    classes: Mapping[str, str]
    """Effect class of each tool."""
    operands: Mapping[str, str]
    """Item of a dependent call to the item on whose result it depends."""
    lines: tuple[Line, ...]
    """The effect log."""
    approved: frozenset[str] = frozenset()
    """Tools no call of which may begin before a person has said yes."""
    processes: tuple[Process, ...]
    """All processes."""
    state: Mapping[str, Any] | None
    """The final thread; ``None`` if no run ended."""
    calls: Mapping[str, ThreadCall]
    """Calls of the thread by key; a call that has events but was never proposed has no tool."""
    journal: tuple[JournalCall, ...] | None
    """Rows of the journal for this thread; ``None`` for an agent without one."""

    def of(self, *kinds: What, item: str | None = None) -> list[Line]:
        """Return the lines of the log of some kinds."""
        return [line for line in self.lines if line.what in kinds and item in (None, line.item)]

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        """Messages of the final thread, each with its type and its data."""
        assert self.state is not None  # judge() sees to it
        return [{"type": message["type"], **message["data"]} for message in self.state["messages"]]

    @property
    def died(self) -> frozenset[int]:
        """Processes that did not come to their end by themselves."""
        return frozenset(process.pid for process in self.processes if process.died)


def receipts_in(content: Any) -> set[str]:
    """Return the receipts in a text."""
    return set(RECEIPT.findall(str(content)))


_NOBODY = "lost"
"""The process of a start that is only assumed: an attempt may have begun without any trace."""
_ENDS: Mapping[str, str] = {
    "call_rejected": "rejected",
    "call_squashed": "squashed",
    "call_cancelled": "cancelled",
}


def thread_calls(events: Iterable[Mapping[str, Any]]) -> dict[str, ThreadCall]:
    """Return the calls of a thread, folded from its events."""
    calls: dict[str, ThreadCall] = {}
    ordinals: dict[tuple[str, str], int] = {}

    def of(key: str) -> ThreadCall:
        return calls.setdefault(
            key, ThreadCall(key=key, tool="", item="", task="", label=key, call_id="")
        )

    for event in events:
        kind, number = event["kind"], int(event["n"])
        if kind == "call_proposed":
            made = event["call"]
            place = (made["task"], made["tool"])
            ordinals[place] = ordinals.get(place, 0) + 1
            calls[made["key"]] = ThreadCall(
                key=made["key"],
                tool=made["tool"],
                item=str(made["arguments"].get("item", "")),
                task=made["task"],
                label=f"{made['tool']}#{ordinals[place]}",
                call_id=made["call_id"],
            )
        elif kind == "call_started" and event["epoch"] != _NOBODY:
            of(event["key"]).starts.append(number)
        elif kind == "call_retired":
            of(event["key"]).ends.append((number, event["outcome"]))
        elif kind in _ENDS:
            of(event["key"]).ends.append((number, _ENDS[kind]))
    return calls


def read_evidence(folder: Path, journal: tuple[JournalCall, ...] | None) -> Evidence:
    """Read the evidence of a case.

    Args:
        folder: Folder of the case.
        journal: Rows of its journal, read by :mod:`reliability.rows`; ``None`` if the agent has none.
    """
    case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    lives = json.loads((folder / "lives.json").read_text(encoding="utf-8"))
    dumped = folder / "state.json"
    state = json.loads(dumped.read_text(encoding="utf-8")) if dumped.exists() else None
    return Evidence(
        case=case,
        classes=case["classes"],
        operands=case["operands"],
        approved=frozenset(case["approved"]),
        lines=read_log(folder / "effects.jsonl"),
        processes=tuple(Process(**life) for life in lives),
        state=state,
        calls=thread_calls(state["ledger"]) if state is not None else {},
        journal=journal,
    )
