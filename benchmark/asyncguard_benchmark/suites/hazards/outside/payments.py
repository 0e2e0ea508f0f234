"""Tools that pay, and the tool that can tell whether they did."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from asyncguard_benchmark.suites.hazards.outside.cases import Call, Stage, Tool
from asyncguard_benchmark.suites.hazards.outside.tool_names import named

PAID = {"type": "object", "properties": {"paid": {"type": "integer"}}, "required": ["paid"]}
AMOUNT = 30
TRUTH = {"paid": AMOUNT}
EFFECT = f"pay {AMOUNT}"
PAY: Call = ("pay", {"amount": AMOUNT})
PROBED: Mapping[str, Any] = {"effect": "probed", "probe": "look", "result_schema": PAID}
KEYED: Mapping[str, Any] = {"effect": "keyed", "key_argument": "key", "result_schema": PAID}

Fault = Callable[[], object]
"""Raises what breaks an attempt."""


@dataclass(frozen=True, kw_only=True)
class Payer:
    """A tool that pays, and breaks before or after it."""

    name: str = "pay"
    before: Fault | None = None
    after: Fault | None = None
    most: int = 99
    """Number of attempts that break."""
    sync: bool = False
    probe: Any = None
    """Answer of the case's probe instead of the truth; an exception is raised."""
    declared: Mapping[str, Any] = field(default_factory=lambda: PROBED)

    def tool(self, stage: Stage) -> Tool:
        """Make the tool of one run."""

        def act(amount: int, key: str) -> dict[str, int]:
            struck = stage.world.begin(self.name) <= self.most and stage.faulty
            if struck and self.before is not None:
                self.before()
            stage.world.act(f"pay {amount}", key)
            if struck and self.after is not None:
                self.after()
            return {"paid": amount}

        async def pay(amount: int, note: str = "") -> dict[str, int]:
            return act(amount, "")

        def sync_pay(amount: int) -> dict[str, int]:
            return act(amount, "")

        async def keyed_pay(amount: int, key: str = "") -> dict[str, int]:
            return act(amount, key)

        keyed = "key_argument" in self.declared
        return Tool(
            function=named(
                keyed_pay if keyed else sync_pay if self.sync else pay, self.name, "Pay an amount."
            ),
            declared=self.declared,
        )

    def build(self, stage: Stage) -> list[Tool]:
        """Make the tool, and the one that tells whether it paid."""
        return [self.tool(stage), looker(stage, self.probe)]

    def also(self, **changed: Any) -> "Payer":
        """Return the same payer but for what is named."""
        return replace(self, **changed)


def looker(stage: Stage, instead: Any = None) -> Tool:
    """Make a tool that looks into the bank's book, or says something else in the case."""

    async def look(amount: int) -> Any:
        """Look up whether an amount was paid."""
        if instead is not None and stage.faulty:
            if isinstance(instead, BaseException):
                raise instead
            return instead
        happened = bool(stage.world.happened(f"pay {amount}"))
        return {"happened": happened, "result": {"paid": amount} if happened else None}

    return Tool(function=look, declared={"effect": "pure"})


def raising(error: Callable[[], BaseException]) -> Fault:
    """Make a fault of an exception."""

    def strike() -> None:
        raise error()

    return strike
