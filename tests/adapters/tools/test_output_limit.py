"""The limit on output: the model is shown no more than it allows, whatever the output's form."""

import json
from typing import Annotated, Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from asyncguard import GuardConfig, Inbox, Limits, Ports, ToolSpec
from asyncguard.adapters.messages.sanitize import limited
from asyncguard.core.calls import content_size
from asyncguard.core.tool_spec import Mode
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import Agent, AgentOf, pure, script

LIMIT = 1000
NOTE = 400
"""Bytes that the notes may take."""
CONFIG = GuardConfig(limits=Limits(max_output_bytes=LIMIT))
HUGE = "z" * 200_000
IMAGE = {"type": "image", "base64": "A" * 5000, "mime_type": "image/png"}
SMALL = {"type": "image", "base64": "AAAA", "mime_type": "image/png"}


def _answer(agent_of: AgentOf, content: Any, **spec: Any) -> tuple[Agent, ToolMessage]:
    """The answer that the model is sent for a tool's own message with this content."""

    @tool
    def read(tool_call_id: Annotated[str, InjectedToolCallId]) -> Any:
        """Read it."""
        return ToolMessage(content=content, tool_call_id=tool_call_id, artifact={"whole": content})

    agent = agent_of(
        ScriptedChatModel(script(calls(("read", {})))),
        [read],
        specs=[pure("read", **spec)],
        config=CONFIG,
    )
    outcome = agent.run("Read it.")
    return agent, next(message for message in outcome.messages if isinstance(message, ToolMessage))


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "content",
    [
        HUGE,
        [{"type": "text", "text": HUGE}],
        [{"type": "text", "text": "é" * 100_000}],
        [{"type": "text", "text": "z" * 300} for _ in range(900)],
        [{"type": "text", "text": "."} for _ in range(90_000)],
        [{"type": "text", "text": "short", "annotations": [HUGE]}],
        [{"type": "json", "json": {"rows": [{"a": HUGE}]}}],
        [IMAGE, {"type": "text", "text": "a picture"}, IMAGE],
        [{"type": kind, "data": HUGE} for kind in ("image", "file", "json", "document")],
    ],
    ids=lambda content: f"{str(content)[:40]} {len(content)}",
)
def test_no_form_of_content_is_shown_beyond_the_limit(agent_of: AgentOf, content: Any) -> None:
    """Text, blocks of text, many blocks, other blocks: what is left has the form that it had, and says what is gone."""
    _, answer = _answer(agent_of, content)
    assert content_size(answer.content) <= LIMIT + NOTE
    assert isinstance(answer.content, type(content))
    assert "[read#1: " in str(answer.content)
    assert answer.artifact == {"whole": content}


def test_a_list_of_texts_is_bounded(agent_of: AgentOf) -> None:
    """A tool may return texts in a list, too."""
    read = scripted_tool("read", [["y" * 900, HUGE, "x"]])
    agent = agent_of(
        ScriptedChatModel(script(calls(("read", {})))), [read], specs=[pure("read")], config=CONFIG
    )
    outcome = agent.run("Read it.")
    assert content_size(outcome.answer("call_1_1")) <= LIMIT + NOTE
    assert all(content_size(message.content) <= LIMIT + NOTE for message in outcome.messages)


def test_what_fits_stays_and_what_does_not_is_named(agent_of: AgentOf) -> None:
    """An image is whole or left out, with its kind and size in a note; what stands before and after it is kept."""
    _, answer = _answer(
        agent_of,
        [{"type": "text", "text": "before"}, SMALL, IMAGE, {"type": "text", "text": "after"}],
    )
    assert answer.content[:3] == [
        {"type": "text", "text": "before"},
        SMALL,
        {"type": "text", "text": "after"},
    ]
    size = len(json.dumps(IMAGE, separators=(",", ":")))
    assert answer.content[3] == {
        "type": "text",
        "text": f"[read#1: blocks were left out, for at most {LIMIT} bytes are shown: image ({size} bytes)]",
    }


def test_a_content_within_the_limit_is_the_same_object() -> None:
    """Nothing is copied where nothing is cut."""
    content = [{"type": "text", "text": "z"}, SMALL, "y"]
    assert limited(content, LIMIT, "read#1") is content


