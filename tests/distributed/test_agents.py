"""Agents whose calls run on workers, from the model's message to its answer."""

import asyncio
import json
from pathlib import Path

import pytest
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from asyncguard import Ports, application_version, build_agent
from asyncguard.errors import DeclarationError
from asyncguard.journal.open import open_journal
from asyncguard.journal.port import AttemptState
from asyncguard.testing import ScriptedChatModel, calls
from tests.adapters.processes import forked
from tests.distributed import agent, shop
from tests.distributed.bench import VERSION, Shop, eventually

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
async def test_an_agent_gets_the_results_of_its_workers(place: Shop, tmp_path: Path) -> None:
    """Two tasks at once; a new process that resumes the thread pays nothing twice."""
    worker = await place.worker()
    journal = open_journal(place.journal)
    executor = place.executor(journal)
    model = ScriptedChatModel(
        [
            calls(("pay", {"amount": 1}), ("reserve", {"item": "7"}), ("look", {"name": "it"})),
            "All done.",
        ]
    )
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        agent = build_agent(
            model, shop.TOOLS, checkpointer=saver, journal=journal, ports=Ports(executor=executor)
        )
        state = await agent.ainvoke(
            {"messages": [("user", "Pay and reserve.")]}, {"configurable": {"thread_id": "t"}}
        )
    contents = [str(message.content) for message in state["messages"]]
    assert "paid 1" in contents
    assert f"seen it by {worker.process.pid}" in contents
    assert [line.split()[0] for line in place.effects] == ["pay", "reserve"]
    entries = journal.entries()
    assert sorted((entry.tool, entry.state) for entry in entries) == [
        ("pay", "done"),
        ("reserve", "done"),
    ]
    executor.close()
    journal.close()


@pytest.mark.slow
@pytest.mark.parametrize("said", [[], ["And?"]], ids=["resumed", "with a new message"])
async def test_an_agent_that_was_killed_finds_what_its_worker_did(
    place: Shop, tmp_path: Path, said: list[str]
) -> None:
    """The worker continues without its agent; the next process gets the result and pays nothing.

    Also if a message says something new when the payment has ended, after which nothing more may begin.
    """
    await place.worker()
    first = forked(agent.main, tmp_path, output=tmp_path / "first.txt", folder=ROOT)
    await eventually(lambda: place.effects == ["pay 1"])
    first.kill()
    first.join()
    journal = open_journal(place.journal)
    if said:
        await eventually(lambda: journal.entries()[0].attempts[-1].state is AttemptState.ENDED)
    journal.close()
    written = tmp_path / "second.txt"
    second = forked(agent.main, tmp_path, *said, output=written, folder=ROOT)
    await asyncio.to_thread(second.join, 40)
    assert second.exitcode == 0, written.read_text()
    texts = json.loads(written.read_text().splitlines()[-1])
    assert texts[-1] == "All done."
    assert "paid 1" in texts[-2]
    assert "before it began" not in " ".join(texts)
    assert place.effects == ["pay 1"]


@pytest.mark.slow
@pytest.mark.parametrize("early", [True, False], ids=["before its agent", "beside its agent"])
async def test_an_order_without_an_approval_is_not_begun_where_its_tool_needs_one_by_now(
    place: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, early: bool
) -> None:
    """Also by a worker that is there before the agent, or whose agent was not started again."""
    assert application_version(shop.CAREFUL) == VERSION, "the orders of before wait for this worker"
    first = forked(agent.main, tmp_path, output=tmp_path / "first.txt", folder=ROOT)
    await eventually(lambda: [state for _, state in place.rows()] == ["ENQUEUED"])
    if early:
        first.kill()
        first.join()
    await place.worker(tools="shop:CAREFUL")
    await eventually(lambda: [state for _, state in place.rows()] == ["SUCCESS"])
    if early:
        monkeypatch.setattr(shop, "TOOLS", shop.CAREFUL)
        texts = await agent.run(place.database, place.journal, tmp_path, seconds=3.0)
    else:
        await asyncio.to_thread(first.join, 40)
        texts = json.loads((tmp_path / "first.txt").read_text().splitlines()[-1])
    assert "was not run" in " ".join(texts)
    assert "a person's approval" in " ".join(texts)
    assert place.effects == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "effects"),
    [(["And?"], ["pay 1"]), (["And?", "cancel"], []), ([], ["pay 1"])],
    ids=["with a new message", "cancelled", "resumed"],
)
async def test_an_order_that_waits_when_its_agent_is_killed_is_not_made_beside_the_next_one(
    place: Shop, tmp_path: Path, said: list[str], effects: list[str]
) -> None:
    """No worker has it. A call that is told as not run stays so; one that is made again is made once."""
    first = forked(agent.main, tmp_path, output=tmp_path / "first.txt", folder=ROOT)
    await eventually(lambda: [state for _, state in place.rows()] == ["ENQUEUED"])
    first.kill()
    first.join()
    written = tmp_path / "second.txt"
    second = forked(agent.main, tmp_path, *said, output=written, folder=ROOT)
    if effects:
        await eventually(lambda: len(place.rows()) == 1 and second.is_alive())
        await asyncio.sleep(1.0)
        await place.worker()
    await asyncio.to_thread(second.join, 40)
    assert second.exitcode == 0, written.read_text()
    texts = " ".join(json.loads(written.read_text().splitlines()[-1]))
    assert ("was not run" in texts) is bool(said)
    if not effects:
        await place.worker()
        await asyncio.sleep(1.0)
    assert place.effects == effects


async def test_a_tool_that_no_worker_can_run_is_refused_when_the_agent_is_built(
    place: Shop,
) -> None:
    """With the reason and the way out, before anything is asked of a model."""
    journal = open_journal(place.journal)
    executor = place.executor(journal)
    with pytest.raises(DeclarationError, match="local="):
        build_agent(ScriptedChatModel(["hello"]), shop.ALL, ports=Ports(executor=executor))
    fine = place.executor(journal, local=["ask", "order", "confirm"], application_version=VERSION)
    build_agent(ScriptedChatModel(["hello"]), shop.ALL, ports=Ports(executor=fine))
    journal.close()
