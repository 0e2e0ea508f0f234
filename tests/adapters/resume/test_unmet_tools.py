"""A process resumes a thread before it has met the tools, or meets other ones: the thread keeps what they declared."""

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from asyncguard import EffectClass, SignalKind, ToolFault, guarded
from asyncguard.runtime.session.session import Session
from asyncguard.testing import ScriptedChatModel, Step, calls, scripted_tool
from tests.adapters.harness import AgentOf, Frontend, build, script
from tests.adapters.processes import HANG, Machine, Process, until

TASKS = [{"id": "a", "goal": "Do x."}, {"id": "b", "goal": "Look at y."}]
DECLARED: dict[EffectClass, dict[str, Any]] = {
    EffectClass.PURE: {"effect": "pure"},
    EffectClass.IDEMPOTENT: {"effect": "idempotent"},
    EffectClass.KEYED: {"effect": "keyed", "key_argument": "key"},
    EffectClass.PROBED: {"effect": "probed", "probe": "check"},
    EffectClass.AT_MOST_ONCE: {},
}


class Bank:
    """Tools of several processes, with effects that outlive them."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.looked = 0
        self.stuck = True
        self.reached = asyncio.Event()

    def pay(self, **declared: Any) -> Any:
        """Return a tool with an effect; in the first life it hangs after its effect."""
        return guarded(**declared)(
            scripted_tool("pay", self._pay, args={"q": str, "key": (str, "")})
        )

    def look(self, name: str = "look", **declared: Any) -> Any:
        """A pure tool."""
        return guarded(effect="pure", **declared)(scripted_tool(name, self._look, args={"q": str}))

    def check(self) -> Any:
        """The probe."""
        answer = lambda _: {"happened": bool(self.keys), "result": "paid, says the probe"}  # noqa: E731
        return guarded(effect="pure")(scripted_tool("check", answer, args={"q": str}))

    async def _pay(self, arguments: Any) -> str:
        self.keys.append(arguments["key"])
        if self.stuck:
            self.reached.set()
            await asyncio.Event().wait()
        return f"paid {arguments['q']}"

    def _look(self, arguments: Any) -> str:
        self.looked += 1
        return f"found {arguments['q']}"


@pytest.fixture
def machine(agent_of: AgentOf, tmp_path: Path) -> Iterator[Machine]:
    """A machine with a disk."""
    made = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    yield made
    made.close()


BOTH = calls(("pay", {"q": "x", "task_id": "a"}), ("look", {"q": "y", "task_id": "b"}))


async def killed(
    machine: Machine, bank: Bank, tools: list[Any], *steps: Step, asked: int = 2
) -> None:
    """A process that dies while it waits for its calls, after the model was asked so often and said that it waits."""
    old = machine.process(tools, [], *(steps or (BOTH,)), "I wait.")
    place: Any = {"configurable": {"thread_id": "t"}}
    payload = old.agent.input(None, TASKS)
    old.run = asyncio.get_running_loop().create_task(
        old.agent.graph.ainvoke(payload, place, durability="sync")
    )
    async with asyncio.timeout(10):
        await bank.reached.wait()
        while len(old.agent.model.requests) < asked:  # noqa: ASYNC110 - the model knows no event
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
    await old.die()
    bank.stuck = False


def successor(machine: Machine, tools: list[Any], *steps: Step, **options: Any) -> Process:
    """The process that takes over; its tools carry their declarations."""
    return machine.process(tools, [], *steps, **options)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("effect", list(EffectClass), ids=lambda effect: effect.value)
async def test_a_call_of_each_effect_class(machine: Machine, effect: EffectClass) -> None:
    """Repeatable calls are made again, a probed call asks its probe, any other call is in doubt."""
    bank, declared = Bank(), DECLARED[effect]
    await killed(machine, bank, [bank.pay(**declared), bank.look(), bank.check()])
    new = successor(machine, [bank.pay(**declared), bank.look(), bank.check()])
    outcome = await new.go_on(durability="sync")
    if effect is EffectClass.AT_MOST_ONCE:
        assert outcome.report["in_doubt"] == ["a/pay#1"]
        assert len(bank.keys) == 1
        return
    assert outcome.report["in_doubt"] == []
    assert outcome.states("a") == {"done": 1}
    assert len(bank.keys) == (1 if effect is EffectClass.PROBED else 2)
    assert len(set(bank.keys)) == 1
    assert ("paid, says the probe" if effect is EffectClass.PROBED else "paid x") in outcome.text


@pytest.mark.sampled(4)
@pytest.mark.parametrize("journal", [True, False], ids=["journal", "no journal"])
@pytest.mark.parametrize(
    ("before", "now"),
    [
        (EffectClass.AT_MOST_ONCE, EffectClass.KEYED),
        (EffectClass.AT_MOST_ONCE, EffectClass.PURE),
        (EffectClass.AT_MOST_ONCE, EffectClass.PROBED),
        (EffectClass.KEYED, EffectClass.AT_MOST_ONCE),
        (EffectClass.IDEMPOTENT, EffectClass.KEYED),
        (EffectClass.PURE, EffectClass.AT_MOST_ONCE),
        (EffectClass.PROBED, EffectClass.AT_MOST_ONCE),
    ],
)
async def test_a_tool_that_is_declared_otherwise_now(
    agent_of: AgentOf, tmp_path: Path, before: EffectClass, now: EffectClass, journal: bool
) -> None:
    """A call that was begun under the other declaration is repeated only if both allow it."""
    bank, machine = Bank(), Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    await killed(machine, bank, [bank.pay(**DECLARED[before]), bank.look(), bank.check()])
    other = (
        None if journal else tmp_path / "another.db"
    )  # another journal knows nothing of what was begun
    new = successor(machine, [bank.pay(**DECLARED[now]), bank.look(), bank.check()], journal=other)
    outcome = await new.go_on(durability="sync")
    assert outcome.report["in_doubt"] == ["a/pay#1"]
    assert len(bank.keys) == 1
    machine.close()


async def test_the_log_says_that_another_journal_knows_the_call(
    machine: Machine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """No command ends the doubt in this journal; an answer in the first one does, in a run with that."""
    bank = Bank()
    await killed(machine, bank, [bank.pay(), bank.look()])
    other = successor(machine, [bank.pay(), bank.look()], journal=tmp_path / "another.db")
    await other.go_on(durability="sync")
    (said,) = [each.getMessage() for each in caplog.records if "journal" in each.getMessage()]
    ids = [each.journal.id for each in (machine.made[0], other)]
    assert said.startswith("pay#1 of thread")
    assert all(name in said for name in ids)
    caplog.clear()
    first = successor(machine, [bank.pay(), bank.look()])
    (entry,) = first.journal.entries()
    first.journal.resolve(entry.key, SignalKind.HAPPENED, "paid, says the bank")
    outcome = await first.say("And?", durability="sync")
    assert outcome.report["in_doubt"] == []
    assert "paid, says the bank" in outcome.text
    assert not caplog.records


async def test_the_next_call_goes_by_the_present_declaration(machine: Machine) -> None:
    """Caution concerns calls that were begun before: once they have ended, the tool is what it says that it is."""
    bank = Bank()
    await killed(machine, bank, [bank.pay(), bank.look()])
    tools = [bank.pay(effect="idempotent"), bank.look()]
    new = successor(machine, tools, "Unknown.", calls(("pay", {"q": "z", "task_id": "a"})))
    assert (await new.go_on(durability="sync")).report["in_doubt"] == ["a/pay#1"]
    await new.say("Pay z, too.", durability="sync")
    told = [entry.effect for entry in new.journal.entries() if entry.label == "pay#2"]
    assert told == [EffectClass.IDEMPOTENT]


async def test_a_tool_that_is_gone(machine: Machine) -> None:
    """A keyed call whose tool the agent does not have any more cannot be repeated: it is in doubt, not failed."""
    bank = Bank()
    await killed(machine, bank, [bank.pay(**DECLARED[EffectClass.KEYED]), bank.look()])
    outcome = await successor(machine, [bank.look()]).go_on(durability="sync")
    assert outcome.report["in_doubt"] == ["a/pay#1"]
    assert len(bank.keys) == 1


@pytest.mark.sampled(4)
@pytest.mark.parametrize("effect", list(EffectClass), ids=lambda effect: effect.value)
@pytest.mark.parametrize("journal", [True, False], ids=["journal", "no journal"])
async def test_a_tool_that_needs_approval_by_now(
    agent_of: AgentOf, frontend: Frontend, tmp_path: Path, effect: EffectClass, journal: bool
) -> None:
    """A call that was admitted and not begun is not made without a person; one that may have begun is in doubt."""
    bank, machine = Bank(), Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    bank.stuck = False
    pay, place = calls(("pay", {"q": "x"})), {"configurable": {"thread_id": "t"}}
    old = machine.process([bank.pay(**DECLARED[effect]), bank.look(), bank.check()], [], pay)
    before = ["execute" if frontend is Frontend.GRAPH else "tools"]
    said: Any = {"messages": [("user", "Pay x.")]}
    await old.agent.graph.ainvoke(said, place, durability="sync", interrupt_before=before)
    await old.die()
    tools = [bank.pay(**DECLARED[effect], approval=True), bank.look(), bank.check()]
    other = None if journal else tmp_path / "another.db"  # which knows nothing of what was begun
    new = successor(machine, tools, pay, "I cannot.", journal=other)
    outcome = await new.go_on(durability="sync")
    assert bank.keys == []
    if effect in (EffectClass.KEYED, EffectClass.AT_MOST_ONCE) and not journal:
        assert outcome.report["in_doubt"] == ["main/pay#1"]
    else:
        assert "declared to need a person's approval" in outcome.text
        (question,) = outcome.interrupts
        assert "pay#2" in str(question)
        outcome = await new.agent.go(Command(resume=True), "t")
        assert outcome.report["in_doubt"] == []
        assert len(bank.keys) == 1
    machine.close()


async def test_a_tool_that_is_gone_before_its_call_began(
    machine: Machine, frontend: Frontend
) -> None:
    """The model is told which tools there are."""
    bank, place = Bank(), {"configurable": {"thread_id": "t"}}
    old = machine.process([bank.pay(), bank.look()], [], calls(("pay", {"q": "x"})))
    before = ["execute" if frontend is Frontend.GRAPH else "tools"]
    said: Any = {"messages": [("user", "Pay x.")]}
    await old.agent.graph.ainvoke(said, place, durability="sync", interrupt_before=before)
    await old.die()
    outcome = await successor(machine, [bank.look()], "I cannot.").go_on(durability="sync")
    assert "pay is not a valid tool, try one of [look]" in outcome.text
    assert bank.keys == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("effect", list(EffectClass)[1:], ids=lambda effect: effect.value)
async def test_a_tool_that_needs_approval_by_now_and_was_about_to_begin(
    machine: Machine, effect: EffectClass
) -> None:
    """The state says that it runs and the journal that it never began: it is not begun without a person either."""
    bank, declared = Bank(), DECLARED[effect]
    bank.stuck = False
    old = machine.process([bank.pay(**declared), bank.look(), bank.check()], [], BOTH, "I wait.")

    async def never(_: Any) -> Any:
        await asyncio.Event().wait()

    old.journal.begin = never  # type: ignore[method-assign,assignment]
    old.run = asyncio.get_running_loop().create_task(
        old.agent.graph.ainvoke(
            old.agent.input(None, TASKS), {"configurable": {"thread_id": "t"}}, durability="sync"
        )
    )
    await until(lambda: len(old.agent.model.requests) > 1)
    await asyncio.sleep(0.05)
    await old.die()
    tools = [bank.pay(**declared, approval=True), bank.look(), bank.check()]
    pay = calls(("pay", {"q": "x", "task_id": "a"}))
    new = successor(machine, tools, pay)
    outcome = await new.go_on(durability="sync")
    assert bank.keys == []
    assert "declared to need a person's approval before it began" in outcome.text
    (question,) = outcome.interrupts
    assert "pay#2" in str(question)
    outcome = await new.agent.go(Command(resume=True), "t")
    assert outcome.report["in_doubt"] == []
    assert len(bank.keys) == 1


async def test_a_tool_that_needs_approval_by_now_and_has_asked_itself(machine: Machine) -> None:
    """Its call has begun: the answer to its own question is not lost, and no second person is asked."""
    answers: list[Any] = []

    async def pay(_: Any) -> str:
        answers.append(interrupt("Really?"))
        return f"paid, as you said {answers[-1]}"

    def tool(**declared: Any) -> Any:
        return guarded(interrupts=True, **declared)(scripted_tool("pay", pay, args={"q": str}))

    old = machine.process([tool()], [], calls(("pay", {"q": "x"})))
    asked = await old.say("Pay x.", durability="sync")
    assert asked.interrupts == ["Really?"]
    await old.die()
    outcome = await successor(machine, [tool(approval=True)]).go_on(durability="sync")
    assert "paid, as you said True" in outcome.text
    assert answers == [True]


@pytest.mark.parametrize("trusted", [False, True], ids=["untrusted output", "trusted output"])
async def test_a_tool_that_is_destructive_by_now(
    machine: Machine, frontend: Frontend, trusted: bool
) -> None:
    """Once the model has read untrusted output, such a tool is not begun without a person either."""
    bank, place = Bank(), {"configurable": {"thread_id": "t"}}
    bank.stuck = False
    look, pay = calls(("look", {"q": "x"})), calls(("pay", {"q": "x"}))
    old = machine.process([bank.pay(), bank.look(trusted_output=trusted)], [], look, pay)
    before = ["execute" if frontend is Frontend.GRAPH else "tools"]
    said: Any = {"messages": [("user", "Look and pay.")]}
    for given in (said, None):
        await old.agent.graph.ainvoke(given, place, durability="sync", interrupt_before=before)
    await old.die()
    tools = [bank.pay(destructive=True), bank.look(trusted_output=trusted)]
    outcome = await successor(machine, tools, pay).go_on(durability="sync")
    if trusted:
        assert len(bank.keys) == 1
        return
    assert bank.keys == []
    assert "declared to need a person's approval" in outcome.text
    (question,) = outcome.interrupts
    assert "pay#2" in str(question)


async def test_a_sibling_of_a_tool_that_needs_approval_by_now(tmp_path: Path) -> None:
    """It does not stand in without a person for a tool that is not called without one."""
    bank = Bank()
    bank.stuck = False
    machine = Machine(agent_of=partial(build, Frontend.GRAPH), path=tmp_path / "effects.db")

    def away(_: Any) -> str:
        raise ToolFault("away", transient=False, started=False)

    def tools(**declared: Any) -> list[Any]:
        order = scripted_tool("order", away, args={"q": str})
        return [guarded(fallbacks=["pay"], **declared)(order), bank.pay()]

    old = machine.process(tools(), [], calls(("order", {"q": "x"})))
    place: Any = {"configurable": {"thread_id": "t"}}
    for said in ({"messages": [("user", "Order x.")]}, None):  # up to the decision of recovery
        await old.agent.graph.ainvoke(said, place, durability="sync", interrupt_before=["execute"])
    await old.die()
    outcome = await successor(machine, tools(approval=True)).go_on(durability="sync")
    assert bank.keys == []
    assert "declared to need a person's approval" in outcome.text
    machine.close()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("effect", [EffectClass.IDEMPOTENT, EffectClass.AT_MOST_ONCE])
@pytest.mark.parametrize("said", [False, True], ids=["resumed", "new message"])
async def test_a_tool_that_is_not_external_by_now(
    machine: Machine, effect: EffectClass, said: bool
) -> None:
    """The thread stays parked for the work outside, and takes its delivery; it waited in the process for ever."""
    tokens: list[str] = []

    def ask(arguments: Any) -> str:
        tokens.append(arguments["token"])
        return "sent"

    def tool(**declared: Any) -> Any:
        named = scripted_tool("ask", ask, args={"q": str, "token": (str, "")})
        return guarded(effect=effect, **declared)(named)

    outside = tool(mode="external", token_argument="token")
    old = machine.process([outside], [], calls(("ask", {"q": "x"})))
    parked = await old.say("Ask about x.", durability="sync")
    assert parked.interrupts[0]["type"] == "parked"
    await old.die()
    new = successor(machine, [tool()])
    async with asyncio.timeout(HANG):
        for _ in range(2):
            again = new.say("And?", durability="sync") if said else new.go_on(durability="sync")
            assert (await again).interrupts == parked.interrupts
    new.inbox.deliver(tokens[0], "they say yes")
    outcome = await new.go_on(durability="sync")
    assert "they say yes" in outcome.text
    assert outcome.states("main") == {"done": 1}
    assert len(tokens) == 1


async def test_a_thread_that_keeps_no_declarations(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread of an older version is decided about when the tools are met: the keyed call is made again."""
    bank, declared = Bank(), DECLARED[EffectClass.KEYED]
    with monkeypatch.context() as patch:
        patch.setattr(Session, "declare", lambda *_: None)
        await killed(machine, bank, [bank.pay(**declared), bank.look()])
    outcome = await successor(machine, [bank.pay(**declared), bank.look()]).go_on(durability="sync")
    assert outcome.report["in_doubt"] == []
    assert len(bank.keys) == 2
    assert len(set(bank.keys)) == 1


