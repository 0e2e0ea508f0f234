"""The stored size of a step does not grow with the history of its thread."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import psycopg
import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool

from asyncguard import AsyncGuardMiddleware, GuardConfig, Limits, build_agent, guard_middleware
from tests.adapters.harness import Frontend, pure
from tests.adapters.threads.stores import Kind, Store, place

CONFIG = GuardConfig(limits=Limits(max_model_turns=100_000))
HERE = {**place("t"), "recursion_limit": 100_000}
WINDOW = 20
"""Steps of which the average is taken; none of them may be one that stores a snapshot."""

_SQLITE = """
    select (select coalesce(sum(length(checkpoint) + length(metadata)), 0) from checkpoints)
         + (select coalesce(sum(length(value)), 0) from writes)
"""
_POSTGRES = """
    select (select coalesce(sum(octet_length(checkpoint::text) + octet_length(metadata::text)), 0) from checkpoints)
         + (select coalesce(sum(octet_length(blob)), 0) from checkpoint_writes)
         + (select coalesce(sum(octet_length(blob)), 0) from checkpoint_blobs)
"""


class Caller(BaseChatModel):
    """Makes one call a turn until it has made as many as it was told, and remembers nothing of what it was sent."""

    until: int = 0
    made: int = 0

    @property
    def _llm_type(self) -> str:
        return "caller"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        """Takes any."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        message = AIMessage(content="enough")
        if self.made < self.until:
            self.made += 1
            key = f"{self.made:06}"
            made = {"name": "look", "args": {"q": key}, "id": f"call-{key}", "type": "tool_call"}
            message = AIMessage(content="", tool_calls=[made])
        return ChatResult(generations=[ChatGeneration(message=message)])


@tool
def look(q: str) -> str:
    """Look something up."""
    return f"found {q}"


def _built(frontend: Frontend, model: BaseChatModel, saver: Any) -> Any:
    if frontend is Frontend.GRAPH:
        return build_agent(model, [look], specs=[pure("look")], config=CONFIG, checkpointer=saver)
    guard = AsyncGuardMiddleware(specs=[pure("look")], config=CONFIG)
    # With the middleware's own state: that of `create_agent` stores all messages at each step.
    schema = AsyncGuardMiddleware.state_schema
    chain = guard_middleware([guard])
    return create_agent(model, [look], middleware=chain, checkpointer=saver, state_schema=schema)


def stored(store: Store) -> int:
    """Bytes of all values in the tables."""
    if store.kind.in_file:
        with closing(sqlite3.connect(store.target)) as file:
            return int(file.execute(_SQLITE).fetchone()[0])
    with psycopg.connect(store.target) as server:
        row = server.execute(_POSTGRES).fetchone()
        assert row is not None
        return int(row[0])


def bytes_per_step(store: Store, frontend: Frontend, *lengths: int) -> list[float]:
    """Return the bytes that a step of one thread stores, after each given number of calls."""
    model = Caller()
    graph = _built(frontend, model, store.saver)
    averages = []
    for length in lengths:
        model.until = length - WINDOW // 2
        store.invoke(graph, {"messages": [("user", "Go on.")]}, HERE)
        before = stored(store)
        model.until = length + WINDOW // 2
        store.invoke(graph, {"messages": [("user", "Go on.")]}, HERE)
        averages.append((stored(store) - before) / WINDOW)
    return averages


# The sync savers write into the same tables as the async ones.
@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", [Kind.SQLITE_ASYNC], ids=lambda kind: kind.value)
def test_a_step_behind_many_stores_no_more(frontend: Frontend, store: Store) -> None:
    """A step that follows a hundred more calls takes the same room, but for a few digits, those of durations too."""
    few, many = bytes_per_step(store, frontend, 20, 120)
    assert 1_000 < few < 20_000
    assert many < few * 1.03  # one byte a call would be 2 %, their ids 25 %


@pytest.mark.full
@pytest.mark.parametrize(
    "kind", [Kind.SQLITE_ASYNC, Kind.POSTGRES_ASYNC], ids=lambda kind: kind.value
)
def test_a_step_behind_two_thousand_stores_no_more_than_one_behind_a_hundred(
    frontend: Frontend, store: Store
) -> None:
    """Room for a few more digits; the history itself is in the snapshots, one in two thousand writes."""
    few, many = bytes_per_step(store, frontend, 100, 1_960)
    assert many < few * 1.02
