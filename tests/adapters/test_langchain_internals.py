"""Each private use of LangChain, with whichever LangChain is installed: CI runs this at both ends of the range."""

import importlib
import traceback
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, Tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from typing_extensions import override

from asyncguard.adapters.langchain_internals import (
    FUNCTION_CALLERS,
    OUTER_MODULES,
    async_body,
    calls_func,
    edits_of,
    find_injected,
    generate_of,
    has_async_body,
    is_decision,
    provider_of,
    sync_body,
)
from asyncguard.testing import ScriptedChatModel, calls


def look(name: str) -> str:
    """Look at something."""
    if name == "raise":
        raise TypeError(name)
    return f"seen {name}"


async def alook(name: str) -> str:
    """Look at something."""
    return look(name)


class Plain(BaseTool):
    """A tool with sync code only."""

    name: str = "plain"
    description: str = "Look."

    @override
    def _run(self, name: str) -> str:
        return look(name)


class Both(Plain):
    """A tool with code for both sides."""

    @override
    async def _arun(self, name: str) -> str:
        return f"async {look(name)}"


STRUCTURED = StructuredTool.from_function(func=look, coroutine=alook)
SIMPLE = Tool(name="look", description="Look.", func=look, coroutine=alook)


def last_code(error: BaseException) -> Any:
    """The code of the last frame that an error has passed."""
    return [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)][-1]


@pytest.mark.parametrize("tool", [STRUCTURED, SIMPLE], ids=["structured", "simple"])
async def test_a_function_that_cannot_be_called_differs_from_one_that_raises(
    tool: StructuredTool | Tool,
) -> None:
    """By the last frame of the error, on both sides."""
    tool = tool.model_copy(
        update={"func": lambda: "never", "coroutine": lambda: pytest.fail("never")}
    )
    with pytest.raises(TypeError) as refused:
        tool.run("a" if isinstance(tool, Tool) else {"name": "a"})
    assert last_code(refused.value) in FUNCTION_CALLERS
    with pytest.raises(TypeError) as refused:
        await tool.arun("a" if isinstance(tool, Tool) else {"name": "a"})
    assert last_code(refused.value) in FUNCTION_CALLERS


@pytest.mark.parametrize("tool", [STRUCTURED, SIMPLE, Plain()], ids=["structured", "simple", "own"])
def test_an_error_of_the_code_itself_is_not_mistaken(tool: BaseTool) -> None:
    """Its last frame is its own."""
    with pytest.raises(TypeError) as raised:
        tool.run("raise" if isinstance(tool, Tool) else {"name": "raise"})
    assert last_code(raised.value) not in FUNCTION_CALLERS


@pytest.mark.parametrize("outer", ["invoke", "ainvoke", "run", "arun"])
@pytest.mark.parametrize("kind", [StructuredTool, Tool, Plain], ids=lambda kind: kind.__name__)
def test_the_outer_methods_are_langchains(kind: type[BaseTool], outer: str) -> None:
    """Unless a class overrides one of them."""
    assert getattr(kind, outer).__module__ in OUTER_MODULES


async def test_the_bodies_of_a_tool_are_its_own_code() -> None:
    """They take the arguments as they are, and neither check them nor turn errors into answers."""
    tool = Both()
    assert sync_body(tool)(name="a") == "seen a"
    assert await async_body(tool)(name="a") == "async seen a"
    assert sync_body(Both) is Plain.__dict__["_run"]


@pytest.mark.parametrize(
    ("kind", "own", "func"),
    [(StructuredTool, True, True), (Tool, True, True), (Plain, False, False), (Both, True, False)],
    ids=["structured", "simple", "sync", "both"],
)
def test_a_class_shows_which_sides_it_has(kind: type[BaseTool], *, own: bool, func: bool) -> None:
    """The inherited async method does not count; LangChain's own classes call their functions."""
    assert has_async_body(kind) is own
    assert calls_func(sync_body(kind)) is func


@pytest.mark.parametrize(
    "made", [StructuredTool.from_function(func=look), Plain(), Both()], ids=lambda made: made.name
)
def test_a_copy_of_a_tool_inherits_what_was_found(made: BaseTool) -> None:
    """LangChain keeps with a tool which arguments it fills in, where a copy has it, too."""
    before = set(vars(made))
    find_injected(made)
    assert set(vars(made)) - before == {"_injected_args_keys"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("langchain_openai:ChatOpenAI", "openai"),
        ("langchain_anthropic:ChatAnthropic", "anthropic"),
        ("langchain_mistralai:ChatMistralAI", "mistral"),
    ],
    ids=["openai", "anthropic", "mistral"],
)
def test_a_model_names_its_provider_and_has_a_sync_side(name: str, expected: str) -> None:
    """The names are those that the rules of providers know.

    The libraries are imported here: at the head of the file each worker would pay 2 s for them.
    """
    module, _, kind = name.partition(":")
    chat_model = getattr(importlib.import_module(module), kind)
    model: BaseChatModel = chat_model(model="m", api_key="none")
    assert provider_of(model) == expected
    assert callable(generate_of(model))


def test_the_state_holds_what_a_reviewer_wrote() -> None:
    """By the id of the call that the model had made; it is empty before."""
    model = ScriptedChatModel([calls(("look", {"name": "a"})), "done"])
    approval = HumanInTheLoopMiddleware({"look": True})
    agent = create_agent(model, [look], middleware=[approval], checkpointer=InMemorySaver())
    place: Any = {"configurable": {"thread_id": "t"}}
    agent.invoke({"messages": [("user", "Look.")]}, place)
    assert edits_of(agent.get_state(place).values) == {}
    written = {"name": "look", "args": {"name": "b"}}
    answer = {"decisions": [{"type": "edit", "edited_action": written}]}
    for _ in agent.stream(Command(resume=answer), place, interrupt_after=["tools"]):
        pass
    assert edits_of(agent.get_state(place).values) == {"call_1_1": written}


@pytest.mark.parametrize("kind", ["reject", "respond"])
def test_the_words_of_a_reviewer_are_marked(kind: str) -> None:
    """They stand in a tool message; the result of a tool has no such mark."""
    model = ScriptedChatModel([calls(("look", {"name": "a"})), "done"])
    approval = HumanInTheLoopMiddleware({"look": True})
    agent = create_agent(model, [look], middleware=[approval], checkpointer=InMemorySaver())
    place: Any = {"configurable": {"thread_id": "t"}}
    agent.invoke({"messages": [("user", "Look.")]}, place)
    answer = Command(resume={"decisions": [{"type": kind, "message": "no"}]})
    _, _, said, _ = agent.invoke(answer, place)["messages"]
    assert isinstance(said, ToolMessage)
    if not said.additional_kwargs:
        pytest.skip("this release of LangChain does not mark them")
    assert is_decision(said)
    assert not is_decision(ToolMessage("no", tool_call_id="call_1_1"))
