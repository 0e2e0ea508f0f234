"""A service that fails: the client retries; a lasting failure reaches the caller."""

from collections.abc import Iterator
from typing import Any

import openai
import pytest
from langgraph.checkpoint.memory import InMemorySaver

from tests.adapters.messages.conftest import Serve
from tests.adapters.messages.stage import FrontEnd, Tools, agent_of, one, tasks, told
from tests.support.openai_clients import chat_model
from tests.support.openai_server import (
    Answer,
    Call,
    Disconnect,
    Failure,
    ModelRequest,
    Reply,
    Surface,
)

pytestmark = pytest.mark.server

_AT_ONCE = 0.001
_THREAD = {"configurable": {"thread_id": "1"}}


class Failing:
    """A policy that first gives some failures of the service, from a given request on."""

    def __init__(self, policy: Any, failures: list[Answer], *, at: int = 1) -> None:
        self._policy = policy
        self._failures: Iterator[Answer] = iter(failures)
        self._at = at
        self._asked = 0

    def __call__(self, request: ModelRequest) -> Answer:
        """Fail while there are failures left."""
        self._asked += 1
        failure = next(self._failures, None) if self._asked >= self._at else None
        answer: Answer = self._policy(request) if failure is None else failure
        return answer


def _look_once(request: ModelRequest) -> Answer:
    done = told(request, "seen ants")
    return Reply(text="Seen.") if done else Reply(calls=(Call.of("look", topic="ants"),))


_MENDED: list[Answer] = [
    Failure(status=429, retry_after=_AT_ONCE),
    Failure(status=500, retry_after=_AT_ONCE),
    Failure(status=503, retry_after=_AT_ONCE, body="<html>gateway</html>"),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("failure", _MENDED, ids=lambda failure: str(failure.status))
@pytest.mark.parametrize("at", [1, 2])
async def test_the_client_mends_what_passes(
    serve: Serve, surface: Surface, front_end: FrontEnd, tools: Tools, failure: Answer, at: int
) -> None:
    """Two failures in a row cost no turn, no call and no message."""
    server = serve(Failing(_look_once, [failure, failure], at=at))
    agent = agent_of(front_end, chat_model(server, surface, max_retries=2), tools.all())
    final = await agent.ainvoke(one("Look at ants."))
    assert (final["report"]["reason"], final["report"]["turns"]) == ("complete", 2)
    assert len(final["messages"]) == 4
    assert tools.executed == {"look ants": 1}


class SlowAndFast:
    """Digs for ants, looks for bees, and opens the gate of the ants when asked again after a failure."""

    def __call__(self, request: ModelRequest) -> Answer:
        """Act on what is new."""
        if not any(message.calls for message in request.messages):
            dig = Call.of("dig", task_id="ants", topic="ants")
            return Reply(calls=(dig, Call.of("look", task_id="bees", topic="bees")))
        return Reply(text="Both are known." if told(request, "found ants") else "Bees are known.")


_EXHAUSTED: list[tuple[Answer, type[Exception]]] = [
    (Failure(status=429, retry_after=_AT_ONCE), openai.RateLimitError),
    (Failure(status=500, retry_after=_AT_ONCE), openai.InternalServerError),
    (Disconnect(), openai.APIConnectionError),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("failure", "error"), _EXHAUSTED, ids=["429", "500", "disconnect"])
async def test_a_failed_run_is_resumed_with_its_calls(
    serve: Serve,
    surface: Surface,
    front_end: FrontEnd,
    tools: Tools,
    failure: Answer,
    error: type[Exception],
) -> None:
    """The exception reaches the caller; ``ainvoke(None)`` continues and repeats no call."""
    server = serve(Failing(SlowAndFast(), [failure], at=2))
    model = chat_model(server, surface, max_retries=0)
    agent = agent_of(front_end, model, tools.all(), checkpointer=InMemorySaver())
    with pytest.raises(error):
        await agent.ainvoke(tasks("ants", "bees"), _THREAD)
    tools.gate("ants").set()
    final = await agent.ainvoke(None, _THREAD)
    _check_resumed(final, tools)
    assert told(server.views[-1], "found ants")


def test_a_failed_sync_run_is_resumed_with_its_calls(
    serve: Serve, surface: Surface, front_end: FrontEnd, tools: Tools
) -> None:
    """The same holds for ``invoke``: background calls live on between two entries."""
    server = serve(Failing(SlowAndFast(), [Failure(status=500, retry_after=_AT_ONCE)], at=2))
    model = chat_model(server, surface, max_retries=0)
    agent = agent_of(front_end, model, tools.all(), checkpointer=InMemorySaver())
    with pytest.raises(openai.InternalServerError):
        agent.invoke(tasks("ants", "bees"), _THREAD)
    tools.gate("ants").set()
    _check_resumed(agent.invoke(None, _THREAD), tools)


def _check_resumed(final: dict[str, Any], tools: Tools) -> None:
    assert tools.executed == {"dig ants": 1, "look bees": 1}
    assert final["report"]["reason"] == "complete"
    assert [task["calls"] for task in final["report"]["tasks"]] == [{"done": 1}] * 2
    assert final["messages"][-1].text == "Both are known."


async def test_a_run_that_failed_at_once_can_begin_again(
    serve: Serve, front_end: FrontEnd, tools: Tools
) -> None:
    """A failure of the very first request leaves a thread that takes the same message again."""
    server = serve(Failing(_look_once, [Failure(status=500, retry_after=_AT_ONCE)]))
    model = chat_model(server, Surface.CHAT, max_retries=0)
    agent = agent_of(front_end, model, tools.all(), checkpointer=InMemorySaver())
    with pytest.raises(openai.InternalServerError):
        await agent.ainvoke(one("Look at ants."), _THREAD)
    final = await agent.ainvoke(one("Please, look at ants."), _THREAD)
    assert final["report"]["reason"] == "complete"
    assert tools.executed == {"look ants": 1}


async def test_a_stream_that_breaks_leaves_no_half_message(
    serve: Serve, surface: Surface, front_end: FrontEnd, tools: Tools
) -> None:
    """The chunks of a broken stream are discarded: no call of them is run or kept."""
    half = Disconnect(reply=Reply(calls=(Call.of("send", text="hello"),)), after_events=3)
    server = serve(Failing(_look_once, [half]))
    model = chat_model(server, surface, streaming=True, max_retries=0)
    agent = agent_of(front_end, model, tools.all(), checkpointer=InMemorySaver())
    with pytest.raises(Exception, match=r"(?i)connection|closed|incomplete|peer|no generation"):
        await agent.ainvoke(one("Look at ants."), _THREAD)
    final = await agent.ainvoke(None, _THREAD)
    assert final["report"]["reason"] == "complete"
    assert tools.executed == {"look ants": 1}
