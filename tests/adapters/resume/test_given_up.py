"""Attempts that continue after they were given up: effects that may still happen, late results."""

import asyncio
import json
import logging
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import EffectClass, Fallback, GuardConfig, Limits, Mode, Timing, ToolFault, ToolSpec
from asyncguard.testing import ScriptedChatModel, ToolMode, calls, run_virtual, scripted_tool
from tests.adapters.harness import AgentOf, Outcome, pure, script

EXACT = GuardConfig(timing=Timing(grace=0.0, linger=0.0, retry_initial=1.0, retry_jitter=0.0))
QUICK = GuardConfig(timing=Timing(retry_initial=0.05, retry_jitter=0.0))
PAY = calls(("pay", {"q": "x"}))


class Bank:
    """A payment service that books at the end of a request, and is asked about it meanwhile."""

    def __init__(self) -> None:
        self.paid: list[str] = []
        self.asked = 0
        self.begun = threading.Event()

    def look(self) -> Any:
        """A probe that tells what was booked so far."""

        def say(arguments: Any) -> str:
            self.asked += 1
            return json.dumps(
                {"happened": bool(self.paid), "result": "paid" if self.paid else None}
            )

        return scripted_tool("look", say, args={"q": str})

    def pay(self, seconds: float, how: str = "thread", error: Exception | None = None) -> Any:
        """A payment that takes some seconds: in a thread, in a thread of its own making, or ignoring cancellation."""

        def book() -> str:
            self.begun.set()
            time.sleep(seconds)
            if error is not None:
                raise error
            self.paid.append("x")
            return "paid"

        if how == "thread":
            return scripted_tool("pay", lambda _: book(), args={"q": str}, mode=ToolMode.SYNC)
        if how == "to_thread":
            return scripted_tool(
                "pay", lambda _: asyncio.to_thread(book), args={"q": str}, mode=ToolMode.ASYNC
            )

        async def stubborn(_: Any) -> str:
            end = asyncio.get_running_loop().time() + seconds
            while (left := end - asyncio.get_running_loop().time()) > 0:
                try:
                    await asyncio.sleep(left)
                except asyncio.CancelledError:
                    continue
            if error is not None:
                raise error
            self.paid.append("x")
            return "paid"

        return scripted_tool("pay", stubborn, args={"q": str}, mode=ToolMode.ASYNC)


PROBED = ToolSpec(name="pay", effect=EffectClass.PROBED, probe="look", timeout=0.2)


async def stay(agent: Any, *, after: float, thread: str | None = None) -> Outcome:
    """One run, and then time for what is left of it."""
    outcome: Outcome = await agent.say("Pay x.", thread=thread)
    await asyncio.sleep(after)
    return outcome


def played(how: str, run: Coroutine[Any, Any, Outcome]) -> Outcome:
    """Play a run of a payment: threads take real time, the stubborn one virtual time."""
    return run_virtual(run).result if how == "stubborn" else asyncio.run(run)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", ["thread", "to_thread", "stubborn"])
def test_no_probe_denies_an_effect_that_may_still_happen(how: str, agent_of: AgentOf) -> None:
    """The attempt continues while its probe is asked: it is waited for, and paid once."""
    bank = Bank()
    model = ScriptedChatModel(script(PAY))
    agent = agent_of(
        model, [bank.pay(0.5, how), bank.look()], specs=[PROBED, pure("look")], config=QUICK
    )
    outcome = played(how, stay(agent, after=0.6))
    assert bank.paid == ["x"]
    assert bank.asked >= 1
    assert outcome.report["in_doubt"] == []
    assert "paid" in outcome.answer("call_1_1")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", ["thread", "to_thread", "stubborn"])
def test_an_effect_that_is_waited_for_in_vain_is_in_doubt(how: str, agent_of: AgentOf) -> None:
    """The waiting is bounded; nothing is repeated, and no sibling pays in its place."""
    bank, limits = Bank(), Limits(max_attempts=2)
    config = GuardConfig(timing=QUICK.timing, limits=limits)
    spec = ToolSpec(
        name="pay",
        effect=EffectClass.PROBED,
        probe="look",
        timeout=0.1,
        fallbacks=(Fallback(tool="b"),),
    )
    other = scripted_tool("b", ["paid by b"], args={"q": str})
    tools = [bank.pay(0.8, how), bank.look(), other]
    agent = agent_of(
        ScriptedChatModel(script(PAY)), tools, specs=[spec, pure("look")], config=config
    )
    outcome = played(how, stay(agent, after=1.0))
    assert outcome.report["in_doubt"] == ["main/pay#1"]
    assert (bank.paid, bank.asked, other.calls) == (["x"], 2, [])


