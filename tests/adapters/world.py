"""Outside world with a payment service that loses answers and records its effects in order.

It outlives processes and loops: agents come and go, the payments stay.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from asyncguard import EffectClass, Fallback, ToolFault, ToolSpec
from asyncguard.testing import scripted_tool
from tests.adapters.harness import pure


class Pay(Enum):
    """Outcome of one attempt to pay."""

    PAID = "paid"
    LOST = "the answer is lost, the payment is not"
    RESET = "the connection is reset before anything happened"
    BUSY = "it says that nothing has begun"
    REFUSED = "it refuses the call and says that nothing has begun"
    UNFIT = "it refuses the call and does not say whether something has begun"
    STRANGE = "it pays and answers in a form that was not declared"


class Check(Enum):
    """Answer of the probe."""

    TRUE = "whether it happened"
    NULL = "that it does not know"
    BABBLE = "nothing that can be read"
    BROKEN = "nothing, it fails"


@dataclass(kw_only=True)
class World:
    """The services, with one outcome for each call of theirs; then all is well."""

    pays: list[Pay] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    latency: float = 1.0
    payments: int = 0
    harm: list[str] = field(default_factory=list)
    """Attempts that must not have been made."""
    attempts: int = 0
    _doubtful: bool = False
    """True if an attempt may have begun and no answer has said that it did not."""

    def tools(self) -> list[Any]:
        """The tools of one process."""
        slow = {"args": {"item": str}, "latency": 0.0}
        return [
            scripted_tool("pay", self._pay, args={"item": str}),
            scripted_tool("check", self._check, args={"item": str}),
            scripted_tool("order", self._order, args={"item": str}),
            scripted_tool("describe", self._describe, args={"tool": str}),
            scripted_tool("look", lambda a: f"found {a['item']}", **{**slow, "latency": 4.0}),
        ]

    async def _pay(self, arguments: Mapping[str, Any]) -> Any:
        self._begin("pay")
        outcome = self.pays.pop(0) if self.pays else Pay.PAID
        if outcome in (Pay.PAID, Pay.LOST, Pay.STRANGE):
            self.payments += 1
        await asyncio.sleep(self.latency)
        if outcome in (Pay.BUSY, Pay.REFUSED):
            self._doubtful = False
        return _answer(outcome)

    async def _order(self, _: Mapping[str, Any]) -> Any:
        self._begin("order")
        self.payments += 1
        await asyncio.sleep(self.latency)
        return '{"state": "ordered"}'

    def _begin(self, tool: str) -> None:
        self.attempts += 1
        if self._doubtful:
            self.harm.append(f"{tool} was called again although an attempt may have begun")
        self._doubtful = True

    async def _check(self, _: Mapping[str, Any]) -> Any:
        await asyncio.sleep(self.latency)
        match self.checks.pop(0) if self.checks else Check.TRUE:
            case Check.TRUE:
                happened = self.payments > 0
                self._doubtful = self._doubtful and happened
                return json.dumps(
                    {"happened": happened, "result": '{"state": "paid"}' if happened else None}
                )
            case Check.NULL:
                return '{"happened": null}'
            case Check.BABBLE:
                return "no idea"
            case Check.BROKEN:
                raise ConnectionError("down")

    async def _describe(self, _: Mapping[str, Any]) -> str:
        await asyncio.sleep(self.latency)
        return json.dumps({"parameters": ITEM, "returns": STATE})


def _answer(outcome: Pay) -> str:
    match outcome:
        case Pay.PAID:
            return '{"state": "paid"}'
        case Pay.STRANGE:
            return "ok, done!"
        case Pay.BUSY:
            raise ToolFault("busy", transient=True, started=False)
        case Pay.REFUSED:
            raise ToolFault("unprocessable", status=422, started=False)
        case Pay.UNFIT:
            raise ToolFault("unprocessable", status=422)
        case Pay.LOST | Pay.RESET:
            raise ConnectionError("reset by peer")


ITEM = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
STATE = {"type": "object", "properties": {"state": {"type": "string"}}, "required": ["state"]}


def specs(effect: EffectClass, *, sibling: bool = False) -> list[ToolSpec]:
    """The declarations, with a payment of this class and, if wanted, a sibling that orders instead."""
    pay = ToolSpec(
        name="pay",
        effect=effect,
        result_schema=STATE,
        contract="describe",
        probe="check" if effect is EffectClass.PROBED else None,
        fallbacks=(Fallback(tool="order"),) if sibling else (),
    )
    return [pay, pure("check"), pure("describe"), pure("look"), ToolSpec(name="order")]
