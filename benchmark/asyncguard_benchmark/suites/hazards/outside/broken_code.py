"""Families in which code breaks: after an effect, with a sibling beside it, and as no code expects."""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from langchain_core.tools import ToolException
from pydantic import BaseModel

from asyncguard_benchmark.suites.hazards.outside.cases import (
    Case,
    Conversation,
    Family,
    Level,
    Stage,
    Tool,
    asking,
)
from asyncguard_benchmark.suites.hazards.outside.clients import (
    Answered,
    from_a_status,
    status_error,
    url_error,
)
from asyncguard_benchmark.suites.hazards.outside.payments import (
    AMOUNT,
    EFFECT,
    KEYED,
    PAID,
    PAY,
    PROBED,
    TRUTH,
    Fault,
    Payer,
    looker,
    raising,
)


class _Receipt(BaseModel):
    number: int


class _Speechless(Exception):
    """An error whose text cannot be read."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


def _invalid() -> None:
    _Receipt.model_validate({"number": "none"})


def _wrong_type() -> None:
    len(3)  # type: ignore[arg-type]


def _wrong_call() -> None:
    (lambda one: one)()  # type: ignore[call-arg]


def _unreadable() -> None:
    json.loads("<html>")


_OWN_ERRORS: Mapping[str, Fault] = {
    "validation-error": _invalid,
    "type-error": _wrong_type,
    "wrong-call": _wrong_call,
    "json-error": _unreadable,
    "value-error": raising(lambda: ValueError("no such account")),
    "reset": raising(lambda: ConnectionResetError("reset by peer")),
    "timeout": raising(lambda: TimeoutError("no answer")),
    "os-error": raising(lambda: OSError("no space left")),
    "tool-exception": raising(lambda: ToolException("the printer is out of paper")),
    "status-503": raising(lambda: status_error(503)),
    "status-400": raising(lambda: status_error(400)),
    "group": raising(lambda: ExceptionGroup("two", [ValueError("a"), ConnectionResetError("b")])),
    "speechless": raising(_Speechless),
}


def raises_after() -> Iterator[Case]:
    """Yield cases in which the tool's own code raises after its effect."""
    for name, fault in _OWN_ERRORS.items():
        for sync in (False, True):
            payer = Payer(after=fault, sync=sync)
            yield _paying(Family.RAISES_AFTER, f"{name}{'-sync' if sync else ''}", payer)
    reset = Payer(after=_OWN_ERRORS["reset"], declared=KEYED)
    yield _paying(Family.RAISES_AFTER, "keyed-once", reset.also(most=1), repeatable=True)
    yield _paying(
        Family.RAISES_AFTER,
        "keyed-always",
        reset,
        repeatable=True,
        levels=(Level.EFFECT, Level.FULL),
    )
    yield _paying(
        Family.RAISES_AFTER,
        "keyed-value-error",
        reset.also(after=_OWN_ERRORS["value-error"]),
        repeatable=True,
        levels=(Level.EFFECT, Level.FULL),
    )

    for name, again in _RESPELT.items():
        asked = (Conversation(calls=(PAY,), again=again),)
        yield replace(
            _paying(Family.RAISES_AFTER, f"respelt-{name}", Payer(after=reset.after)),
            conversations=asked,
        )
    for name, answer in _UNSURE.items():
        payer = Payer(after=_OWN_ERRORS["reset"], probe=answer)
        yield _paying(Family.RAISES_AFTER, f"probe-{name}", payer)


_RESPELT: Mapping[str, Mapping[str, Any]] = {
    "float": {"amount": float(AMOUNT)},
    "text": {"amount": str(AMOUNT)},
    "default": {"amount": AMOUNT, "note": ""},
}
"""Other words for the same arguments, in which a model may repeat its call."""
_UNSURE: Mapping[str, Any] = {
    "knows-not": {"happened": None, "result": None},
    "says-nothing": {},
    "in-words": {"happened": "no", "result": None},
    "a-number": {"happened": 0, "result": None},
    "text": "not found",
    "breaks": KeyError("book"),
}
"""Answers of a probe that are not a plain no."""


def _paying(family: Family, name: str, payer: Payer, **more: Any) -> Case:
    return Case(
        family=family,
        name=name,
        build=payer.build,
        conversations=asking(PAY),
        truth=TRUTH,
        effect=EFFECT,
        **more,
    )