async def test_the_own_end_of_an_attempt_counts_and_the_probe_is_believed_after_it(
    agent_of: AgentOf,
) -> None:
    """The attempt raised by itself in the end: now nothing of it can happen any more, so a no is a no."""
    bank, left = Bank(), [True]

    def pay(_: Any) -> str:
        if left:
            left.clear()
            time.sleep(0.5)
            raise ConnectionError("reset")
        bank.paid.append("x")
        return "paid"

    tools = [scripted_tool("pay", pay, args={"q": str}, mode=ToolMode.SYNC), bank.look()]
    agent = agent_of(
        ScriptedChatModel(script(PAY)), tools, specs=[PROBED, pure("look")], config=QUICK
    )
    outcome = await stay(agent, after=0.0)
    assert len(tools[0].calls) == 2
    assert bank.paid == ["x"]
    assert outcome.answer("call_1_1") == "paid"


async def test_a_retry_after_a_no_still_follows_an_exception(agent_of: AgentOf) -> None:
    """An attempt that raised has ended: the probe's no counts at once."""
    bank = Bank()
    tools = [
        scripted_tool("pay", [TimeoutError("the service did not answer"), "paid"], args={"q": str}),
        bank.look(),
    ]
    agent = agent_of(
        ScriptedChatModel(script(PAY)), tools, specs=[PROBED, pure("look")], config=QUICK
    )
    outcome = await stay(agent, after=0.0)
    assert len(tools[0].calls) == 2
    assert outcome.answer("call_1_1") == "paid"


# -- deadlines that a tool ignores ---------------------------------------------------------------------------------


def stubborn(
    name: str, seconds: float, ended: list[str], outcome: Callable[[], str] = lambda: "late"
) -> Any:
    """An async tool that does not let itself be cancelled."""

    async def act(_: Any) -> str:
        end = asyncio.get_running_loop().time() + seconds
        while (left := end - asyncio.get_running_loop().time()) > 0:
            try:
                await asyncio.sleep(left)
            except asyncio.CancelledError:
                continue
        ended.append(name)
        return outcome()

    return scripted_tool(name, act, args={"q": (str, ""), "tool": (str, "")}, mode=ToolMode.ASYNC)


@pytest.mark.parametrize("mode", [Mode.FOREGROUND, Mode.BACKGROUND])
def test_a_pure_call_fails_at_its_deadline_whatever_its_tool_does(
    mode: Mode, agent_of: AgentOf, caplog: pytest.LogCaptureFixture
) -> None:
    """A late answer of the tool is ignored and logged."""
    ended: list[str] = []
    config = GuardConfig(timing=EXACT.timing, limits=Limits(max_attempts=1))
    agent = agent_of(
        ScriptedChatModel(script(calls(("read", {"q": "x"})))),
        [stubborn("read", 75.0, ended)],
        specs=[pure("read", timeout=1.0, mode=mode)],
        config=config,
    )

    async def main() -> tuple[Outcome, float]:
        outcome = await agent.say("Read x.")
        at = asyncio.get_running_loop().time()
        await asyncio.sleep(80)
        return outcome, at

    with caplog.at_level(logging.WARNING):
        outcome, at = run_virtual(main()).result
    assert at == pytest.approx(1.0)
    assert "No answer within 1 s" in outcome.answer("call_1_1")
    assert outcome.states("main") == {"failed": 1}
    assert ended == ["read"]
    assert "late" not in outcome.text
    assert [record for record in caplog.records if "ignored" in record.getMessage()]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mode", [Mode.FOREGROUND, Mode.BACKGROUND])
