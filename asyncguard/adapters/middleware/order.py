"""The order of middleware around the guard; a list in another order would guard less than it seems to."""

from collections.abc import Callable, Sequence
from typing import Any

from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    ToolRetryMiddleware,
)
from langchain_core.messages import ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest

from asyncguard.adapters.middleware.middleware import AsyncGuardMiddleware
from asyncguard.errors import CallerError
from asyncguard.validation import check_arguments

_INSIDE = (ToolRetryMiddleware, ModelRetryMiddleware, ModelFallbackMiddleware)


def guard_middleware(
    middleware: Sequence[AgentMiddleware[Any, Any, Any]],
    *,
    guard: AsyncGuardMiddleware | None = None,
) -> list[AgentMiddleware[Any, Any, Any]]:
    """Put the guard in its place in a list of middleware for ``create_agent``.

    Human approval goes outside the guard, so that a person is asked about admitted calls only; retry and fallback go
    inside, so that one admitted call stays one call. All else keeps its order, outside.

    Args:
        middleware: The list, with or without a guard.
        guard: The guard, where the list has none; a default one otherwise.

    Returns:
        The ordered list.

    Raises:
        CallerError: There are two guards, two of one name, or something that is not middleware.
    """
    check_arguments(guard_middleware, {"middleware": middleware, "guard": guard})
    given = list(middleware)
    found = [item for item in given if isinstance(item, AsyncGuardMiddleware)]
    if guard is not None and guard not in found:
        found.append(guard)
    if len(found) > 1:
        raise CallerError("Two AsyncGuardMiddleware were given; one guards all tools.")
    _check_names(given)
    chosen = found[0] if found else AsyncGuardMiddleware()
    rest = [item for item in given if item is not chosen]
    approvals = [item for item in rest if isinstance(item, HumanInTheLoopMiddleware)]
    inside = [item for item in rest if isinstance(item, _INSIDE)]
    outside = [item for item in rest if item not in approvals and item not in inside]
    for item in approvals:
        _ask_about_admitted(item)
    return [*outside, *approvals, chosen, *inside]


def _check_names(given: Sequence[AgentMiddleware[Any, Any, Any]]) -> None:
    """Refuse what ``create_agent`` would refuse without saying what."""
    names = [item.name for item in given]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise CallerError(
            f"Two middleware are called {twice[0]!r}, which create_agent refuses; drop one or rename it."
        )


def _ask_about_admitted(approval: HumanInTheLoopMiddleware) -> None:
    for config in approval.interrupt_on.values():
        config["when"] = _unless_answered(config.get("when"))


def _unless_answered(
    when: Callable[[ToolCallRequest], bool] | None,
) -> Callable[[ToolCallRequest], bool]:
    def ask(request: ToolCallRequest) -> bool:
        """Ask unless the guard has answered the call, which it does when it rejects it."""
        call_id = request.tool_call["id"]
        messages = request.state["messages"] if isinstance(request.state, dict) else []
        answered = any(
            isinstance(message, ToolMessage) and message.tool_call_id == call_id
            for message in messages
        )
        return not answered and (when is None or when(request))

    return ask
