"""A process frozen inside a write keeps the journal's file locked; the others lose nothing."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import JournalLockedError, Ports, open_journal
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import AgentOf, script

PAY = calls(("pay", {"q": "x"}))


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold the lock on the journal's file, as a frozen process does."""
    holder = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    yield
    holder.close()


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the journal's path, with a short timeout for its lock."""
    monkeypatch.setattr("asyncguard.journal.sql.sqlite._BUSY", 0.2)
    return tmp_path / "effects.db"


async def test_a_run_that_cannot_enter_raises_and_goes_on_later(
    agent_of: AgentOf, file: Path
) -> None:
    """The error says what to do, no tool was entered, and the same run succeeds after the thaw."""
    journal, pay = open_journal(file), scripted_tool("pay", lambda _: "paid", args={"q": str})
    agent = agent_of(
        ScriptedChatModel(script(PAY)),
        [pay],
        checkpointer=InMemorySaver(),
        ports=Ports(journal=journal),
    )
    with locked(file), pytest.raises(JournalLockedError, match="let that process go on, or end it"):
        await agent.say("Pay x.", thread="t")
    assert pay.calls == []
    assert "paid" in (await agent.go(None, "t")).text
    assert len(pay.calls) == 1
    journal.close()


async def test_a_call_that_cannot_be_written_down_does_not_begin(
    agent_of: AgentOf, file: Path
) -> None:
    """The model is told that it was not begun, without the file's place; later it may make the call."""
    journal, frozen = open_journal(file), list[Any]()

    def freeze(messages: Any, tools: Any) -> Any:
        if not frozen:
            frozen.append(locked(file))
            frozen[0].__enter__()
            return PAY
        frozen.pop().__exit__(None, None, None)
        frozen.append(None)
        return PAY if len(pay.calls) == 0 else "Paid."

    pay = scripted_tool("pay", lambda _: "paid", args={"q": str})
    model = ScriptedChatModel(lambda messages, tools: speak.pop(0)(messages, tools))
    speak: list[Any] = [freeze, freeze, lambda *_: "Paid."]
    agent = agent_of(model, [pay], checkpointer=InMemorySaver(), ports=Ports(journal=journal))
    outcome = await agent.say("Pay x.", thread="t")
    assert outcome.states("main") == {"failed": 1, "done": 1}
    assert "was not begun" in outcome.text
    assert str(file.parent) not in outcome.text
    assert len(pay.calls) == 1
    journal.close()


async def test_a_file_locked_in_the_middle_of_a_run_is_waited_for_once(
    agent_of: AgentOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The outcome waits; upkeep, the next intent and the release of the thread do not wait as long again."""
    monkeypatch.setattr("asyncguard.journal.sql.sqlite._BUSY", 2.0)
    monkeypatch.setattr("asyncguard.journal.sql.sqlite._BUSY_STILL", 0.2)
    file, frozen = tmp_path / "effects.db", list[Any]()
    journal = open_journal(file)

    def act(_: Any) -> str:
        frozen.append(locked(file))
        frozen[0].__enter__()
        return "paid"

    pay = scripted_tool("pay", act, args={"q": str})
    model = ScriptedChatModel([calls(("pay", {"q": "x"})), calls(("pay", {"q": "y"})), "Paid."])
    agent = agent_of(model, [pay], checkpointer=InMemorySaver(), ports=Ports(journal=journal))
    began = time.monotonic()
    text = (await agent.say("Pay x and y.", thread="t")).text
    took = time.monotonic() - began
    frozen[0].__exit__(None, None, None)
    assert "was not begun" in text
    assert len(pay.calls) == 1
    assert took < 3.5, took
    journal.close()