@pytest.mark.parametrize("how", ["thread", "stubborn"])
def test_an_effect_is_in_doubt_at_its_deadline_and_its_late_result_settles_it_once(
    mode: Mode, how: str, agent_of: AgentOf
) -> None:
    """The model is told of the doubt at once, and of the result when it comes, each one time."""
    bank = Bank()
    waits = scripted_tool("wait", lambda _: asyncio.sleep(0.9, "waited"))
    steps = script(calls(("pay", {"q": "x"})), calls(("wait", {})))
    specs = [ToolSpec(name="pay", timeout=0.2, mode=mode), pure("wait")]
    agent = agent_of(
        ScriptedChatModel(steps), [bank.pay(0.6, how), waits], specs=specs, config=QUICK
    )
    began = time.monotonic()
    outcome = played(how, agent.say("Pay x."))
    assert time.monotonic() - began < 3
    assert "not known whether pay#1 took effect" in outcome.answer("call_1_1")
    assert outcome.report["in_doubt"] == []
    assert outcome.states("main") == {"resolved": 1, "done": 1}
    assert (bank.paid, sum("paid" in text for text in outcome.news())) == (["x"], 1)


@pytest.mark.sampled(2)
async def test_a_late_word_that_nothing_began_settles_the_doubt(agent_of: AgentOf) -> None:
    """The tool itself says so in the end; the model may make the call again."""
    bank = Bank()
    waits = scripted_tool("wait", lambda _: asyncio.sleep(0.9, "waited"))
    steps = script(calls(("pay", {"q": "x"})), calls(("wait", {})))
    fault = ToolFault("the queue was full", started=False)
    specs = [ToolSpec(name="pay", timeout=0.1), pure("wait")]
    agent = agent_of(
        ScriptedChatModel(steps), [bank.pay(0.4, error=fault), waits], specs=specs, config=QUICK
    )
    outcome = await agent.say("Pay x.")
    assert outcome.report["in_doubt"] == []
    assert outcome.states("main") == {"failed": 1, "done": 1}
    assert "the queue was full" in "\n".join(outcome.news())


def test_a_settled_doubt_is_told_again_if_the_client_left_at_that_step(agent_of: AgentOf) -> None:
    """The attempt reports its end once, and the step that brought it is dropped with the stream."""
    payments = {"x": 4.0, "y": 6.0}
    pay = scripted_tool(
        "pay", lambda a: asyncio.sleep(payments[a["q"]], f"paid {a['q']}"), args={"q": str}
    )
    look = scripted_tool("look", ["found"], latency=9.0)
    steps = script(
        calls(("pay", {"q": "y"})), calls(("pay", {"q": "x"}), ("look", {})), ever="I wait."
    )
    specs = [
        ToolSpec(name="pay", timeout=3.0, reads=(), writes=(), takes_from=()),
        pure("look", mode=Mode.BACKGROUND, reads=(), takes_from=()),
    ]
    agent = agent_of(
        ScriptedChatModel(steps), [pay, look], specs=specs, checkpointer=InMemorySaver()
    )
    place: Any = {"configurable": {"thread_id": "a"}}

    async def main() -> Outcome:
        stream = agent.graph.astream(
            agent.input("Pay y and x.", None), place, stream_mode="messages"
        )
        async for message, _ in stream:
            if message.type == "human" and "paid x" in message.text:
                break
        await stream.aclose()
        return await agent.say("Well?", thread="a")

    outcome = run_virtual(main()).result
    assert outcome.report["in_doubt"] == []
    assert outcome.states("main") == {"resolved": 2, "done": 1}
    assert [sum(f"paid {q}" in text for text in outcome.news()) for q in "xy"] == [1, 1]


