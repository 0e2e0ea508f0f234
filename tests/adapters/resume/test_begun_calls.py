"""A call that may have begun is never reported as not run, whatever follows it.

A new message, a cancellation, a refusal or failures may follow. Effects of the service are counted
by the key that it was given, as a service does that honours keys.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from asyncguard import EffectClass, Fallback, GuardConfig, Limits, Timing, ToolFault, ToolSpec
from asyncguard.testing import ScriptedChatModel, Step, calls, run_virtual, scripted_tool
from tests.adapters.harness import Agent, AgentOf, Outcome, pure, script
from tests.adapters.processes import HANG, Machine, Process

KEYED, IDEMPOTENT = EffectClass.KEYED, EffectClass.IDEMPOTENT
ONCE = EffectClass.AT_MOST_ONCE
CHARGE = calls(("charge", {"item": "x"}))
BOTH = calls(("charge", {"item": "x", "task_id": "a"}), ("look", {"item": "y", "task_id": "b"}))
TASKS = [{"id": "a", "goal": "Charge x."}, {"id": "b", "goal": "Look up y."}]
RESET = ConnectionError("reset by peer")
NOT_BEGUN = ToolFault("closed", started=False)
BRISK = GuardConfig(timing=Timing(grace=0.0, linger=0.0, retry_initial=1.0, retry_jitter=0.0))


class Bank:
    """A service that honours keys; as long as it hangs, an answer never comes."""

    def __init__(self, *errors: Exception | None) -> None:
        self.hangs = True
        self.begun = asyncio.Event()
        self.keys: list[str] = []
        self.errors = list(errors)
        self.tools = {
            keyed: scripted_tool(
                "charge", self._charge, args={"item": str, **({"key": str} if keyed else {})}
            )
            for keyed in (True, False)
        }

    async def _charge(self, arguments: Any) -> str:
        self.keys.append(arguments.get("key", ""))
        self.begun.set()
        if self.errors and (error := self.errors.pop(0)) is not None:
            raise error
        if self.hangs:
            await asyncio.Event().wait()
        return f"charged {arguments['item']}"

    def tool(self, effect: EffectClass) -> Any:
        """The tool; one that honours keys takes one."""
        return self.tools[effect is KEYED]

    @property
    def effects(self) -> int:
        """Number of charges that took effect; charges with one key count once."""
        return len(set(self.keys))


LOOK = scripted_tool("look", lambda a: f"found {a['item']}", args={"item": str})


def declared(effect: EffectClass, **more: Any) -> list[ToolSpec]:
    """The bank and a reader."""
    given = {"key_argument": "key", **more} if effect is KEYED else more
    charge = ToolSpec(name="charge", effect=effect, reads=(), writes=("purse",), **given)
    return [charge, pure("look", reads=())]


@pytest.fixture
def machine(agent_of: AgentOf, tmp_path: Path) -> Iterator[Machine]:
    """A machine with a disk."""
    made = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    yield made
    made.close()


async def left_by_a_dead_process(
    machine: Machine,
    bank: Bank,
    effect: EffectClass,
    first: Step = CHARGE,
    payload: Any = None,
    **more: Any,
) -> Process:
    """A process dies when the bank was charged and has not answered."""
    process = machine.process(
        [bank.tool(effect), LOOK], declared(effect, **more), first, "I wait.", "I wait."
    )
    payload = payload or process.agent.input("Charge x.", None)
    process.run = asyncio.create_task(process._go(payload, {"durability": "sync"}))
    await asyncio.wait_for(bank.begun.wait(), HANG)
    await process.die()
    bank.hangs = False
    return process


@pytest.mark.parametrize("effect", [KEYED, IDEMPOTENT], ids=lambda each: each.value)
async def test_the_next_message_does_not_make_a_begun_call_a_failed_one(
    machine: Machine, effect: EffectClass
) -> None:
    """The call is made again under its key, as after ``None``, and its result is shown."""
    bank = Bank()
    await left_by_a_dead_process(machine, bank, effect)
    heir = machine.process([bank.tool(effect), LOOK], declared(effect), "Let me see.", "It is.")
    outcome = await heir.say("Is it charged?")
    assert outcome.states("main") == {"done": 1}
    assert outcome.report["in_doubt"] == []
    assert "charged x" in outcome.text
    assert "before it was tried again" not in outcome.text
    assert bank.effects == 1


async def test_a_probe_that_denies_the_effect_settles_a_begun_call_after_the_next_message(
    machine: Machine,
) -> None:
    """It is not made again, as the user has spoken, and need not be in doubt."""
    bank = Bank()
    check = scripted_tool("check", lambda _: {"happened": False}, args={"item": str})
    tools = [bank.tool(EffectClass.PROBED), check]
    specs = [
        *declared(EffectClass.PROBED, probe="check")[:1],
        pure("check", reads=()),
    ]
    first = machine.process(tools, specs, CHARGE)
    first.run = asyncio.create_task(first.say("Charge x.", durability="sync"))
    await asyncio.wait_for(bank.begun.wait(), HANG)
    await first.die()
    heir = machine.process(tools, specs, "Let me see.", "It is not.")
    outcome = await heir.say("Is it charged?")
    assert outcome.states("main") == {"failed": 1}
    assert outcome.report["in_doubt"] == []
    assert len(bank.keys) == 1


async def test_a_call_that_never_began_is_not_begun_after_the_next_message(
    machine: Machine,
) -> None:
    """Its process died between the message and the intent: the journal knows, and the user's word counts."""
    bank = Bank()
    process = machine.process([bank.tool(KEYED), LOOK], declared(KEYED), CHARGE)

    async def die(_: Any) -> Any:
        process.journal.dead = True
        bank.begun.set()
        await asyncio.Event().wait()

    process.journal.begin = die  # type: ignore[method-assign,assignment]
    process.begin("Charge x.", durability="sync")
    await asyncio.wait_for(bank.begun.wait(), HANG)
    await process.die()
    heir = machine.process([bank.tool(KEYED), LOOK], declared(KEYED), "Let me see.", "It is not.")
    outcome = await heir.say("Stop, do not charge it.")
    assert bank.keys == []
    assert outcome.report["in_doubt"] == []
    assert outcome.states("main").get("done", 0) == 0


