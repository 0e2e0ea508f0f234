"""`hold_text` in every channel through which LangChain and LangGraph tell the pieces of a model's message."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.callbacks.usage import get_usage_metadata_callback
from pydantic import BaseModel

from asyncguard import GuardConfig
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import Agent, AgentOf, pure, script

EARLY = "All of it is done."
ANSWER = "Now it is."
TASKS = [{"id": "a", "goal": "Look up x."}, {"id": "b", "goal": "Look up y."}]
GIVEN: dict[str, Any] = {"tasks": TASKS, "messages": []}


class Trip(BaseModel):
    """The trip that was planned."""

    city: str


def early(agent_of: AgentOf, *, hold: bool = True, seconds: float = 5.0) -> Agent:
    """An agent whose model says that all is done while the call of one task is open."""
    first = calls(("quick", {"task_id": "a"}), ("slow", {"task_id": "b"}))
    model = ScriptedChatModel(script(first, EARLY, ever=ANSWER))
    tools = [scripted_tool("quick", ["x"]), scripted_tool("slow", ["y"], latency=seconds)]
    config = GuardConfig(hold_text=hold)
    return agent_of(model, tools, specs=[pure("quick"), pure("slow")], config=config)


class Listener(BaseCallbackHandler):
    """Keeps the pieces and the ends of the messages that it is told of."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.ends: list[str] = []

    def on_llm_new_token(self, token: Any, **_: Any) -> None:
        """Keep a piece."""
        self.pieces.append(str(token))

    def on_llm_end(self, response: Any, **_: Any) -> None:
        """Keep a whole text."""
        self.ends.append(response.generations[0][0].message.text)


class AsyncListener(AsyncCallbackHandler):
    """The same, called on the event loop."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.ends: list[str] = []

    async def on_llm_new_token(self, token: Any, **_: Any) -> None:
        """Keep a piece."""
        self.pieces.append(str(token))

    async def on_llm_end(self, response: Any, **_: Any) -> None:
        """Keep a whole text."""
        self.ends.append(response.generations[0][0].message.text)


@pytest.mark.filterwarnings("ignore:astream_events version='v1' is deprecated")
@pytest.mark.parametrize("hold", [True, False])
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_the_events_of_langchain_stream_no_held_text(
    agent_of: AgentOf, version: Any, *, hold: bool
) -> None:
    """The pieces of the answer come, and of the early text only on request; its end is told with LangGraph's tag."""
    agent = early(agent_of, hold=hold)

    async def main() -> list[Any]:
        return [each async for each in agent.graph.astream_events(GIVEN, version=version)]

    told = run_virtual(main()).result
    pieces = [
        each["data"]["chunk"].text for each in told if each["event"] == "on_chat_model_stream"
    ]
    assert "".join(pieces) == (ANSWER if hold else EARLY + ANSWER)
    ends = [each for each in told if each["event"] == "on_chat_model_end"]
    assert ["nostream" in each["tags"] for each in ends] == [False, hold, False]


@pytest.mark.parametrize("listener_of", [Listener, AsyncListener])
def test_a_callback_handler_is_given_no_piece_of_it(
    agent_of: AgentOf, listener_of: Callable[[], Any]
) -> None:
    """It is told the ends of all messages, as traces need them."""
    agent, listener = early(agent_of), listener_of()

    async def main() -> None:
        config = {"callbacks": [listener]}
        async for _ in agent.graph.astream(GIVEN, config, stream_mode="messages"):
            pass

    run_virtual(main())
    assert "".join(listener.pieces) == ANSWER
    assert listener.ends == ["", EARLY, ANSWER]


def test_a_callback_handler_of_a_sync_run_is_given_no_piece_of_it(agent_of: AgentOf) -> None:
    """The sync entry calls the model with the same handlers."""
    agent, listener = early(agent_of, seconds=0.5), Listener()
    for _ in agent.graph.stream(GIVEN, {"callbacks": [listener]}, stream_mode="messages"):
        pass
    assert "".join(listener.pieces) == ANSWER
    assert listener.ends == ["", EARLY, ANSWER]


@pytest.mark.parametrize("strategy", [ToolStrategy, ProviderStrategy])
def test_an_early_structured_answer_is_shown_nowhere(agent_of: AgentOf, strategy: Any) -> None:
    """Neither its pieces nor its values; the answer that is accepted is."""
    first = calls(("quick", {"task_id": "a"}), ("slow", {"task_id": "b"}))
    by_tool = strategy is ToolStrategy
    early, late = (
        calls(("Trip", {"city": city})) if by_tool else f'{{"city": "{city}"}}'
        for city in ("Nowhere", "Roma")
    )
    tools = [scripted_tool("quick", ["x"]), scripted_tool("slow", ["y"], latency=5.0)]
    agent = agent_of(
        ScriptedChatModel(script(first, early, ever=late)),
        tools,
        specs=[pure("quick"), pure("slow")],
        config=GuardConfig(hold_text=True),
        response_format=strategy(Trip),
    )

    async def main() -> list[Any]:
        modes = ["values", "messages", "updates"]
        return [str(each) async for each in agent.graph.astream(GIVEN, stream_mode=modes)]

    told = run_virtual(main()).result
    assert not [each for each in told if "Nowhere" in each]
    assert "structured_response': Trip(city='Roma')" in told[-1]


def test_tokens_are_counted_once(agent_of: AgentOf) -> None:
    """LangChain adds its counter where it does not find it among the handlers."""

    def counted(*, hold: bool) -> Any:
        agent = early(agent_of, hold=hold)

        async def main() -> Any:
            with get_usage_metadata_callback() as counter:
                await agent.graph.ainvoke(GIVEN)
            (used,) = counter.usage_metadata.values()
            return used["output_tokens"]

        return run_virtual(main()).result

    assert counted(hold=True) == counted(hold=False) > 0
