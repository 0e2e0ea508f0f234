"""Wrong inputs to the public interface: each is refused where it is given, with what to write.

Declarations and configurations have tables of their own in ``tests/core/test_declarations.py`` and
``tests/adapters/tools/test_tools.py``.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import (
    AgUiAgent,
    AsyncGuardMiddleware,
    CallerError,
    GuardConfig,
    GuardRule,
    Limits,
    Ports,
    ToolFault,
    TraceFile,
    acontinue_older,
    build_agent,
    continue_older,
    log_events,
    open_journal,
)
from asyncguard.testing import ScriptedChatModel, after, scripted_tool


def weather(city: str) -> str:
    """Tell the weather."""
    return city


def agent(**options: Any) -> Any:
    """Return an agent of the state machine with one tool."""
    return build_agent(ScriptedChatModel(["Sunny."]), [weather], **options)


def older(**options: Any) -> Any:
    """Return an agent of the middleware with one tool."""
    model = ScriptedChatModel(["Sunny."])
    return create_agent(model, [weather], middleware=[AsyncGuardMiddleware()], **options)


SAID: Any = {"messages": [("user", "How is the weather?")]}
NAMED: Any = {"configurable": {"thread_id": "t"}}
UNNAMED: Any = {"configurable": {"user": "Ann"}}
WITHOUT_THREAD = (
    'A run of an agent with a checkpointer needs the id of a thread; pass config={"configurable": '
    '{"thread_id": ...}}.'
)
NO_THREADS = "the agent has no checkpointer, so it has no stored threads"


async def all_of(stream: Any) -> list[Any]:
    """Return everything that an async stream yields."""
    return [each async for each in stream]


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda saver: agent(checkpointer=saver).invoke(SAID), WITHOUT_THREAD),
        (lambda saver: agent(checkpointer=saver).invoke(SAID, UNNAMED), WITHOUT_THREAD),
        (lambda saver: list(agent(checkpointer=saver).stream(SAID)), WITHOUT_THREAD),
        (lambda saver: asyncio.run(agent(checkpointer=saver).ainvoke(SAID)), WITHOUT_THREAD),
        (
            lambda saver: asyncio.run(all_of(agent(checkpointer=saver).astream(SAID))),
            WITHOUT_THREAD,
        ),
        (
            lambda saver: asyncio.run(all_of(agent(checkpointer=saver).astream_events(SAID))),
            WITHOUT_THREAD,
        ),
        (lambda saver: continue_older(older(), NAMED), f"continue_older: {NO_THREADS}"),
        (
            lambda saver: asyncio.run(acontinue_older(older(), NAMED)),
            f"continue_older: {NO_THREADS}",
        ),
        (lambda saver: continue_older(older(checkpointer=saver), {}), WITHOUT_THREAD),
        (
            lambda saver: continue_older(5, NAMED),
            "continue_older: agent must be a CompiledStateGraph, not int 5.",
        ),
        (
            lambda saver: AgUiAgent(name="x", graph=5),  # type: ignore[arg-type]
            "AgUiAgent: graph must be a CompiledStateGraph, not int 5.",
        ),
        (lambda saver: AgUiAgent(name="x", graph=agent()), f"AgUiAgent: {NO_THREADS}"),
        (
            lambda saver: build_agent(FakeListChatModel(responses=["Sunny."]), [weather]),
            "FakeListChatModel cannot call tools, as it has no bind_tools; pass another model, or "
            "no tools.",
        ),
    ],
)
def test_agents(act: Callable[[Any], Any], said: str) -> None:
    """Refused before a run begins, and so before anything is stored."""
    with pytest.raises(CallerError) as refused:
        act(InMemorySaver())
    assert said in str(refused.value)


def test_a_thread_may_be_named_by_the_agents_own_configuration() -> None:
    """``with_config`` and a graph around the agent name its thread as well as the call does."""
    assert agent(checkpointer=InMemorySaver()).with_config(NAMED).invoke(SAID)["messages"]


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (
            lambda journal: journal.resolve("k", 5),
            "Journal.resolve: kind must be one of 'delivery', 'happened', 'not_happened', "
            "'retry', not int 5.",
        ),
        (lambda journal: journal.resolve("k", "perhaps"), "not 'perhaps'."),
        (lambda journal: journal.resolve(5, "happened"), "Journal.resolve: key must be a text"),
        (lambda journal: journal.resolve("k", "happened"), "No call has a key that begins"),
        (lambda journal: journal.resolve("k", "delivery"), "delivered by their token"),
        (
            lambda journal: journal.entries(states="in_doubt"),
            "Journal.entries: states must be a list of text, not str; write ['in_doubt'].",
        ),
        (lambda journal: journal.entries(states=["doubt"]), "states[0] must be one of "),
        (lambda journal: journal.entries(states=["doubt"]), "'in_doubt'"),
        (lambda journal: journal.entries(states=[5]), "states[0] must be a text, not int 5."),
        (lambda journal: journal.entries(session=5), "session must be a text, not int 5."),
    ],
)
def test_journals(act: Callable[[Any], Any], said: str, tmp_path: Path) -> None:
    """Refused before the database is asked; members of enums may be given by name."""
    journal = open_journal(tmp_path / "journal.sqlite")
    with pytest.raises(CallerError) as refused:
        act(journal)
    assert said in str(refused.value)
    assert journal.entries(states=["in_doubt"]) == []  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("act", "error", "said"),
    [
        (
            lambda: log_events(5),
            CallerError,
            "log_events: logger must be a logger of structlog, not int.",
        ),
        (
            lambda: log_events(logging.getLogger("shop")),
            CallerError,
            "log_events: logger must be a logger of structlog, not Logger.",
        ),
        (
            lambda: GuardRule(name="x", judge=lambda view: None, on_error="ignore"),  # type: ignore[arg-type]
            CallerError,
            "GuardRule.on_error must be 'reject' or 'admit', not 'ignore'.",
        ),
        (
            lambda: GuardConfig(extra=[weather]),  # type: ignore[arg-type, list-item]
            CallerError,
            "extra[0] must be a GuardRule, not function; build one with GuardRule(...).",
        ),
        (lambda: scripted_tool("x", ["a"], latency=-1), ValueError, "latency must be >= 0 seconds"),
        (lambda: after(-1, "a"), ValueError, "seconds must be >= 0 seconds, not -1."),
        (
            lambda: ScriptedChatModel(["a"], latency="slow"),  # type: ignore[arg-type]
            TypeError,
            "latency must be a number of seconds, not str.",
        ),
        (lambda: ScriptedChatModel(["a"], latency=-0.1), ValueError, "latency must be >= 0"),
        (
            lambda: ScriptedChatModel(["a", 5]),  # type: ignore[list-item]
            TypeError,
            "script[1] must be a message, text, calls, an exception or a function, not int.",
        ),
        (
            lambda: ScriptedChatModel(5),  # type: ignore[arg-type]
            TypeError,
            "a script is a list of answers or one function",
        ),
    ],
)
def test_observers_and_scripts(act: Callable[[], Any], error: type[Exception], said: str) -> None:
    """Refused where it is made, not in the run that would use it."""
    with pytest.raises(error) as refused:
        act()
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"started": "no"}, "started must be True or False, not str"),
        ({"transient": 1}, "transient must be True or False, not int"),
        ({"retry_after": "5"}, "retry_after must be a number of seconds or None, not str"),
        ({"status": "422"}, "status must be an integer or None, not str"),
    ],
)
def test_a_fault_that_cannot_be_read_is_logged(
    given: dict[str, Any], named: str, caplog: pytest.LogCaptureFixture
) -> None:
    """An error that is being raised is not replaced by another: its unusable part is left out."""
    fault = ToolFault("no", **given)
    assert (fault.transient, fault.started) == (False, True)
    assert (fault.retry_after, fault.status) == (None, None)
    assert [record.getMessage() for record in caplog.records] == [
        f"ToolFault: {named}; it counts as not given."
    ]
    caplog.clear()
    ToolFault("no", transient=True, started=False, retry_after=5, status=422)
    assert caplog.records == []


def test_a_closed_trace_file_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The run goes on without it, and the log tells why."""
    with TraceFile(tmp_path / "trace.jsonl") as closed:
        pass
    agent(ports=Ports(observers=[closed])).invoke(SAID)
    (told,) = [record.getMessage() for record in caplog.records]
    assert "is closed; close it after the last run." in told
    with pytest.raises(CallerError, match="is closed"), closed:
        pass


def test_a_default_that_a_subclass_declares_is_checked() -> None:
    """Only a default that fits need not be checked again."""

    @dataclass(frozen=True, kw_only=True)
    class Careless(Limits):
        max_attempts: int = "x"  # type: ignore[assignment]

    with pytest.raises(CallerError, match="max_attempts must be an integer, not"):
        Careless()