@pytest.mark.parametrize("said", ["Never mind a.", None], ids=["with a message", "alone"])
async def test_a_cancelled_call_of_a_dead_process_is_in_doubt(
    machine: Machine, said: str | None
) -> None:
    """The user wants nothing more done for the task: the call is not made again, and may have happened."""
    bank = Bank()
    process = machine.process([bank.tool(KEYED), LOOK], declared(KEYED))
    await left_by_a_dead_process(machine, bank, KEYED, BOTH, process.agent.input(None, TASKS))
    again = calls(("charge", {"item": "x", "task_id": "a"}))
    heir = machine.process(
        [bank.tool(KEYED), LOOK], declared(KEYED), "Well.", "Well.", "Well.", again, "Done."
    )
    outcome = await heir._go(
        {**heir.agent.input(said, None), "cancel": ["a"]}, {"durability": "sync"}
    )
    assert outcome.states("a") == {"in_doubt": 1}
    assert "The user sent a new message before" not in outcome.text
    assert len(bank.keys) == 1


async def test_a_running_keyed_call_of_a_cancelled_task_is_in_doubt(machine: Machine) -> None:
    """The attempt is stopped in the same process, and its effect is unknown."""
    bank = Bank()
    process = machine.process(
        [bank.tool(KEYED), LOOK], declared(KEYED), BOTH, "I wait.", "Well.", "Well.", "Well."
    )
    process.run = asyncio.create_task(
        process._go(process.agent.input(None, TASKS), {"durability": "sync"})
    )
    await asyncio.wait_for(bank.begun.wait(), HANG)
    await asyncio.sleep(0.05)
    process.run.cancel()
    await asyncio.gather(process.run, return_exceptions=True)
    outcome = await process._go(
        {**process.agent.input("Stop.", None), "cancel": ["a"]}, {"durability": "sync"}
    )
    assert outcome.states("a") == {"in_doubt": 1}


