"""An operator has a call in doubt made again, and the user speaks before a run has met that."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asyncguard import EffectClass, GuardConfig, ToolSpec
from asyncguard.journal.port import Signal, SignalKind
from asyncguard.testing import calls, scripted_tool
from tests.adapters.harness import AgentOf, Outcome, pure
from tests.adapters.processes import CONFIG, Machine, Process, until

PAY = calls(("pay", {"item": "x"}))
SPECS = [ToolSpec(name="pay")]


class Shop:
    """A payment service that processes come to; some payments never end."""

    def __init__(self) -> None:
        self.entered = 0
        self.stuck = {1}
        self.reached = asyncio.Event()

    def tools(self) -> list[Any]:
        """The tools of one process."""

        async def pay(arguments: Any) -> str:
            self.entered += 1
            if self.entered in self.stuck:
                self.reached.set()
                await asyncio.Event().wait()
            return f"paid {arguments['item']}"

        return [scripted_tool("pay", pay, args={"item": str})]


@pytest.fixture
def machine(agent_of: AgentOf, tmp_path: Path) -> Iterator[Machine]:
    """A machine with a disk."""
    made = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    yield made
    made.close()


async def killed(
    machine: Machine, shop: Shop, specs: Sequence[ToolSpec] = SPECS, tools: Sequence[Any] = ()
) -> None:
    """A process dies while it pays, after an approval if that is declared."""
    old = machine.process(tools or shop.tools(), specs, PAY)
    if specs[0].approval:
        assert (await old.say("Pay x.", durability="sync")).interrupts
        old.run = asyncio.create_task(old.go_on(durability="sync"))
    else:
        old.begin("Pay x.", durability="sync")
    await shop.reached.wait()
    await old.die()


async def wanted_again(process: Process) -> None:
    """An operator says that the payment did not happen, and is to be made again."""
    (entry,) = process.journal.entries()
    await asyncio.to_thread(process.journal.resolve, entry.key, SignalKind.RETRY, by="Kim")


MET = pytest.mark.parametrize("met", [False, True], ids=["tools unmet", "tools met"])
SAID = pytest.mark.parametrize("said", ["Did it work?", None], ids=["message", "None"])


async def go(process: Process, said: str | None) -> Outcome:
    """Say something, or resume."""
    if said is None:
        return await process.go_on(durability="sync")
    return await process.say(said, durability="sync")


@MET
@SAID
async def test_before_any_run_has_met_the_doubt(
    machine: Machine, met: bool, said: str | None
) -> None:
    """The operator answers first: the payment is made, once."""
    shop = Shop()
    await killed(machine, shop)
    new = machine.process(shop.tools(), SPECS, tools_met=met)
    await wanted_again(new)
    check(new, shop, await go(new, said))


@pytest.mark.sampled(4)
@MET
@SAID
@pytest.mark.parametrize("first", ["What of it?", None], ids=["asked", "resumed"])
@pytest.mark.parametrize("same", [True, False], ids=["same process", "another process"])
async def test_after_a_run_has_met_the_doubt(
    machine: Machine, met: bool, said: str | None, first: str | None, same: bool
) -> None:
    """The run has ended with the doubt: the next one makes the payment. An ended run has nothing to resume."""
    shop = Shop()
    await killed(machine, shop)
    new = machine.process(shop.tools(), SPECS, tools_met=met)
    assert (await go(new, first)).report["in_doubt"] == ["main/pay#1"]
    await wanted_again(new)
    new = new if same else machine.process(shop.tools(), SPECS, tools_met=met)
    if said is None:
        await go(new, None)
        assert shop.entered == 1
        said = "Well?"
    check(new, shop, await go(new, said))


@pytest.mark.sampled(4)
@MET
@pytest.mark.parametrize("first", ["What of it?", None], ids=["asked", "resumed"])
@SAID
async def test_a_process_that_dies_before_the_retry(
    machine: Machine, met: bool, first: str | None, said: str | None
) -> None:
    """The next one makes it, whatever was said to both."""
    shop, held = Shop(), asyncio.Event()
    await killed(machine, shop)
    second = machine.process(shop.tools(), SPECS, tools_met=met)
    await wanted_again(second)
    begin = second.journal.begin

    async def never(intent: Any) -> Any:
        if intent.attempt > 1:
            held.set()
            await asyncio.Event().wait()
        return await begin(intent)

    second.journal.begin = never  # type: ignore[method-assign]
    second.run = asyncio.create_task(go(second, first))
    await asyncio.wait_for(held.wait(), 10)
    await second.die()
    third = machine.process(shop.tools(), SPECS, tools_met=met)
    check(third, shop, await go(third, said))


@SAID
@MET
async def test_a_payment_that_was_approved(machine: Machine, said: str | None, met: bool) -> None:
    """It was begun after a yes, so no person is asked a second time."""
    shop, declared = Shop(), [ToolSpec(name="pay", approval=True)]
    await killed(machine, shop, declared)
    new = machine.process(shop.tools(), declared, tools_met=met)
    await wanted_again(new)
    outcome = await go(new, said)
    check(new, shop, outcome)


@SAID
@pytest.mark.parametrize(
    "config",
    [replace(CONFIG, retry=False), replace(CONFIG, limits=replace(CONFIG.limits, max_attempts=1))],
    ids=["retries off", "one attempt"],
)
async def test_limits_of_retries_are_about_failures(
    machine: Machine, said: str | None, config: GuardConfig
) -> None:
    """They do not count for what an operator wants."""
    shop = Shop()
    await killed(machine, shop)
    new = machine.process(shop.tools(), SPECS, config=config)
    await wanted_again(new)
    check(new, shop, await go(new, said))


@SAID
async def test_a_probe_that_knows_nothing(machine: Machine, said: str | None) -> None:
    """The operator's word counts, and the probe is not asked."""
    shop, asked = Shop(), list[Any]()
    declared = [ToolSpec(name="pay", effect=EffectClass.PROBED, probe="check"), pure("check")]
    check_it = scripted_tool("check", asked.append, args={"item": str})
    tools = [*shop.tools(), check_it]
    await killed(machine, shop, declared, tools=tools)
    new = machine.process(tools, declared)
    await wanted_again(new)
    check(new, shop, await go(new, said))
    assert asked == []


