"""Processes that die at every seam of journal, checkpointer and tool, one after another, until the run ends."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from asyncguard import Fallback, Inbox, Ports, ToolFault, ToolSpec
from asyncguard.core.results import Result
from asyncguard.journal.intent import Intent
from asyncguard.journal.port import Verdict
from asyncguard.testing import ScriptedChatModel, Step, calls, scripted_tool
from tests.adapters.harness import AgentOf, pure, script
from tests.adapters.processes import CONFIG, HANG, MortalJournal

PLACE: Any = {"configurable": {"thread_id": "t"}}
OVER = frozenset({"done", "failed", "in_doubt", "resolved", "squashed", "rejected", "cancelled"})


class Life:
    """Counts what a process passes, and ends it at one of these seams."""

    def __init__(self, last: int | None = None) -> None:
        self.passed = 0
        self.last = last
        self.ended = asyncio.Event()
        self.buried = asyncio.Event()

    async def seam(self) -> None:
        """Continue, or hang for ever once the process is dead."""
        if not self.pass_by():
            await self.buried.wait()
            raise asyncio.CancelledError

    def pass_by(self) -> bool:
        """Count a seam of work in the background; return False if the process is dead."""
        self.passed += 1
        if self.passed == self.last:
            self.ended.set()
        return not self.ended.is_set()


class SeamedJournal(MortalJournal):
    """A journal with a point of death before and after each operation."""

    def __init__(self, path: Path, life: Life) -> None:
        super().__init__(path)
        self._life = life

    async def begin(self, intent: Intent) -> Verdict:
        await self._life.seam()
        verdict = await super().begin(intent)
        await self._life.seam()
        return verdict

    async def end(self, key: str, attempt: int, result: Result) -> None:
        await self._life.seam()
        await super().end(key, attempt, result)
        await self._life.seam()

    def end_soon(self, key: str, attempt: int, result: Result) -> None:
        if self._life.pass_by():
            super().end_soon(key, attempt, result)
            self._life.pass_by()


class SeamedSaver(InMemorySaver):
    """A checkpointer with a point of death before and after each write; stored data survives."""

    def __init__(self, disk: InMemorySaver, life: Life) -> None:
        super().__init__()
        self.storage, self.writes, self.blobs = disk.storage, disk.writes, disk.blobs
        self._life = life

    async def aput(self, *given: Any, **more: Any) -> Any:
        await self._life.seam()
        stored = await super().aput(*given, **more)
        await self._life.seam()
        return stored

    async def aput_writes(self, *given: Any, **more: Any) -> None:
        await self._life.seam()
        await super().aput_writes(*given, **more)
        await self._life.seam()


@dataclass(kw_only=True)
class World:
    """Effects, checkpoints and journal file, which outlive all processes."""

    path: Path
    effects: Counter[str] = field(default_factory=Counter)
    disk: InMemorySaver = field(default_factory=InMemorySaver)

    def tool(
        self, name: str, life: Life, *, asks: bool = False, fault: type[Exception] | None = None
    ) -> Any:
        """A tool of one process; with a fault it says that it did not begin."""

        async def act(arguments: Any) -> str:
            await life.seam()
            if asks and interrupt("Shall I?") is not True:
                return "no"
            if fault is not None:
                raise ToolFault("down", transient=False, started=False)
            told = f"{name} {arguments['item']}"
            self.effects[told] += 1
            await life.seam()
            return f"{told} is made"

        return scripted_tool(name, act, args={"item": str})


@dataclass(frozen=True, kw_only=True)
class Story:
    """Script of the model, and the declarations of its tools."""

    specs: Sequence[ToolSpec]
    steps: Sequence[Step]
    tasks: Sequence[Any] | None = None
    broken: str = ""


BOTH = calls(("pay", {"item": "x"}), ("ship", {"item": "y"}))
STORIES = {
    "two effects": Story(specs=[ToolSpec(name="pay"), ToolSpec(name="ship")], steps=[BOTH]),
    "deferred": Story(
        specs=[
            pure("look", reads=("a",)),
            ToolSpec(name="pay", reads=(), writes=("a",)),
            ToolSpec(name="ship"),
        ],
        steps=[calls(("look", {"item": "x"}), ("pay", {"item": "x"}))],
    ),
    "held": Story(specs=[ToolSpec(name="pay"), ToolSpec(name="ship", approval=True)], steps=[BOTH]),
    "asked": Story(
        specs=[ToolSpec(name="pay", interrupts=True), ToolSpec(name="ship")], steps=[BOTH]
    ),
    "sibling": Story(
        specs=[ToolSpec(name="pay", fallbacks=(Fallback(tool="order"),)), ToolSpec(name="order")],
        steps=[calls(("pay", {"item": "x"}))],
        broken="pay",
    ),
    "tasks": Story(
        specs=[ToolSpec(name="pay"), ToolSpec(name="ship")],
        steps=[
            calls(("pay", {"item": "x", "task_id": "a"}), ("ship", {"item": "y", "task_id": "b"}))
        ],
        tasks=[{"id": "a", "goal": "Pay x."}, {"id": "b", "goal": "Ship y."}],
    ),
}


@dataclass(kw_only=True)
class Trial:
    """One story in a world with given deaths."""

    agent_of: AgentOf
    story: Story
    world: World
    said_again: bool = False

    async def run(self, deaths: Collection[int]) -> tuple[Any, list[int]]:
        """The last process's state, and how many seams each process passed."""
        passed = []
        for number, last in enumerate(chain(deaths, [None])):
            life = Life(last)
            state = await self._live(life, number)
            passed.append(life.passed)
            if state is not None:
                return state, passed
        raise AssertionError("the last process did not end")

    async def _live(self, life: Life, number: int) -> Any:
        journal = SeamedJournal(self.world.path, life)
        model = ScriptedChatModel(
            script(*(self.story.steps if number == 0 else ())), id_prefix=f"p{number}"
        )
        tools = [
            self.world.tool(
                spec.name,
                life,
                asks=spec.interrupts,
                fault=ToolFault if spec.name == self.story.broken else None,
            )
            for spec in self.story.specs
        ]
        agent = self.agent_of(
            model,
            tools,
            specs=self.story.specs,
            config=CONFIG,
            ports=Ports(inbox=Inbox(), journal=journal),
            checkpointer=SeamedSaver(self.world.disk, life),
        )
        run = asyncio.create_task(self._drive(agent, again=self.said_again and number > 0))
        death = asyncio.create_task(life.ended.wait())
        async with asyncio.timeout(HANG):
            await asyncio.wait([run, death], return_when=asyncio.FIRST_COMPLETED)
        death.cancel()
        try:
            return None if life.ended.is_set() else run.result()
        finally:
            await _bury(journal, life, run)

    async def _drive(self, agent: Any, *, again: bool) -> Any:
        said: Any = agent.input(None if self.story.tasks else "Pay x, ship y.", self.story.tasks)
        for _ in range(8):
            place = await agent.graph.aget_state(PLACE)
            if again and place.values.get("ledger"):
                payload, again = agent.input("Are you there?", None), False
            elif place.interrupts:
                payload = Command(resume={item.id: True for item in place.interrupts})
            elif place.values.get("report") and not place.next:
                return place.values
            else:
                payload = None if place.next or place.values.get("ledger") else said
            await agent.graph.ainvoke(payload, PLACE, durability="sync")
        raise AssertionError("the run does not end")