ANSWERS = {
    "no": False,
    "neither yes nor no": "look again",
    "no with a reason": {"approve": False, "reason": "why"},
}


@pytest.mark.parametrize("effect", [ONCE, KEYED], ids=lambda each: each.value)
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
async def test_a_no_that_comes_after_the_effect_does_not_undo_it(
    machine: Machine, answer: Any, effect: EffectClass
) -> None:
    """The call was approved, begun, and its process died; the client does not know that and answers otherwise."""
    bank = Bank()
    specs = declared(effect, approval=True)
    first = machine.process([bank.tool(effect), LOOK], specs, CHARGE)
    assert (await first.say("Charge x.", durability="sync")).interrupts
    await first.die()
    second = machine.process([bank.tool(effect), LOOK], specs)
    second.run = asyncio.create_task(
        second._go(Command(resume={"main/charge#1": True}), {"durability": "sync"})
    )
    await asyncio.wait_for(bank.begun.wait(), HANG)
    await second.die()
    bank.hangs = False
    third = machine.process([bank.tool(effect), LOOK], specs, "Let me see.", "I cannot tell.")
    outcome = await third._go(Command(resume=answer), {"durability": "sync"})
    assert bank.effects == 1
    assert "charge#1 was not run" not in outcome.text
    assert outcome.report["in_doubt"] == ["main/charge#1"] or "charged x" in outcome.text


@pytest.mark.parametrize("effect", [KEYED, IDEMPOTENT], ids=lambda each: each.value)
async def test_a_result_that_the_thread_has_is_the_calls(
    machine: Machine, effect: EffectClass
) -> None:
    """The process died when the answer was stored and its event was not; the call is done, and nothing is "not run"."""
    bank = Bank()
    bank.hangs = False

    end = RuntimeError("the process ends here")
    first = machine.process([bank.tool(effect), LOOK], declared(effect), CHARGE, end)
    with pytest.raises(RuntimeError, match="the process ends here"):
        await first.say("Charge x.", durability="sync")
    await first.die()
    heir = machine.process([bank.tool(effect), LOOK], declared(effect), "It is.", "It is.")
    outcome = await heir.say("Is it charged?")
    assert outcome.states("main") == {"done": 1}
    assert bank.effects == 1


@pytest.mark.parametrize("effect", [KEYED, ONCE], ids=lambda each: each.value)
async def test_a_call_that_was_begun_without_effect_is_not_told_as_not_run(
    machine: Machine, effect: EffectClass
) -> None:
    """Its process ends before the second attempt, which is not made after a new message: the call has failed."""
    bank = Bank(ToolFault("closed", transient=True, started=False))
    bank.hangs = False
    config = GuardConfig(timing=Timing(grace=0.0, linger=0.0, retry_initial=10 * HANG))
    tools, specs = [bank.tool(effect), LOOK], declared(effect)
    first = machine.process(tools, specs, BOTH, "I wait.", config=config)
    payload = first.agent.input("Do both.", TASKS)
    first.run = asyncio.create_task(first._go(payload, {"durability": "sync"}))
    thread = {"configurable": {"thread_id": first.thread}}
    async with asyncio.timeout(HANG):
        await bank.begun.wait()
        await asyncio.sleep(0.1)  # the attempt ends, so that its end is in the journal
        while "I wait." not in str((await first.agent.graph.aget_state(thread)).values):  # noqa: ASYNC110 - the other side knows no event of this loop
            await asyncio.sleep(0.01)
    await first.die()
    heir = machine.process(tools, specs, "I stop.", "I stop.")
    outcome = await heir.say("Stop.")
    assert len(bank.keys) == 1
    assert outcome.report["in_doubt"] == []
    assert outcome.states("a") == {"failed": 1}
    assert "before it was tried again" in outcome.text


# -- without a journal ---------------------------------------------------------------------------------------------


def agent(
    agent_of: AgentOf, bank: Bank, saver: Any, effect: EffectClass, prefix: str, *steps: Step
) -> Agent:
    """An agent without a journal."""
    model = ScriptedChatModel(script(*steps), id_prefix=prefix)
    given = {"specs": declared(effect), "config": BRISK, "checkpointer": saver}
    return agent_of(model, [bank.tool(effect), LOOK], **given)


