"""Other middleware that asks for the same call again."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import ToolMessage
from langgraph.types import Command
from typing_extensions import override

from asyncguard_benchmark.suites.hazards.outside.cases import Case, Family, asking
from asyncguard_benchmark.suites.hazards.outside.payments import (
    EFFECT,
    KEYED,
    PAY,
    PROBED,
    TRUTH,
    Payer,
    raising,
)

_Answer = ToolMessage | Command[Any]
_Handler = Callable[[ToolCallRequest], Awaitable[_Answer]]


class _Repeater(AgentMiddleware[Any, Any, Any]):
    """Middleware that wraps tool calls by one function."""

    def __init__(
        self, ask: Callable[[ToolCallRequest, _Handler], Awaitable[_Answer]], name: str
    ) -> None:
        super().__init__()
        self._ask = ask
        self._name = name

    @property
    @override
    def name(self) -> str:
        return self._name

    @override
    async def awrap_tool_call(self, request: ToolCallRequest, handler: _Handler) -> _Answer:
        return await self._ask(request, handler)


async def _twice(request: ToolCallRequest, handler: _Handler) -> _Answer:
    """Ask again whatever the answer was."""
    await handler(request)
    return await handler(request)


async def _at_once(request: ToolCallRequest, handler: _Handler) -> _Answer:
    """Ask twice at the same time."""
    answers = await asyncio.gather(handler(request), handler(request), return_exceptions=True)
    for answer in answers:
        if not isinstance(answer, BaseException):
            return answer
    raise next(answer for answer in answers if isinstance(answer, BaseException))


async def _on_exception(request: ToolCallRequest, handler: _Handler) -> _Answer:
    """Ask again after an exception."""
    for _ in range(2):
        try:
            return await handler(request)
        except Exception:  # noqa: BLE001 - as retries do
            await asyncio.sleep(1)
    return await handler(request)


async def _on_status(request: ToolCallRequest, handler: _Handler) -> _Answer:
    """Ask again after an answer that is an error."""
    for _ in range(2):
        answer = await handler(request)
        if not (isinstance(answer, ToolMessage) and answer.status == "error"):
            return answer
    return answer


async def _as_another(request: ToolCallRequest, handler: _Handler) -> _Answer:
    """Ask again under another id."""
    try:
        return await handler(request)
    except Exception:  # noqa: BLE001 - as retries do
        return await handler(request.override(tool_call={**request.tool_call, "id": "another"}))


async def _smoothed(request: ToolCallRequest, handler: _Handler) -> _Answer:
    """Ask three times, and make every exception a friendly text."""
    for _ in range(3):
        try:
            return await handler(request)
        except Exception:  # noqa: BLE001 - as retries do
            continue
    return ToolMessage(
        "The tool is busy, please try again.", tool_call_id=request.tool_call["id"], status="error"
    )


async def _hasty(request: ToolCallRequest, handler: _Handler) -> _Answer:
    """Give up at a deadline of its own and ask again."""
    try:
        return await asyncio.wait_for(handler(request), 0.5)
    except TimeoutError:
        return await handler(request)


_WAYS: Mapping[str, Callable[[ToolCallRequest, _Handler], Awaitable[_Answer]]] = {
    "twice": _twice,
    "at-once": _at_once,
    "on-exception": _on_exception,
    "on-status": _on_status,
    "as-another": _as_another,
    "smoothed": _smoothed,
    "hasty": _hasty,
}


def repeated() -> Iterator[Case]:
    """Yield cases in which a payment loses its answer, or is refused, and other middleware asks again."""
    reset = raising(lambda: ConnectionResetError("reset"))
    for name, ask in _WAYS.items():
        for kind, declared in (
            ("probed", PROBED),
            ("once", {"effect": "at_most_once"}),
            ("keyed", KEYED),
        ):
            payer = Payer(after=reset, most=1, declared=declared)
            yield Case(
                family=Family.REPEATED,
                name=f"{name}-{kind}",
                build=payer.build,
                conversations=asking(PAY),
                truth=TRUTH,
                effect=EFFECT,
                repeatable=declared is KEYED,
                beside=partial(_Repeater, ask, f"repeater-{name}"),
            )
