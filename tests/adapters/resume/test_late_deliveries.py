"""An external call of a cancelled task is in doubt; what comes late resolves the doubt once, and is told."""

import asyncio
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from asyncguard import EffectClass, Inbox, Mode, Ports, ToolSpec, UnknownTokenError
from asyncguard.testing import ScriptedChatModel, ToolMode, calls, run_virtual, scripted_tool
from tests.adapters.harness import AgentOf, Frontend, Outcome, build, pure, script
from tests.adapters.processes import Machine

SPECS = [
    ToolSpec(name="bank", mode=Mode.EXTERNAL, token_argument="token", reads=(), writes=()),
    pure("look"),
]
TASKS = [{"id": "a", "goal": "Ask for x."}, {"id": "b", "goal": "Ask for y."}]


class Bank:
    """It answers by post, to whom it is asked by."""

    def __init__(self, agent_of: AgentOf, *steps: Any) -> None:
        self.inbox = Inbox()
        self.tokens: dict[str, str] = {}
        bank = scripted_tool("bank", self._start, args={"q": str, "token": str})
        look = scripted_tool("look", lambda a: f"saw {a['q']}", args={"q": str}, latency=60.0)
        self.model = ScriptedChatModel(script(*steps, ever="noted"))
        self.agent = agent_of(
            self.model,
            [bank, look],
            specs=SPECS,
            checkpointer=InMemorySaver(),
            ports=Ports(inbox=self.inbox),
        )

    def _start(self, arguments: Any) -> str:
        self.tokens[arguments["q"]] = arguments["token"]
        return "started"

    async def cancel(self, *names: str, said: str | None = None) -> Outcome:
        """Take tasks back."""
        return await self.agent.go(self.agent.input(said, None) | {"cancel": list(names)}, "t")


@pytest.mark.parametrize("said", [None, "Never mind."])
def test_a_late_delivery_is_told_in_the_next_run(agent_of: AgentOf, said: str | None) -> None:
    """Although the run has ended meanwhile and nothing else is open; the doubt is over."""
    bank = Bank(agent_of, calls(("bank", {"q": "x"})))

    async def main() -> Outcome:
        await bank.agent.say("Ask for x.", thread="t")
        doubtful = await bank.cancel("main", said=said)
        assert doubtful.report["in_doubt"] == ["main/bank#1"]
        bank.inbox.deliver(bank.tokens["x"], "granted all the same")
        return await bank.agent.say("And?", thread="t")

    outcome = run_virtual(main()).result
    assert outcome.text.count("granted all the same") == 1
    assert outcome.report["in_doubt"] == []
    assert outcome.states("main") == {"resolved": 1}


def test_it_counts_once(agent_of: AgentOf) -> None:
    """The token is used up; the second delivery is refused with a clear answer."""
    bank = Bank(agent_of, calls(("bank", {"q": "x"})))

    async def main() -> Outcome:
        await bank.agent.say("Ask for x.", thread="t")
        await bank.cancel("main")
        bank.inbox.deliver(bank.tokens["x"], "granted")
        with pytest.raises(UnknownTokenError):
            bank.inbox.deliver(bank.tokens["x"], "refused")
        return await bank.agent.say("And?", thread="t")

    outcome = run_virtual(main()).result
    assert "granted" in outcome.text
    assert "refused" not in outcome.text


def test_it_is_news_for_a_run_that_goes_on(agent_of: AgentOf) -> None:
    """The other task waits for its own answer, and is told both."""
    bank = Bank(
        agent_of, calls(("bank", {"q": "x", "task_id": "a"}), ("bank", {"q": "y", "task_id": "b"}))
    )

    async def main() -> Outcome:
        await bank.agent.say(tasks=TASKS, thread="t")
        await bank.cancel("a")
        bank.inbox.deliver(bank.tokens["x"], "x after all")
        outcome = await bank.agent.resume("look", "t")
        assert "x after all" in outcome.text
        assert outcome.interrupts[0]["type"] == "parked"
        bank.inbox.deliver(bank.tokens["y"], "y at last")
        return await bank.agent.resume("look", "t")

    outcome = run_virtual(main()).result
    assert "y at last" in outcome.text
    assert outcome.states("a") == {"resolved": 1}
    assert [task["state"] for task in outcome.report["tasks"]] == ["stopped", "closed"]


def test_many_threads_keep_their_doubts_apart(agent_of: AgentOf) -> None:
    """Sessions that rest are forgotten, but not while something may still come for them."""
    steps = [step for number in range(3) for step in (calls(("bank", {"q": str(number)})), "noted")]
    bank = Bank(agent_of, *steps)

    async def main() -> list[str]:
        told = []
        for number in range(3):
            place = f"t{number}"
            await bank.agent.say("Ask.", thread=place)
            await bank.agent.go(bank.agent.input(None, None) | {"cancel": ["main"]}, place)
            await bank.agent.say("Well?", thread=place)
        for number in reversed(range(3)):
            bank.inbox.deliver(bank.tokens[str(number)], f"answer {number}")
            told.append((await bank.agent.say("And?", thread=f"t{number}")).text)
        return told

    for number, text in zip((2, 1, 0), run_virtual(main()).result, strict=True):
        assert f"answer {number}" in text
        assert text.count("answer ") == 1