async def broken_off(it: Agent, bank: Bank) -> None:
    """A run that is broken off when the bank was charged."""
    running = asyncio.create_task(it.say("Charge x.", thread="t"))
    await bank.begun.wait()
    await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@pytest.mark.parametrize("effect", [KEYED, IDEMPOTENT], ids=lambda each: each.value)
def test_without_a_journal_what_may_have_begun_is_made_again_too(
    agent_of: AgentOf, effect: EffectClass
) -> None:
    """The state does not say whether the call began; under its key it does no harm to find out."""
    bank, saver = Bank(), InMemorySaver()

    async def main() -> Outcome:
        await broken_off(agent(agent_of, bank, saver, effect, "p0", CHARGE), bank)
        bank.hangs = False
        heir = agent(agent_of, bank, saver, effect, "p1", "Let me see.", CHARGE, "It is.")
        return await heir.say("Is it charged?", thread="t")

    outcome = run_virtual(main()).result
    assert "was not run" not in outcome.text
    assert "before it was tried again" not in outcome.text
    assert "charged x" in outcome.text


@pytest.mark.parametrize("effect", [KEYED, ONCE], ids=lambda each: each.value)
def test_without_a_journal_what_may_have_begun_is_not_told_as_not_run_when_it_is_cancelled(
    agent_of: AgentOf, effect: EffectClass
) -> None:
    """The first thing that the next process hears is the cancellation."""
    bank, saver = Bank(), InMemorySaver()

    async def main() -> Outcome:
        it = agent(agent_of, bank, saver, effect, "p0", CHARGE)
        running = asyncio.create_task(it.go(it.input("Charge x.", None), "t", durability="sync"))
        await bank.begun.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        bank.hangs = False
        heir = agent(agent_of, bank, saver, effect, "p1", "I stop.", "I stop.")
        return await heir.go({"messages": [], "cancel": ["main"]}, "t")

    outcome = run_virtual(main()).result
    assert len(bank.keys) == 1
    assert "was not run" not in outcome.text
    assert outcome.report["in_doubt"] == ["main/charge#1"]


# -- attempts that are not made any more ---------------------------------------------------------------------------


def test_a_keyed_call_that_the_user_stops_between_two_attempts_is_in_doubt(
    agent_of: AgentOf,
) -> None:
    """The first attempt may have charged; none follows after the user's word, and the model cannot repeat it."""
    bank = Bank(ConnectionError("reset by peer"))
    bank.hangs = False

    async def main() -> Outcome:
        it = agent(
            agent_of, bank, InMemorySaver(), KEYED, "p", CHARGE, "Let me see.", CHARGE, "Unknown."
        )
        await broken_off(it, bank)
        return await it.say("Stop.", thread="t")

    outcome = run_virtual(main()).result
    assert len(bank.keys) == 1
    assert outcome.interrupts or outcome.report["in_doubt"] == ["main/charge#1"]
    assert "It is not known whether charge#1 took effect" in outcome.text


@pytest.mark.parametrize("effect", [KEYED, IDEMPOTENT, ONCE], ids=lambda each: each.value)
@pytest.mark.parametrize("asked_for", [None, 300.0], ids=["back-off", "retry_after"])
def test_the_user_does_not_wait_for_an_attempt_that_is_not_made(
    agent_of: AgentOf, effect: EffectClass, asked_for: float | None
) -> None:
    """The run does not wait for the end of a back-off after which the call would be refused."""
    bank = Bank(ToolFault("closed", transient=True, started=False, retry_after=asked_for))
    bank.hangs = False
    config = GuardConfig(timing=Timing(grace=0.0, linger=0.0, retry_initial=30.0))
    model = ScriptedChatModel(script(CHARGE, "I stop."))
    given = {"specs": declared(effect), "config": config, "checkpointer": InMemorySaver()}
    it = agent_of(model, [bank.tool(effect), LOOK], **given)

    async def main() -> Outcome:
        await broken_off(it, bank)
        return await it.say("Stop.", thread="t")

    outcome = run_virtual(main()).result
    assert outcome.elapsed < 1.0
    assert len(bank.keys) == 1
    assert outcome.states("main") == {"failed": 1}
    assert "The user sent a new message before it was tried again" in outcome.text