@pytest.mark.sampled(2)
@pytest.mark.parametrize("said", [False, True], ids=["resumed", "new message"])
@pytest.mark.parametrize("met", [False, True], ids=["tools unmet", "tools met"])
async def test_pure_calls_are_made_again(
    agent_of: AgentOf, frontend: Frontend, tmp_path: Path, met: bool, said: bool
) -> None:
    """One that ran and one that waits for an effect: neither is reported as not run."""
    bank, machine = Bank(), Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    hangs = scripted_tool("slow", lambda _: asyncio.Event().wait(), args={"q": str})
    wanted = calls(
        ("pay", {"q": "x", "task_id": "a"}),
        ("look", {"q": "x", "task_id": "a"}),
        ("slow", {"q": "y", "task_id": "b"}),
    )
    booked = {**DECLARED[EffectClass.KEYED], "reads": [], "writes": ["account"]}
    slow, look = (
        guarded(effect="pure", reads=[])(hangs),
        bank.look(reads=["account"], takes_from=[]),
    )
    await killed(machine, bank, [bank.pay(**booked), look, slow], wanted, asked=1)
    quick = guarded(effect="pure", reads=[])(
        scripted_tool("slow", lambda _: "slow is done", args={"q": str})
    )
    tools = [bank.pay(**booked), bank.look(reads=["account"], takes_from=[]), quick]
    given = {"tools_met": True} if met and frontend is Frontend.MIDDLEWARE else {}
    new = successor(machine, tools, **given)
    outcome = await (new.say("And?", durability="sync") if said else new.go_on(durability="sync"))
    assert "slow is done" in outcome.text
    assert outcome.states("b") == {"done": 1}
    if (
        not said
    ):  # no effect is attempted again after a word of the user, so then there is nothing to look at
        assert outcome.states("a") == {"done": 2}
    machine.close()


