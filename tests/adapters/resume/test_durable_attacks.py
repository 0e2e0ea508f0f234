"""Attacks on the promises of the journal: deaths, forks and signals at bad moments."""

import asyncio
from collections.abc import Coroutine, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from asyncguard import (
    CallerError,
    EffectClass,
    Fallback,
    GuardConfig,
    Limits,
    Mode,
    ToolFault,
    ToolSpec,
)
from asyncguard.core.calls import CallState
from asyncguard.core.results import Result, Success
from asyncguard.journal.intent import Intent
from asyncguard.journal.open import open_journal
from asyncguard.journal.port import AttemptState
from asyncguard.runtime.clock import LoopClock
from asyncguard.runtime.executors.local import LocalExecutor
from asyncguard.runtime.executors.port import Completion, Job
from asyncguard.testing import calls, scripted_tool
from tests.adapters.harness import AgentOf, pure
from tests.adapters.processes import CONFIG, HANG, Machine, Process, until

PLACE: Any = {"configurable": {"thread_id": "t"}}
PAY = calls(("pay", {"item": "x"}))
TWO_TASKS = [{"id": "a", "goal": "Pay x."}, {"id": "b", "goal": "Ship y."}]


@pytest.fixture
def machine(agent_of: AgentOf, tmp_path: Path) -> Iterator[Machine]:
    """A machine with a disk."""
    made = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    yield made
    made.close()


class Till:
    """A service with effects that stay, whichever process comes to it."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.reached = asyncio.Event()
        self.hold: asyncio.Event | None = None
        """Event for which a call waits after its effect, if any."""

    def tool(self, name: str, *, asks: bool = False) -> Any:
        """A tool of one process."""

        async def act(arguments: Any) -> str:
            if asks and interrupt("Shall I?") is not True:
                return "no"
            told = f"{name} {arguments['item']}"
            self.made.append(told)
            if self.hold is not None:
                self.reached.set()
                await self.hold.wait()
            return f"{told} is made"

        return scripted_tool(name, act, args={"item": str})

    def stay(self) -> None:
        """Let each further call hang after its effect."""
        self.hold = asyncio.Event()

    def go_on(self) -> None:
        """Let the calls that hang answer."""
        if self.hold is not None:
            self.hold.set()
        self.hold = None


async def finish(process: Process) -> Any:
    """Resume until no question is open; fail if it hangs."""
    async with asyncio.timeout(HANG):
        outcome = await process.go_on(durability="sync")
        while outcome.interrupts:
            outcome = await process.go_on(durability="sync")
    return outcome


async def place_before_model(process: Process) -> Any:
    """The configuration of the first checkpoint from which the model is asked."""
    found = None
    async for snapshot in process.agent.graph.aget_state_history(PLACE):
        messages = snapshot.values.get("messages", [])
        if (
            snapshot.next
            and messages
            and all(m.type == "human" for m in messages)
            and snapshot.values.get("ledger")
        ):
            found = found or snapshot.config
    assert found is not None
    return found


async def edited_call(process: Process) -> Any:
    """The model's message with its one call, under the same id and with other arguments."""
    messages = (await process.agent.graph.aget_state(PLACE)).values["messages"]
    said = next(message for message in messages if message.type == "ai")
    return said.model_copy(update={"tool_calls": [{**said.tool_calls[0], "args": {"item": "y"}}]})


# -- questions -----------------------------------------------------------------------------------------------------


async def test_an_effect_behind_an_answered_question_is_not_made_again(machine: Machine) -> None:
    """The tool would pass its answered question at once, yet its attempt is not repeated."""
    till, declared = Till(), [ToolSpec(name="pay", interrupts=True)]
    old = machine.process([till.tool("pay", asks=True)], declared, PAY)
    assert (await old.say("Pay x.", durability="sync")).interrupts
    till.stay()
    old.run = asyncio.create_task(old.go_on(durability="sync"))
    await till.reached.wait()
    await old.die()
    till.go_on()
    new = machine.process([till.tool("pay", asks=True)], declared)
    outcome = await finish(new)
    assert till.made == ["pay x"]
    assert outcome.report["in_doubt"] == ["main/pay#1"]


class StuckSaver(InMemorySaver):
    """A checkpointer that stops storing, for a process that dies in between."""

    def __init__(self) -> None:
        super().__init__()
        self.stuck = False
        self.gone = asyncio.Event()

    async def aput(self, *given: Any, **more: Any) -> Any:
        """Store a checkpoint, or hang."""
        await self._pass()
        return await super().aput(*given, **more)

    async def aput_writes(self, *given: Any, **more: Any) -> None:
        """Store writes, or hang."""
        await self._pass()
        await super().aput_writes(*given, **more)

    async def _pass(self) -> None:
        if self.stuck:
            await self.gone.wait()
            raise asyncio.CancelledError


