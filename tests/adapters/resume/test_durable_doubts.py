"""Doubts that outlive a kill between an answer and its event, and questions without a receiver."""

import asyncio
import os
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from asyncguard import (
    CallerError,
    EffectClass,
    GuardConfig,
    JournalError,
    Mode,
    SignalKind,
    Timing,
    ToolFault,
    ToolSpec,
)
from asyncguard.adapters.threads.checkpoint_fence import place
from asyncguard.core.calls import CallState
from asyncguard.journal.port import AttemptState
from asyncguard.testing import ToolMode, calls, scripted_tool
from tests.adapters.harness import AgentOf, pure
from tests.adapters.processes import Machine, MortalJournal, until

PLACE: Any = {"configurable": {"thread_id": "t"}}
PAY = calls(("pay", {"item": "x"}))
TWO_TASKS = [{"id": "a", "goal": "Pay x."}, {"id": "b", "goal": "Ship y."}]


@pytest.fixture
def machine(agent_of: AgentOf, tmp_path: Path) -> Iterator[Machine]:
    """A machine with a disk."""
    made = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    yield made
    made.close()


class StuckSaver(InMemorySaver):
    """A checkpointer that stops storing checkpoints (not writes), for a process that ends in between."""

    def __init__(self, *, writes: bool = False) -> None:
        super().__init__()
        self.stuck = False
        self.writes_too = writes
        self.reached = asyncio.Event()
        self.gone = asyncio.Event()

    async def aput(self, *given: Any, **more: Any) -> Any:
        await self._pass()
        return await super().aput(*given, **more)

    async def aput_writes(self, *given: Any, **more: Any) -> None:
        if self.writes_too:
            await self._pass()
        await super().aput_writes(*given, **more)

    async def _pass(self) -> None:
        if self.stuck:
            self.reached.set()
            await self.gone.wait()
            raise asyncio.CancelledError

    async def lose(self, end: Any) -> None:
        """Discard the writes that wait, as when the process that stores them is killed."""
        ending = asyncio.ensure_future(end)
        await asyncio.sleep(0)
        self.gone.set()
        await ending
        self.stuck, self.gone, self.reached = False, asyncio.Event(), asyncio.Event()


async def test_an_answer_that_says_nobody_knows_is_not_taken_for_a_failure(
    machine: Machine,
) -> None:
    """The wrapper's answer was stored and its event was not: the doubt stays, and no equal call is made."""
    machine.saver = saver = StuckSaver()
    made: list[str] = []

    def pay(arguments: Any) -> str:
        made.append(arguments["item"])
        saver.stuck = len(made) == 1
        raise ConnectionError("reset")  # after the effect

    tools, declared = [scripted_tool("pay", pay, args={"item": str})], [ToolSpec(name="pay")]
    old = machine.process(tools, declared, PAY)
    old.begin("Pay x.", durability="sync")
    await saver.reached.wait()
    await saver.lose(old.die())
    new = machine.process(tools, declared, PAY, "done")
    outcome = await new.go_on(durability="sync")
    assert made == ["x"]
    assert outcome.report["in_doubt"] == ["main/pay#1"]


async def test_a_doubt_of_a_dead_predecessor_is_not_taken_for_a_failure(machine: Machine) -> None:
    """The doubt stays after a kill in the effect, and a second kill while the doubt is reported."""
    machine.saver = saver = StuckSaver()
    made: list[str] = []
    reached = asyncio.Event()

    async def pay(arguments: Any) -> str:
        made.append(arguments["item"])
        reached.set()
        await asyncio.Event().wait()
        return "never"

    tools, declared = [scripted_tool("pay", pay, args={"item": str})], [ToolSpec(name="pay")]
    old = machine.process(tools, declared, PAY)
    old.begin("Pay x.", durability="sync")
    await reached.wait()
    await old.die()
    saver.stuck = True
    second = machine.process(tools, declared)
    second.run = asyncio.create_task(second.go_on(durability="sync"))
    await saver.reached.wait()
    await saver.lose(second.die())
    third = machine.process(tools, declared)
    outcome = await third.go_on(durability="sync")
    assert outcome.report["in_doubt"] == ["main/pay#1"]
    assert [e.state for e in third.journal.entries()] == [CallState.IN_DOUBT]


