"""Processes that die between an intent and its outcome, or anywhere else, and the ones that come after them."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import interrupt

from asyncguard import (
    CallerError,
    EffectClass,
    Fallback,
    Mode,
    ToolFault,
    ToolSpec,
    UnknownTokenError,
)
from asyncguard.core.calls import CallState
from asyncguard.errors import ThreadBusyError
from asyncguard.journal.port import SignalKind
from asyncguard.testing import calls, scripted_tool
from tests.adapters.harness import AgentOf, pure
from tests.adapters.processes import Machine, until

PAY = calls(("pay", {"item": "x"}))
SPECS = {
    EffectClass.PURE: pure("pay"),
    EffectClass.IDEMPOTENT: ToolSpec(name="pay", effect=EffectClass.IDEMPOTENT),
    EffectClass.KEYED: ToolSpec(name="pay", effect=EffectClass.KEYED, key_argument="key"),
    EffectClass.PROBED: ToolSpec(name="pay", effect=EffectClass.PROBED, probe="check"),
    EffectClass.AT_MOST_ONCE: ToolSpec(name="pay"),
}


class Shop:
    """A payment service that processes come to; the payments stay."""

    def __init__(self) -> None:
        self.entered = 0
        self.paid: list[str] = []
        self.reached = asyncio.Event()
        self.stuck: str | None = None
        """Point at which the next payment hangs: ``before`` or ``after`` the effect."""

    def tools(self) -> list[Any]:
        """The tools of one process."""
        pay = scripted_tool("pay", self._pay, args={"item": str, "key": (str, "")})
        check = scripted_tool("check", self._check, args={"item": str})
        return [pay, check]

    async def _pay(self, arguments: Any) -> str:
        self.entered += 1
        stuck, self.stuck = self.stuck, None
        if stuck == "before":
            await self._stay()
        self.paid.append(arguments["item"])
        if stuck == "after":
            await self._stay()
        return f"paid {arguments['item']}"

    def _check(self, arguments: Any) -> dict[str, Any]:
        done = arguments["item"] in self.paid
        return {"happened": done, "result": f"paid {arguments['item']}" if done else None}

    async def _stay(self) -> None:
        self.reached.set()
        await asyncio.Event().wait()


@pytest.fixture
def machine(agent_of: AgentOf, tmp_path: Path) -> Iterator[Machine]:
    """A machine with a disk."""
    made = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    yield made
    made.close()


def specs(effect: EffectClass) -> list[ToolSpec]:
    """The declarations for one effect class."""
    return [SPECS[effect], pure("check")]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("stuck", ["before", "after"])
@pytest.mark.parametrize("effect", list(EffectClass), ids=lambda effect: effect.value)
async def test_a_call_that_was_begun_by_a_dead_process(
    machine: Machine, effect: EffectClass, stuck: str
) -> None:
    """Repeatable calls are made again, a probed call asks its probe, any other call is in doubt."""
    shop = Shop()
    shop.stuck = stuck
    old = machine.process(shop.tools(), specs(effect), PAY)
    old.begin("Pay x.", durability="sync")
    await shop.reached.wait()
    await old.die()
    new = machine.process(shop.tools(), specs(effect))
    outcome = await new.go_on(durability="sync")
    if effect is EffectClass.AT_MOST_ONCE:
        assert outcome.report["in_doubt"] == ["main/pay#1"]
        assert len(shop.paid) == (stuck == "after")
        assert shop.entered == 1
        (entry,) = new.journal.entries(states=[CallState.IN_DOUBT])
        assert (entry.label, len(entry.attempts)) == ("pay#1", 1)
    else:
        assert outcome.states("main") == {"done": 1}
        assert "paid x" in outcome.text
        repeated = effect is not EffectClass.PROBED and stuck == "after"
        assert len(shop.paid) == 1 + repeated


class Refused(Exception):
    """The answer 422 of a service."""

    def __init__(self) -> None:
        super().__init__("HTTP 422")
        self.response = type("Response", (), {"status_code": 422, "headers": {}})()


@pytest.mark.parametrize("refusal", [ToolFault("closed", started=False), Refused()], ids=repr)
@pytest.mark.parametrize("effect", [EffectClass.KEYED, EffectClass.IDEMPOTENT])
async def test_a_refusal_of_the_next_attempt_says_nothing_of_the_lost_one(
    machine: Machine, effect: EffectClass, refusal: Exception
) -> None:
    """The dead process has paid: the second bank is not asked to, and a keyed call has not failed."""
    shop = Shop()
    shop.stuck = "after"
    spec = replace(SPECS[effect], fallbacks=(Fallback(tool="b"),), atomic=True)
    other = scripted_tool("b", ["paid by b"], args={"item": str})
    old = machine.process([shop.tools()[0], other], [spec], PAY)
    old.begin("Pay x.", durability="sync")
    await shop.reached.wait()
    await old.die()
    pay = scripted_tool("pay", [refusal], args={"item": str, "key": (str, "")})
    new = machine.process([pay, other], [spec])
    outcome = await new.go_on(durability="sync")
    assert (len(pay.calls), other.calls) == (1, [])
    state = "in_doubt" if effect is EffectClass.KEYED else "failed"
    assert outcome.states("main") == {state: 1}


async def test_an_attempt_that_was_given_up_ends_with_its_process(machine: Machine) -> None:
    """It timed out and may still run while its process lives; after its death the probe's no is a no again."""
    shop, asked = Shop(), asyncio.Event()
    shop.stuck = "before"
    declared = [replace(SPECS[EffectClass.PROBED], timeout=0.05), pure("check")]

    async def hang(_: Any) -> Any:
        asked.set()
        await asyncio.Event().wait()

    old = machine.process(
        [shop.tools()[0], scripted_tool("check", hang, args={"item": str})], declared, PAY
    )
    old.begin("Pay x.", durability="sync")
    await asyncio.wait_for(asked.wait(), 10)
    await old.die()
    new = machine.process(shop.tools(), declared)
    outcome = await new.go_on(durability="sync")
    assert outcome.report["in_doubt"] == []
    assert shop.paid == ["x"]