async def test_a_new_message_behind_an_answered_question_does_not_deny_the_effect(
    machine: Machine,
) -> None:
    """The effect has ended well, and only the journal knows: it is told, and not called stopped by the user."""
    machine.saver = saver = StuckSaver()
    till, declared = Till(), [ToolSpec(name="pay", interrupts=True)]
    old = machine.process([till.tool("pay", asks=True)], declared, PAY)
    assert (await old.say("Pay x.", durability="sync")).interrupts
    till.stay()
    old.run = asyncio.create_task(old.go_on(durability="sync"))
    await till.reached.wait()
    saver.stuck = True
    till.go_on()
    await until(
        lambda: any(
            a.result == Success(content="pay x is made") for a in old.journal.entries()[0].attempts
        )
    )
    death = asyncio.create_task(old.die())
    await asyncio.sleep(0)
    saver.gone.set()
    await death
    saver.stuck = False
    new = machine.process([till.tool("pay", asks=True)], declared)
    async with asyncio.timeout(HANG):
        outcome = await new.say("Hello?", durability="sync")
    assert till.made == ["pay x"]
    assert "pay x is made" in outcome.text
    assert outcome.states("main") == {"done": 1}


# -- one key, one call ---------------------------------------------------------------------------------------------


async def test_a_call_in_doubt_stays_in_doubt_when_its_arguments_are_edited(
    machine: Machine,
) -> None:
    """The edited call is refused; the one under its key is still unknown, and an equal one is not made."""
    till, declared = Till(), [ToolSpec(name="pay")]
    till.stay()
    old = machine.process([till.tool("pay")], declared, PAY)
    old.begin("Pay x.", durability="sync")
    await till.reached.wait()
    await old.die()
    till.go_on()
    new = machine.process([till.tool("pay")], declared, await edited_call(old), PAY)
    await new.agent.graph.ainvoke(None, await place_before_model(old), durability="sync")
    assert till.made == ["pay x"]
    assert [entry.label for entry in new.journal.entries(states=[CallState.IN_DOUBT])] == ["pay#1"]


async def test_the_result_of_a_call_is_never_that_of_another_under_its_key(
    machine: Machine,
) -> None:
    """A fork in the process that made the call: with other arguments it is another call, and x is not y."""
    till, declared = Till(), [ToolSpec(name="pay")]
    process = machine.process([till.tool("pay")], declared, PAY)
    await process.say("Pay x.", durability="sync")
    edited = await edited_call(process)
    place = await place_before_model(process)
    process.agent.model._tape.policy = lambda messages, _: (
        edited if messages[-1].type == "human" else "all done"
    )
    state = await process.agent.graph.ainvoke(None, place, durability="sync")
    assert "pay x is made" not in str([message.content for message in state["messages"]])
    assert till.made == ["pay x"]


async def test_what_another_policy_would_have_done_does_not_end_a_doubt(machine: Machine) -> None:
    """The dead process had retried the payment; the next one would ask a sibling, and must not call it failed."""
    till, attempts = Till(), list[str]()
    reached = asyncio.Event()

    async def pay(_: Any) -> str:
        attempts.append("pay")
        if len(attempts) == 1:
            raise ToolFault("busy", transient=True, started=False)
        reached.set()
        await asyncio.Event().wait()
        return "never"

    tools = [scripted_tool("pay", pay, args={"item": str}), till.tool("order")]
    declared = [ToolSpec(name="pay", fallbacks=(Fallback(tool="order"),)), ToolSpec(name="order")]
    old = machine.process(tools, declared, PAY)
    old.begin("Pay x.", durability="sync")
    await reached.wait()
    await old.die()
    new = machine.process(tools, declared, config=replace(CONFIG, retry=False))
    outcome = await finish(new)
    assert outcome.report["in_doubt"] == ["main/pay#1"]
    assert till.made == []
    assert attempts == ["pay", "pay"]


