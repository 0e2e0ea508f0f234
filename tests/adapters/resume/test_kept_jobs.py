"""Jobs of a dead process wait where its executor keeps them; the next process of the thread takes them back first."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from asyncguard import Inbox, Ports, ToolSpec
from asyncguard.runtime.clock import LoopClock
from asyncguard.runtime.executors.local import LocalExecutor
from asyncguard.runtime.executors.port import Completion, Job
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import Agent, AgentOf, script
from tests.adapters.processes import CONFIG, HANG, Machine, MortalJournal
from tests.adapters.resume.test_late_runs import PLACE

ITEMS = ("x", "y", "z")


class Kept(LocalExecutor):
    """An executor that keeps its jobs: without workers none begins, and to take some back needs a moment."""

    def __init__(self, *, works: bool) -> None:
        super().__init__(LoopClock())
        self.works = works
        self.sent: list[str] = []
        self.full = asyncio.Event()
        self.taken: set[str] = set()
        self.lost: set[str] = set()

    def start(self, job: Job, done: Callable[[Completion], None]) -> None:
        """Send a job away."""
        self.sent.append(job.key)
        if len(self.sent) == len(ITEMS):
            self.full.set()
        if self.works:
            super().start(job, done)

    async def take_back(self, keys: Collection[str]) -> Mapping[str, int]:
        """Take back what is there when the store has answered, though it was sent a moment ago."""
        await asyncio.sleep(0.05)
        self.taken |= set(keys)
        self.lost |= set(keys) & set(self.sent)
        return {}


async def test_no_call_is_sent_before_the_jobs_are_taken_back(
    agent_of: AgentOf, tmp_path: Path
) -> None:
    """The calls of a message start together, and one of them acquires the thread for all."""
    machine, made = Machine(agent_of=agent_of, path=tmp_path / "effects.db"), list[str]()

    def pay(arguments: Mapping[str, str]) -> str:
        made.append(arguments["item"])
        return "paid"

    def process(executor: Kept) -> tuple[Agent, MortalJournal]:
        journal = MortalJournal(machine.path)
        executor.journal = journal
        first = calls(*(("pay", {"item": item}) for item in ITEMS))
        model = ScriptedChatModel(script(first if not executor.works else "All is paid.", "Yes."))
        ports = Ports(inbox=Inbox(), journal=journal, executor=executor)
        given = {"config": CONFIG, "checkpointer": machine.saver, "ports": ports}
        tools = [scripted_tool("pay", pay, args={"item": str})]
        return agent_of(model, tools, specs=[ToolSpec(name="pay")], **given), journal

    stuck, heir = Kept(works=False), Kept(works=True)
    agent, journal = process(stuck)
    given = agent.input("Pay x, y and z.", None)
    run = asyncio.create_task(agent.graph.ainvoke(given, PLACE, durability="sync"))
    await asyncio.wait_for(stuck.full.wait(), HANG)
    journal.die()
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    agent, living = process(heir)
    await asyncio.wait_for(agent.graph.ainvoke(None, PLACE), HANG)
    assert heir.taken == set(stuck.sent)
    assert not heir.lost
    assert sorted(made) == list(ITEMS)
    journal.close()
    living.close()
