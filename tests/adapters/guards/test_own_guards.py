"""Guards of the user's own, seen from outside: they act, fail, and are told of as the built-in ones are."""

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import (
    Admit,
    BoardView,
    Defer,
    Details,
    GuardConfig,
    GuardRule,
    Inbox,
    Mode,
    Ports,
    Proposal,
    Reject,
    Timing,
    ToolSpec,
    TraceFile,
    Verdict,
)
from asyncguard.cli.app import main
from asyncguard.core import events as ev
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import Agent, AgentOf, pure, script

TASKS = [
    {"id": "a", "goal": "Order a chair for 40 and a desk for 90."},
    {"id": "b", "goal": "Look up the weather."},
]
CONFIG = GuardConfig(timing=Timing(grace=0.0, linger=0.0))
ORDERS = (
    calls(
        ("order", {"what": "chair", "price": 40, "task_id": "a"}),
        ("order", {"what": "desk", "price": 90, "task_id": "a"}),
        ("look", {"q": "weather", "task_id": "b"}),
    ),
)


def within_budget(proposal: Proposal, board: BoardView) -> Verdict:
    """Refuse an order that would bring the thread above 100."""
    if proposal.call.tool != "order":
        return Admit()
    earlier = [
        call
        for call in board.calls()
        if call.tool == "order" and call.sequence < proposal.call.sequence
    ]
    spent = sum(call.arguments["price"] for call in earlier if call.open or call.succeeded)
    left = 100 - spent
    if proposal.call.arguments["price"] <= left:
        return Admit()
    return Reject(reason=f"Only {left} of the budget is left. Order something cheaper, or stop.")


def one_at_a_time(proposal: Proposal, board: BoardView) -> Verdict:
    """Hold an order back until the earlier ones have ended."""
    same = [call.key for call in board.open_before(proposal.call) if call.tool == "order"]
    if proposal.call.tool != "order" or not same:
        return Admit()
    return Defer(reason="The warehouse takes one order at a time.", on=tuple(same))


def ask_about_desks(proposal: Proposal, board: BoardView) -> Verdict:
    """Ask a person before a desk is ordered."""
    dear = proposal.call.arguments.get("what") == "desk"
    return Admit(approval="A desk is dear." if dear else "")


def broken(proposal: Proposal, board: BoardView) -> Verdict:
    """Fail at every order."""
    if proposal.call.tool == "order":
        raise RuntimeError("secret")
    return Admit()


BUDGET = GuardRule(name="budget", judge=within_budget)
ONE = GuardRule(name="one_order", judge=one_at_a_time)
ASK = GuardRule(name="dear", judge=ask_about_desks)


class Shop:
    """Tools, model and agent of one process, with the events of its runs."""

    def __init__(self, agent_of: AgentOf, config: GuardConfig, *steps: Any, **options: Any) -> None:
        self.events: list[ev.Event] = []
        self.spans: list[str] = []
        order = scripted_tool(
            "order", lambda a: f"ordered {a['what']}", args={"what": str, "price": int}, latency=2.0
        )
        look = scripted_tool("look", lambda a: "sunny", args={"q": str})
        self.order, self.look = order, look
        ports = Ports(observers=(self.note, *options.pop("observers", ())))
        specs = [
            ToolSpec(name="order", reads=(), writes=("order:{what}",)),
            pure("look", reads=()),
        ]
        self.model = ScriptedChatModel(script(*steps), id_prefix=options.pop("prefix", "call"))
        self.agent: Agent = agent_of(
            self.model, [order, look], specs=specs, config=config, ports=ports, **options
        )

    def note(self, details: Details) -> None:
        self.events.append(details.event)
        if isinstance(details.event, ev.CallStarted | ev.CallRetired) and details.record:
            what = details.record.call.arguments.get("what", "look")
            self.spans.append(f"{details.event.kind} {what}")

    def said_by(self, kind: type[Any]) -> list[str]:
        """Names of the guards of all events of a kind."""
        return [event.guard for event in self.events if isinstance(event, kind)]

    def ordered(self) -> list[str]:
        return sorted(call.args["what"] for call in self.order.calls)