async def test_who_waits_for_an_attempt_of_another_does_not_end_it(tmp_path: Path) -> None:
    """Two agents of one process share a journal; the one that only asked is cancelled, the other's effect continues."""
    journal = open_journal(tmp_path / "effects.db")
    await journal.acquire("session", "t", [], lambda _: None)
    intent = Intent(
        session="session", namespace="", task="main", label="pay#1", key="k", attempt=1, tool="pay",
        effect=EffectClass.AT_MOST_ONCE, arguments={}, fingerprint="f",
    )  # fmt: skip
    go_on, told, entered = asyncio.Event(), list[Completion](), asyncio.Event()

    async def run() -> Result:
        entered.set()
        await go_on.wait()
        return Success(content="paid")

    job = Job(
        key="k",
        attempt=1,
        tool="pay",
        task="main",
        call_id="c",
        arguments={},
        run=run,
        intent=intent,
    )
    first, second = LocalExecutor(LoopClock(), journal), LocalExecutor(LoopClock(), journal)
    first.start(job, told.append)
    await entered.wait()
    second.start(job, told.append)
    await asyncio.sleep(0)
    second.cancel("k")
    await until(lambda: bool(told))
    (entry,) = await asyncio.to_thread(journal.entries)
    assert entry.attempts[0].state is AttemptState.INTENT
    go_on.set()
    await until(lambda: len(told) == 2)
    (entry,) = await asyncio.to_thread(journal.entries)
    assert entry.attempts[0].result == Success(content="paid")
    journal.close()


# -- answers that stand in the history -----------------------------------------------------------------------------


async def test_a_result_that_stands_in_the_history_is_the_calls_result(machine: Machine) -> None:
    """The state ends with the tools' answers and the ledger is behind: nothing was cancelled."""
    till, declared = Till(), [ToolSpec(name="pay")]
    process = machine.process([till.tool("pay")], declared, PAY)
    await process.say("Pay x.", durability="sync")
    places = [
        snapshot.config
        async for snapshot in process.agent.graph.aget_state_history(PLACE)
        if snapshot.next
        and any(message.type == "tool" for message in snapshot.values.get("messages", [])[-1:])
    ]
    await process.die()
    new = machine.process([till.tool("pay")], declared)
    for place in places:
        state = await new.agent.graph.ainvoke(None, place, durability="sync")
        assert state["report"]["tasks"][0]["calls"] == {"done": 1}
    assert places
    assert till.made == ["pay x"]


async def test_a_person_may_answer_when_the_process_is_another_one(machine: Machine) -> None:
    """A call of the same message has ended; its wrapper, if it had one, has returned and does not come again."""
    till = Till()
    declared = [
        ToolSpec(name="pay", reads=(), writes=("a",)),
        ToolSpec(name="ship", approval=True, reads=(), writes=("b",)),
    ]
    tools = [till.tool("pay"), till.tool("ship")]
    old = machine.process(tools, declared, calls(("pay", {"item": "x"}), ("ship", {"item": "y"})))
    assert (await old.say("Pay x, ship y.", durability="sync")).interrupts
    await old.die()
    outcome = await finish(machine.process(tools, declared))
    assert till.made == ["pay x", "ship y"]
    assert outcome.states("main") == {"done": 2}


async def test_a_read_beside_a_question_may_have_been_answered_by_another_process(
    machine: Machine,
) -> None:
    """A call without a journal entry may have been answered by another process as well."""
    till = Till()
    declared = [pure("look"), ToolSpec(name="ship", approval=True, reads=(), writes=("b",))]
    tools = [scripted_tool("look", lambda _: "found", args={"q": str}), till.tool("ship")]
    old = machine.process(tools, declared, calls(("look", {"q": "x"}), ("ship", {"item": "y"})))
    assert (await old.say("Look up x, ship y.", durability="sync")).interrupts
    await old.die()
    outcome = await finish(machine.process(tools, declared))
    assert till.made == ["ship y"]
    assert outcome.states("main") == {"done": 2}


async def test_a_held_call_that_was_never_begun_is_not_in_doubt(machine: Machine) -> None:
    """The journal knows that nothing began, and the person's yes came to another process."""
    till = Till()
    declared = [ToolSpec(name="pay"), ToolSpec(name="ship", approval=True)]
    tools = [till.tool("pay"), till.tool("ship")]
    both = calls(("pay", {"item": "x", "task_id": "a"}), ("ship", {"item": "y", "task_id": "b"}))
    old = machine.process(tools, declared, both)
    state = await old.agent.graph.ainvoke(
        old.agent.input(None, TWO_TASKS), PLACE, durability="sync"
    )
    assert state["__interrupt__"]
    await old.die()
    outcome = await finish(machine.process(tools, declared))
    assert outcome.report["in_doubt"] == []
    assert till.made.count("ship y") <= 1


# -- signals ---------------------------------------------------------------------------------------------------------


class Bank:
    """An external tool that keeps its tokens."""

    def __init__(self, *, lost: int = 0, effect: EffectClass = EffectClass.AT_MOST_ONCE) -> None:
        self.tokens: list[str] = []
        self.lost = lost
        self.spec = ToolSpec(name="bank", mode=Mode.EXTERNAL, token_argument="token", effect=effect)

    def tool(self) -> Any:
        """The tool of one process."""

        def start(arguments: Any) -> str:
            self.tokens.append(arguments["token"])
            if len(self.tokens) <= self.lost:
                raise ConnectionError("reset")  # the request has arrived all the same
            return "accepted"

        return scripted_tool("bank", start, args={"q": str, "token": str})


