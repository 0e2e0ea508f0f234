"""Random orders of approvals, tools' own questions, retries, void answers, pauses and restarts.

Each answer quotes the question that it is given to, so that a tool sees whose answer it has got.
"""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from asyncguard import EffectClass, Ports, ToolSpec
from asyncguard.journal.sql.journal import SqlJournal
from asyncguard.journal.sql.processes import ProcessKind
from asyncguard.journal.sql.sqlite import SqliteStore
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import Agent, Frontend, Outcome, build, script
from tests.support.examples import examples

STOPS = 40
"""Questions after which a play counts as endless."""
PATIENCE = 60.0
"""Seconds after which a play in real time counts as hanging."""


@dataclass(kw_only=True)
class Play:
    """One message with two to four calls, and the answers of a person who makes mistakes."""

    chance: random.Random
    waits: Sequence[float]
    """Seconds that a tool may take before it asks."""
    done: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    """Tools that have come to their end, and the answers that each got."""
    stray: list[tuple[str, Any]] = field(default_factory=list)
    """Questions that got the answer to another one."""

    def __post_init__(self) -> None:
        """Draw the tools, their calls and the tasks."""
        chance = self.chance
        names = [f"t{number}" for number in range(chance.randint(2, 4))]
        drawn = [self._drawn(name) for name in names]
        self.tools, self.specs = [each[0] for each in drawn], [each[1] for each in drawn]
        several = chance.randint(1, len(names))
        self.calls = [
            (name, {"q": "x", "task_id": f"k{number % several}"})
            for number, name in enumerate(names)
        ]
        self.tasks = [{"id": f"k{number}", "goal": "Go."} for number in range(len(names) + 1)]
        self.idle = f"k{len(names)}"

    def _drawn(self, name: str) -> tuple[Any, ToolSpec]:
        chance = self.chance
        asks, approved = chance.choice([0, 1, 1, 2]), chance.random() < 0.4
        wait, pure = chance.choice(self.waits), not approved and chance.random() < 0.25
        place = chance.choice(["desk", name])
        left = [True] if pure else []  # it fails once, and is tried again

        async def act(_: Any) -> str:
            await asyncio.sleep(wait)
            got = tuple(interrupt(f"{name}.{number}") for number in range(asks))
            self.stray += [
                (f"{name}.{number}", each)
                for number, each in enumerate(got)
                if not str(each).startswith(f"re {name}.{number} ")
            ]
            if left:
                left.clear()
                raise ConnectionError("the line is dead")
            self.done.append((name, got))
            return "done"

        spec = ToolSpec(
            name=name,
            interrupts=asks > 0,
            approval=approved,
            effect=EffectClass.PURE if pure else EffectClass.AT_MOST_ONCE,
            reads=(),
            writes=() if pure else (place,),
            takes_from=(),
        )
        return scripted_tool(name, act, args={"q": str}), spec

    def said(self, asked: Any, number: int) -> Any:
        """Return what the person does at a stop: answers, by value or id, or something beside it."""
        answer = f"re {asked.value} #{number}" if isinstance(asked.value, str) else True
        return self.chance.choices(
            [
                Command(resume=answer),
                Command(resume={asked.id: answer}),
                Command(resume=answer, update={"cancel": ["nosuch"]}),
                {"cancel": [self.idle]},
                None,
            ],
            weights=[58, 15, 7, 8, 12],
        )[0]

    def agent(self, frontend: Frontend, *made: Any, **options: Any) -> Agent:
        """Return the agent of one process."""
        model = ScriptedChatModel(script(*made, ever="all said"), id_prefix=f"p{id(options)}")
        return build(frontend, model, self.tools, specs=self.specs, **options)

    def judge(self, outcome: Outcome) -> None:
        """Fail if an answer went astray, or an effect happened twice."""
        assert not outcome.interrupts, "it asks for ever"
        assert self.stray == []
        once = [
            name
            for name, _ in self.done
            for spec in self.specs
            if spec.name == name and spec.effect is not EffectClass.PURE
        ]
        assert len(once) == len(set(once))
        for _, answers in self.done:
            assert len(answers) == len(set(answers))


SEEDS = st.integers(0, 2**32)


@pytest.mark.parametrize("frontend", Frontend)
@settings(max_examples=examples(80))
@given(seed=SEEDS)
def test_each_answer_reaches_its_question(frontend: Frontend, seed: int) -> None:
    """In one process, which leaves nothing in doubt either."""
    play = Play(chance=random.Random(seed), waits=(0.0, 0.0, 0.5, 3.0))
    agent = play.agent(frontend, calls(*play.calls), checkpointer=InMemorySaver())

    async def main() -> Outcome:
        outcome = await agent.say(tasks=play.tasks, thread="t")
        for number in range(STOPS):
            if not outcome.interrupts:
                break
            asked, *others = outcome.state["__interrupt__"]
            assert not others, "two questions at once"
            outcome = await agent.go(play.said(asked, number), "t")
        return outcome

    outcome = run_virtual(main(), patience=10.0).result
    play.judge(outcome)
    assert outcome.report["in_doubt"] == []


@pytest.mark.slow(seconds=22)
@pytest.mark.parametrize("frontend", Frontend)
@settings(max_examples=examples(40))
@given(seed=SEEDS)
@example(seed=33)  # a deferred call's wrapper has returned when its tool asks
@example(seed=911)  # a tool asks twice, from the hook, each time in another process
@example(seed=1860)
def test_each_answer_reaches_its_question_in_other_processes(
    frontend: Frontend, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The process may change at each stop; a journal on a file goes with the thread."""
    play = Play(chance=random.Random(seed), waits=(0.0, 0.0, 0.01, 0.03))
    path = tmp_path_factory.mktemp("play") / "effects.db"
    saver = InMemorySaver()

    def process(*made: Any) -> tuple[Agent, SqlJournal]:
        journal = _journal(path)
        ports = Ports(journal=journal)
        return play.agent(frontend, *made, checkpointer=saver, ports=ports), journal

    async def main() -> Outcome:
        agent, journal = process(calls(*play.calls))
        outcome = await agent.say(tasks=play.tasks, thread="t")
        for number in range(STOPS):
            if not outcome.interrupts:
                break
            if play.chance.random() < 0.6:
                journal.close()
                agent, journal = process()
            asked = outcome.state["__interrupt__"][0]
            outcome = await agent.go(play.said(asked, number), "t")
        journal.close()
        return outcome

    play.judge(asyncio.run(asyncio.wait_for(main(), PATIENCE)))


def _journal(path: Path) -> SqlJournal:
    return SqlJournal(SqliteStore(path, ProcessKind.AGENT))