async def test_an_outcome_that_only_the_journal_knows_is_the_calls_result(machine: Machine) -> None:
    """The process died between outcome and checkpoint: the tool is not entered again."""
    shop = Shop()
    old = machine.process(
        [*shop.tools(), slow_look()], [*specs(EffectClass.AT_MOST_ONCE), pure("look")], PAY_AND_LOOK
    )
    old.begin("Pay x and look.", durability="sync")
    await until(
        lambda: any(entry.attempts[0].result is not None for entry in old.journal.entries())
    )
    await old.die()
    new = machine.process(
        [*shop.tools(), quick_look()], [*specs(EffectClass.AT_MOST_ONCE), pure("look")]
    )
    outcome = await new.go_on(durability="sync")
    assert outcome.states("main") == {"done": 2}
    assert outcome.text.count("paid x") == 1
    assert shop.entered == 1


PAY_AND_LOOK = calls(("pay", {"item": "x"}), ("look", {"q": "y"}))


def slow_look() -> Any:
    """A lookup that does not answer."""
    return scripted_tool("look", lambda _: asyncio.Event().wait(), args={"q": str})


def quick_look() -> Any:
    """A lookup that does."""
    return scripted_tool("look", lambda a: f"found {a['q']}", args={"q": str})


async def test_a_call_that_was_written_in_the_state_and_not_begun_is_made_once(
    machine: Machine,
) -> None:
    """The process died before the intent: nothing is in doubt."""
    shop = Shop()
    old = machine.process(shop.tools(), specs(EffectClass.AT_MOST_ONCE), PAY)
    begun = asyncio.Event()

    async def never(_: Any) -> Any:
        begun.set()
        await asyncio.Event().wait()

    old.journal.begin = never  # type: ignore[method-assign]
    old.begin("Pay x.", durability="sync")
    await begun.wait()
    await old.die()
    new = machine.process(shop.tools(), specs(EffectClass.AT_MOST_ONCE))
    outcome = await new.go_on(durability="sync")
    assert outcome.states("main") == {"done": 1}
    assert shop.paid == ["x"]


async def test_an_approved_call_that_was_begun_is_not_run_again(machine: Machine) -> None:
    """LangGraph hands the person's answer out once more; the journal knows that the call has begun."""
    shop = Shop()
    held = [ToolSpec(name="pay", approval=True), pure("check")]
    old = machine.process(shop.tools(), held, PAY)
    assert (await old.say("Pay x.", durability="sync")).interrupts
    shop.stuck = "after"
    old.run = asyncio.create_task(old.go_on(durability="sync"))
    await shop.reached.wait()
    await old.die()
    new = machine.process(shop.tools(), held)
    outcome = await new.go_on(durability="sync")
    if outcome.interrupts:
        outcome = await new.go_on(durability="sync")
    assert outcome.report["in_doubt"] == ["main/pay#1"]
    assert shop.paid == ["x"]