# -- atomic, with a sibling --------------------------------------------------------------------------------------------

_ATOMIC = {
    "effect": "at_most_once",
    "atomic": True,
    "fallbacks": ["pay_elsewhere"],
    "result_schema": PAID,
}
_AFTER: Mapping[str, Fault] = {
    **{
        name: _OWN_ERRORS[name]
        for name in ("value-error", "type-error", "wrong-call", "validation-error", "reset")
    },
    **{
        f"status-{status}": raising(partial(status_error, status))
        for status in (406, 408, 409, 500, 502)
    },
    "raised-from-500": raising(lambda: from_a_status(500)),
    "key-error": raising(lambda: KeyError("receipt")),
    "permission": raising(lambda: PermissionError(13, "receipts/1.pdf")),
}
_REFUSALS = (400, 401, 402, 403, 404, 422, 429)


def atomic() -> Iterator[Case]:
    """Yield cases in which an atomic effect breaks after it happened, or is refused; a sibling can do the same."""
    for name, fault in _AFTER.items():
        yield _atomic(f"after-{name}", Payer(after=fault, declared=_ATOMIC))
    for status in _REFUSALS:
        refused = raising(partial(status_error, status))
        yield _atomic(f"refused-{status}", Payer(before=refused, declared=_ATOMIC))
    siblings = {"fallbacks": ["pay_elsewhere"], "timeout": 60}
    for name, declared in (("keyed", KEYED), ("probed", PROBED)):
        lost = Payer(after=_AFTER["reset"], declared={**declared, **siblings})
        yield replace(_atomic(f"sibling-of-{name}", lost), repeatable=declared is KEYED)
    yield _atomic(
        "refused-urllib-403", Payer(before=raising(lambda: url_error(403)), declared=_ATOMIC)
    )


def _atomic(name: str, payer: Payer) -> Case:
    def build(stage: Stage) -> list[Tool]:
        return [
            *payer.build(stage),
            Payer(name="pay_elsewhere", declared={**_ATOMIC, "fallbacks": []}).tool(stage),
        ]

    return Case(
        family=Family.ATOMIC,
        name=name,
        build=build,
        conversations=asking(PAY),
        truth=TRUTH,
        effect=EFFECT,
    )


# -- exceptions that no code expects -----------------------------------------------------------------------------------


def _cancelled() -> BaseException:
    return asyncio.CancelledError("by the client's own scope")


_EXITS: Mapping[str, Callable[[], BaseException]] = {
    "system-exit": lambda: SystemExit(2),
    "key-error": lambda: KeyError("price"),
    "cancelled": _cancelled,
    "recursion": lambda: RecursionError("maximum recursion depth exceeded"),
    "memory": MemoryError,
    "stop-iteration": StopIteration,
    "stop-async": StopAsyncIteration,
    "assertion": AssertionError,
    "base-group": lambda: BaseExceptionGroup("two", [SystemExit(1), KeyError("a")]),
    "speechless": _Speechless,
    "answered": lambda: Answered(500),
}


def exits() -> Iterator[Case]:
    """Yield cases in which a tool raises an unexpected exception: after its effect, or as one that only reads."""
    for name, error in _EXITS.items():
        for sync in (False, True):
            kind = f"{name}{'-sync' if sync else ''}"
            yield _paying(Family.EXITS, f"paid-{kind}", Payer(after=raising(error), sync=sync))
            if not sync:
                yield _paying(
                    Family.EXITS, f"unpaid-{kind}", Payer(before=raising(error), sync=sync)
                )
    for name in ("system-exit", "key-error", "stop-iteration"):
        yield _reading(f"reading-{name}", raising(_EXITS[name]))


def _reading(name: str, fault: Fault) -> Case:
    def build(stage: Stage) -> list[Tool]:
        def read_price(item: str) -> dict[str, float]:
            """Read a price."""
            if stage.faulty:
                fault()
            return {"price": 12.4}

        return [Tool(function=read_price, declared={"effect": "pure"}), looker(stage)]

    asked = asking(("read_price", {"item": "nut"}))
    return Case(
        family=Family.EXITS, name=name, build=build, conversations=asked, truth={"price": 12.4}
    )
