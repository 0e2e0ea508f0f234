"""Faults that pass, in the forms that clients raise, and one bad argument beside a good one."""

import datetime
import email.utils
import http.client
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from asyncguard_benchmark.suites.hazards.outside.cases import (
    Case,
    Conversation,
    Family,
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

PRICE = {
    "type": "object",
    "properties": {"price": {"type": "number", "minimum": 1, "maximum": 500, "unit": "EUR"}},
    "required": ["price"],
    "additionalProperties": False,
}
_PURE = {"effect": "pure", "result_schema": PRICE}
_PAUSE = 20.0


def _date() -> str:
    at = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=_PAUSE)
    return email.utils.format_datetime(at, usegmt=True)


def _urllib_wrapped() -> BaseException:
    found = ConnectionError("wrapped by a client")
    found.__cause__ = url_error(503)
    return found


_RAISED: Mapping[str, Callable[[], BaseException]] = {
    "urllib-503": lambda: url_error(503),
    "urllib-429": lambda: url_error(429),
    "status-attribute-503": lambda: Answered(503),
    "response-502": lambda: status_error(502),
    "response-504": lambda: status_error(504),
    "raised-from-503": lambda: from_a_status(503),
    "wrapped-urllib": _urllib_wrapped,
    "incomplete-read": lambda: http.client.IncompleteRead(b"{"),
    "remote-disconnected": lambda: http.client.RemoteDisconnected("closed"),
    "reset": lambda: ConnectionResetError("reset"),
    "timeout": lambda: TimeoutError("no answer"),
    "broken-pipe": lambda: BrokenPipeError("pipe"),
}
_PAUSED: Mapping[str, Callable[[], BaseException]] = {
    "pause-seconds": lambda: status_error(429, Retry_After=str(int(_PAUSE))),
    "pause-date": lambda: status_error(503, Retry_After=_date()),
    "pause-urllib-date": lambda: url_error(503, Retry_After=_date()),
    "pause-attribute": lambda: Answered(429, Retry_After=str(int(_PAUSE))),
    "pause-raised-from": lambda: from_a_status(503, Retry_After=str(int(_PAUSE))),
    "pause-lower-case": lambda: status_error(429, retry_after=str(int(_PAUSE))),
}
_ANSWERED: Mapping[str, Any] = {
    "error-object": {"error": "temporarily unavailable"},
    "error-object-nested": {"error": {"code": 503, "message": "overloaded"}},
    "error-status": {"status": "error", "message": "try later"},
    "html": "<html><body>502 Bad Gateway</body></html>",
    "empty": "",
    "cut": '{"price": 12',
}


def transient() -> Iterator[Case]:
    """Yield cases in which a reader fails once."""
    for name, error in {**_RAISED, **_PAUSED}.items():
        yield _transient(name, error, None)
    for name, answer in _ANSWERED.items():
        yield _transient(name, None, answer)


def _transient(name: str, error: Callable[[], BaseException] | None, answer: Any) -> Case:
    def build(stage: Stage) -> list[Tool]:
        async def read_price(item: str) -> Any:
            """Read a price."""
            if stage.world.begin("read_price") == 1 and stage.faulty:
                if error is not None:
                    raise error()
                return answer
            return {"price": 12.4}

        return [Tool(function=read_price, declared=_PURE)]

    return Case(
        family=Family.TRANSIENT,
        name=name,
        build=build,
        conversations=asking(("read_price", {"item": "nut"})),
        truth={"price": 12.4},
        pause=("read_price", _PAUSE) if name.startswith("pause") else None,
    )


# -- one bad argument --------------------------------------------------------------------------------------------------


def neighbour() -> Iterator[Case]:
    """Yield cases in which one conversation's argument breaks the service, while another's call is good."""
    errors: Mapping[str, Callable[[], BaseException]] = {
        "500": lambda: status_error(500),
        "reset": lambda: ConnectionResetError("reset"),
        "urllib-503": lambda: url_error(503),
    }
    for name, error in errors.items():
        for bad in (1, 3):
            for after in (1.0, 8.0):
                yield _neighbour(f"{name}-{bad}-bad-after-{after:g}s", error, bad, after)


def _neighbour(name: str, error: Callable[[], BaseException], bad: int, after: float) -> Case:
    def build(stage: Stage) -> list[Tool]:
        async def read_price(item: str) -> Any:
            """Read a price."""
            if item == "broken" and stage.faulty:
                raise error()
            return {"price": 12.4}

        return [Tool(function=read_price, declared=_PURE)]

    broken = Conversation(calls=(("read_price", {"item": "broken"}),) * bad)
    good = Conversation(calls=(("read_price", {"item": "nut"}),), after=after, within=5.0)
    return Case(
        family=Family.NEIGHBOUR,
        name=name,
        build=build,
        conversations=(broken, good),
        truth={"price": 12.4},
    )