async def test_news_outlive_a_model_that_fails(machine: Machine) -> None:
    """News that waited for the tools are sent with the next request if the first request raises."""
    bank, declared = Bank(), DECLARED[EffectClass.KEYED]
    await killed(machine, bank, [bank.pay(**declared), bank.look()])

    def broken(*_: Any) -> Any:
        raise ConnectionError("the provider is away")

    new = successor(machine, [bank.pay(**declared), bank.look()], broken)
    with pytest.raises(ConnectionError):
        await new.go_on(durability="sync")
    outcome = await new.go_on(durability="sync")
    assert outcome.text.count("paid x") == 1
    assert outcome.report["in_doubt"] == []
    assert len(bank.keys) == 2


async def test_a_message_that_was_made_before_the_tools_were_met() -> None:
    """The process ended after the model's message: its call is made once, though no model call has shown the tools."""
    saver, place = InMemorySaver(), {"configurable": {"thread_id": "t"}}
    agent_of = partial(build, Frontend.MIDDLEWARE)
    bank = Bank()
    bank.stuck = False
    wanted = calls(("look", {"q": "x"}))
    first = agent_of(
        ScriptedChatModel(script(wanted)),
        [bank.look()],
        checkpointer=saver,
        interrupt_after=["model"],
    )
    await first.graph.ainvoke(first.input("Look at x.", None), place, durability="sync")
    model = ScriptedChatModel(script(), id_prefix="later")
    outcome = await agent_of(model, [bank.look()], checkpointer=saver).go(None, "t")
    assert "found x" in outcome.text
    assert outcome.states("main") == {"done": 1}
    assert bank.looked == 1


async def test_trusted_output_is_trusted_before_the_tools_are_met(agent_of: AgentOf) -> None:
    """A resumed thread that holds output of trusted tools only does not ask a person about a destructive call."""
    saver, bank = InMemorySaver(), Bank()
    bank.stuck = False

    def process(prefix: str, *steps: Step) -> Any:
        tools = [bank.look(trusted_output=True), bank.pay(destructive=True, trusted_output=True)]
        return agent_of(
            ScriptedChatModel(script(*steps), id_prefix=prefix), tools, checkpointer=saver
        )

    await process("old", calls(("look", {"q": "x"}))).say("Look at x.", thread="t")
    outcome = await process("new", calls(("pay", {"q": "x"}))).say("Pay x.", thread="t")
    assert outcome.interrupts == []
    assert len(bank.keys) == 1