@pytest.mark.parametrize("on", [True, False], ids=["on", "off"])
def test_it_rejects(on: bool, agent_of: AgentOf) -> None:
    """The call is not run, and the model is told why; without the rule it is run."""
    shop = Shop(agent_of, replace(CONFIG, extra=(BUDGET,) if on else ()), *ORDERS)
    outcome = shop.agent.run(tasks=TASKS)
    assert shop.ordered() == (["chair"] if on else ["chair", "desk"])
    assert ("Only 60 of the budget is left." in outcome.answer("call_1_2")) is on
    assert shop.said_by(ev.CallRejected) == (["budget"] if on else [])


def test_a_refusal_may_end_a_task(agent_of: AgentOf) -> None:
    """The model that gives up after it is not reminded to go on: the call may never become right."""
    wish = calls(("order", {"what": "desk", "price": 900}))
    shop = Shop(agent_of, replace(CONFIG, extra=(BUDGET,)), wish, "It is beyond the budget.")
    assert shop.agent.run("Order a desk for 900.").last == "It is beyond the budget."
    assert len(shop.model.requests) == 2


@pytest.mark.parametrize("on", [True, False], ids=["on", "off"])
def test_it_defers(on: bool, agent_of: AgentOf) -> None:
    """The second order begins when the first has ended; without the rule both run at once."""
    shop = Shop(agent_of, replace(CONFIG, extra=(ONE,) if on else ()), *ORDERS)
    shop.agent.run(tasks=TASKS)
    assert shop.ordered() == ["chair", "desk"]
    ended, began = (shop.spans.index(f"call_{what}") for what in ("retired chair", "started desk"))
    assert (ended < began) is on
    assert shop.said_by(ev.CallDeferred) == (["one_order"] if on else [])


def test_it_asks_a_person(agent_of: AgentOf) -> None:
    """The run stops with the rule's question, and an approved call is made."""
    shop = Shop(agent_of, replace(CONFIG, extra=(ASK,)), *ORDERS, checkpointer=InMemorySaver())

    async def talk() -> None:
        stopped = await shop.agent.say(tasks=TASKS, thread="t")
        assert "A desk is dear." in str(stopped.interrupts)
        assert shop.ordered() == ["chair"]
        await shop.agent.answer(value=True, thread="t")

    run_virtual(talk())
    assert shop.ordered() == ["chair", "desk"]
    assert shop.said_by(ev.CallHeld) == ["dear"]


@pytest.mark.parametrize("on_error", ["reject", "admit"])
@pytest.mark.parametrize("shadow", [False, True], ids=["enforced", "shadow"])
def test_one_that_raises_breaks_nothing(
    on_error: Any, shadow: bool, agent_of: AgentOf, caplog: pytest.LogCaptureFixture
) -> None:
    """Each failure is an event, and its kind is logged once; the call is refused or made, the rest goes on."""
    rule = GuardRule(name="frail", judge=broken, on_error=on_error)
    shop = Shop(agent_of, replace(CONFIG, extra=(rule, ONE), shadow=shadow), *ORDERS)
    with caplog.at_level(logging.ERROR, logger="asyncguard"):
        outcome = shop.agent.run(tasks=TASKS)
    refused = on_error == "reject" and not shadow
    assert len(shop.order.calls) == (0 if refused else 2)
    assert len(shop.look.calls) == 1
    assert outcome.report["reason"] == "complete"
    faults = [
        event
        for event in shop.events
        if isinstance(event, ev.CallObjected) and event.objection is ev.Objection.FAULT
    ]
    # The second order is judged again at its release, unless nothing is held back.
    assert len(faults) == (2 if refused or shadow else 3)
    assert all(event.reason.startswith("raised RuntimeError at ") for event in faults)
    (logged,) = [each for each in caplog.records if each.name == "asyncguard"]
    assert logged.message.startswith("The guard frail raised RuntimeError at ")
    assert "secret" not in caplog.text
    assert ("'frail' of this application failed" in outcome.text) is refused
    assert shop.said_by(ev.CallRejected) == (["frail"] * 2 if refused else [])


def test_in_shadow_mode_it_only_objects(agent_of: AgentOf) -> None:
    """Its objections are events like those of other guards; the model sees nothing of them."""
    shop = Shop(agent_of, replace(CONFIG, extra=(BUDGET, ASK), shadow=True), *ORDERS)
    outcome = shop.agent.run(tasks=TASKS)
    assert shop.ordered() == ["chair", "desk"]
    assert [
        (event.guard, event.objection.value)
        for event in shop.events
        if isinstance(event, ev.CallObjected)
    ] == [("budget", "reject"), ("dear", "hold")]
    assert "budget" not in outcome.text


