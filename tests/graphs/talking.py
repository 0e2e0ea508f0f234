"""Requests and look-ups shared by the tests of the server."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from langgraph_sdk.client import LangGraphClient

from tests.graphs.desk import check_next_request

SECONDS = 20.0
"""Limit in seconds for each wait, longer than any step of the tests."""


def book(destination: str, traveller: str) -> str:
    """Return a goal of several calls."""
    return f"Book the cheapest flight to {destination} on 2026-05-04 for {traveller}"


async def new_thread(client: LangGraphClient) -> str:
    """Id of a fresh thread."""
    return str((await client.threads.create())["thread_id"])


async def values_of(client: LangGraphClient, thread: str) -> Mapping[str, Any]:
    """The thread's state, whose history has to be one that every provider takes."""
    values: Any = (await client.threads.get_state(thread))["values"]
    check_next_request(values["messages"])
    return dict(values)


async def reached(client: LangGraphClient, thread: str, tool: str) -> None:
    """Wait until a call of a tool stands in the thread's checkpoint."""
    async with asyncio.timeout(SECONDS):
        while True:
            values: Any = (await client.threads.get_state(thread))["values"] or {}
            if any(
                call["name"] == tool
                for m in values.get("messages", ())
                for call in m.get("tool_calls") or ()
            ):
                return
            await asyncio.sleep(0.02)


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait for something outside the run, such as an effect that was under way."""
    async with asyncio.timeout(SECONDS):
        while not condition():  # noqa: ASYNC110 - another process makes it true
            await asyncio.sleep(0.02)


def states(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the final state of each task in the report."""
    return {task["id"]: task["state"] for task in values["report"]["tasks"]}
