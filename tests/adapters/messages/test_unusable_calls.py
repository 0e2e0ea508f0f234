"""Calls that cannot be run: each is answered to its id, nothing happens, and the model corrects itself."""

import pytest
from langchain.agents.structured_output import ToolStrategy
from pydantic import BaseModel

from asyncguard.testing import Provider, check_history
from tests.adapters.messages.conftest import Serve
from tests.adapters.messages.stage import FrontEnd, Tools, agent_of, one, tasks, told
from tests.support.openai_clients import chat_model
from tests.support.openai_server import Answer, Call, ModelRequest, Reply, Role, Surface, scripted

pytestmark = [pytest.mark.server, pytest.mark.slow]

_NOT_JSON = ['{"text": ', "no JSON", '{"text": "hello"}}']
_NOT_PLAIN = ['{"text": NaN}', '{"text": "\\ud800"}', '{"text": 123456789012345678901234567890}']
_NAMES = ["no such tool", "send it", "naïve.send", "x" * 100, "functions.send"]


class Corrected:
    """A model that makes one unusable call and, told so, the right one."""

    def __init__(self, wrong: Call, **names: str) -> None:
        self._wrong = wrong
        self._names = names

    def __call__(self, request: ModelRequest) -> Answer:
        """The next message."""
        if told(request, "sent hello"):
            return Reply(text="Sent.")
        if any(message.role is Role.TOOL for message in request.messages):
            return Reply(calls=(Call.of("send", **self._names, text="hello"),))
        return Reply(text="Sending.", calls=(self._wrong,))


def _answer_to(request: ModelRequest, call_number: int) -> str:
    calls = [call for message in request.messages for call in message.calls]
    return request.results[str(calls[call_number].id)]


@pytest.mark.parametrize("arguments", [*_NOT_JSON, *_NOT_PLAIN, ""])
@pytest.mark.parametrize("streaming", [False, True])
async def test_malformed_arguments_are_answered(
    serve: Serve,
    surface: Surface,
    front_end: FrontEnd,
    tools: Tools,
    arguments: str,
    *,
    streaming: bool,
) -> None:
    """The model is told what is wrong with its JSON, and only its corrected call has an effect."""
    server = serve(Corrected(Call(name="send", arguments=arguments)))
    agent = agent_of(front_end, chat_model(server, surface, streaming=streaming), tools.all())
    final = await agent.ainvoke(one("Send hello."))
    assert tools.executed == {"send hello": 1}
    assert final["messages"][-1].text == "Sent."
    assert "was not run" in _answer_to(server.views[1], 0)
    assert _answer_to(server.views[2], 1) == "sent hello"


@pytest.mark.parametrize("arguments", ['["hello"]', '"hello"', "5", "true"])
@pytest.mark.parametrize("streaming", [False, True])
async def test_arguments_that_are_no_object_are_told(
    serve: Serve,
    surface: Surface,
    front_end: FrontEnd,
    tools: Tools,
    arguments: str,
    *,
    streaming: bool,
) -> None:
    """The client cannot even build such a message; the model is told all the same, and continues."""
    server = serve(Corrected(Call(name="send", arguments=arguments)))
    agent = agent_of(front_end, chat_model(server, surface, streaming=streaming), tools.all())
    final = await agent.ainvoke(one("Send hello."))
    assert tools.executed == {"send hello": 1}
    assert final["messages"][-1].text == "Sent."
    assert "was not run" in _answer_to(server.views[1], 0)


def test_arguments_that_are_no_object_are_told_sync(
    serve: Serve, surface: Surface, front_end: FrontEnd, tools: Tools
) -> None:
    """The same holds for ``invoke``."""
    server = serve(Corrected(Call(name="send", arguments="[1]")))
    agent_of(front_end, chat_model(server, surface), tools.all()).invoke(one("Send hello."))
    assert tools.executed == {"send hello": 1}
    assert "none of its calls was run" in _answer_to(server.views[1], 0)


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize("streaming", [False, True])
async def test_unknown_names_are_answered(
    serve: Serve, surface: Surface, front_end: FrontEnd, tools: Tools, name: str, *, streaming: bool
) -> None:
    """A call of an unknown tool is answered with the existing names; the history stays valid."""
    server = serve(Corrected(Call.of(name, text="hello")))
    agent = agent_of(front_end, chat_model(server, surface, streaming=streaming), tools.all())
    await agent.ainvoke(one("Send hello."))
    assert tools.executed == {"send hello": 1}
    assert "dig" in _answer_to(server.views[1], 0)


async def test_one_of_three_calls_is_malformed(
    serve: Serve, surface: Surface, front_end: FrontEnd, tools: Tools
) -> None:
    """The sound calls of a message run; the malformed one between them does not."""

    def policy(request: ModelRequest) -> Answer:
        if request.results:
            return Reply(text="Seen.")
        look = [Call.of("look", task_id=name, topic=name) for name in ("ants", "bees")]
        return Reply(calls=(look[0], Call(name="send", arguments='{"text"'), look[1]))

    server = serve(policy)
    agent = agent_of(front_end, chat_model(server, surface), tools.all())
    await agent.ainvoke(tasks("ants", "bees"))
    assert tools.executed == {"look ants": 1, "look bees": 1}
    (malformed,) = (
        call
        for message in server.views[1].messages
        for call in message.calls
        if call.name == "send"
    )
    assert "not valid JSON" in server.views[1].results[str(malformed.id)]


async def test_ids_that_a_server_repeats_are_told_apart(
    serve: Serve, front_end: FrontEnd, tools: Tools
) -> None:
    """Servers that count calls from 0 in every message are answered to one call each."""

    def policy(request: ModelRequest) -> Answer:
        done = len(request.results)
        return (
            Reply(text="Done.")
            if done == 3
            else Reply(calls=(Call(name="look", arguments=_TOPICS[done], id="0"),))
        )

    server = serve(policy)
    agent = agent_of(front_end, chat_model(server, Surface.CHAT), tools.all())
    await agent.ainvoke(one("Look at ants, bees and cats."))
    assert sorted(server.views[-1].results.values()) == ["seen ants", "seen bees", "seen cats"]


class Seen(BaseModel):
    """A structured answer."""

    topic: str


async def test_a_structured_answer_with_a_repeated_id_is_one(serve: Serve, tools: Tools) -> None:
    """LangChain answers the call of a structured answer itself; its answer follows the call's new id."""
    look = Call(name="look", arguments=_TOPICS[0], id="0")
    server = serve(
        scripted(
            [Reply(calls=(look,)), Reply(calls=(Call(name="Seen", arguments=_TOPICS[0], id="0"),))]
        )
    )
    model = chat_model(server, Surface.CHAT)
    agent = agent_of(FrontEnd.MIDDLEWARE, model, tools.all(), response_format=ToolStrategy(Seen))
    final = await agent.ainvoke(one("Look at ants."))
    assert final["structured_response"] == Seen(topic="ants")
    assert final["report"]["reason"] == "complete"
    check_history(final["messages"], Provider.OPENAI)


_TOPICS = ['{"topic": "ants"}', '{"topic": "bees"}', '{"topic": "cats"}']
