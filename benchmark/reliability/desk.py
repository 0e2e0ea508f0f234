"""The tools of the README's agents: functions with a declaration above them, or with none, as a user writes them.

They stand in a module that agents and workers import. What they call is put in their place by :func:`open_desk`, once
in each process.
"""

import asyncio
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from asyncguard import ToolFault, guarded
from reliability.cases import Build, Case, Effect, Point
from reliability.killing import Trigger
from reliability.savers import Steps
from reliability.world import ClosedSessionError, DeclinedError, Receipt, World

_LATENCY = (0.0, 0.25)
"""Seconds that a call takes where processes die at drawn instants."""
_SHORT = (0.005, 0.02)
"""The same where they die at points."""
_DECLINED, _RESET, _LOST = 0.07, 0.12, 0.17
"""Shares of calls whose service declines once, is cut off once before the effect, and once after it; added up."""


@dataclass(frozen=True, kw_only=True)
class Desk:
    """Connection between the tools of one process and the outside world."""

    case: Case
    world: World
    trigger: Trigger
    steps: Steps
    """Is told when the result of the target is there."""

    def begin(self, tool: str, item: str, key: str, after: str) -> None:
        """Note the arrival of a request."""
        try:
            self.world.begin(tool, item, key, after)
        except DeclinedError:
            raise ToolFault(f"{tool} is busy", transient=True, started=False) from None
        self._die(Point.C6, item)
        self._break(tool, item, "reset")

    def act(self, tool: str, item: str, key: str, after: str) -> Receipt:
        """Let the effect happen."""
        try:
            receipt = self.world.act(tool, item, key, after)
        except ClosedSessionError:
            raise ToolFault("the session was closed", transient=True, started=False) from None
        self._die(Point.C7, item)
        self._break(tool, item, "lost")
        return receipt

    def answer(self, tool: str, receipt: Receipt) -> str:
        """Let the answer leave the service."""
        text = self.world.answer(tool, receipt)
        if receipt.item == self.trigger.item:
            self.steps.merged = True
        return text

    def pause(self, item: str) -> float:
        """Return the seconds for half of a call."""
        if self.case.point is Point.C6 or self.case.point is Point.C7:
            return 0.0
        among = _LATENCY if self.case.point is None else _SHORT
        return random.Random(f"{self.case.seed} {item}").uniform(*among) / 2

    def _die(self, point: Point, item: str) -> None:
        self.trigger.at(point, item)

    def _break(self, tool: str, item: str, how: str) -> None:
        if fate(self.case, item) == how and self.world.breaks(tool, item, how):
            raise ConnectionResetError(f"{tool} does not answer")


def fate(case: Case, item: str) -> str:
    """Return the fault of a call's first attempt: ``declined``, ``reset``, ``lost``, or nothing.

    A plain agent has no faults: it would end with the first one.
    """
    if case.point is not None or case.build is Build.PLAIN:
        return ""
    drawn = random.Random(f"fate {case.part} {case.seed} {item}").random()
    return (
        "declined"
        if drawn < _DECLINED
        else "reset"
        if drawn < _RESET
        else "lost"
        if drawn < _LOST
        else ""
    )


_DESKS: list[Desk] = []


def open_desk(desk: Desk) -> None:
    """Put in its place what the tools of this process call."""
    _DESKS[:] = [desk]


async def _handle(tool: str, item: str, key: str = "", after: str = "") -> str:
    desk = _DESKS[0]
    desk.begin(tool, item, key, after)
    await asyncio.sleep(desk.pause(item))
    receipt = desk.act(tool, item, key, after)
    await asyncio.sleep(desk.pause(item))
    return desk.answer(tool, receipt)


def _handle_here(tool: str, item: str, key: str = "", after: str = "") -> str:
    desk = _DESKS[0]
    desk.begin(tool, item, key, after)
    time.sleep(desk.pause(item))
    receipt = desk.act(tool, item, key, after)
    time.sleep(desk.pause(item))
    return desk.answer(tool, receipt)


# Which item a call handles is known from the start: no argument comes from a result, but by reference.


@guarded(effect="pure", reads=["order:{item}"], takes_from=[])
async def read(item: str) -> str:
    """Read what is known of an item."""
    return await _handle("read", item)


