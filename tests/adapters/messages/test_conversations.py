"""Whole runs through a real client and a strict server: one task, several tasks, late results, both entries."""

import json
from itertools import pairwise
from typing import Any

import pytest

from asyncguard import GuardConfig, NewsStyle
from tests.adapters.messages.conftest import Serve
from tests.adapters.messages.stage import FrontEnd, Tools, agent_of, one, sent_messages, tasks, told
from tests.support.openai_clients import chat_model
from tests.support.openai_server import Answer, Call, ModelRequest, Reply, Surface

pytestmark = pytest.mark.server


def _look_twice(request: ModelRequest) -> Answer:
    """Two parallel calls, then a text."""
    if told(request, "seen ants"):
        return Reply(text="Ants and bees.")
    return Reply(
        text="Looking.", calls=(Call.of("look", topic="ants"), Call.of("look", topic="bees"))
    )


@pytest.mark.parametrize("model", ["openai:gpt-4.1", "openai:gpt-5-pro"])
async def test_a_name_is_enough(
    serve: Serve, front_end: FrontEnd, tools: Tools, model: str
) -> None:
    """``"provider:name"`` reaches the server that the environment names, with parallel calls answered in one go."""
    server = serve(_look_twice)
    final = await agent_of(front_end, model, tools.all()).ainvoke(one("Compare ants and bees."))
    assert final["messages"][-1].text == "Ants and bees."
    assert final["report"]["reason"] == "complete"
    assert tools.executed == {"look ants": 1, "look bees": 1}
    assert len(server.views) == 2
    assert sorted(server.views[-1].results.values()) == ["seen ants", "seen bees"]


def test_the_sync_entry_says_the_same(
    serve: Serve, surface: Surface, front_end: FrontEnd, tools: Tools
) -> None:
    """``invoke`` sends the requests that ``ainvoke`` sends."""
    server = serve(_look_twice)
    final = agent_of(front_end, chat_model(server, surface), tools.all()).invoke(
        one("Compare ants and bees.")
    )
    assert final["messages"][-1].text == "Ants and bees."
    assert tools.executed == {"look ants": 1, "look bees": 1}
    assert len(server.views) == 2


class ThreeTasks:
    """A model with three tasks: digs for two of them, looks for one, sends what it was told, and never guesses."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    def __call__(self, request: ModelRequest) -> Answer:
        """Act on what is new."""
        if not any(message.calls for message in request.messages):
            dig = [Call.of("dig", task_id=name, topic=name) for name in ("ants", "bees")]
            return Reply(calls=(*dig, Call.of("look", task_id="cats", topic="cats")))
        if told(request, "found bees"):
            self._tools.gate("ants").set()
        if told(request, "seen cats"):
            self._tools.gate("bees").set()
        made = {
            json.loads(call.arguments).get("text")
            for message in request.messages
            for call in message.calls
        }
        news = {"ants": "found ants", "bees": "found bees", "cats": "seen cats"}
        calls = [
            Call.of("send", task_id=name, text=text)
            for name, text in news.items()
            if told(request, text) and text not in made
        ]
        return Reply(calls=tuple(calls)) if calls else Reply(text="All three are sent.")


def _check_three_tasks(final: dict[str, Any], tools: Tools) -> None:
    wanted = [
        "dig ants",
        "dig bees",
        "look cats",
        "send found ants",
        "send found bees",
        "send seen cats",
    ]
    assert tools.executed == dict.fromkeys(wanted, 1)
    report = final["report"]
    assert (report["reason"], report["open_calls"]) == ("complete", [])
    assert [task["calls"] for task in report["tasks"]] == [{"done": 2}] * 3


@pytest.mark.sampled(2)
@pytest.mark.parametrize("style", list(NewsStyle))
async def test_late_results_of_three_tasks(
    serve: Serve, surface: Surface, front_end: FrontEnd, tools: Tools, style: NewsStyle
) -> None:
    """Slow tools end in another order than they began: each history is accepted, and its beginning never changes."""
    server = serve(ThreeTasks(tools))
    agent = agent_of(
        front_end, chat_model(server, surface), tools.all(), config=GuardConfig(news_style=style)
    )
    final = await agent.ainvoke(tasks("ants", "bees", "cats"))
    _check_three_tasks(final, tools)
    _check_prefixes(sent_messages(server))
    assert len({json.dumps(view.body["tools"]) for view in server.views}) == 1


def test_late_results_by_the_sync_entry(
    serve: Serve, surface: Surface, front_end: FrontEnd, tools: Tools
) -> None:
    """Background calls continue between the turns of a sync run."""
    server = serve(ThreeTasks(tools))
    final = agent_of(front_end, chat_model(server, surface), tools.all()).invoke(
        tasks("ants", "bees", "cats")
    )
    _check_three_tasks(final, tools)
    _check_prefixes(sent_messages(server))


def _check_prefixes(requests: list[list[str]]) -> None:
    """Check that requests repeat their predecessors unchanged, so that prompt caches work.

    Only the view of the tasks at the end may differ.
    """
    stored = [
        [item for item in request if "State of your tasks" not in item] for request in requests
    ]
    for request, kept in zip(requests, stored, strict=True):
        assert request[: len(kept)] == kept
        assert len(request) - len(kept) <= 1
    for earlier, later in pairwise(stored):
        assert later[: len(earlier)] == earlier
        assert len(later) > len(earlier)


async def test_the_task_argument_is_in_the_schemas(
    serve: Serve, surface: Surface, front_end: FrontEnd, tools: Tools
) -> None:
    """With several tasks each tool demands the task, named by its ids; the tool's own arguments stay."""
    server = serve(ThreeTasks(tools))
    agent = agent_of(front_end, chat_model(server, surface), tools.all())
    await agent.ainvoke(tasks("ants", "bees", "cats"))
    for name, own in (("look", {"topic", "depth"}), ("dig", {"topic"}), ("send", {"text"})):
        shown = server.views[0].tool(name)
        assert shown is not None
        assert shown.parameters["properties"]["task_id"]["enum"] == ["ants", "bees", "cats"]
        assert "task_id" in shown.parameters["required"]
        assert set(shown.parameters["properties"]) == {"task_id", *own}


async def test_one_task_shows_no_task_argument(
    serve: Serve, surface: Surface, front_end: FrontEnd, tools: Tools
) -> None:
    """A single task adds no argument, and a tool without references is shown as it is."""
    server = serve(_look_twice)
    await agent_of(front_end, chat_model(server, surface), tools.all()).ainvoke(
        one("Compare ants and bees.")
    )
    shown = server.views[0].tool("send")
    assert shown is not None
    assert set(shown.parameters["properties"]) == {"text"}