def ask(q: str) -> Any:
    """Return a message in which the model asks the bank."""
    return calls(("bank", {"q": q}))


async def test_old_mail_does_not_keep_the_user_from_an_answer(machine: Machine) -> None:
    """A thread that once had a delivery; another call is outside now, and the user asks something."""
    bank = Bank()
    process = machine.process([bank.tool()], [bank.spec], ask("1"), "first done", ask("2"))
    assert (await process.say("One.")).interrupts
    await asyncio.to_thread(process.inbox.deliver, bank.tokens[0], "approved")
    assert (await process.go_on()).last == "first done"
    assert (await process.say("Two.")).interrupts
    await process.die()
    another = machine.process([bank.tool()], [bank.spec], "I am here.")
    outcome = await another.say("Are you there?")
    assert "I am here." in outcome.text


async def test_a_delivery_for_an_attempt_whose_answer_was_lost_is_the_result(
    machine: Machine,
) -> None:
    """The first request had arrived, the second was made beside it; who delivers under the first token is heard."""
    bank = Bank(lost=1, effect=EffectClass.IDEMPOTENT)
    process = machine.process([bank.tool()], [bank.spec], ask("1"))
    assert (await process.say("One.")).interrupts
    assert len(bank.tokens) == 2
    await asyncio.to_thread(process.inbox.deliver, bank.tokens[0], "approved")
    outcome = await process.go_on()
    assert "approved" in outcome.text
    assert outcome.states("main") == {"done": 1}


# -- errors of the caller ------------------------------------------------------------------------------------------


async def test_an_input_that_is_refused_leaves_no_thread_behind(machine: Machine) -> None:
    """An input that is refused releases the thread that was acquired for its run."""
    process = machine.process([], [])
    for number in range(3):
        with pytest.raises(CallerError, match="no goal"):
            await process.agent.graph.ainvoke(
                {"tasks": [{"id": "a"}], "messages": []},
                {"configurable": {"thread_id": f"t{number}"}},
            )
    await asyncio.to_thread(process.journal.entries)  # runs after all that was queued
    assert process.journal._journal._maintenance._threads == {}


@pytest.mark.parametrize(
    "config",
    [replace(CONFIG, retry=False), replace(CONFIG, limits=Limits(max_attempts=1))],
    ids=["no retry", "one"],
)
async def test_a_later_attempt_is_found_though_it_would_not_be_made_any_more(
    machine: Machine, config: GuardConfig
) -> None:
    """The second attempt paid, and the process died; the next one has other switches, and would not try again."""
    till, outcomes = Till(), [ToolFault("busy", started=False, transient=True)]
    till.hold = asyncio.Event()
    pay = till.tool("pay")

    async def act(arguments: Any) -> Any:
        if outcomes:
            raise outcomes.pop()
        return await pay.ainvoke(arguments)

    tools, declared = [scripted_tool("pay", act, args={"item": str})], [ToolSpec(name="pay")]
    machine.saver = saver = HalfSaver()
    old = machine.process(tools, declared, PAY)
    old.begin("Pay x.", durability="sync")
    await asyncio.wait_for(till.reached.wait(), HANG)
    saver.room.clear()
    till.hold.set()
    await until(
        lambda: (
            len(old.journal.entries()[0].attempts) == 2
            and old.journal.entries()[0].attempts[1].result
        )
    )
    await saver.lose(old.die())
    outcome = await machine.process(tools, declared, config=config).go_on(durability="sync")
    assert outcome.states("main") == {"done": 1}
    assert till.made == ["pay x"]


class HalfSaver(InMemorySaver):
    """Stores nothing while there is no room."""

    def __init__(self) -> None:
        super().__init__()
        self.room = asyncio.Event()
        self.room.set()
        self.gone = False

    async def lose(self, dying: Coroutine[Any, Any, None]) -> None:
        """Forget what waits for room while its process dies."""
        death = asyncio.ensure_future(dying)
        await asyncio.sleep(0)
        self.gone = True
        self.room.set()
        await death
        self.gone = False

    async def _stored(self) -> None:
        await self.room.wait()
        if self.gone:
            raise asyncio.CancelledError

    async def aput(self, *given: Any, **more: Any) -> Any:
        await self._stored()
        return await super().aput(*given, **more)

    async def aput_writes(self, *given: Any, **more: Any) -> None:
        await self._stored()
        await super().aput_writes(*given, **more)