async def test_a_journal_that_knows_nothing_of_the_thread_is_not_believed(
    machine: Machine, tmp_path: Path
) -> None:
    """The file was removed meanwhile: what may have begun is in doubt."""
    shop = Shop()
    shop.stuck = "after"
    old = machine.process(shop.tools(), specs(EffectClass.AT_MOST_ONCE), PAY)
    old.begin("Pay x.", durability="sync")
    await shop.reached.wait()
    await old.die()
    new = machine.process(
        shop.tools(), specs(EffectClass.AT_MOST_ONCE), journal=tmp_path / "another.db"
    )
    outcome = await new.go_on(durability="sync")
    assert outcome.report["in_doubt"] == ["main/pay#1"]
    assert shop.paid == ["x"]


# -- people and the outside world ----------------------------------------------------------------------------------


async def in_doubt(machine: Machine, shop: Shop) -> str:
    """A thread whose payment is in doubt, and whose run has ended; the key of the call."""
    shop.stuck = "before"
    old = machine.process(shop.tools(), specs(EffectClass.AT_MOST_ONCE), PAY)
    old.begin("Pay x.", durability="sync")
    await shop.reached.wait()
    await old.die()
    new = machine.process(shop.tools(), specs(EffectClass.AT_MOST_ONCE))
    assert (await new.go_on(durability="sync")).report["in_doubt"] == ["main/pay#1"]
    (entry,) = new.journal.entries(states=[CallState.IN_DOUBT])
    return entry.key


@pytest.mark.parametrize(
    ("kind", "content", "told"),
    [
        (SignalKind.HAPPENED, "receipt 7", "receipt 7"),
        (SignalKind.HAPPENED, None, "a person who checked has confirmed"),
        (SignalKind.NOT_HAPPENED, None, "did not happen, as Kim found"),
        (SignalKind.RETRY, None, "paid x"),
    ],
)
async def test_a_persons_word_about_a_doubt(
    machine: Machine, kind: SignalKind, content: Any, told: str
) -> None:
    """The thread learns of it at its next message, before the model speaks; a retry makes the call, once."""
    shop = Shop()
    key = await in_doubt(machine, shop)
    person = machine.process(shop.tools(), specs(EffectClass.AT_MOST_ONCE))
    await asyncio.to_thread(person.journal.resolve, key, kind, content, by="Kim")
    outcome = await person.say("Did it work?", durability="sync")
    assert told in outcome.text
    assert outcome.report["in_doubt"] == []
    assert shop.paid == (["x"] if kind is SignalKind.RETRY else [])
    again = await person.say("And now?", durability="sync")
    assert again.text.count(told) == 1
    assert shop.paid == (["x"] if kind is SignalKind.RETRY else [])


async def test_a_persons_word_before_the_thread_met_the_loss_is_no_failure_to_diagnose(
    machine: Machine,
) -> None:
    """The model is told what was found, no sibling is tried, and the same call is made if it asks again."""
    shop = Shop()
    shop.stuck = "before"
    sibling = scripted_tool("transfer", lambda _: "transferred", args={"item": str})
    tools = [*shop.tools(), sibling]
    declared = [
        ToolSpec(name="pay", fallbacks=(Fallback(tool="transfer"),)),
        ToolSpec(name="transfer"),
        pure("check"),
    ]
    old = machine.process(tools, declared, PAY)
    old.begin("Pay x.", durability="sync")
    await shop.reached.wait()
    await old.die()
    new = machine.process(tools, declared, PAY)
    (entry,) = new.journal.entries(states=[CallState.IN_DOUBT])
    await asyncio.to_thread(new.journal.resolve, entry.key, SignalKind.NOT_HAPPENED, by="Kim")
    outcome = await new.go_on(durability="sync")
    told = "It did not happen, as Kim found. Call it again if it is still wanted."
    assert outcome.text.count(told) == 1
    assert not any(word in outcome.text for word in ("Diagnosis", "Options", "transferred"))
    assert outcome.states("main") == {"failed": 1, "done": 1}
    assert shop.paid == ["x"]