async def test_a_question_of_a_cancelled_run_does_not_keep_the_model_talking(
    machine: Machine,
) -> None:
    """A question that a cancelled run's tool asks too late does not delay the next run."""
    entered, go_on = asyncio.Event(), asyncio.Event()

    async def pay(_: Any) -> str:
        entered.set()
        await go_on.wait()
        return str(interrupt("Shall I?"))

    tools, declared = (
        [scripted_tool("pay", pay, args={"item": str})],
        [ToolSpec(name="pay", interrupts=True)],
    )
    process = machine.process(tools, declared, PAY)
    process.begin("Pay x.", durability="sync")
    await entered.wait()
    assert process.run is not None
    process.run.cancel()
    await asyncio.gather(process.run, return_exceptions=True)
    go_on.set()
    outcome = await process.say("Hello?", durability="sync")
    assert len(process.agent.model.requests) <= 4
    if not outcome.interrupts:
        assert outcome.report["open_calls"] == []


async def test_an_approved_call_that_was_made_is_not_denied_when_a_write_is_lost(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Approved and made; the write that would have told it was cancelled, and the user says something else."""
    monkeypatch.setattr(place, "_PATIENCE", 0.5)
    machine.saver = saver = StuckSaver(writes=True)
    made: list[str] = []

    def ship(arguments: Any) -> str:
        made.append(arguments["item"])
        saver.stuck = arguments["item"] == "y"
        return f"ship {arguments['item']} ok"

    pay = scripted_tool("pay", lambda _: "paid", args={"item": str})
    tools = [scripted_tool("ship", ship, args={"item": str}), pay]
    declared = [ToolSpec(name="ship", approval=True, takes_from=()), ToolSpec(name="pay")]
    first = calls(
        ("pay", {"item": "x", "task_id": "a"}),
        ("ship", {"item": "x", "task_id": "a"}),
        ("ship", {"item": "y", "task_id": "b"}),
    )
    process = machine.process(tools, declared, first)
    state = await process.agent.graph.ainvoke(
        process.agent.input(None, TWO_TASKS), PLACE, durability="sync"
    )
    for _ in range(4):
        answers = {item.id: True for item in state["__interrupt__"]}
        run = asyncio.create_task(
            process.agent.graph.ainvoke(Command(resume=answers), PLACE, durability="sync")
        )
        await asyncio.wait(
            [run, asyncio.ensure_future(saver.reached.wait())], return_when=asyncio.FIRST_COMPLETED
        )
        if not run.done():
            break
        state = run.result()
    run.cancel()
    await saver.lose(asyncio.wait([run]))
    outcome = await process.say("Hello?", durability="sync")
    assert made == ["x", "y"]
    assert "was not run" not in outcome.text
    assert "ship y ok" in outcome.text


# -- back-off --------------------------------------------------------------------------------------


async def test_an_attempt_that_was_never_begun_is_made_by_the_next_process(
    machine: Machine,
) -> None:
    """The service refused the first one, and the process died in the back-off before the second: nothing is in doubt.

    In ``create_agent`` the next process has not met the tool when it reads that.
    """
    made: list[str] = []

    def pay(arguments: Any) -> str:
        made.append(arguments["item"])
        if len(made) == 1:
            raise ToolFault("busy", transient=True, started=False)
        return "paid"

    async def find(_: Any) -> str:
        await asyncio.sleep(0.1)  # the payment has been refused by then
        return "found"

    look = scripted_tool("look", find, args={"q": str})
    tools = [scripted_tool("pay", pay, args={"item": str}), look]
    declared = [ToolSpec(name="pay", reads=(), writes=("a",)), pure("look", reads=("b",))]
    patient = GuardConfig(
        timing=Timing(grace=0.0, linger=0.0, retry_initial=60.0, retry_jitter=0.0)
    )
    both = calls(("pay", {"item": "x", "task_id": "a"}), ("look", {"q": "y", "task_id": "b"}))
    old = machine.process(tools, declared, both, "One moment.", config=patient)
    old.run = asyncio.create_task(
        old.agent.graph.ainvoke(old.agent.input(None, TWO_TASKS), PLACE, durability="sync")
    )
    await until(
        lambda: "completion_judged" in str(old.agent.graph.get_state(PLACE).values.get("ledger"))
    )
    await old.die()
    new = machine.process(tools, declared)
    async with asyncio.timeout(10):
        outcome = await new.go_on(durability="sync")
    assert outcome.states("a") == {"done": 1}
    assert made == ["x", "x"]


# -- attempts that may still run, and deliveries -------------------------------------------------------------------

ASK = calls(("bank", {"q": "x"}))
BANK = ToolSpec(name="bank", mode=Mode.EXTERNAL, token_argument="token")
DENIED = (SignalKind.NOT_HAPPENED, SignalKind.RETRY)


class Till:
    """A payment on an OS thread that ends when it is told to."""

    def __init__(self, *ends: BaseException | str) -> None:
        self.hold, self.entered = threading.Event(), threading.Event()
        self.ends = list(ends)
        self.paid = 0

    def tool(self) -> Any:
        """The tool of one process."""

        def pay(_: Any) -> str:
            self.entered.set()
            assert self.hold.wait(30)
            end = self.ends.pop(0)
            if isinstance(end, BaseException):
                raise end
            self.paid += 1
            return end

        return scripted_tool("pay", pay, args={"item": str}, mode=ToolMode.SYNC)


async def refuses(journal: MortalJournal, key: str, said: str) -> None:
    """No answer by which the effect could happen again is accepted."""
    for kind in DENIED:
        with pytest.raises(CallerError, match=said):
            await asyncio.to_thread(journal.resolve, key, kind)


async def test_what_may_still_run_is_neither_denied_nor_made_again(machine: Machine) -> None:
    """It timed out and runs on: both answers are refused, its own result resolves the doubt."""
    till = Till("paid x")
    process = machine.process([till.tool()], [ToolSpec(name="pay", timeout=0.1)], PAY)
    assert (await process.say("Pay x.", durability="sync")).report["in_doubt"] == ["main/pay#1"]
    other = MortalJournal(machine.path)
    (entry,) = other.entries(states=[CallState.IN_DOUBT])
    await refuses(other, entry.key, rf"attempt 1 was given up, and may .* in process {os.getpid()}")
    till.hold.set()
    await until(lambda: other.entries()[0].resolution is SignalKind.HAPPENED)
    assert other.entries()[0].attempts[0].running_in == ""
    other.close()
    outcome = await process.say("And?", durability="sync")
    assert (outcome.report["in_doubt"], till.paid) == ([], 1)
    assert outcome.text.count("paid x") == 1


async def test_a_result_after_a_persons_word_is_logged_and_kept(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    """The agent keeps the person's word; the log names the call, and no content."""
    till = Till("paid SECRET")
    process = machine.process([till.tool()], [ToolSpec(name="pay", timeout=0.1)], PAY)
    await process.say("Pay x.", durability="sync")
    (entry,) = process.journal.entries(states=[CallState.IN_DOUBT])
    await asyncio.to_thread(process.journal.resolve, entry.key, SignalKind.HAPPENED, "receipt 7")
    outcome = await process.say("And?", durability="sync")
    till.hold.set()
    await until(lambda: process.journal.entries()[0].attempts[0].late is not None)
    outcome = await process.say("And now?", durability="sync")
    assert outcome.text.count("receipt 7") == 1
    (warned,) = [item.getMessage() for item in caplog.records if entry.key in item.getMessage()]
    assert "gave a result after the call was answered (happened)" in warned
    assert "SECRET" not in caplog.text + outcome.text


async def test_a_persons_word_is_not_recorded_as_an_outcome(machine: Machine) -> None:
    """The end of the killed attempt stays unknown in the journal, however often the thread is run."""
    till = Till("paid x")
    old = machine.process([till.tool()], [ToolSpec(name="pay")], PAY)
    old.begin("Pay x.", durability="sync")
    assert await asyncio.to_thread(till.entered.wait, 10)
    await old.die()
    new = machine.process([till.tool()], [ToolSpec(name="pay")])
    assert (await new.go_on(durability="sync")).report["in_doubt"] == ["main/pay#1"]
    (entry,) = new.journal.entries(states=[CallState.IN_DOUBT])
    await asyncio.to_thread(new.journal.resolve, entry.key, SignalKind.HAPPENED, "receipt 7")
    assert (await new.say("And?", durability="sync")).text.count("receipt 7") == 1
    await new.die()
    last = machine.process([till.tool()], [ToolSpec(name="pay")])
    for said in ("And now?", "Sure?"):
        assert (await last.say(said, durability="sync")).states("main") == {"resolved": 1}
        (entry,) = last.journal.entries()
        (attempt,) = entry.attempts
        assert (attempt.state, attempt.ended_at, attempt.result) == (
            AttemptState.INTENT,
            None,
            None,
        )
    assert await last.journal.unfinished(entry.session) == []
    till.hold.set()


async def test_a_cancelled_call_may_be_denied_once_its_thread_has_raised(machine: Machine) -> None:
    """An OS thread outlives its cancellation; its exception is the end that a person waits for."""
    till = Till(ConnectionError("reset"), "paid x")
    process = machine.process([till.tool()], [ToolSpec(name="pay")], PAY)
    process.begin("Pay x.", durability="sync")
    assert await asyncio.to_thread(till.entered.wait, 10)
    assert process.run is not None
    process.run.cancel()
    await asyncio.wait([process.run])
    await process.agent.go({"messages": [], "cancel": ["main"]}, "t")
    (entry,) = process.journal.entries(states=[CallState.IN_DOUBT])
    await refuses(process.journal, entry.key, "may still run in process")
    till.hold.set()
    await until(lambda: not process.journal.entries()[0].attempts[0].running_in)
    await asyncio.to_thread(process.journal.resolve, entry.key, SignalKind.RETRY)
    outcome = await process.say("Try again.", durability="sync")
    assert (outcome.report["in_doubt"], till.paid) == ([], 1)


@pytest.mark.parametrize("first", ["delivery", "retry", "happened", "not_happened"])
async def test_a_delivery_and_a_persons_word_do_not_overrule_each_other(
    machine: Machine, first: str
) -> None:
    """What was accepted is told; only a retry that has not begun gives way. Work is started once."""
    tokens: list[str] = []

    async def start(arguments: Any) -> str:
        tokens.append(arguments["token"])
        await asyncio.Event().wait()
        return "never"

    bank = scripted_tool("bank", start, args={"q": str, "token": str})
    old = machine.process([bank], [BANK], ASK)
    old.begin("Have x approved.", durability="sync")
    await until(lambda: bool(tokens))
    await old.die()
    new = machine.process([bank], [BANK])
    assert (await new.go_on(durability="sync")).report["in_doubt"] == ["main/bank#1"]
    (entry,) = new.journal.entries(states=[CallState.IN_DOUBT])
    other = machine.process([bank], [BANK])
    deliver = partial(asyncio.to_thread, other.inbox.deliver, tokens[0], "certified")
    told = {"happened": "by hand", "not_happened": "did not happen"}.get(first, "certified")
    if first == "delivery":
        await deliver()
        await refuses(other.journal, entry.key, "was delivered, and waits for its thread")
    else:
        word = "by hand" if first == "happened" else None
        await asyncio.to_thread(other.journal.resolve, entry.key, SignalKind(first), word)
        if first == "retry":
            await deliver()
        else:
            with pytest.raises(CallerError, match=r"was not stored: .* was answered before"):
                await deliver()
    outcome = await new.say("And?", durability="sync")
    assert told in outcome.text
    assert outcome.report["in_doubt"] == []
    assert ("certified" in outcome.text) is (told == "certified")
    assert len(tokens) == 1


async def test_work_outside_that_is_started_late_runs_no_more(machine: Machine) -> None:
    """The OS thread that starts it outlives its cancellation; then the delivery is what is missing."""
    tokens: list[str] = []
    till = Till("accepted")

    def start(arguments: Any) -> str:
        tokens.append(arguments["token"])
        till.entered.set()
        assert till.hold.wait(30)
        return "accepted"

    bank = scripted_tool("bank", start, args={"q": str, "token": str}, mode=ToolMode.SYNC)
    process = machine.process([bank], [BANK], ASK)
    process.begin("Have x approved.", durability="sync")
    assert await asyncio.to_thread(till.entered.wait, 10)
    assert process.run is not None
    process.run.cancel()
    await asyncio.wait([process.run])
    await process.agent.go({"messages": [], "cancel": ["main"]}, "t")
    (entry,) = process.journal.entries(states=[CallState.IN_DOUBT])
    await refuses(process.journal, entry.key, "may still run in process")
    till.hold.set()
    await until(lambda: not process.journal.entries()[0].attempts[0].running_in)
    assert process.journal.entries()[0].attempts[0].late is None
    await asyncio.to_thread(process.inbox.deliver, tokens[0], "certified")
    outcome = await process.say("And?", durability="sync")
    assert "certified" in outcome.text
    assert outcome.report["in_doubt"] == []


async def test_a_delivery_for_a_call_that_failed_is_refused(machine: Machine) -> None:
    """The thread has ended the call, and would drop the result."""
    tokens: list[str] = []

    def start(arguments: Any) -> str:
        tokens.append(arguments["token"])
        raise ToolFault("closed today", started=False)

    bank = scripted_tool("bank", start, args={"q": str, "token": str})
    process = machine.process([bank], [BANK], ASK)
    await process.say("Have x approved.", durability="sync")
    with pytest.raises(CallerError, match=r"was not stored: .* has ended \(failed\)"):
        await asyncio.to_thread(process.inbox.deliver, tokens[0], "approved")
    assert process.journal.entries()[0].signals == ()


# -- answers that were stored, beside calls that go on ---------------------------------------------


class OneAnswerSaver(StuckSaver):
    """Stores the answer to one call of a message; the first process ends before the others are stored."""

    ended = False

    async def aput_writes(self, config: Any, writes: Any, *given: Any, **more: Any) -> None:
        values = [value for _, value in writes if isinstance(value, list)]
        told = [m.text for value in values for m in value if isinstance(m, ToolMessage)]
        if not self.ended and any("pay_x#1" in text for text in told):
            self.stuck = True
            await self._pass()
        await super().aput_writes(config, writes, *given, **more)


@pytest.mark.parametrize("effect", ["keyed", "idempotent", "at_most_once"])
async def test_a_call_whose_stored_answer_denies_it_is_not_made(
    machine: Machine, effect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal failed, so no call began; one answer that says so was stored when the process ended."""
    machine.saver = saver = OneAnswerSaver()
    made: list[str] = []

    def tool(name: str) -> Any:
        def paid(_: Any) -> str:
            made.append(name)
            return "paid"

        keyed = {"key": str} if (name, effect) == ("pay_y", "keyed") else {}
        return scripted_tool(name, paid, args={"item": str, **keyed})

    tools = [tool("pay_x"), tool("pay_y")]
    declared = [
        ToolSpec(name="pay_x", reads=(), writes=()),
        ToolSpec(
            name="pay_y",
            effect=EffectClass(effect),
            key_argument="key" if effect == "keyed" else None,
            reads=(),
            writes=(),
        ),
    ]
    both = calls(("pay_x", {"item": "x"}), ("pay_y", {"item": "y"}))
    old = machine.process(tools, declared, both)

    async def fail(_: Any) -> Any:
        raise JournalError("the database is gone")

    monkeypatch.setattr(old.journal, "begin", fail)
    old.begin("Pay x and y.", durability="sync")
    async with asyncio.timeout(5):
        await saver.reached.wait()
    await saver.lose(old.die())
    saver.ended = True
    new = machine.process(tools, declared, "done")
    outcome = await new.go_on(durability="sync")
    denied = "pay_y#1 failed: The call could not be written down" in outcome.text
    assert denied is ("pay_y" not in made)


# -- results that only the journal has -------------------------------------------------------------


async def test_a_result_that_no_checkpoint_has_is_not_removed(machine: Machine) -> None:
    """A payment beside a question is not made again by the process that is answered after a month."""
    made: list[str] = []

    def pay(arguments: Any) -> str:
        made.append(arguments["item"])
        return "paid"

    async def ask(_: Any) -> str:
        await asyncio.sleep(0.1)  # the payment has ended by then
        return str(interrupt("Shall I?"))

    tools = [
        scripted_tool("pay", pay, args={"item": str}),
        scripted_tool("ask", ask, args={"item": str}),
    ]
    free: Any = {"reads": (), "writes": ()}
    declared = [ToolSpec(name="pay", **free), ToolSpec(name="ask", interrupts=True, **free)]
    both = calls(("pay", {"item": "x"}), ("ask", {"item": "y"}))
    old = machine.process(tools, declared, both)
    await old.say("Pay x.", durability="sync")
    old.journal.close()
    new = machine.process(tools, declared, "done")
    await asyncio.sleep(0.01)  # prune(0) spares what changed at this very moment
    await asyncio.to_thread(new.journal.prune, 0.0)
    outcome = await new.go_on(durability="sync")
    assert made == ["x"]
    assert "paid" in outcome.text


@pytest.mark.parametrize("durability", ["sync", "async"])
@pytest.mark.parametrize("asks", [False, True])
async def test_only_ended_runs_have_their_calls_removed(
    machine: Machine, durability: Any, *, asks: bool
) -> None:
    """``prune`` removes the call of a run that ended, and none of one that waits for a person."""
    tools = [
        scripted_tool("pay", ["paid"], args={"item": str}),
        scripted_tool("ask", lambda _: str(interrupt("Shall I?")), args={"item": str}),
    ]
    free: Any = {"reads": (), "writes": ()}
    declared = [ToolSpec(name="pay", **free), ToolSpec(name="ask", interrupts=True, **free)]
    after = [calls(("ask", {"item": "y"}))] if asks else []
    agent = machine.process(tools, declared, PAY, *after, "done")
    await agent.say("Pay x.", durability=durability)
    await agent.journal.flush()
    await asyncio.sleep(0.01)
    assert await asyncio.to_thread(agent.journal.prune, 0.0) == (0 if asks else 1)