@pytest.mark.parametrize("then", ["answer", "message", "cancel"])
@pytest.mark.parametrize("several", [True, False], ids=["the model went on", "the model waits"])
@pytest.mark.parametrize("effect", [KEYED, ONCE], ids=lambda each: each.value)
def test_what_a_person_approved_and_a_process_began_is_not_told_as_not_run(
    agent_of: AgentOf, effect: EffectClass, several: bool, then: str
) -> None:
    """The state still has it as held; a new call would have another key, and charge twice."""
    bank, saver, yes = Bank(), InMemorySaver(), Command(resume=True)
    charge = declared(effect, approval=True)[0]

    def process(prefix: str, *steps: Step) -> Agent:
        model = ScriptedChatModel(script(*steps), id_prefix=prefix)
        given = {"specs": [charge, pure("look", reads=())], "checkpointer": saver}
        return agent_of(model, [bank.tool(effect), LOOK], config=BRISK, **given)

    async def main() -> Outcome:
        it = process("p0", BOTH if several else CHARGE, "I wait.", "I wait.")
        payload = it.input(None, TASKS) if several else it.input("Charge x.", None)
        assert (await it.go(payload, "t")).interrupts
        running = asyncio.create_task(it.go(yes, "t"))
        await bank.begun.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        bank.hangs = False
        heir = process("p1", "I see.", "I see.")
        if then == "answer":
            return await heir.go(yes, "t")
        if then == "message":
            return await heir.say("Stop.", thread="t")
        return await heir.go({"messages": [], "cancel": ["a" if several else "main"]}, "t")

    outcome = run_virtual(main()).result
    assert "charge#1 was not run" not in outcome.text
    assert bank.effects == 1


@pytest.mark.parametrize("then", ["message", "cancel"])
@pytest.mark.parametrize("effect", [KEYED, ONCE], ids=lambda each: each.value)
def test_what_waited_for_another_call_and_a_process_began_is_not_told_as_not_run(
    agent_of: AgentOf, effect: EffectClass, then: str
) -> None:
    """The state has the second charge as deferred: the first was to end before it, and did."""
    bank, saver = Bank(), InMemorySaver()
    bank.hangs = False
    both = calls(("charge", {"item": "x"}), ("charge", {"item": "y"}))

    async def main() -> Outcome:
        it = agent(agent_of, bank, saver, effect, "p0", both)
        running = asyncio.create_task(it.go(it.input("Charge x, y.", None), "t", durability="sync"))
        await bank.begun.wait()
        bank.begun.clear()
        bank.hangs = True
        await bank.begun.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        bank.hangs = False
        heir = agent(agent_of, bank, saver, effect, "p1", "I see.", "I see.")
        if then == "message":
            return await heir.say("Stop.", thread="t")
        return await heir.go({"messages": [], "cancel": ["main"]}, "t")

    outcome = run_virtual(main()).result
    assert "charge#2 was not run" not in outcome.text
    assert (bank.effects if effect is KEYED else len(bank.keys)) == 2


UNKNOWN: dict[str, list[Exception | None]] = {
    "all attempts broke off": [RESET] * 5,
    "the last attempt began nothing": [RESET, NOT_BEGUN],
    "an exception of the tool's own": [ValueError("no such account")],
}


@pytest.mark.parametrize("errors", UNKNOWN.values(), ids=UNKNOWN)
def test_a_keyed_call_that_may_have_begun_does_not_fail(
    agent_of: AgentOf, errors: list[Exception | None]
) -> None:
    """A repeat by the model would have another key, so the call is in doubt, and the equal one is refused."""
    bank = Bank(*errors)
    bank.hangs = False
    it = agent(agent_of, bank, None, KEYED, "p", CHARGE, CHARGE, "I cannot tell.")
    outcome = run_virtual(it.say("Charge x.")).result
    assert outcome.states("main") == {"in_doubt": 1, "rejected": 1}
    assert bank.effects == 1


