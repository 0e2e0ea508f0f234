"""Whole conversations against the loopback server: `create_agent`, structured answers, continued responses."""

from __future__ import annotations

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from pydantic import BaseModel

from tests.support.openai_clients import chat_model
from tests.support.openai_server import (
    Answer,
    Call,
    Message,
    ModelRequest,
    OpenAIServer,
    Reply,
    Role,
    Surface,
    scripted,
)

pytestmark = pytest.mark.server


@pytest.fixture(params=[Surface.CHAT, Surface.RESPONSES], ids=["chat", "responses"])
def surface(request: pytest.FixtureRequest) -> Surface:
    """Run the test on each wire format."""
    return Surface(request.param)


@tool
def locate(city: str) -> str:
    """Find the station of a city."""
    return f"station-of-{city}"


@tool
def forecast(station: str, days: int) -> str:
    """Forecast the weather at a station."""
    return f"{days} sunny days at {station}"


def weather_policy(request: ModelRequest) -> Answer:
    """Locate two cities at once, then forecast for both, then sum up."""
    results = list(request.results.values())
    if not results:
        return Reply(
            text="Locating.", calls=(Call.of("locate", city="Oslo"), Call.of("locate", city="Rom"))
        )
    if len(results) == 2:
        return Reply(
            calls=tuple(Call.of("forecast", station=station, days=2) for station in results)
        )
    return Reply(text="; ".join(results[2:]))


def run_agent(surface: Surface, *, streaming: bool) -> tuple[str, tuple[Message, ...]]:
    """Run the weather agent; return its last word and the last history that the model was sent."""
    with OpenAIServer(weather_policy) as server:
        agent = create_agent(chat_model(server, surface, streaming=streaming), [locate, forecast])
        final = agent.invoke({"messages": [HumanMessage("hello")]})["messages"][-1]
    assert server.refusals == server.errors == ()
    assert [view.streaming for view in server.views] == [streaming] * 3
    return final.text, server.views[-1].messages


@pytest.mark.parametrize("streaming", [False, True])
def test_agent_runs_two_rounds_of_tools(surface: Surface, streaming: bool) -> None:
    """`create_agent` drives two parallel rounds; every history it sends is accepted."""
    final, history = run_agent(surface, streaming=streaming)
    assert final == "2 sunny days at station-of-Oslo; 2 sunny days at station-of-Rom"
    assert [m.role for m in history] == [Role.USER, *([Role.ASSISTANT, Role.TOOL, Role.TOOL] * 2)]


def test_both_surfaces_give_the_policy_one_view() -> None:
    """The same run looks the same to a policy on both surfaces, ids aside."""

    def without_ids(surface: Surface) -> list[tuple[Role, str, list[tuple[str, str]]]]:
        _, history = run_agent(surface, streaming=False)
        return [(m.role, m.text, [(c.name, c.arguments) for c in m.calls]) for m in history]

    assert without_ids(Surface.CHAT) == without_ids(Surface.RESPONSES)


async def test_agent_runs_on_the_async_client(surface: Surface) -> None:
    """The asynchronous client works as the synchronous one does."""
    with OpenAIServer(weather_policy) as server:
        agent = create_agent(chat_model(server, surface), [locate, forecast])
        result = await agent.ainvoke({"messages": [HumanMessage("hello")]})
    assert result["messages"][-1].text.startswith("2 sunny days")
    assert server.refusals == server.errors == ()


class Verdict(BaseModel):
    """A structured answer."""

    city: str
    sunny: bool


def test_structured_output_round_trip(surface: Surface) -> None:
    """A strict schema made by the client is accepted, and the answer is parsed."""
    with OpenAIServer(scripted([Reply(text='{"city": "Oslo", "sunny": true}')])) as server:
        structured = chat_model(server, surface).with_structured_output(
            Verdict, method="json_schema"
        )
        assert structured.invoke("how is it?") == Verdict(city="Oslo", sunny=True)
    assert server.refusals == ()


def test_previous_response_stands_for_its_turns() -> None:
    """With `previous_response_id` the policy still sees the whole conversation."""
    with OpenAIServer(weather_policy) as server:
        agent = create_agent(
            chat_model(server, Surface.RESPONSES, use_previous_response_id=True), [locate, forecast]
        )
        final = agent.invoke({"messages": [HumanMessage("hello")]})["messages"][-1]
    assert final.text.startswith("2 sunny days")
    assert [len(view.messages) for view in server.views] == [1, 4, 7]
    assert [len(view.body["input"]) for view in server.views] == [1, 2, 2]