def test_a_delivery_while_the_next_run_works(agent_of: AgentOf) -> None:
    """The result is shown as soon as the model is due its turn."""
    bank = Bank(agent_of, calls(("bank", {"q": "x"})), calls(("look", {"q": "z"})))

    async def main() -> Outcome:
        await bank.agent.say("Ask for x.", thread="t")
        await bank.cancel("main")
        run = asyncio.create_task(bank.agent.say("Look z up, then.", thread="t"))
        await asyncio.sleep(1.0)
        bank.inbox.deliver(bank.tokens["x"], "granted all the same")
        return await run

    outcome = run_virtual(main()).result
    assert "granted all the same" in outcome.text
    assert "saw z" in outcome.text
    assert outcome.report["in_doubt"] == []


async def test_what_a_thread_answers_after_its_run_ended_is_told() -> None:
    """A sync tool cannot be stopped; its late answer resolves the doubt although the run is over."""
    begun = threading.Event()

    def pay(_: Any) -> str:
        begun.set()
        time.sleep(0.3)  # a thread
        return "paid after all"

    steps = [calls(("pay", {"q": "x"}))]
    tool = scripted_tool("pay", pay, args={"q": str}, mode=ToolMode.SYNC)
    model = ScriptedChatModel(script(*steps, ever="noted"))
    agent = build(
        Frontend.GRAPH, model, [tool], checkpointer=InMemorySaver()
    )  # the middleware does not hear threads
    run = asyncio.create_task(agent.say("Pay x.", thread="t"))
    assert await asyncio.to_thread(begun.wait, 5.0)
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    doubtful = await agent.go(agent.input("Never mind.", None) | {"cancel": ["main"]}, "t")
    assert doubtful.report["in_doubt"] == ["main/pay#1"]
    await asyncio.sleep(0.5)
    assert "paid after all" in (await agent.say("And?", thread="t")).text
    agent.check_histories()


async def test_a_delivery_before_a_question_is_told_by_another_process(tmp_path: Path) -> None:
    """The doubt that it resolves was told already, its content was not: the state keeps it."""
    tokens = list[str]()

    def start(arguments: Any) -> str:
        tokens.append(arguments["token"])
        return "started"

    def ask(arguments: Any) -> str:
        said = interrupt(f"{arguments['q']}?")
        if arguments["q"] == "x":
            machine.made[0].inbox.deliver(tokens[0], "granted all the same")
        return str(said)

    agent_of = partial(build, Frontend.GRAPH)
    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    tools = [
        scripted_tool("bank", start, args={"q": str, "token": str}),
        scripted_tool("ask", ask, args={"q": str}),
    ]
    specs = [SPECS[0], ToolSpec(name="ask", interrupts=True, effect=EffectClass.PURE)]
    both = calls(("ask", {"q": "x"}), ("ask", {"q": "y"}))
    agent = machine.process(tools, specs, calls(("bank", {"q": "x"})), both).agent
    await agent.say("Ask for x.", thread="t")
    outcome = await agent.go(agent.input("Never mind.", None) | {"cancel": ["main"]}, "t")
    assert outcome.interrupts == ["x?"]
    outcome = await agent.resume("yes", "t")
    assert outcome.interrupts == ["y?"]
    await machine.made[0].die()
    outcome = await machine.process(tools, specs, "noted").agent.resume("yes", "t")
    assert outcome.text.count("granted all the same") == 1
    assert "no longer held" not in outcome.text
    machine.close()


@pytest.mark.parametrize("said", [None, "Never mind."])
async def test_a_task_is_cancelled_by_the_process_after_the_one_that_parked(
    agent_of: AgentOf, tmp_path: Path, said: str | None
) -> None:
    """The other task is waited for, and a delivery for the cancelled one resolves its doubt."""
    tokens: dict[str, str] = {}

    def start(arguments: Any) -> str:
        tokens[arguments["q"]] = arguments["token"]
        return "started"

    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    tools = [scripted_tool("bank", start, args={"q": str, "token": str})]
    both = calls(("bank", {"q": "x", "task_id": "a"}), ("bank", {"q": "y", "task_id": "b"}))
    agent = machine.process(tools, SPECS[:1], both).agent
    await agent.say(tasks=TASKS, thread="t")
    await machine.made[0].die()
    process = machine.process(tools, SPECS[:1], *["noted"] * 3)
    agent = process.agent
    outcome = await agent.go(agent.input(said, None) | {"cancel": ["a"]}, "t")
    assert [call["task"] for question in outcome.interrupts for call in question["calls"]] == ["b"]
    for q in ("x", "y"):
        await asyncio.to_thread(process.inbox.deliver, tokens[q], f"{q} granted")
    outcome = await agent.resume("look", "t")
    assert outcome.states("a") == {"resolved": 1}
    assert outcome.states("b") == {"done": 1}
    assert "x granted" in outcome.text
    assert "y granted" in outcome.text
    machine.close()