async def _bury(journal: SeamedJournal, life: Life, run: "asyncio.Task[Any]") -> None:
    if life.ended.is_set():
        journal.die()
        run.cancel()
        life.buried.set()
        await asyncio.wait([run], timeout=3)
        for task in asyncio.all_tasks():
            if task.get_name().startswith("call "):
                task.cancel()
        await asyncio.sleep(0)
    journal.close()


def judge(story: Story, world: World, state: Any) -> None:
    """No effect twice, every call has ended, and what happened is told or in doubt."""
    harmless = {spec.name for spec in story.specs if spec.effect.repeatable}
    report = state["report"]
    text = "\n".join(str(message.content) for message in state["messages"])
    effects = {
        told: times for told, times in world.effects.items() if told.split()[0] not in harmless
    }
    assert set(effects.values()) <= {1}, effects
    assert all(OVER.issuperset(task["calls"]) for task in report["tasks"]), report
    for told in effects:
        assert f"{told} is made" in text or report["in_doubt"], told


async def sweep(agent_of: AgentOf, path: Callable[[str], Path], story: Story, **how: Any) -> None:
    """Die at each seam of a step; with a second step, the process that follows dies, too."""
    first, second = how.pop("first", 1), how.pop("second", 0)
    _, (seams,) = await Trial(agent_of=agent_of, story=story, world=World(path=path("0"))).run([])
    for seam in range(1, seams + 1, first):
        trial = Trial(agent_of=agent_of, story=story, world=World(path=path(f"{seam}")), **how)
        state, passed = await trial.run([seam])
        judge(story, trial.world, state)
        for later in range(1, passed[-1] + 1 if second else 0, second or 1):
            trial = Trial(
                agent_of=agent_of, story=story, world=World(path=path(f"{seam}-{later}")), **how
            )
            state, _ = await trial.run([seam, later])
            judge(story, trial.world, state)


@pytest.fixture
def path(tmp_path: Path) -> Callable[[str], Path]:
    """A file for each world."""
    return lambda name: tmp_path / f"effects-{name}.db"


async def test_a_death_at_some_seams(agent_of: AgentOf, path: Callable[[str], Path]) -> None:
    """Resumed by another process, the run ends with every effect made once at most, and told."""
    await sweep(agent_of, path, STORIES["asked"], first=13)


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("said_again", [False, True], ids=["resumed", "new message"])
@pytest.mark.parametrize("name", STORIES)
async def test_a_death_at_many_seams(
    agent_of: AgentOf, path: Callable[[str], Path], name: str, said_again: bool
) -> None:
    """A death at more seams is survived, also if the user sends a new message instead."""
    await sweep(agent_of, path, STORIES[name], first=5, said_again=said_again)


@pytest.mark.slow
@pytest.mark.parametrize("name", STORIES)
async def test_a_second_death_while_the_first_is_mended(
    agent_of: AgentOf, path: Callable[[str], Path], name: str
) -> None:
    """The process that resumes dies, too, at seams that are spread over both."""
    await sweep(agent_of, path, STORIES[name], first=11, second=7)