@guarded(effect="pure")
async def check(item: str) -> str:
    """Tell whether an item was handled."""
    return _DESKS[0].world.probe(item)


@guarded(effect="idempotent", reads=[], writes=["order:{item}"], takes_from=[])
def put(item: str) -> str:
    """Put an item into its place."""
    return _handle_here("put", item)


@guarded(effect="keyed", key_argument="key", reads=[], writes=["order:{item}"], takes_from=[])
def charge(item: str, key: str = "") -> str:
    """Charge for an item. `key` is filled in by the runtime and the same in every attempt."""
    return _handle_here("charge", item, key)


@guarded(effect="probed", probe="check", reads=[], writes=["order:{item}"], takes_from=[])
async def book(item: str) -> str:
    """Book an item."""
    return await _handle("book", item)


@guarded(writes=["order:{item}"], takes_from=[])
def pay(item: str) -> str:
    """Pay for an item."""
    return _handle_here("pay", item)


@guarded(takes_from=[])
def note(item: str) -> str:
    """Write an item down."""
    return _handle_here("note", item)


@guarded(writes=["order:{item}"], references=True, takes_from=[])
async def ship(item: str, after: str = "") -> str:
    """Ship an item after another call has given its receipt."""
    return await _handle("ship", item, after=after)


@guarded(effect="pure", reads=["order:{item}"], approval=True, takes_from=[])
async def peek(item: str) -> str:
    """Read what only a person may allow to be read."""
    return await _handle("peek", item)


@guarded(
    effect="idempotent",
    reads=[],
    writes=["order:{item}"],
    destructive=True,
    approval=True,
    takes_from=[],
)
def erase(item: str) -> str:
    """Erase an item."""
    return _handle_here("erase", item)


@guarded(
    effect="keyed",
    key_argument="key",
    reads=[],
    writes=["order:{item}"],
    destructive=True,
    takes_from=[],
)
def refund(item: str, key: str = "") -> str:
    """Give the money back."""
    return _handle_here("refund", item, key)


@guarded(
    effect="probed", probe="check", reads=[], writes=["order:{item}"], approval=True, takes_from=[]
)
async def reserve(item: str) -> str:
    """Reserve an item."""
    return await _handle("reserve", item)


@guarded(writes=["order:{item}"], approval=True, takes_from=[])
def wire(item: str) -> str:
    """Send money."""
    return _handle_here("wire", item)


@guarded(mode="external", token_argument="token", writes=["order:{item}"], takes_from=[])
async def ask_notary(item: str, token: str = "") -> str:
    """Have an item certified by a notary. The answer comes by post."""
    desk = _DESKS[0]
    desk.begin("ask_notary", item, "", "")
    desk.world.post("ask_notary", item, token)
    return "The letter is on its way."


PLAIN: Mapping[str, Callable[..., Any]] = {
    tool.__name__: tool for tool in (read, put, charge, book, pay, note, ship)
}
ASKING: Mapping[str, Callable[..., Any]] = {
    tool.__name__: tool for tool in (peek, erase, refund, reserve, wire)
}
"""Tools whose calls wait for a person; ``refund`` only after the output of other tools was told."""
OUTSIDE: Mapping[str, Callable[..., Any]] = {"ask_notary": ask_notary}
TOOLS: Sequence[Callable[..., Any]] = [*PLAIN.values(), check]
"""Tools of an agent that asks no person; workers serve them, too."""
ALL: Sequence[Callable[..., Any]] = [*TOOLS, *ASKING.values(), *OUTSIDE.values()]

CLASSES: Mapping[str, Effect] = {
    "read": Effect.PURE,
    "put": Effect.IDEMPOTENT,
    "charge": Effect.KEYED,
    "book": Effect.PROBED,
    "pay": Effect.AT_MOST_ONCE,
    "note": Effect.AT_MOST_ONCE,
    "ship": Effect.AT_MOST_ONCE,
    "peek": Effect.PURE,
    "erase": Effect.IDEMPOTENT,
    "refund": Effect.KEYED,
    "reserve": Effect.PROBED,
    "wire": Effect.AT_MOST_ONCE,
    "ask_notary": Effect.AT_MOST_ONCE,
}
"""Effect class of each tool; a tool that declares nothing may be begun once."""
APPROVED = ("peek", "erase", "reserve", "wire")
"""Tools no call of which may begin before a person has said yes."""
