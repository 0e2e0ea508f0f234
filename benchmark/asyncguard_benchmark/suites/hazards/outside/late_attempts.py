"""Attempts that run on after their deadline, and probes that speak while they do."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from asyncguard_benchmark.suites.hazards.outside.cases import Case, Family, Stage, Tool, asking
from asyncguard_benchmark.suites.hazards.outside.payments import (
    EFFECT,
    KEYED,
    PAY,
    PROBED,
    TRUTH,
    looker,
)

_LONG = 1.2
_DEADLINE = 0.45


def runs_on() -> Iterator[Case]:
    """Yield cases in which the deadline of a tool passes while its code goes on."""
    for place in ("late", "early"):
        for name, (make, real) in _TOOLS.items():
            if name == "to-thread" and place == "early":
                continue  # takes real time and shows what the plain function shows
            for kind, declared in (("probed", PROBED), ("once", {"effect": "at_most_once"})):
                yield _case(
                    f"{name}-{place}-{kind}",
                    make,
                    {**declared, "timeout": _DEADLINE},
                    place,
                    real=real,
                )
    yield _case("sync-late-keyed", _keyed, {**KEYED, "timeout": _DEADLINE}, "late", real=True)
    yield _case(
        "sync-late-invoke", _sync, {**PROBED, "timeout": _DEADLINE}, "late", real=True, sync=True
    )
    yield _case(
        "swallowing-late-breaking",
        _swallowing_breaks,
        {**PROBED, "timeout": _DEADLINE},
        "late",
        real=False,
    )


def _case(
    name: str,
    make: "_Made",
    declared: Mapping[str, Any],
    place: str,
    *,
    real: bool,
    sync: bool = False,
) -> Case:
    def build(stage: Stage) -> list[Tool]:
        return [Tool(function=make(stage, place == "early"), declared=declared), looker(stage)]

    return Case(
        family=Family.RUNS_ON,
        name=name,
        build=build,
        conversations=asking(PAY),
        truth=TRUTH,
        effect=EFFECT,
        repeatable="key_argument" in declared,
        real=real,
        sync=sync,
    )


_Made = Callable[[Stage, bool], Callable[..., Any]]


def _act(
    stage: Stage, amount: int, early: bool, wait: Callable[[float], object], key: str = ""
) -> dict[str, int]:
    """Pay and wait, in either order."""
    if early:
        stage.world.act(f"pay {amount}", key)
    if stage.faulty:
        wait(_LONG)
    if not early:
        stage.world.act(f"pay {amount}", key)
    return {"paid": amount}


def _sync(stage: Stage, early: bool) -> Callable[..., Any]:
    def pay(amount: int) -> dict[str, int]:
        """Pay an amount."""
        return _act(stage, amount, early, time.sleep)

    return pay


def _keyed(stage: Stage, early: bool) -> Callable[..., Any]:
    def pay(amount: int, key: str = "") -> dict[str, int]:
        """Pay an amount."""
        return _act(stage, amount, early, time.sleep, key)

    return pay


def _threaded(stage: Stage, early: bool) -> Callable[..., Any]:
    async def pay(amount: int) -> dict[str, int]:
        """Pay an amount."""
        return await asyncio.to_thread(_act, stage, amount, early, time.sleep)

    return pay


def _shielded(stage: Stage, early: bool) -> Callable[..., Any]:
    async def pay(amount: int) -> dict[str, int]:
        """Pay an amount."""
        return await asyncio.shield(asyncio.ensure_future(_slowly(stage, amount, early)))

    return pay


def _swallowing(stage: Stage, early: bool) -> Callable[..., Any]:
    async def pay(amount: int) -> dict[str, int]:
        """Pay an amount."""
        inner = asyncio.ensure_future(_slowly(stage, amount, early))
        while not inner.done():
            try:
                await asyncio.shield(inner)
            except asyncio.CancelledError:
                continue
        return inner.result()

    return pay


def _swallowing_breaks(stage: Stage, early: bool) -> Callable[..., Any]:
    calm = _swallowing(stage, early)

    async def pay(amount: int) -> dict[str, int]:
        """Pay an amount."""
        paid: dict[str, int] = await calm(amount)
        if stage.faulty:
            raise ConnectionResetError("reset")
        return paid

    return pay


async def _slowly(stage: Stage, amount: int, early: bool) -> dict[str, int]:
    if early:
        stage.world.act(f"pay {amount}")
    if stage.faulty:
        await asyncio.sleep(_LONG)
    if not early:
        stage.world.act(f"pay {amount}")
    return {"paid": amount}


_TOOLS: Mapping[str, tuple[_Made, bool]] = {
    "sync": (_sync, True),
    "to-thread": (_threaded, True),
    "shielded": (_shielded, False),
    "swallowing": (_swallowing, False),
}