@pytest.mark.parametrize("asked", ["probe", "verifier", "sources", "contract"])
def test_whoever_is_asked_for_a_call_is_bounded_by_its_deadline_too(
    asked: str, agent_of: AgentOf
) -> None:
    """A helper that ignores its cancellation delays no call beyond the deadline."""
    ended: list[str] = []
    price = {
        "type": "object",
        "properties": {"price": {"type": "number", "maximum": 5}},
        "required": ["price"],
    }
    helper = stubborn("helper", 500.0, ended)
    if asked == "probe":
        called = scripted_tool("call", [ConnectionError("reset")], args={"q": str})
        spec = ToolSpec(name="call", effect=EffectClass.PROBED, probe="helper")
    else:
        called = scripted_tool("call", ['{"price": 9}'], args={"q": str})
        helpers: dict[str, Any] = {
            "verifier": Fallback(tool="helper"),
            "sources": ("helper",),
            "contract": "helper",
        }
        declared = {asked: helpers[asked]}
        spec = pure("call", result_schema=price, **declared)
    helping = pure("helper", timeout=2.0)
    model = ScriptedChatModel(script(calls(("call", {"q": "x"}))))
    agent = agent_of(model, [called, helper], specs=[spec, helping], config=EXACT)

    async def main() -> tuple[Outcome, float]:
        outcome = await agent.say("Go.")
        at = asyncio.get_running_loop().time()
        await asyncio.sleep(600)
        return outcome, at

    outcome, at = run_virtual(main()).result
    assert at == pytest.approx(2.0)
    assert outcome.report["reason"] == "complete"


@pytest.mark.parametrize("effect", [EffectClass.PURE, EffectClass.AT_MOST_ONCE])
def test_a_cancelled_task_does_not_wait_for_a_tool_that_ignores_it(
    effect: EffectClass, agent_of: AgentOf
) -> None:
    """The user's word counts; the outcome of an effect is shown when it comes."""
    ended: list[str] = []
    spec = ToolSpec(name="act", effect=effect)
    model = ScriptedChatModel(script(calls(("act", {"q": "x"}))))
    agent = agent_of(
        model,
        [stubborn("act", 50.0, ended)],
        specs=[spec],
        config=EXACT,
        checkpointer=InMemorySaver(),
    )

    async def main() -> tuple[Outcome, float, Outcome]:
        run = asyncio.create_task(agent.say(tasks=[{"id": "a", "goal": "Act."}], thread="t"))
        await asyncio.sleep(3.0)
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)
        stopped = await agent.go({"messages": [("user", "Never mind.")], "cancel": ["a"]}, "t")
        at = asyncio.get_running_loop().time()
        await asyncio.sleep(60)
        return stopped, at, await agent.say("And?", thread="t")

    stopped, at, later = run_virtual(main()).result
    assert at < 6
    doubt = [] if effect is EffectClass.PURE else ["a/act#1"]
    assert stopped.report["in_doubt"] == doubt
    assert later.report["in_doubt"] == []
    assert ("late" in "\n".join(later.news())) is (effect is not EffectClass.PURE)


def test_the_sync_entry_is_bounded_as_well(agent_of: AgentOf) -> None:
    """``invoke`` with a sync tool that hangs: in doubt at the deadline, and nothing is repeated."""
    hold, made = threading.Event(), []

    @tool
    def pay(q: str) -> str:
        """Pay."""
        made.append(q)
        hold.wait(5)
        return "paid"

    model = ScriptedChatModel(script(PAY))
    agent = agent_of(model, [pay], specs=[ToolSpec(name="pay", timeout=0.2)], config=QUICK)
    began = time.monotonic()
    outcome = agent.run_sync("Pay x.")
    took = time.monotonic() - began
    hold.set()
    assert took < 3
    assert outcome.report["in_doubt"] == ["main/pay#1"]
    assert made == ["x"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("said", [None, "Leave it."])
async def test_what_a_thread_answers_after_its_task_was_cancelled_settles_the_doubt(
    said: str | None, agent_of: AgentOf
) -> None:
    """A sync tool cannot be stopped, and by async entry its thread is LangChain's in the middleware."""
    bank = Bank()
    saver = InMemorySaver()
    tools = [bank.pay(1.0)]
    agent = agent_of(
        ScriptedChatModel(script(PAY)),
        tools,
        config=QUICK,
        specs=[ToolSpec(name="pay")],
        checkpointer=saver,
    )
    run = asyncio.create_task(agent.say("Pay x.", thread="t"))
    assert await asyncio.to_thread(bank.begun.wait, 10.0)
    run.cancel()
    await asyncio.wait([run])
    stopped = await agent.go(agent.input(said, None) | {"cancel": ["main"]}, "t")
    assert stopped.report["in_doubt"] == ["main/pay#1"]
    await asyncio.sleep(1.0)
    outcome = await agent.say("And?", thread="t")
    assert outcome.report["in_doubt"] == []
    assert outcome.states("main") == {"resolved": 1}
    assert outcome.text.count("paid") == 1
