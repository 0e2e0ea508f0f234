"""Order of middleware around the guard; another order would guard less than it seems to."""

from collections.abc import Callable, Sequence
from typing import Any

from langchain.agents import middleware as langchain
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain_core.messages import ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest

from asyncguard.adapters.middleware.middleware import AsyncGuardMiddleware
from asyncguard.adapters.middleware.placement import ONE_GUARD
from asyncguard.errors import CallerError
from asyncguard.validation import check_arguments

_INSIDE: tuple[type[Any], ...] = tuple(
    getattr(langchain, name)
    for name in (
        "AutoModeMiddleware",
        "LLMToolEmulator",
        "ModelFallbackMiddleware",
        "ModelRetryMiddleware",
        "ToolErrorMiddleware",
        "ToolRetryMiddleware",
    )
    if hasattr(langchain, name)  # the oldest supported release has not all of them
)


def guard_middleware(
    middleware: Sequence[AgentMiddleware[Any, Any, Any]],
    *,
    guard: AsyncGuardMiddleware | None = None,
) -> list[AgentMiddleware[Any, Any, Any]]:
    """Put the guard in its place in a list of middleware for ``create_agent``.

    Human approval goes outside the guard, so that a person is asked about admitted calls only, and
    what the person edits is judged; what repeats a call or answers it in place of its tool goes
    inside, so that one admitted call stays one call; and what has a ``before_agent``: if a run
    stops there and is continued, LangGraph has dropped ``tasks`` of its input before the guard
    could read them. All other middleware keeps its order, outside, and so does what has an
    ``after_agent``, too: inside, that would be entered whenever the model speaks while calls run.

    Args:
        middleware: The list, with or without a guard.
        guard: The guard, if the list has none; a default one is made otherwise.

    Returns:
        The ordered list.

    Raises:
        CallerError: There are two guards, two items of one name, or an item that is not middleware.
    """
    check_arguments(guard_middleware, {"middleware": middleware, "guard": guard})
    given = list(middleware)
    found = [item for item in given if isinstance(item, AsyncGuardMiddleware)]
    if guard is not None and guard not in found:
        found.append(guard)
    if len(found) > 1:
        raise CallerError(ONE_GUARD)
    # create_agent refuses equal names, too, but does not say which.
    names = [item.name for item in given]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise CallerError(
            f"Two middleware have the name {twice[0]!r}, which create_agent refuses; "
            "remove one or rename it."
        )
    chosen = found[0] if found else AsyncGuardMiddleware()
    rest = [item for item in given if item is not chosen]
    approvals = [item for item in rest if isinstance(item, HumanInTheLoopMiddleware)]
    inside = [item for item in rest if isinstance(item, _INSIDE) or _acts_first(item)]
    outside = [item for item in rest if item not in approvals and item not in inside]
    for item in approvals:
        for config in item.interrupt_on.values():
            config["when"] = _unless_answered(config.get("when"))
    return [*outside, *approvals, chosen, *inside]


def _acts_first(item: AgentMiddleware[Any, Any, Any]) -> bool:
    return _has(item, "before_agent") and not _has(item, "after_agent")


def _has(item: AgentMiddleware[Any, Any, Any], hook: str) -> bool:
    kind = type(item)
    return any(
        getattr(kind, name) is not getattr(AgentMiddleware, name) for name in (hook, f"a{hook}")
    )


def _unless_answered(
    when: Callable[[ToolCallRequest], bool] | None,
) -> Callable[[ToolCallRequest], bool]:
    def ask(request: ToolCallRequest) -> bool:
        """Return False for a call that the guard has answered, which it does to reject it."""
        state: Any = request.state if isinstance(request.state, dict) else {}
        answered = any(
            isinstance(message, ToolMessage) and message.tool_call_id == request.tool_call["id"]
            for message in state.get("messages", ())
        )
        return not answered and (when is None or when(request))

    return ask
