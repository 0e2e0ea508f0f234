"""Objects that callers hand over: tools, declarations, ports and middleware, of the right kind and of every other."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ToolRetryMiddleware
from langchain_core.tools import tool

from asyncguard import (
    AsyncGuardMiddleware,
    CallerError,
    DeclarationError,
    Fallback,
    Ports,
    Source,
    ToolSpec,
    build_agent,
    guard_middleware,
    guarded,
)
from asyncguard.testing import ScriptedChatModel, calls


@guarded(effect="pure")
def find(q: str) -> str:
    """Find something."""
    return f"found {q}"


def other(q: str) -> str:
    """Find it elsewhere."""
    return q


class Shelf:
    """Something with a method."""

    def find(self, q: str) -> str:
        """Find something."""
        return f"found {q}"


MADE = tool(find)
SEARCH = {"type": "web_search"}


def middleware(tools: Any, **options: Any) -> Any:
    """An agent whose guard is given the tools."""
    guard = AsyncGuardMiddleware(tools=tools, **options)
    return create_agent(
        ScriptedChatModel([calls(("find", {"q": "x"})), "done"]), [find], middleware=[guard]
    )


def graph(tools: Any, **options: Any) -> Any:
    """The same as a state machine."""
    return build_agent(ScriptedChatModel([calls(("find", {"q": "x"})), "done"]), tools, **options)


@pytest.mark.parametrize(
    "tools",
    [[find], (find,), [MADE], [Shelf().find], [find, SEARCH], [], None],
    ids=["function", "tuple", "tool", "method", "provider", "empty", "none"],
)
def test_the_middleware_takes_the_tools_that_create_agent_takes(tools: Any) -> None:
    """The middleware accepts the same tools as ``create_agent``, and the agent runs with them."""
    state = middleware(tools).invoke({"messages": [("user", "Find x.")]})
    assert any("found x" in str(message.content) for message in state["messages"])
    assert state["report"]["reason"] == "complete"


def test_a_declaration_of_a_function_is_known_before_the_agent_runs() -> None:
    """A declaration of a plain function is known before the run, as that of a tool is."""
    assert AsyncGuardMiddleware(tools=[find]).engine.specs["find"].effect == "pure"


@pytest.mark.parametrize("build", [middleware, graph])
@pytest.mark.parametrize(
    "tools",
    [
        find,
        MADE,
        "find",
        {"find": find},
        5,
        [5],
        [None],
        ["find"],
        [lambda q: q],
        [partial(find)],
        [Shelf()],
    ],
    ids=lambda given: type(given[0] if isinstance(given, list) else given).__name__,
)
def test_what_is_no_tool_is_refused_in_words(build: Callable[..., Any], tools: Any) -> None:
    """Never by an error of Python or LangChain."""
    with pytest.raises(CallerError, match=r"list|tool"):
        build(tools)


@pytest.mark.parametrize("build", [middleware, graph])
@pytest.mark.parametrize(
    "specs", [ToolSpec(name="find"), "find", ["find"], {"find": ToolSpec(name="find")}, 5, [find]]
)
def test_what_is_no_declaration_is_refused_in_words(build: Callable[..., Any], specs: Any) -> None:
    """A wrong declaration is refused with a message, also without a list around it."""
    with pytest.raises(CallerError, match="specs"):
        build([find], specs=specs)


@pytest.mark.parametrize("field", ["fallbacks", "sources", "verifier", "probe", "contract"])
@pytest.mark.parametrize(
    "given",
    [other, tool(other), 5],
    ids=["function", "tool", "number"],
)
def test_tools_are_named_and_not_handed_over(field: str, given: Any) -> None:
    """A declaration that holds a tool instead of its name says how to write it."""
    values: dict[str, Any] = {field: [given] if field in ("fallbacks", "sources") else given}
    with pytest.raises(DeclarationError, match=field):
        ToolSpec(name="find", **values)
    with pytest.raises(DeclarationError, match=field):
        guarded(**values)


@pytest.mark.parametrize("kind", [Fallback, Source])
def test_a_sibling_is_named_and_not_handed_over(kind: Any) -> None:
    """A sibling that is given as a function or a number is refused."""
    for given in (other, 5):
        with pytest.raises(DeclarationError, match=f"{kind.__name__}.tool must be a text"):
            kind(tool=given)


@pytest.mark.parametrize(
    "values",
    [
        {"observers": print},
        {"observers": None},
        {"observers": "print"},
        {"clock": "now"},
        {"clock": None},
        {"executor": "local"},
        {"inbox": None},
        {"journal": "journal.db"},
        {"new_id": "id"},
    ],
    ids=lambda given: "-".join(f"{name}-{type(value).__name__}" for name, value in given.items()),
)
def test_what_fits_no_port_is_refused_in_words(values: dict[str, Any]) -> None:
    """A value that does not fit a port is refused when the ports are made, before any run."""
    with pytest.raises(CallerError, match=next(iter(values))):
        Ports(**values)


@pytest.mark.parametrize("build", [middleware, graph])
@pytest.mark.parametrize("option", ["ports", "diagnose"])
@pytest.mark.parametrize("given", ["x", 5, {}, []], ids=str)
def test_what_is_no_port_or_rule_is_refused_in_words(
    build: Callable[..., Any], option: str, given: Any
) -> None:
    """A value that is not a port or rule is refused, also if it is empty."""
    with pytest.raises(CallerError, match=option):
        build([find], **{option: given})


@pytest.mark.parametrize(
    "given",
    [
        None,
        "x",
        AsyncGuardMiddleware(),
        {"a": 1},
        [find],
        [None],
        [ToolRetryMiddleware],
        [[ToolRetryMiddleware()]],
        [AsyncGuardMiddleware(), AsyncGuardMiddleware()],
        [ToolRetryMiddleware(), ToolRetryMiddleware()],
    ],
    ids=[
        "none",
        "text",
        "bare",
        "mapping",
        "function",
        "nothing",
        "class",
        "nested",
        "two guards",
        "twice",
    ],
)
def test_what_is_no_list_of_middleware_is_refused_in_words(given: Any) -> None:
    """A value that is not a list of middleware is refused before LangChain asserts anything."""
    with pytest.raises(CallerError, match=r"list|middleware|AsyncGuardMiddleware"):
        guard_middleware(given)


@pytest.mark.parametrize(
    "given",
    [AsyncGuardMiddleware, find, "guard", ToolRetryMiddleware()],
    ids=["class", "function", "text", "another"],
)
def test_what_is_no_guard_is_refused_in_words(given: Any) -> None:
    """A class instead of an object, for instance."""
    with pytest.raises(CallerError, match="guard must be an AsyncGuardMiddleware"):
        guard_middleware([], guard=given)


def test_a_guard_in_the_list_may_be_named_as_well() -> None:
    """It is the same one; another one is refused."""
    guard = AsyncGuardMiddleware()
    assert guard_middleware([guard, ToolRetryMiddleware()], guard=guard)[0] is guard
    with pytest.raises(CallerError, match="at most one AsyncGuardMiddleware"):
        guard_middleware([guard], guard=AsyncGuardMiddleware())