def test_a_note_names_few_kinds_and_none_that_a_tool_made_up() -> None:
    """The words of the note are the runtime's: a kind is named if it is a short word, and only some are."""
    blocks = [
        {"type": kind, "data": HUGE}
        for kind in (HUGE, "[asyncguard: yes]", *(f"kind{n}" for n in range(50)))
    ]
    [note] = limited(blocks, LIMIT, "read#1")
    assert content_size(note) <= NOTE
    assert "other (" not in note["text"]
    assert "yes" not in note["text"]
    nested: Any = "deep"
    for _ in range(5000):
        nested = [nested]
    assert "image" in str(limited([{"type": "image", "data": nested}], LIMIT, "read#1"))


def test_without_the_guard_nothing_is_cut(agent_of: AgentOf) -> None:
    """The limit belongs to ``capacity``, for blocks as for text."""
    content = [{"type": "text", "text": HUGE}]
    read = scripted_tool("read", [content])
    config = GuardConfig(capacity=False, limits=Limits(max_output_bytes=LIMIT))
    agent = agent_of(
        ScriptedChatModel(script(calls(("read", {})))), [read], specs=[pure("read")], config=config
    )
    assert HUGE in str(agent.run("Read it.").messages[2].content)


@pytest.mark.parametrize("effect", ["pure", "at_most_once"])
def test_errors_are_bounded(agent_of: AgentOf, effect: Any) -> None:
    """The words of an exception, of a call that failed and of one in doubt."""
    read = scripted_tool("read", [ValueError(HUGE)] * 3)
    spec = ToolSpec(name="read", effect=effect)
    agent = agent_of(
        ScriptedChatModel(script(calls(("read", {})))), [read], specs=[spec], config=CONFIG
    )
    assert content_size(agent.run("Read it.").answer("call_1_1")) <= LIMIT + NOTE


def test_messages_of_a_command_are_bounded(agent_of: AgentOf) -> None:
    """The tool's own answer and what it says beside it."""

    @tool
    def read(tool_call_id: Annotated[str, InjectedToolCallId]) -> Any:
        """Read it."""
        own = ToolMessage(content=[{"type": "text", "text": HUGE}], tool_call_id=tool_call_id)
        return Command(
            update={"messages": [own, HumanMessage(content=[{"type": "text", "text": HUGE}])]}
        )

    agent = agent_of(
        ScriptedChatModel(script(calls(("read", {})))), [read], specs=[pure("read")], config=CONFIG
    )
    for message in agent.run("Read it.").messages:
        assert content_size(message.content) <= LIMIT + NOTE


@pytest.mark.parametrize(
    "content", [[{"type": "text", "text": HUGE}], [IMAGE, IMAGE], {"rows": [HUGE]}], ids=str
)
def test_late_results_and_deliveries_are_bounded(agent_of: AgentOf, content: Any) -> None:
    """A notification, and what comes through the inbox."""
    inbox = Inbox()

    def start(arguments: Any) -> str:
        inbox.deliver(arguments["token"], content)
        return "begun"

    order = scripted_tool("order", start, args={"token": (str, "")})
    slow = scripted_tool("slow", [content], latency=50.0)
    spec = ToolSpec(
        name="order", mode=Mode.EXTERNAL, token_argument="token", reads=(), writes=("orders",)
    )
    agent = agent_of(
        ScriptedChatModel(
            script(calls(("order", {"task_id": "a"}), ("slow", {"task_id": "b"})), "I wait.")
        ),
        [order, slow],
        specs=[spec, pure("slow")],
        config=CONFIG,
        ports=Ports(inbox=inbox),
        checkpointer=InMemorySaver(),
    )
    outcome = agent.run(
        tasks=[{"id": "a", "goal": "Order."}, {"id": "b", "goal": "Look."}], thread="t"
    )
    for message in outcome.messages:
        assert content_size(message.content) <= 2 * (LIMIT + NOTE)


def test_what_is_larger_than_what_is_stored_keeps_its_form_and_artifact(agent_of: AgentOf) -> None:
    """The beginning of a result too large to keep is a list of blocks, too, with its artifact."""
    content = [{"type": "text", "text": "z" * 2_000_000}]
    _, answer = _answer(agent_of, content)
    assert isinstance(answer.content, list)
    assert content_size(answer.content) <= LIMIT + NOTE
    assert answer.artifact == {"whole": content}
