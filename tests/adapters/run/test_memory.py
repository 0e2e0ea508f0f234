"""Memory that is released: agents with their threads, and sessions of runs that ended."""

import asyncio
import gc
import threading
import weakref
from typing import Any

import pytest

from asyncguard.runtime.session.session import Session
from asyncguard.testing import ScriptedChatModel, ToolMode, calls, run_virtual, scripted_tool
from tests.adapters.harness import AgentOf, Frontend, build


def look_once(messages: Any, _: Any) -> Any:
    """Looks up once and is done."""
    return "all done" if messages[-1].type == "tool" else calls(("look", {"q": "x"}))


def look(mode: ToolMode = ToolMode.BOTH) -> Any:
    """A lookup that is not declared, so that its attempts are remembered."""
    return scripted_tool("look", lambda a: f"found {a['q']}", args={"q": str}, mode=mode)


@pytest.fixture(autouse=True)
def _only_what_is_new() -> None:
    """Exclude objects of other tests from collections, which are faster then.

    To unfreeze them afterwards would bring back what the collection of all tests has frozen, too.
    """
    gc.collect()
    gc.freeze()


def _let_go(graph: weakref.ref[Any]) -> bool:
    """Return True if the graph is collected; an OS thread may still be leaving its last frame."""
    patience = threading.Event()
    for _ in range(500):
        gc.collect()
        if graph() is None:
            return True
        patience.wait(0.01)
    return False


def test_an_agent_that_was_invoked_is_collected_with_its_threads(frontend: Frontend) -> None:
    """The loop of the sync entry does not keep the run that started it."""
    before = set(threading.enumerate())  # themselves: an ident is given again once its thread ended
    agent = build(frontend, ScriptedChatModel(look_once), [look(ToolMode.SYNC)])
    assert agent.run_sync("Look up x.").last == "all done"
    started = [thread for thread in threading.enumerate() if thread not in before]
    assert started
    graph = weakref.ref(agent.graph)
    del agent
    assert _let_go(graph)
    for thread in started:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in started)


def test_runs_that_ended_leave_no_session(agent_of: AgentOf) -> None:
    """The record of calls that must not be repeated does not keep a session in memory."""
    agent = agent_of(ScriptedChatModel(look_once), [look()])

    async def main() -> None:
        await asyncio.gather(*(agent.say("Look up x.") for _ in range(20)))

    run_virtual(main())
    gc.collect()
    assert [item for item in gc.get_objects() if isinstance(item, Session)] == []
