"""Async tools prepared for being called often: the same tool to everybody, at less cost."""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool, ToolException, tool
from langgraph.prebuilt import InjectedState
from pydantic import ValidationError
from typing_extensions import override

from asyncguard.adapters.tools.fast_path import PreparedTools, prepared


class Listener(AsyncCallbackHandler):
    """Notes what it is told."""

    def __init__(self) -> None:
        """Hear nothing yet."""
        self.heard: list[tuple[Any, ...]] = []

    @override
    async def on_tool_start(
        self, serialized: dict[str, Any], input_str: str, **kwargs: Any
    ) -> None:
        self.heard.append(
            ("start", serialized, input_str, kwargs["tags"], kwargs["metadata"], kwargs["inputs"])
        )

    @override
    async def on_tool_end(self, output: Any, **kwargs: Any) -> None:
        self.heard.append(("end", output))

    @override
    async def on_tool_error(self, error: BaseException, **kwargs: Any) -> None:
        self.heard.append(("error", type(error), str(error)))


async def look(key: str, times: int = 1) -> str:
    """Look something up."""
    return key * times


async def fail(key: str) -> str:
    """Fail."""
    raise ToolException(f"no {key}")


async def both(key: str) -> tuple[str, list[str]]:
    """Give content and more."""
    return key, [key]


TOOLS = {
    "plain": StructuredTool.from_function(coroutine=look, tags=["a"], metadata={"b": 1}),
    "failing": StructuredTool.from_function(coroutine=fail),
    "handling": StructuredTool.from_function(coroutine=fail, handle_tool_error=True),
    "refusing": StructuredTool.from_function(coroutine=look, handle_validation_error="try again"),
    "artifact": StructuredTool.from_function(
        coroutine=both, response_format="content_and_artifact"
    ),
    "decorated": tool(look),
}


def _played(one: BaseTool, arguments: dict[str, Any]) -> tuple[Any, list[tuple[Any, ...]]]:
    listener = Listener()
    call = {"name": one.name, "args": arguments, "id": "c1", "type": "tool_call"}
    try:
        outcome: Any = asyncio.run(one.ainvoke(call, {"callbacks": [listener], "tags": ["run"]}))
    except (ToolException, ValidationError) as error:
        outcome = (type(error), str(error))
    return outcome, listener.heard


@pytest.mark.parametrize(
    "arguments", [{"key": "k"}, {"key": "k", "times": "2"}, {"times": 2}, {"key": 5}]
)
@pytest.mark.parametrize("name", TOOLS)
def test_a_prepared_tool_does_what_the_tool_does(name: str, arguments: dict[str, Any]) -> None:
    """Result, errors, validation and what callbacks are told are the same."""
    ready = prepared(TOOLS[name])
    assert ready is not TOOLS[name]
    assert _played(ready, arguments) == _played(TOOLS[name], arguments)
    assert ready.args == TOOLS[name].args


async def with_config(key: str, config: RunnableConfig) -> str:
    """Say who runs."""
    return f"{key} {config['tags']}"


async def with_callbacks(key: str, callbacks: Any) -> str:
    """Say who listens."""
    return f"{key} {callbacks is not None}"


class Own(StructuredTool):
    """A tool with a class of its own."""


@pytest.mark.parametrize(
    "make",
    [
        lambda: StructuredTool.from_function(coroutine=with_config),
        lambda: StructuredTool.from_function(coroutine=with_callbacks, infer_schema=True),
        lambda: StructuredTool.from_function(
            func=lambda key: key, name="sync", description="Run in a thread."
        ),
        lambda: Own.from_function(coroutine=look),
    ],
)
def test_other_tools_are_left_as_they_are(make: Callable[[], BaseTool]) -> None:
    """A tool that is sync, needs LangChain's context or is of another class is called unchanged."""
    one = make()
    assert prepared(one) is one


def test_a_tool_still_gets_what_langchain_fills_in() -> None:
    """A tool that takes the config is given it."""
    one = prepared(StructuredTool.from_function(coroutine=with_config))
    outcome, _ = _played(one, {"key": "k"})
    assert isinstance(outcome, ToolMessage)
    assert "run" in str(outcome.content)


async def with_state(key: str, state: Annotated[dict[str, Any], InjectedState]) -> str:
    """Read the state."""
    return f"{key} {len(state)}"


def test_tools_are_prepared_once_and_by_identity() -> None:
    """The same tool is prepared once, another one of its name takes its place, and none that is injected is changed."""
    tools = PreparedTools()
    first, second = (StructuredTool.from_function(coroutine=look) for _ in range(2))
    injected = StructuredTool.from_function(coroutine=with_state)
    made = tools.of(first)
    assert made is not first
    assert tools.of(first) is made
    assert tools.of(second) is not made
    assert tools.of(second).metadata is second.metadata
    assert getattr(tools.of(injected), "coroutine", None) is with_state
    assert tools.of(injected) is tools.of(injected)