def test_what_an_idempotent_call_does_may_be_done_again(agent_of: AgentOf) -> None:
    """An idempotent call is reported as failed: by its declaration the model may repeat it."""
    bank = Bank(*[RESET] * 5)
    bank.hangs = False
    it = agent(agent_of, bank, None, IDEMPOTENT, "p", CHARGE, CHARGE, "Done.")
    outcome = run_virtual(it.say("Charge x.")).result
    assert outcome.states("main") == {"failed": 1, "done": 1}


@pytest.mark.parametrize(
    "error",
    [NOT_BEGUN, ToolFault("no such account", status=422, started=False)],
    ids=["closed", "refused"],
)
def test_a_keyed_call_that_began_nothing_fails(agent_of: AgentOf, error: Exception) -> None:
    """The model may call it again."""
    bank = Bank(error)
    bank.hangs = False
    it = agent(agent_of, bank, None, KEYED, "p", CHARGE, CHARGE, "Done.")
    outcome = run_virtual(it.say("Charge x.")).result
    assert outcome.states("main") == {"failed": 1, "done": 1}


def test_a_reader_that_stands_in_and_fails_leaves_the_doubt(agent_of: AgentOf) -> None:
    """The keyed tool may have had its effect, although the tool that was asked last has none."""
    bank = Bank(*[RESET] * 5)
    look = scripted_tool("look", lambda _: 1 / 0, args={"item": str})
    specs = declared(KEYED, fallbacks=(Fallback(tool="look"),))
    model = ScriptedChatModel(script(CHARGE, "I cannot tell."))
    it = agent_of(model, [bank.tool(KEYED), look], specs=specs, config=BRISK)
    outcome = run_virtual(it.say("Charge x.")).result
    assert outcome.report["in_doubt"] == ["main/charge#1"]


def test_a_keyed_call_with_a_strange_answer_is_done(agent_of: AgentOf) -> None:
    """The effect has happened, whatever the answer says: it is passed on marked, as that of any effect."""
    bank = Bank()
    bank.hangs = False
    specs = declared(
        KEYED,
        result_schema={
            "type": "object",
            "properties": {"n": {"type": "integer"}},
            "required": ["n"],
        },
    )
    model = ScriptedChatModel(script(CHARGE, "Done."))
    it = agent_of(model, [bank.tool(KEYED), LOOK], specs=specs, config=BRISK)
    outcome = run_virtual(it.say("Charge x.")).result
    assert outcome.states("main") == {"done": 1}
    assert "the answer is doubtful" in outcome.text
    assert bank.effects == 1


def test_a_late_answer_settles_a_keyed_call_in_doubt(agent_of: AgentOf) -> None:
    """Every attempt has the same key, so the answer of any of them tells what happened."""
    late = asyncio.Event()
    seen: list[str] = []

    async def charge(arguments: Any) -> str:
        seen.append(arguments["key"])
        if len(seen) > 1:
            raise ValueError("closed")
        while not late.is_set():
            try:
                await late.wait()
            except asyncio.CancelledError:
                continue  # a tool that ignores its cancellation
        return "charged x"

    specs = declared(KEYED, timeout=1.0)
    tool = scripted_tool("charge", charge, args={"item": str, "key": str})
    model = ScriptedChatModel(script(CHARGE, "Unknown.", "It is."))
    config = GuardConfig(timing=BRISK.timing, limits=Limits(max_attempts=2))
    it = agent_of(model, [tool, LOOK], specs=specs, config=config, checkpointer=InMemorySaver())

    async def main() -> Outcome:
        first = await it.say("Charge x.", thread="t")
        assert first.report["in_doubt"] == ["main/charge#1"]
        late.set()
        await asyncio.sleep(1)
        return await it.say("And now?", thread="t")

    outcome = run_virtual(main()).result
    assert outcome.report["in_doubt"] == []
    assert "charged x" in outcome.text