@pytest.mark.parametrize("before", ["clarification", "trust", None])
def test_the_first_in_the_order_gives_the_reason(before: str | None, agent_of: AgentOf) -> None:
    """A call that two guards refuse is refused by the one that is asked first."""
    rule = replace(BUDGET, before=before)
    wish = calls(("order", {"what": "desk", "price": 900, "colour": "red"}))
    shop = Shop(agent_of, replace(CONFIG, extra=(rule,)), wish)
    shop.agent.run("Order a desk for 900.")
    assert shop.said_by(ev.CallRejected) == ["budget" if before == "clarification" else "arguments"]


KEPT = pytest.mark.parametrize("kept", [True, False], ids=["with", "without"])


@KEPT
def test_a_question_is_answered_in_another_process(kept: bool, agent_of: AgentOf) -> None:
    """A call that the rule held is made after the answer, also where the process has no such rule."""
    saver, config = InMemorySaver(), replace(CONFIG, extra=(ASK,))
    desk = calls(("order", {"what": "desk", "price": 90}))
    old = Shop(agent_of, config, desk, checkpointer=saver, prefix="old")
    assert old.agent.run("Order a desk for 90.", thread="t").interrupts
    assert old.ordered() == []
    new = Shop(agent_of, config if kept else CONFIG, checkpointer=saver, prefix="new")
    outcome = run_virtual(new.agent.resume(value=True, thread="t")).result
    assert new.ordered() == ["desk"]
    assert outcome.answer("old_1_1") == "ordered desk"


def after_the_bank(proposal: Proposal, board: BoardView) -> Verdict:
    """Hold everything back until the bank has answered."""
    waiting = tuple(call.key for call in board.open_before(proposal.call) if call.tool == "bank")
    return Defer(reason="The bank comes first.", on=waiting) if waiting else Admit()


@KEPT
def test_a_deferral_outlives_its_process(kept: bool, agent_of: AgentOf) -> None:
    """A call that the rule held back waits in the next process, too, and is made by it, with the rule or without."""
    saver = InMemorySaver()
    rules = (GuardRule(name="bank_first", judge=after_the_bank),)

    def process(prefix: str, extra: tuple[GuardRule, ...], *steps: Any) -> Any:
        tokens, inbox = list[str](), Inbox()
        bank = scripted_tool(
            "bank", lambda a: tokens.append(a["token"]), args={"q": str, "token": str}
        )
        look = scripted_tool("look", lambda a: "sunny", args={"q": str})
        asking = pure("bank", mode=Mode.EXTERNAL, token_argument="token", reads=())
        options = {"config": replace(CONFIG, extra=extra), "checkpointer": saver}
        model = ScriptedChatModel(script(*steps), id_prefix=prefix)
        specs = [asking, pure("look", reads=())]
        agent = agent_of(model, [bank, look], specs=specs, ports=Ports(inbox=inbox), **options)
        return agent, look, lambda: inbox.deliver(tokens[-1], "granted")

    old, _, _ = process("old", rules, calls(("bank", {"q": "x"}), ("look", {"q": "weather"})))
    assert old.run("Ask the bank for x and look at the weather.", thread="t").interrupts
    new, look, deliver = process("new", rules if kept else ())

    async def go_on() -> None:
        assert (await new.resume("", "t")).interrupts
        assert look.calls == []
        deliver()
        assert "sunny" in (await new.resume("", "t")).text

    run_virtual(go_on())
    assert [call.args for call in look.calls] == [{"q": "weather"}]


def test_traces_name_it(
    agent_of: AgentOf, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The head of a trace holds its declaration, and the events its name."""
    path = tmp_path / "run.jsonl"
    with TraceFile(path) as trace:
        frail = GuardRule(name="frail", judge=broken, on_error="admit")
        config = replace(CONFIG, extra=(frail, BUDGET))
        Shop(agent_of, config, *ORDERS, observers=(trace,)).agent.run(tasks=TASKS)
    head = json.loads(path.read_text().splitlines()[0])
    assert [(rule["name"], rule["judge"]) for rule in head["config"]["extra"]] == [
        ("frail", f"{__name__}:broken"),
        ("budget", f"{__name__}:within_budget"),
    ]
    assert main(["trace", str(path), "--events"]) == 0
    shown = capsys.readouterr().out
    assert "guard=budget" in shown
    assert "guard=frail objection=fault" in shown
