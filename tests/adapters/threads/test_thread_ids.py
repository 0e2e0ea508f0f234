"""The caller's own id of a thread, LangGraph's ``thread_id``, where an operator looks for it."""

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import (
    BoardView,
    CallerError,
    Details,
    GuardConfig,
    GuardRule,
    JournalError,
    Ports,
    Proposal,
    ToolSpec,
    TraceFile,
    Verdict,
    log_events,
    open_journal,
)
from asyncguard.cli import main
from asyncguard.testing import ScriptedChatModel, calls, run_virtual
from tests.adapters.harness import AgentOf, pure, script

_THREAD = "order-4711"


async def look(topic: str) -> str:
    """Look a topic up."""
    return f"seen {topic}"


class _Lines:
    """A structlog logger that keeps its records."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def info(self, event: str, **row: Any) -> None:
        self.rows.append({"event": event, **row})

    warning = info


def _looker(agent_of: AgentOf, **options: Any) -> Any:
    model = ScriptedChatModel(script(calls(("look", {"topic": "ants"}))))
    return agent_of(model, [look], specs=[pure("look")], **options)


def test_every_record_and_detail_names_the_callers_thread(
    agent_of: AgentOf, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Logs, details, trace file and its drawing have the id that the caller chose."""
    log, details, path = _Lines(), list[Details](), tmp_path / "run.jsonl"
    with TraceFile(path) as trace:
        ports = Ports(observers=[log_events(log), details.append, trace])
        agent = _looker(agent_of, ports=ports, checkpointer=InMemorySaver())
        agent.run_sync("Look at ants.", thread=_THREAD)
    assert {row["thread_id"] for row in log.rows} == {_THREAD}
    assert {item.thread_id for item in details} == {_THREAD}
    rows = [json.loads(line) for line in path.read_text().splitlines()][1:]
    assert {row["thread_id"] for row in rows} == {_THREAD}
    assert all(row["thread"] != _THREAD for row in rows)  # beside the minted one, which forks share
    main(["trace", str(path)])
    assert f"thread {_THREAD}" in capsys.readouterr().out
    main(["trace", str(path), "--json"])
    assert json.loads(capsys.readouterr().out)["runs"][0]["thread_id"] == _THREAD


def test_a_run_without_a_thread_id_says_so_by_an_empty_one(agent_of: AgentOf) -> None:
    """Without a checkpointer a caller need not give any id."""
    details: list[Details] = []
    _looker(agent_of, ports=Ports(observers=[details.append])).run_sync("Look at ants.")
    assert {item.thread_id for item in details} == {""}


def test_two_threads_at_once_keep_their_ids_apart(agent_of: AgentOf) -> None:
    """One agent and its observers serve all threads."""
    details: list[Details] = []
    model = ScriptedChatModel(lambda messages, _: f"hello, {messages[-1].text}", latency=1.0)
    agent = agent_of(
        model, [], checkpointer=InMemorySaver(), ports=Ports(observers=[details.append])
    )

    async def both() -> None:
        await asyncio.gather(agent.say("one", thread="t1"), agent.say("two", thread="t2"))

    run_virtual(both())
    pairs = {(item.thread, item.thread_id) for item in details}
    assert sorted(thread_id for _, thread_id in pairs) == ["t1", "t2"]


def test_errors_name_the_callers_thread(agent_of: AgentOf) -> None:
    """A second run at the same time is refused with the id that its caller knows."""
    model = ScriptedChatModel(lambda messages, _: "hello", latency=0.5)
    agent = agent_of(model, [], checkpointer=InMemorySaver())

    async def twice() -> list[Any]:
        runs = (agent.say(said, thread=_THREAD) for said in ("one", "two"))
        return await asyncio.gather(*runs, return_exceptions=True)

    (refused,) = [each for each in run_virtual(twice()).result if isinstance(each, Exception)]
    assert isinstance(refused, CallerError)
    assert f"{_THREAD!r}" in str(refused)


def test_what_is_logged_of_a_fault_names_the_callers_thread(
    agent_of: AgentOf, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: Any
) -> None:
    """A guard, an observer and a journal that fail: each is logged where nothing else is configured."""

    def judge(proposal: Proposal, board: BoardView) -> Verdict:
        raise ValueError

    def observer(details: Details) -> None:
        raise ValueError

    class Follower(TraceFile):
        def model_asked(self, call: Any) -> None:
            raise ValueError

        def model_answered(self, call: Any, answer: Any, error: Any) -> None: ...

        def run_over(self, agent: str, thread: str, error: Any) -> None: ...

    async def away(*_: Any) -> None:
        raise JournalError("The disk is full.")

    journal = open_journal(tmp_path / "effects.db")
    monkeypatch.setattr(type(journal), "begin", away)
    with Follower(tmp_path / "run.jsonl") as follower, caplog.at_level(logging.WARNING):
        agent = agent_of(
            ScriptedChatModel(script(calls(("look", {"topic": "ants"})))),
            [look],
            specs=[ToolSpec(name="look", effect="at_most_once")],
            config=GuardConfig(extra=(GuardRule(name="mine", judge=judge, on_error="admit"),)),
            ports=Ports(observers=[observer, follower], journal=journal),
            checkpointer=InMemorySaver(),
        )
        agent.run_sync("Look at ants.", thread=_THREAD)
    journal.close()
    told = [record.getMessage() for record in caplog.records]
    for begin in ("The observer ", "The observer ", "The guard mine ", "attempt 1 of call "):
        place = next(n for n, line in enumerate(told) if line.startswith(begin))
        assert f"in thread {_THREAD!r}" in told.pop(place)
    assert told == []


def test_without_a_thread_id_the_minted_one_is_logged(
    agent_of: AgentOf, caplog: pytest.LogCaptureFixture
) -> None:
    """That of the trace and of the log."""
    details: list[Details] = []

    def observer(_: Details) -> None:
        raise ValueError

    _looker(agent_of, ports=Ports(observers=[details.append, observer])).run_sync("Look at ants.")
    (said,) = [record.getMessage() for record in caplog.records]
    assert f"in thread {details[0].thread!r}" in said
