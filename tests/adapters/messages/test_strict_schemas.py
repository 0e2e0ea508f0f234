"""Strict mode: the server refuses schemas that leave anything open; what the runtime adds has to close, too."""

import json
from typing import Any

import pytest
from langchain.agents.structured_output import ProviderStrategy
from langchain_core.tools import BaseTool, tool
from pydantic import BaseModel

from asyncguard import GuardConfig, Timing, guarded
from tests.adapters.messages.conftest import Serve
from tests.adapters.messages.stage import FrontEnd, Tools, agent_of, one, tasks, told
from tests.support.openai_clients import chat_model
from tests.support.openai_server import Answer, Call, ModelRequest, Reply, Surface

pytestmark = pytest.mark.server

_STRICT = {"strict": True}


def _parameters(request: ModelRequest, name: str) -> dict[str, Any]:
    shown = request.tool(name)
    assert shown is not None
    assert shown.strict
    return shown.parameters


def _chain(request: ModelRequest) -> Answer:
    """Dig and look in one message; the second takes what the first will find."""
    if told(request, "seen found ants"):
        return Reply(text="Done.")
    names = {"task_id": "ants"} if "task_id" in _parameters(request, "dig")["properties"] else {}
    dig = Call.of("dig", **names, topic="ants")
    found = {"from_call": "dig#1", "pointer": ""}
    other = (Call.of("look", task_id="bees", topic="bees", depth=1),) if names else ()
    return Reply(calls=(dig, Call.of("look", **names, topic=found, depth=1), *other))


@pytest.mark.parametrize(
    "given", [one("Dig ants."), tasks("ants", "bees")], ids=["one task", "two tasks"]
)
async def test_every_schema_is_strict(
    serve: Serve, surface: Surface, front_end: FrontEnd, tools: Tools, given: dict[str, Any]
) -> None:
    """Task argument and references fit strict mode, and a reference works there."""
    server = serve(_chain)
    tools.gate("ants").set()
    agent = agent_of(front_end, chat_model(server, surface), tools.all(), options=_STRICT)
    final = await agent.ainvoke(given)
    assert final["report"]["reason"] == "complete"
    assert tools.executed["look found ants"] == 1
    look = _parameters(server.views[0], "look")
    assert set(look["required"]) == set(look["properties"])
    assert "from_call" in json.dumps(look["properties"]["topic"])
    assert "from_call" not in json.dumps(_parameters(server.views[0], "send"))


class Part(BaseModel):
    """Part of a plan."""

    name: str
    weight: float | None = None


class Plan(BaseModel):
    """A plan."""

    parts: list[Part]
    urgent: bool = False


def _plan(plan: Plan, note: str = "") -> str:
    """Weigh a plan."""
    return f"weighed {len(plan.parts)}"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("effect", ["pure", "at_most_once"])
@pytest.mark.parametrize("count", [1, 2])
async def test_nested_schemas_are_strict(
    serve: Serve, surface: Surface, front_end: FrontEnd, effect: str, count: int
) -> None:
    """Definitions, defaults and optional values of a tool do not keep its schema from being strict."""
    weigh: BaseTool = guarded(effect=effect)(tool("weigh")(_plan))

    def policy(request: ModelRequest) -> Answer:
        if told(request, "weighed 1"):
            return Reply(text="Done.")
        names = {"task_id": "a"} if count > 1 else {}
        plan = {"parts": [{"name": "x", "weight": None}], "urgent": False}
        return Reply(calls=(Call.of("weigh", **names, plan=plan, note=""),))

    server = serve(policy)
    # On a busy machine a thread may need more than the default grace window to start.
    config = GuardConfig(grounding=False, timing=Timing(grace=5.0))
    agent = agent_of(
        front_end, chat_model(server, surface), [weigh], options=_STRICT, config=config
    )
    final = await agent.ainvoke(one("Weigh x.") if count == 1 else tasks("a", "b"))
    assert final["report"]["tasks"][0]["calls"] == {"done": 1}
    assert _parameters(server.views[0], "weigh")["additionalProperties"] is False


class Found(BaseModel):
    """What was found."""

    text: str


@guarded(effect="keyed", key_argument="key", reads=[], writes=["notes"])
@tool
def note(text: str, color: str = "red", key: str = "") -> str:
    """Note a text."""
    return f"noted {text} in {color}"


@pytest.mark.parametrize("count", [1, 2])
async def test_tools_beside_a_structured_answer_are_strict(
    serve: Serve, surface: Surface, front_end: FrontEnd, count: int
) -> None:
    """The chat surface takes the provider's form of an answer beside strict tools only."""

    def policy(request: ModelRequest) -> Answer:
        if told(request, "noted x"):
            return Reply(text='{"text": "x"}')
        names = {"task_id": "a"} if count > 1 else {}
        return Reply(calls=(Call.of("note", **names, text="x", color="red"),))

    server = serve(policy)
    config = GuardConfig(completion=False, timing=Timing(grace=5.0))
    model = chat_model(server, surface)
    agent = agent_of(
        front_end, model, [note], config=config, response_format=ProviderStrategy(Found)
    )
    final = await agent.ainvoke(one("Note x.") if count == 1 else tasks("a", "b"))
    assert final["structured_response"] == Found(text="x")
    shown = server.views[0].tool("note")
    assert shown is not None
    assert "key" not in shown.parameters["properties"]
    assert ("task_id" in shown.parameters["properties"]) is (count > 1)
    assert shown.strict is (surface is Surface.CHAT)