@pytest.mark.sampled(2)
@SAID
async def test_a_word_while_the_run_learns_of_the_loss(machine: Machine, said: str | None) -> None:
    """The operator answers between the question to the journal and its answer: the word counts then, or next."""
    shop = Shop()
    await killed(machine, shop)
    new = machine.process(shop.tools(), SPECS)
    person = machine.process(shop.tools(), SPECS)
    begin, acquire, came = new.journal.begin, new.journal.acquire, threading.Event()

    async def heard(session: str, thread: str, keys: Any, receive: Any, **more: Any) -> Any:
        def told(signal: Signal) -> None:
            receive(signal)
            came.set()

        return await acquire(session, thread, keys, told, **more)

    async def slow(intent: Any) -> Any:
        verdict = await begin(intent)
        if intent.attempt == 1:
            await wanted_again(person)
            await until(came.is_set)
        return verdict

    new.journal.acquire = heard  # type: ignore[method-assign]
    new.journal.begin = slow  # type: ignore[method-assign]
    check(new, shop, await go(new, said))


@MET
@pytest.mark.parametrize("known", [False, True], ids=["doubt unmet", "doubt met"])
async def test_a_task_that_the_user_cancels_is_not_paid_for(
    machine: Machine, met: bool, known: bool
) -> None:
    """The user's cancellation stands above the operator's word; nothing happened, and nothing is in doubt."""
    shop = Shop()
    await killed(machine, shop)
    new = machine.process(shop.tools(), SPECS, tools_met=met)
    if known:
        assert (await go(new, None)).report["in_doubt"] == ["main/pay#1"]
    await wanted_again(new)
    outcome = await new.agent.go({"messages": [], "cancel": ["main"]}, "t", durability="sync")
    assert shop.entered == 1
    assert outcome.report["in_doubt"] == []
    assert "he user cancelled the task" in outcome.text


@MET
async def test_a_retry_that_was_begun_is_in_doubt_if_it_is_cancelled(
    machine: Machine, met: bool
) -> None:
    """The second process dies while it pays again: what the operator found was about the first attempt."""
    shop = Shop()
    await killed(machine, shop)
    second = machine.process(shop.tools(), SPECS, tools_met=met)
    await wanted_again(second)
    shop.reached.clear()
    shop.stuck.add(2)
    second.run = asyncio.create_task(go(second, "Did it work?"))
    await asyncio.wait_for(shop.reached.wait(), 10)
    await second.die()
    third = machine.process(shop.tools(), SPECS, tools_met=met)
    outcome = await third.agent.go({"messages": [], "cancel": ["main"]}, "t", durability="sync")
    assert shop.entered == 2
    assert outcome.report["in_doubt"] == ["main/pay#1"]


def check(process: Process, shop: Shop, outcome: Outcome) -> None:
    """The payment was made once more, and everything says so."""
    (entry,) = process.journal.entries()
    assert [each.number for each in entry.attempts] == [1, 2]
    assert shop.entered == 2
    assert "paid x" in outcome.text
    assert outcome.report["in_doubt"] == []
    assert outcome.states("main") == {"done": 1}
