"""All use of LangChain beyond its public interface: methods of its tools and models.

Everything else goes through the modules that LangChain documents. Each item here says why no public
call does the same, and what breaks if LangChain changes.
``tests/adapters/test_langchain_internals`` exercises each of them with the lowest and the
newest LangChain that ``pyproject.toml`` allows, and ``tests/test_private_use`` finds such a use
anywhere else.

``_run``, ``_arun`` and ``_generate`` are the methods that LangChain's documentation asks authors of
tools and models to write. Here they are not written but read and wrapped, for which it has no word.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import ToolMessage, get_notification_metadata
from langchain_core.tools import BaseTool, StructuredTool, Tool
from pydantic import BaseModel

FUNCTION_CALLERS = frozenset(
    method.__code__
    for method in (
        StructuredTool._run,  # noqa: SLF001
        StructuredTool._arun,  # noqa: SLF001
        Tool._run,  # noqa: SLF001
        Tool._arun,  # noqa: SLF001
    )
)
"""Code objects from which LangChain calls the function of a tool.

Why: only the frames of an exception show that the function was not called, for which Python raises
the same ``TypeError`` as the function might. If LangChain calls it elsewhere, such a call counts as
begun, and an effect that has not happened is in doubt.
"""

OUTER_MODULES = frozenset(
    {"langchain_core.tools.base", "langchain_core.tools.simple", "langchain_core.tools.structured"}
)
"""Modules in which LangChain defines ``invoke``, ``ainvoke``, ``run`` and ``arun`` of its tools.

Why: a class that overrides one of them may keep its code there, and must be entered there. If
LangChain moves them, each tool is entered there: an error of its schema counts as one of its code.
"""


def sync_body(tool: Any) -> Callable[..., Any]:
    """Return the method in which the sync code of a tool lies.

    Why: the public ``invoke`` checks the arguments and turns errors into answers, so it does not
    show whether the code was entered. If LangChain renames the method, each call fails with an
    ``AttributeError`` before the tool is called.

    Args:
        tool: A tool or a class of tools.
    """
    body: Callable[..., Any] = tool._run  # noqa: SLF001
    return body


def async_body(tool: Any) -> Callable[..., Any]:
    """Return the method in which the async code of a tool lies; see :func:`sync_body`.

    Args:
        tool: A tool or a class of tools.
    """
    body: Callable[..., Any] = tool._arun  # noqa: SLF001
    return body


def has_async_body(kind: type[BaseTool]) -> bool:
    """Return True if a class of tools has async code of its own.

    Why: the inherited method calls the sync one on an OS thread, and LangChain makes the same
    comparison. If LangChain overrides the method itself, sync tools block the event loop.
    """
    return async_body(kind) is not BaseTool._arun  # noqa: SLF001


def find_injected(tool: BaseTool) -> None:
    """Have a tool find, and keep, which of its arguments LangChain fills in.

    Why: LangChain reads that from the annotations of the code, and keeps it with the tool. A copy
    of the tool inherits it, and reads nothing, only if it was there before. If LangChain renames
    it, or no longer keeps it, each copy finds it again.
    """
    getattr(tool, "_injected_args_keys", None)


def calls_func(body: Any) -> bool:
    """Return True if a method of a tool only calls the tool's ``func``.

    Why: a tool that was made of a coroutine has such a method, too, without a ``func`` to call.
    """
    return body in (StructuredTool._run, Tool._run)  # noqa: SLF001


def generate_of(model: BaseChatModel) -> Any:
    """Return the method of a model's class that answers synchronously, ``None`` without one.

    Why: ``invoke`` exists for every model, and fails only after the request was prepared.
    """
    return getattr(type(model), "_generate", None)


def provider_of(model: BaseChatModel) -> str:
    """Return the provider's name as LangChain's tracing knows it, empty if there is none.

    Why: no public value of all integrations names the provider. Without the method each call of a
    model fails with an ``AttributeError``; with other names, providers get a bridging message that
    they do not need.
    """
    return str(model._get_ls_params().get("ls_provider", ""))  # noqa: SLF001


def edits_of(state: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """Return the calls that a reviewer wrote instead of the model's, by the ids of the latter.

    Why: ``HumanInTheLoopMiddleware`` keeps them for its own wrappers, and no public value tells a
    person's change of a call from a program's. Without the channel, a call that the model makes in
    the words of a reviewer is asked about again.

    Args:
        state: Of the agent, after a message of the model.
    """
    return state.get("hitl_edited_tool_calls") or {}


def is_decision(message: ToolMessage) -> bool:
    """Return True if a message holds a reviewer's words for a call that is not run.

    Why: ``HumanInTheLoopMiddleware`` marks the answers that it writes, without a public name for
    the mark. Without it a process that finds such an answer to a call takes it for a result.
    """
    found = get_notification_metadata(message)
    return found is not None and found["source"] == "hitl_interrupt_decision"


def trace_outputs_of(middleware: Any, answer: Any) -> dict[str, Any]:
    """Return what the span of a wrapping hook shows of its answer, by the user's ``TracePolicy``.

    Why: the policy of the whole process, which may hide what is secret, has no public reader. If
    LangChain renames the function, the span of such a hook ends without its answer.

    Args:
        middleware: Whose hook it is.
        answer: Returned by the hook.
    """
    factory = import_module("langchain.agents.factory")  # not for `build_agent`: it takes a second
    options: Any = getattr(factory, "_wrap_trace_kwargs", lambda _: {})(middleware)
    shown = options.get("process_outputs", lambda _: {})(answer)
    if isinstance(shown, BaseModel):
        shown = shown.model_dump(exclude_none=True, mode="json")
    return shown if isinstance(shown, dict) else {"output": shown}