class Bank:
    """An external tool that keeps its tokens."""

    SPEC = ToolSpec(name="bank", mode=Mode.EXTERNAL, token_argument="token")
    ASK = calls(("bank", {"q": "x"}))

    def __init__(self) -> None:
        self.tokens: list[str] = []

    def tool(self) -> Any:
        """The tool of one process."""

        def start(arguments: Any) -> str:
            self.tokens.append(arguments["token"])
            return "accepted"

        return scripted_tool("bank", start, args={"q": str, "token": str})


@pytest.mark.parametrize("when", ["before the process comes", "while it is away", "while it waits"])
async def test_an_external_call_outlives_its_process(machine: Machine, when: str) -> None:
    """The token belongs to the journal: the result reaches the lease holder; work starts once."""
    bank = Bank()
    old = machine.process([bank.tool()], [Bank.SPEC], Bank.ASK)
    assert (await old.say("Have x approved.", durability="sync")).interrupts
    other = machine.process([bank.tool()], [Bank.SPEC])
    if when == "before the process comes":
        await asyncio.to_thread(old.inbox.deliver, bank.tokens[0], "approved")
    await old.die()
    if when == "while it is away":
        await asyncio.to_thread(other.inbox.deliver, bank.tokens[0], "approved")
    new = machine.process([bank.tool()], [Bank.SPEC])
    if when == "while it waits":
        assert (await new.go_on(durability="sync")).interrupts
        await asyncio.to_thread(other.inbox.deliver, bank.tokens[0], "approved")
    outcome = await new.go_on(durability="sync")
    assert "approved" in outcome.text
    assert outcome.states("main") == {"done": 1}
    assert len(bank.tokens) == 1
    with pytest.raises(UnknownTokenError):
        await asyncio.to_thread(other.inbox.deliver, bank.tokens[0], "approved twice")


async def test_a_delivery_from_another_process_reaches_a_run_that_waits(machine: Machine) -> None:
    """A run that cannot park waits inside; the result comes by the journal."""
    bank = Bank()
    waiting = machine.process([bank.tool(), slow_look()], [Bank.SPEC, pure("look")], ASK_AND_LOOK)
    waiting.begin("Have x approved and look.")
    await until(lambda: bool(bank.tokens))
    other = machine.process([bank.tool()], [Bank.SPEC])
    await asyncio.to_thread(other.inbox.deliver, bank.tokens[0], "approved")
    await until(lambda: other.journal.entries()[0].state is CallState.DONE)
    await waiting.die()


ASK_AND_LOOK = calls(("bank", {"q": "x"}), ("look", {"q": "y"}))


# -- branches ------------------------------------------------------------------------------------------------------


async def place_before_effect(process: Any) -> Any:
    """The configuration of the checkpoint that holds the model's call and no answer."""
    graph = process.agent.graph
    async for snapshot in graph.aget_state_history({"configurable": {"thread_id": process.thread}}):
        messages = snapshot.values.get("messages", [])
        if (
            snapshot.next
            and messages
            and messages[-1].type == "ai"
            and "model" not in snapshot.next[0]
        ):
            return snapshot.config
    raise AssertionError("no such checkpoint")


async def test_a_branch_from_before_the_effect_gets_its_result_and_not_the_effect(
    machine: Machine,
) -> None:
    """Time travel takes the conversation back, not the payment; also in another process."""
    shop = Shop()
    old = machine.process(shop.tools(), specs(EffectClass.AT_MOST_ONCE), PAY)
    assert (await old.say("Pay x.", durability="sync")).states("main") == {"done": 1}
    place = await place_before_effect(old)
    await old.die()
    new = machine.process(shop.tools(), specs(EffectClass.AT_MOST_ONCE))
    state = await new.agent.graph.ainvoke(None, place, durability="sync")
    assert state["report"]["tasks"][0]["calls"] == {"done": 1}
    assert shop.paid == ["x"]


async def test_a_branch_with_other_arguments_under_the_same_key_is_refused(
    machine: Machine,
) -> None:
    """A call that was edited in place is another call: what the first one did cannot stand for it."""
    shop = Shop()
    old = machine.process(shop.tools(), specs(EffectClass.AT_MOST_ONCE), PAY)
    await old.say("Pay x.", durability="sync")
    await old.die()
    messages = (await old.agent.graph.aget_state(await place_before_effect(old))).values["messages"]
    said = next(message for message in messages if message.type == "ai")
    edited = said.model_copy(update={"tool_calls": [{**said.tool_calls[0], "args": {"item": "y"}}]})
    new = machine.process(
        shop.tools(), specs(EffectClass.AT_MOST_ONCE), edited
    )  # it says so under the same id
    state = await new.agent.graph.ainvoke(None, await place_before_model(new), durability="sync")
    assert shop.paid == ["x"]
    assert "another tool or other arguments" in str([m.content for m in state["messages"]])


