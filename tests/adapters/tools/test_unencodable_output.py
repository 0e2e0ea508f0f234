"""Half a surrogate pair in a tool's output reaches no provider, as UTF-8 cannot encode it."""

import asyncio
import json
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, StructuredTool, ToolException
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from asyncguard import GuardConfig, Inbox, Mode, NewsStyle, Ports, Timing, ToolFault, ToolSpec
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import Agent, AgentOf, pure, script

HALF = "cut \ud83d here"
"""A text with an emoji that was cut in half."""
WHOLE = "cut \ufffd here"


def _sent(agent: Agent) -> list[BaseMessage]:
    """Every message that the model was sent; each can be encoded."""
    messages = [message for request in agent.model.requests for message in request.messages]
    for message in messages:
        json.dumps(message.model_dump(), ensure_ascii=False, default=str).encode()
    return messages


def _reader(says: Callable[[str], Any], **options: Any) -> StructuredTool:
    def read(tool_call_id: Annotated[str, InjectedToolCallId]) -> Any:
        """Read it."""
        return says(tool_call_id)

    return StructuredTool.from_function(read, **options)


def _raises(error: Exception) -> Callable[[str], Any]:
    def fail(_: str) -> Any:
        raise error

    return fail


def _message(call_id: str, content: Any, **fields: Any) -> ToolMessage:
    return ToolMessage(content=content, tool_call_id=call_id, **fields)


SAID: dict[str, Callable[[str], Any]] = {
    "text": lambda _: HALF,
    "a value": lambda _: {"found": [HALF]},
    "the name of a value": lambda _: {HALF: 1},
    "text in blocks": lambda _: [{"type": "text", "text": HALF}],
    "texts in a list": lambda _: [HALF, "and more"],
    "a name in a block": lambda _: [{"type": "text", "text": "so", HALF: 1}],
    "a message of its own": lambda call_id: _message(call_id, HALF),
    "a message in a command": lambda call_id: Command(
        update={"messages": [_message(call_id, HALF)]}
    ),
    "an error that it tells": lambda call_id: _message(call_id, HALF, status="error"),
    "an error that it raises": _raises(ValueError(HALF)),
    "a refusal": _raises(ToolFault(HALF, started=False, transient=False)),
    "a ToolException": _raises(ToolException(HALF)),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("says", SAID.values(), ids=SAID)
def test_no_form_of_output_reaches_the_model_unencodable(
    agent_of: AgentOf, says: Callable[[str], Any]
) -> None:
    """The half character is replaced by U+FFFD, and the rest of the output stays."""
    model = ScriptedChatModel(script(calls(("read", {}))))
    agent = agent_of(model, [_reader(says)], specs=[pure("read")])
    outcome = agent.run("Read it.")
    assert WHOLE in str(_sent(agent))
    json.dumps(
        [message.model_dump() for message in outcome.messages], ensure_ascii=False, default=str
    ).encode()


@pytest.mark.parametrize("length", [100, 100_000], ids=["whole", "cut"])
def test_output_that_is_cut_is_encodable(agent_of: AgentOf, length: int) -> None:
    """The limit and the replacement do not stand in each other's way."""
    model = ScriptedChatModel(script(calls(("read", {}))))
    agent = agent_of(model, [_reader(lambda _: f"{HALF}{'é' * length}")], specs=[pure("read")])
    agent.run("Read it.")
    assert WHOLE in str(_sent(agent))


@pytest.mark.parametrize("style", list(NewsStyle), ids=lambda style: style.value)
def test_a_late_result_is_encodable(agent_of: AgentOf, style: NewsStyle) -> None:
    """A late result is encodable between delimiters and as a pair."""
    slow = scripted_tool("slow", [HALF], latency=5.0)
    fast = scripted_tool("fast", ["found"])
    config = GuardConfig(news_style=style, timing=Timing(grace=0.0, linger=0.0))
    model = ScriptedChatModel(script(calls(("slow", {}), ("fast", {})), "I wait."))
    agent = agent_of(model, [slow, fast], specs=[pure("slow"), pure("fast")], config=config)
    agent.run(tasks=[{"id": "a", "goal": "Look."}, {"id": "b", "goal": "Look elsewhere."}])
    _sent(agent)


@pytest.mark.parametrize(
    "content",
    [HALF, {"found": HALF}, [{"type": "text", "text": HALF}]],
    ids=["text", "value", "block"],
)
def test_a_delivered_result_is_encodable(agent_of: AgentOf, content: Any) -> None:
    """A result that the outside world delivers is encodable, too."""
    inbox, tokens = Inbox(), []

    def start(arguments: Any) -> str:
        tokens.append(arguments["token"])
        return "accepted"

    bank = scripted_tool("bank", start, args={"token": str})
    model = ScriptedChatModel(script(calls(("bank", {}))))
    spec = ToolSpec(name="bank", mode=Mode.EXTERNAL, token_argument="token")
    agent = agent_of(
        model, [bank], specs=[spec], ports=Ports(inbox=inbox), checkpointer=InMemorySaver()
    )

    async def main() -> None:
        await agent.say("Ask the bank.", thread="t")
        inbox.deliver(tokens[0], content)
        await agent.resume("wake up", "t")

    run_virtual(main())
    assert WHOLE in str(_sent(agent))


def test_messages_that_a_tool_adds_are_encodable(agent_of: AgentOf) -> None:
    """They are the tool's words, too."""

    def say(call_id: str) -> Any:
        added = [_message(call_id, "read"), HumanMessage(content=HALF)]
        return Command(update={"messages": added})

    agent = agent_of(
        ScriptedChatModel(script(calls(("read", {})))), [_reader(say)], specs=[pure("read")]
    )
    agent.run("Read it.")
    assert WHOLE in str(_sent(agent))


def test_a_history_that_was_brought_along_is_encodable(agent_of: AgentOf) -> None:
    """The words of the user and the messages of another agent are sent without half characters, arguments as well."""
    call = {"name": "read", "args": {"q": HALF, HALF: [HALF]}, "id": "old", "type": "tool_call"}
    brought = [
        HumanMessage(content=HALF),
        AIMessage(content=HALF, tool_calls=[call]),
        _message("old", HALF),
        HumanMessage(content=[{"type": "text", "text": HALF}]),
    ]
    agent = agent_of(ScriptedChatModel(script()), [_reader(lambda _: "read")], specs=[pure("read")])

    asyncio.run(agent.say(brought))
    assert str(_sent(agent)).count("\ufffd") >= 6


def test_text_that_can_be_encoded_stays_as_it_is(agent_of: AgentOf) -> None:
    """A whole pair is one character: neither it nor the escape of a half one in JSON text is touched."""
    said = '{"emoji": "\U0001f600", "escaped": "\\ud83d"}'
    agent = agent_of(
        ScriptedChatModel(script(calls(("read", {})))),
        [_reader(lambda _: said)],
        specs=[pure("read")],
    )
    assert agent.run("Read it.").answer("call_1_1") == said
