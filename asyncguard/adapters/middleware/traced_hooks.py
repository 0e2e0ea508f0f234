"""Async hooks that LangChain calls on the spot, instead of between two visits to an OS thread.

``create_agent`` wraps ``awrap_model_call`` and ``awrap_tool_call`` in LangSmith's ``traceable``,
which begins and ends the span of a coroutine function on OS threads, also where nothing is traced:
four times a step, which is a fifth of its time, and more where many threads of an agent run at
once. A plain function is wrapped without threads. So an agent that is made while tracing is off
is given a plain function that returns the coroutine. LangSmith then takes the return for the end of
the span, which matters if tracing is switched on later: such a span is held open here.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import copy_context
from inspect import Signature, signature
from traceback import format_exception
from typing import Any, TypeVar, cast

from langchain.agents.middleware import AgentMiddleware
from langsmith import get_current_run_tree
from langsmith.run_trees import RunTree
from langsmith.utils import tracing_is_enabled

from asyncguard.adapters.langchain_internals import trace_outputs_of

_Hook = TypeVar("_Hook", bound=Callable[..., Any])


def without_threads(method: _Hook) -> _Hook:
    """Decorate an async hook that ``create_agent`` wraps; see the module."""
    return cast(_Hook, _Untraced(method))


class _Untraced:
    """Descriptor: a coroutine function of the class, and a plain function of its instances."""

    def __init__(self, method: Callable[..., Coroutine[Any, Any, Any]]) -> None:
        self._method = method
        own = signature(method)
        # LangSmith asks for it at each call; looking it up takes longer than the rest of the call.
        self._signature = own.replace(parameters=list(own.parameters.values())[1:])

    def __get__(self, guard: Any, owner: type | None = None) -> Callable[..., Any]:
        if guard is None:
            return self._method
        bound: Callable[..., Coroutine[Any, Any, Any]] = self._method.__get__(guard)
        return bound if tracing_is_enabled() else _plain(bound, self._signature)


def _plain(bound: Any, given: Signature) -> Callable[..., Awaitable[Any]]:
    """Return a plain function that returns the coroutine of a hook."""

    def hook(*args: Any, **kwargs: Any) -> Awaitable[Any]:
        run, guard = get_current_run_tree(), bound.__self__
        if run is None or run.name != f"{guard.name}.{bound.__name__}":
            return cast(Awaitable[Any], bound(*args, **kwargs))
        return _held_open(run, guard, bound(*args, **kwargs))

    hook.__name__, hook.__doc__ = bound.__name__, bound.__doc__
    hook.__signature__ = given  # type: ignore[attr-defined]
    return hook


def _held_open(
    run: RunTree, guard: AgentMiddleware[Any, Any, Any], hook: Coroutine[Any, Any, Any]
) -> Coroutine[Any, Any, Any]:
    """Return what runs a hook within its span, which ends with it; call it inside the span."""
    within, methods = copy_context(), run.__dict__
    methods["end"] = methods["patch"] = lambda **_: None  # LangSmith ends the span on return

    async def to_its_end() -> Any:
        error: BaseException | None = None
        answer: Any = None
        try:
            answer = await asyncio.create_task(hook, context=within)
        except BaseException as raised:
            error = raised
            raise
        else:
            return answer
        finally:
            del methods["end"], methods["patch"]
            text = None if error is None else "".join([f"{error!r}\n\n", *format_exception(error)])
            run.end(outputs=None if error else trace_outputs_of(guard, answer), error=text)
            if tracing_is_enabled() is True:
                run.patch()

    return to_its_end()