async def place_before_model(process: Any) -> Any:
    """The configuration of the checkpoint from which the model is asked first."""
    graph = process.agent.graph
    found = None
    async for snapshot in graph.aget_state_history({"configurable": {"thread_id": process.thread}}):
        messages = snapshot.values.get("messages", [])
        if (
            snapshot.next
            and all(m.type == "human" for m in messages)
            and messages
            and snapshot.values.get("ledger")
        ):
            found = found or snapshot.config
    assert found is not None
    return found


async def test_an_equal_call_of_another_branch_waits_until_the_doubt_is_settled(
    machine: Machine,
) -> None:
    """The model is asked again and gives the call a new key; a payment that may have happened is not made twice."""
    shop = Shop()
    await in_doubt(machine, shop)
    new = machine.process(shop.tools(), specs(EffectClass.AT_MOST_ONCE), PAY)
    state = await new.agent.graph.ainvoke(None, await place_before_model(new), durability="sync")
    assert shop.paid == []
    assert shop.entered == 1
    assert "An equal call, pay#1, was begun" in str([m.content for m in state["messages"]])


# -- two processes, one thread -------------------------------------------------------------------------------------


async def test_a_thread_that_another_live_process_works_on_is_refused(machine: Machine) -> None:
    """The second gets an error that says so, and nothing of its run happens; after the first has ended it may."""
    shop = Shop()
    shop.stuck = "before"
    first = machine.process(shop.tools(), specs(EffectClass.AT_MOST_ONCE), PAY)
    first.begin("Pay x.", durability="sync")
    await shop.reached.wait()
    second = machine.process(shop.tools(), specs(EffectClass.AT_MOST_ONCE))
    with pytest.raises(ThreadBusyError):
        await second.say("Pay y.", durability="sync")
    await first.die()
    outcome = await second.go_on(durability="sync")
    assert outcome.report["in_doubt"] == ["main/pay#1"]


async def test_a_run_that_fails_gives_its_thread_free(machine: Machine) -> None:
    """A model that raises ends the run; another process may continue at once."""
    shop = Shop()

    first = machine.process(
        shop.tools(), specs(EffectClass.AT_MOST_ONCE), ConnectionError("no route")
    )
    with pytest.raises(ConnectionError):
        await first.say("Pay x.", durability="sync")
    second = machine.process(shop.tools(), specs(EffectClass.AT_MOST_ONCE), PAY)
    outcome = await second.say("Pay x, please.", durability="sync")
    assert outcome.states("main") == {"done": 1}


async def test_a_question_that_nobody_answered_leaves_no_doubt(machine: Machine) -> None:
    """The journal knows that the attempt ended with the question, also for another process."""
    paid: list[str] = []

    def ask(arguments: Any) -> str:
        paid.append(interrupt({"pay": arguments["item"]}))
        return "paid"

    tools = [scripted_tool("pay", ask, args={"item": str})]
    declared = [ToolSpec(name="pay", interrupts=True)]
    first = machine.process(tools, declared, PAY)
    assert (await first.say("Pay x.", durability="sync")).interrupts
    second = machine.process(tools, declared, "Not then.", "Not then.")
    outcome = await second.say("Never mind.", durability="sync")
    assert paid == []
    assert outcome.states("main") == {"cancelled": 1}


# -- durability of the state ---------------------------------------------------------------------------------------


async def test_a_run_that_stores_nothing_before_its_end_makes_no_call_with_an_effect(
    machine: Machine,
) -> None:
    """It is refused with what to do; calls without effects are made."""
    shop = Shop()
    process = machine.process(
        [*shop.tools(), quick_look()], [*specs(EffectClass.AT_MOST_ONCE), pure("look")], PAY
    )
    with pytest.raises(CallerError, match='durability="sync"'):
        await process.say("Pay x.", durability="exit")
    assert shop.entered == 0
    reader = machine.process([quick_look()], [pure("look")], calls(("look", {"q": "y"})))
    reader.thread = "other"
    assert "found y" in (await reader.say("Look.", durability="exit")).text
